# SPDX-License-Identifier: GPL-2.0
"""One of the processes that torture the kernel of a guest.

Each has a tree of groups of its own, mounts, and a random sequence of steps that
follows from the seed; what they do to each other depends on time.
"""

import collections
import errno
import mmap
import os
import random
import signal
import time
import traceback

from guest import balance, init, priorities
from guest.groups import MIB, stat
from guest.init import CGROUPS, DEBUGFS, LIBC, Failed, checked
from guest.retained import pool

TOP = f"{CGROUPS}/t"
KNOB = "/proc/sys/vm/memcg_soft_limit"
CPU = "/sys/devices/system/cpu/cpu1/online"
SWAP = "/dev/vda"
MAX_GROUPS, MAX_MOUNTS, MAX_DEPTH, MAX_CHILDREN, MAX_PINS = 24, 16, 4, 4, 8

# What the kernel may answer to a step with which others interfere.
EXPECTED = {errno.EBUSY, errno.EAGAIN, errno.ENOENT, errno.ENODEV, errno.ENOMEM,
            errno.ESRCH, errno.ENOSPC, errno.EINTR, errno.EOPNOTSUPP,
            errno.ENOTEMPTY, errno.EEXIST}

# The status of a child that did not do what it was for, and of one that the kernel
# would not let.
BROKEN, REFUSED = 99, 98

# The steps, and how often each is taken.
STEPS = {"create": 8, "remove": 6, "files": 6, "look": 8, "delete": 3,
         "mount": 7, "unmount": 5, "move": 4, "end": 2, "limit": 3, "unlimit": 2,
         "soften": 3, "reclaim": 1, "kill": 1, "memory": 2, "drop": 1,
         "brink": 6, "exceed": 1, "hotplug": 2, "swap": 2, "unswap": 2, "knob": 2, "debugfs": 2,
         "pin": 8, "unpin": 4, "drained": 1, "prioritize": 6, "overridden": 1,
         "retain": 4}
# What would only be repeated by others.
FIRST_ONLY = ("hotplug", "swap", "unswap", "brink", "exceed", "knob", "drained",
              "overridden")
# Not there in one of the versions of cgroups.
NOT_IN = {"v1": ("kill",), "v2": ("soften", "exceed")}
# How many durations it may take until each step was done.
MOST_DURATIONS = 5
# What the C implementation does not have.
OURS_ONLY = ("knob", "debugfs", "drained", "prioritize", "overridden", "retain")


def steps_of(version, ours):
    return [name for name in STEPS if name not in NOT_IN[version] and
            (ours or name not in OURS_ONLY)]


def eat(size):
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, mmap.PAGESIZE):
        area[at] = 1
    return area


def is_expected(error):
    return error.errno in EXPECTED


def eat_all(more):
    """Until nothing is left but what the kernel keeps in reserve, and then some
    of that, or all: then somebody is killed for it."""
    areas = []
    while init.fields("/proc/meminfo")["MemAvailable:"]:
        areas.append(eat(2 * MIB))
    areas.append(eat(more))
    time.sleep(0.2)


class Torturer:
    """Has groups, mounts and children, and does one step after another.

    A step is a method that returns whether it did what it is for: there may be
    nothing to do it with, or the kernel may refuse what it asks for.
    """

    def __init__(self, number, seed, is_v1):
        self.random = random.Random(f"{seed}.{number}")
        self.v1, self.ours = is_v1, balance.is_ours()
        self.number = number
        self.top, self.place = f"{TOP}/{number}", f"/tmp/{number}"
        self.inner, self.leaves = [self.top], []
        # Never limited, so that it can take all memory there is.
        self.eater = f"{self.top}/eater"
        self.mounts, self.children, self.pins = {}, [], []
        self.swaps = False
        self.serial = 0
        self.done = collections.Counter()
        self.refused = collections.Counter()
        # Steps that took memory until somebody was killed for it.
        self.killed = collections.Counter()
        self.steps = [name for name in steps_of("v1" if is_v1 else "v2", self.ours)
                      for _ in range(STEPS[name])
                      if number == 0 or name not in FIRST_ONLY]

    def name(self):
        self.serial += 1
        return str(self.serial)

    def in_group(self, group, function):
        """Calls it in a child that is in the group; returns the child."""
        pid = os.fork()
        if pid:
            return pid
        status = BROKEN
        try:
            init.write("/proc/self/oom_score_adj", "1000")
            init.write(f"{group}/cgroup.procs", "0")
            function()
            status = 0
        except OSError as error:
            if is_expected(error):
                status = REFUSED
            else:
                traceback.print_exc()
        except MemoryError:
            status = REFUSED
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        os._exit(status)

    def wait(self, pid):
        """Returns its status: it may well have been killed."""
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == BROKEN:
            raise Failed("the child of a torturer failed, see above")
        return status

    def run_in(self, group, function):
        """Returns whether it was done to its end."""
        return self.wait(self.in_group(group, function)) == 0

    def take_in(self, step, group, function):
        """For what takes memory, which is done, too, if it is killed for that."""
        status = self.wait(self.in_group(group, function))
        self.killed[step] += status == -signal.SIGKILL
        return status != REFUSED

    def leaf(self):
        if not self.leaves:
            self.leaves.append(self.new_group())
        return self.random.choice(self.leaves)

    def new_group(self):
        path = f"{self.random.choice(self.inner)}/{self.name()}"
        os.mkdir(path)
        return path

    def any_group(self):
        return self.random.choice(self.inner + self.leaves)

    def place_for_files(self):
        return self.random.choice([self.place, *(
            where for where, kind in self.mounts.items() if kind != "cgroup")])

    # ---- groups and processes

    def create(self):
        if len(self.leaves) + len(self.inner) >= MAX_GROUPS:
            self.remove()
            return False
        path = self.new_group()
        depth = path.count("/") - self.top.count("/")
        if self.random.random() < 0.3 and depth < MAX_DEPTH:
            if not self.v1:
                init.write(f"{path}/cgroup.subtree_control", "+memory")
            self.inner.append(path)
        else:
            self.leaves.append(path)
            # So that some are in excess when they go.
            if self.v1 and self.random.random() < 0.5:
                self.set_soft_limit(path, 0)
        return True

    def remove(self):
        known = self.leaves if self.random.random() < 0.8 else self.inner[1:]
        if not known:
            return False
        path = self.random.choice(known)
        os.rmdir(path)
        (self.leaves if path in self.leaves else self.inner).remove(path)
        return True

    def move(self):
        if len(self.children) < MAX_CHILDREN:
            self.children.append(self.in_group(self.leaf(),
                                               lambda: time.sleep(60)))
        pid = self.random.choice(self.children)
        init.write(f"{self.leaf()}/cgroup.procs", str(pid))
        return True

    def end(self):
        return self.end_one(self.children)

    def end_one(self, pids):
        if not pids:
            return False
        pid = pids.pop(self.random.randrange(len(pids)))
        os.kill(pid, signal.SIGKILL)
        self.wait(pid)
        return True

    def kill(self):
        init.write(f"{self.leaf()}/cgroup.kill", "1")
        return True

    def pin(self):
        """Makes a process outside of a group hold what was made in it, so that the group
        stays when it is removed."""
        if len(self.pins) >= MAX_PINS:
            self.unpin()
            return False
        hears, tells = os.pipe()

        def hold():
            checked(LIBC.inotify_init1(0), "inotify_init1")
            init.write(f"{CGROUPS}/cgroup.procs", "0")
            os.write(tells, b"!")
            time.sleep(600)

        pid = self.in_group(self.leaf(), hold)
        os.close(tells)
        with open(hears, "rb") as pipe:
            if pipe.read(1):
                self.pins.append(pid)
                return True
        self.wait(pid)
        return False

    def unpin(self):
        return self.end_one(self.pins)

    def drained(self):
        """It is done when a removed group that is still there has given its statistics
        back."""
        return stat("drained") > 0

    # ---- mounts and objects

    def mount(self):
        """Where a file system is new, its first object comes from a group."""
        if len(self.mounts) >= MAX_MOUNTS:
            self.unmount()
            return False
        name = self.name()
        where = f"{self.place}/m{name}"
        os.mkdir(where)
        kind = self.random.choice(("tmpfs", "ramfs", "cgroup"))
        # A hierarchy without controllers: its dentries stay, where tmpfs pins
        # or frees them.
        data = f"none,name=t{self.number}.{name}" if kind == "cgroup" else None
        self.run_in(self.leaf(), lambda: init.mount(kind, where, data))
        # Its child may have been killed behind that.
        if os.path.ismount(where):
            self.mounts[where] = kind
            return True
        os.rmdir(where)
        return False

    def unmount(self):
        if not self.mounts:
            return False
        where = self.random.choice(list(self.mounts))
        init.umount(where)
        del self.mounts[where]
        os.rmdir(where)
        return True

    def files(self):
        place, name = self.place_for_files(), self.name()
        count, keep = self.random.randrange(1, 60), self.random.random() < 0.5

        def work():
            for i in range(count):
                path = f"{place}/{name}.{i}"
                init.write(path, "x")
                if not keep:
                    os.unlink(path)

        return self.run_in(self.leaf(), work)

    def look(self):
        """At names that are there and others that are not, of which objects are
        left that can be reclaimed."""
        where = self.random.choice([self.any_group(), self.leaf(), "/proc",
                                    *self.mounts])
        name, count = self.name(), self.random.randrange(1, 40)

        def work():
            for there in os.listdir(where)[:count]:
                os.path.exists(f"{where}/{there}")
            for i in range(count):
                os.path.exists(f"{where}/{name}.{i}")

        return self.run_in(self.leaf(), work)

    def delete(self):
        place = self.place_for_files()
        names = [name for name in os.listdir(place) if "." in name]
        for name in names:
            os.unlink(f"{place}/{name}")
        return bool(names)

    # ---- memory

    def limit(self):
        value = self.random.choice(("max", 2 * MIB, 8 * MIB, 64 * MIB))
        if self.v1:
            file, value = "memory.limit_in_bytes", -1 if value == "max" else value
        else:
            file = self.random.choice(("memory.max", "memory.high"))
        init.write(f"{self.leaf()}/{file}", str(value))
        return True

    def unlimit(self):
        file, value = ("memory.limit_in_bytes", "-1") if self.v1 else \
            ("memory.max", "max")
        init.write(f"{self.leaf()}/{file}", value)
        return True

    def soften(self):
        """Fails while soft limits are off."""
        self.set_soft_limit(self.any_group(), self.random.choice(
            (-1, 0, 0, MIB, 8 * MIB)))
        return True

    def set_soft_limit(self, group, value):
        init.write(f"{group}/memory.soft_limit_in_bytes", str(value))

    def reclaim(self):
        """It is done, too, if there was less than was asked for."""
        file = "memory.force_empty" if self.v1 else "memory.reclaim"
        try:
            init.write(f"{self.any_group()}/{file}",
                       str(self.random.choice((1, 4)) * MIB))
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
        return True

    def memory(self):
        size = self.random.choice((1, 4, 16)) * MIB
        return self.take_in("memory", self.leaf(), lambda: eat(size))

    def drop(self):
        init.write("/proc/sys/vm/drop_caches", self.random.choice("123"))
        return True

    def brink(self):
        """At first all of what the kernel keeps in reserve, for which somebody is
        killed."""
        more = self.random.choice((1, 4, 64)) * MIB
        if not self.killed["brink"]:
            more = 64 * MIB
        return self.take_in("brink", self.eater, lambda: eat_all(more))

    def exceed(self):
        """The machine is short of memory while all of its groups together exceed a
        soft limit: it is done when reclaim began with those in excess."""
        if self.ours:
            init.write(KNOB, "1")
        self.set_soft_limit(self.top, 0)
        passes = stat("excess_passes")
        self.take_in("exceed", self.eater, lambda: eat_all(4 * MIB))
        return not self.ours or stat("excess_passes") > passes

    def prioritize(self):
        value = self.random.choice(("default", "0", "6", "12", "3 active", "9 active"))
        init.write(f"{self.any_group()}/{priorities.KNOB}", value)
        return True

    def overridden(self):
        """Everybody is spared, and the machine is short of memory: it is done when somebody
        was taken from all the same, or passed over."""
        init.write(f"{self.top}/{priorities.KNOB}", "0")
        before = self.passed_over()
        self.take_in("overridden", self.eater, lambda: eat_all(4 * MIB))
        return self.passed_over() > before

    def passed_over(self):
        return sum(priorities.counter_at(self.top, name) for name in ("skipped", "override"))

    def retain(self):
        """Nothing here can be retained, but pools come and go."""
        group = self.any_group()
        init.write(f"{group}/{pool.KNOB}", self.random.choice(("0", "1", "deny")))
        try:
            init.write(f"{group}/{pool.POOL}", self.random.choice("01"))
        except OSError as error:
            # Another one is the pool.
            if error.errno != errno.EBUSY:
                raise
        return True

    # ---- the machine

    def hotplug(self):
        init.write(CPU, "0")
        time.sleep(self.random.random() / 10)
        init.write(CPU, "1")
        return True

    def swap(self):
        if self.swaps:
            return False
        init.swapon(SWAP)
        self.swaps = True
        return True

    def unswap(self):
        """In a child: whoever does it is the first to be killed when memory runs out."""
        if not self.swaps:
            return False
        pid = os.fork()
        if not pid:
            os._exit(REFUSED if LIBC.swapoff(SWAP.encode()) else 0)
        self.swaps = self.wait(pid) != 0
        return not self.swaps

    def knob(self):
        init.write(KNOB, self.random.choice("011"))
        return True

    def debugfs(self):
        for name in ("stats", "summary", "maps"):
            init.read(f"{DEBUGFS}/{name}")
        with open(f"{DEBUGFS}/map", "r+", encoding="ascii") as file:
            if self.random.random() < 0.5:
                file.write(str(os.stat(self.leaf()).st_ino))
                file.flush()
                file.seek(0)
            file.read()
        return True

    # ---- from the beginning to the end

    def has_done(self, step):
        """Taking all memory is for the kill that follows."""
        return self.done[step] and (step != "brink" or self.killed[step])

    def work(self, until, at_last):
        """Returns how often what was done, what was refused, and for what
        processes were killed. Goes on after `until`, but not after `at_last`, if
        there is still something that it has to do."""
        os.mkdir(self.place)
        os.mkdir(self.top)
        if not self.v1:
            init.write(f"{self.top}/cgroup.subtree_control", "+memory")
        os.mkdir(self.eater)
        # One of them takes each step until it was done once, each second time.
        todo = [] if self.number else list(dict.fromkeys(self.steps))
        turn = 0
        while time.monotonic() < (at_last if todo else until):
            turn += 1
            step = self.random.choice(todo if todo and turn % 2 else self.steps)
            try:
                if getattr(self, step)():
                    self.done[step] += 1
            except OSError as error:
                if not is_expected(error):
                    raise
                self.refused[f"{step}: {errno.errorcode[error.errno]}"] += 1
            todo = [name for name in todo if not self.has_done(name)]
        self.clean()
        return {"done": self.done, "refused": self.refused,
                "killed": self.killed}

    def clean(self):
        while self.children:
            self.end()
        while self.pins:
            self.unpin()
        for where in self.mounts:
            init.retry(lambda where=where: init.umount(where))
            os.rmdir(where)
        for name in os.listdir(self.place):
            os.unlink(f"{self.place}/{name}")
        os.rmdir(self.place)
        groups = [self.eater, *self.leaves, *self.inner]
        for path in sorted(groups, key=lambda path: -path.count("/")):
            init.retry(lambda path=path: os.rmdir(path))
