# SPDX-License-Identifier: GPL-2.0
"""What is done with and without allocations that fail, and how it is undone."""

import errno
import os

from guest import balance, faults, init
from guest.init import CGROUPS, PAGE, Failed
from guest.priorities import DEFAULT, KNOB as PRIORITY
from guest.retained.pool import KNOB as RETAIN, POOL

KNOB = "/proc/sys/vm/memcg_soft_limit"
# How many shrinkers share a unit, and how long the table of ids is at first.
UNIT = 64


class Operation:
    """One operation. What it is called for happens in call()."""
    # What user space gets when an allocation of ours fails, and when any does.
    failure = errno.ENOMEM
    allowed = frozenset({0, errno.ENOMEM})
    # How many allocations there are at the least, and how many of ours.
    least, least_ours = 3, 0
    # Whether it does the same each time, and leaves nothing.
    is_repeatable = True

    def __init__(self, name):
        self.name = name

    def set_up(self):
        """Makes what all attempts need."""

    def tear_down(self):
        """Takes it away."""

    def prepare(self):
        """Makes what each new attempt needs."""

    def call(self):
        """The operation itself."""

    def undo(self):
        """After it succeeded."""

    def clean(self):
        """Takes away what prepare() made."""

    def after_failure(self):
        """Checks that nothing happened."""

    def enter(self):
        """Goes where call() is to happen, in a child."""

    def in_child(self, function):
        """Calls it in a child, with an injector that was made outside of its
        group, and returns the number that it returns.

        The child takes its stack with it, in which kmemleak might see a pointer to
        memory that was lost.
        """
        child = os.fork()
        if not child:
            status = 255
            try:
                injector = faults.Injector()
                self.enter()
                status = function(injector)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0 or status == 255:
            raise Failed(f"{self.name}: the process for it failed")
        return status

    def attempt(self, number):
        """Returns as Injector.call()."""
        hit = 128

        def inject(injector):
            was_hit, found = injector.call(number, self.call)
            return found | (hit if was_hit else 0)

        status = self.in_child(inject)
        return bool(status & hit), status & ~hit

    def again(self):
        """Without a failure it must succeed."""
        self.call()


class Mount(Operation):
    """A shrinker is registered."""
    # tmpfs says that there is no space if it gets no inode for its root.
    allowed = frozenset({0, errno.ENOMEM, errno.ENOSPC})
    where = "/tmp/mount"

    def set_up(self):
        os.makedirs(self.where)

    def tear_down(self):
        os.rmdir(self.where)

    def call(self):
        init.checked(init.LIBC.mount(b"tmpfs", self.where.encode(), b"tmpfs",
                                     0, None), self.where)

    def undo(self):
        init.umount(self.where)


class MountNext(Mount):
    """A shrinker gets the first id of a unit, which the root doesn't have yet.
    Once it has, it keeps it: so only the last attempt may succeed."""
    is_repeatable = False

    def __init__(self, name, least_ours, is_next):
        super().__init__(name)
        self.least_ours, self.is_next = least_ours, is_next
        self.places = []

    def set_up(self):
        """Takes all ids below the one that it is about."""
        super().set_up()
        ids = balance.counters()["ids"] + 1
        while ids % UNIT or not self.is_next(ids):
            ids += 1
        while balance.counters()["ids"] < ids:
            self.places.append(f"/tmp/i{len(self.places)}")
            init.mount("tmpfs", self.places[-1])
        if balance.counters()["ids"] != ids:
            raise Failed(f"{self.name}: a mount takes more than one id")
        self.before = balance.state()

    def after_failure(self):
        balance.settle(self.before, 20)

    def again(self):
        """That is the next attempt."""

    def undo(self):
        """Only the last one got so far."""

    def attempt(self, number):
        hit, found = super().attempt(number)
        if not found:
            init.umount(self.where)
        return hit, found

    def tear_down(self):
        init.take_away(self.places)
        super().tear_down()


class Mkdir(Operation):
    """A group is created."""
    path = f"{CGROUPS}/made"

    def call(self):
        os.mkdir(self.path)

    def undo(self):
        os.rmdir(self.path)

    def after_failure(self):
        if os.path.exists(self.path):
            raise Failed(f"{self.name}: it failed, but {self.path} is there")


class FirstObject(Operation):
    """The first object of a group on a file system that is new: the group gets
    a unit, and a table that has room for one."""
    # The unit is made for the dentry. If tmpfs gets no inode, it calls that a
    # lack of space.
    allowed = frozenset({0, errno.ENOMEM, errno.ENOSPC})
    least_ours = 2
    place = "/tmp/first"

    def __init__(self, name, depth=1):
        super().__init__(name)
        self.depth = depth
        self.serial = 0
        self.paths = []

    def make_group(self):
        self.serial += 1
        path, self.paths = CGROUPS, []
        for level in range(self.depth):
            path += f"/f{self.serial}.{level}"
            os.mkdir(path)
            self.paths.append(path)
            if level < self.depth - 1 and \
                    os.path.exists(f"{path}/cgroup.subtree_control"):
                init.write(f"{path}/cgroup.subtree_control", "+memory")

    def prepare(self):
        self.make_group()
        init.mount("tmpfs", self.place)

    def enter(self):
        init.write(f"{self.paths[-1]}/cgroup.procs", "0")

    def create(self, place):
        """Not by call(): as a child's status. Returns 0 or the errno."""
        def function(_injector):
            try:
                os.mknod(f"{place}/file")
            except OSError as error:
                return error.errno
            return 0
        found = self.in_child(function)
        if found:
            raise Failed(f"{self.name} fails without a failure, or after one: "
                         f"{errno.errorcode.get(found, found)}")

    def call(self):
        os.mknod(f"{self.place}/file")

    def again(self):
        self.create(self.place)

    def undo(self):
        os.unlink(f"{self.place}/file")

    def remove_group(self):
        for path in reversed(self.paths):
            init.retry(lambda path=path: os.rmdir(path))

    def clean(self):
        init.umount(self.place)
        self.remove_group()


class OneMoreUnit(FirstObject):
    """The same in a group that has a unit: its table grows."""

    def set_up(self):
        self.places = [f"/tmp/u{i}" for i in range(UNIT + 1)]
        for place in self.places:
            init.mount("tmpfs", place)
        self.place = self.places[-1]

    def prepare(self):
        self.make_group()
        self.create(self.places[0])

    def clean(self):
        os.unlink(f"{self.places[0]}/file")
        self.remove_group()

    def tear_down(self):
        init.take_away(self.places)


class Write(Operation):
    """A value is written to a knob."""
    least = 1

    def __init__(self, path, old, new, is_group=False):
        super().__init__(f"write(2) to {os.path.basename(path)}")
        self.path, self.old, self.new = path, str(old), str(new)
        self.is_group = is_group

    def set_up(self):
        if self.is_group:
            os.mkdir(os.path.dirname(self.path))
        self.put(self.old)

    def tear_down(self):
        if self.is_group:
            os.rmdir(os.path.dirname(self.path))

    def put(self, value):
        init.write(self.path, value)
        self.expect(value)

    def expect(self, value):
        found = init.read(self.path).strip()
        if found != value:
            raise Failed(f"{self.path} is {found}, not {value}")

    def prepare(self):
        self.file = os.open(self.path, os.O_WRONLY)

    def call(self):
        os.pwrite(self.file, self.new.encode(), 0)

    def after_failure(self):
        self.expect(self.old)

    def undo(self):
        self.expect(self.new)
        self.put(self.old)

    def clean(self):
        os.close(self.file)


def is_power_of_two(number):
    return not number & (number - 1)


def operations(is_v1):
    for_both = (
        Write(f"{CGROUPS}/spared/{PRIORITY}", DEFAULT, "6 active", is_group=True),
        Write(f"{CGROUPS}/retained/{RETAIN}", "0", "1", is_group=True),
        Write(f"{CGROUPS}/pool/{POOL}", "0", "1", is_group=True),
    )
    if is_v1:
        init.write(KNOB, "1")
        return (
            Mkdir("mkdir(2): a group is created"),
            FirstObject("mknod(2): the first object of a group"),
            Write(f"{CGROUPS}/soft/memory.soft_limit_in_bytes", 8 * PAGE,
                  9 * PAGE, is_group=True),
            Write(KNOB, 0, 1),
            *for_both,
        )
    return (
        # The table of ids doubles its length each time.
        MountNext("mount(2): the table of ids grows", 3, is_power_of_two),
        MountNext("mount(2): the root gets a unit", 3,
                  lambda ids: not is_power_of_two(ids)),
        Mount("mount(2): a shrinker is registered"),
        Mkdir("mkdir(2): a group is created"),
        FirstObject("mknod(2): the first object of a group"),
        FirstObject("mknod(2): the same three levels deep", depth=3),
        OneMoreUnit("mknod(2): the table of a group grows"),
        *for_both,
    )
