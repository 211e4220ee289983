#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which memory cgroups are removed while something holds
them, in each way that is known: makes them, runs memcg_zombies.py on the running kernel,
prints what it said and what is true, and waits to be dumped.

/dev/vdb is for swap, /dev/vdc has a file system to write to. The last argument says how
cgroups are there: v2, v1, or disabled.
"""

import array
import contextlib
import ctypes
import json
import os
import select
import socket
import struct
import time

from guest import init
from guest.groups import check, settled
from guest.init import CGROUPS, LIBC, PAGE, checked

CLONE_NEWCGROUP = 0x02000000
MS_BIND = 4096
FSOPEN = 430
IO_SETUP, IO_SUBMIT, IOCB_CMD_POLL = 206, 209, 5
ISOLATED_CPU = 1
DISK = "/mnt/disk"
TOOL = ("memcg_zombies.py", "--vmlinux", "/vmlinux")
DUMP_MARK = "MM_RECLAIM_DUMP"
# CONFIG_HZ_1000.
TICK = 0.001
# On one CPU there is room for seven.
STOCKED = 3
LIMIT = 8 << 20


class Made:
    """What was made, and what must be found of it."""

    def __init__(self):
        self.expected = []
        self.kept = []

    def groups(self, name, count):
        """Makes a group with that name, and groups below it one by one: pairs of a number
        and a path."""
        parent = f"{CGROUPS}/{name}"
        os.mkdir(parent)
        if os.path.exists(f"{parent}/cgroup.subtree_control"):
            init.write(f"{parent}/cgroup.subtree_control", "+memory")
        for number in range(count):
            yield number, group(parent, number)

    def hold(self, path, function, *arguments):
        """From inside the group, by what it returns, which stays open here."""
        with inside(path):
            self.kept.append(function(*arguments))

    def remove(self, path, reason, holders, **more):
        """`holders` are pids; 0 if none must be named."""
        exact = os.stat(path).st_mode & 0o777 == 0o700
        before = time.time()
        init.retry(lambda: os.rmdir(path))
        self.expected.append({
            "path": path.removeprefix(CGROUPS), "reason": reason, "holders": holders,
            "removed": [before, time.time()], "exact": exact, **more})


MADE = Made()


def enter(path):
    init.write(f"{path}/cgroup.procs", "0")


def leave():
    init.write(f"{CGROUPS}/cgroup.procs", "0")


def group(parent, number):
    """Each other one has attributes of its own, as those of systemd have."""
    path = f"{parent}/g{number}"
    os.mkdir(path)
    if number % 2:
        os.chmod(path, 0o700)
    return path


@contextlib.contextmanager
def inside(path):
    enter(path)
    try:
        yield
    finally:
        leave()


def child(function, keeps=()):
    """Runs it in a process that then waits to be killed, and is ready when this
    returns. Of the open files, it has only those that it keeps."""
    ready, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            first = 3
            for fd in sorted((tell, *keeps)):
                os.closerange(first, fd)
                first = fd + 1
            os.closerange(first, 1 << 16)
            function()
            os.write(tell, b"x")
            while True:
                time.sleep(1000)
        finally:
            os._exit(1)
    os.close(tell)
    check(os.read(ready, 1) == b"x", f"{function} failed")
    os.close(ready)
    return pid


def reap(pid):
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def wait_for_zombie(pid):
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


# ---- files of processes

def inotify():
    return checked(LIBC.inotify_init1(0), "inotify_init1")


def fanotify():
    return checked(LIBC.fanotify_init(0, os.O_RDONLY), "fanotify_init")


def of_one_process(name, count, function):
    """The process that has them is this one."""
    for number, path in MADE.groups(name, count):
        MADE.hold(path, function, number)
        MADE.remove(path, name, [os.getpid()])


def make_inotify(count):
    of_one_process("inotify", count, lambda _: inotify())


def make_fanotify(count):
    of_one_process("fanotify", count, lambda _: fanotify())


def some_socket(number):
    family, kind = ((socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_STREAM),
                    (socket.AF_INET, socket.SOCK_STREAM),
                    (socket.AF_NETLINK, socket.SOCK_RAW))[number % 4]
    made = socket.socket(family, kind)
    if (family, kind) == (socket.AF_INET, socket.SOCK_STREAM):
        made.listen()
    return made


def make_sockets(count):
    of_one_process("socket", count, some_socket)


def make_shared(count):
    """The instance was inherited by a process that is in another group."""
    for _, path in MADE.groups("shared", count):
        with inside(path):
            fd = inotify()
        pid = child(lambda: None, [fd])
        os.close(fd)
        MADE.remove(path, "inotify", [pid])


def make_in_flight(count):
    """Sent to a socket that nobody reads, and closed."""
    for _, path in MADE.groups("in_flight", count):
        to, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with inside(path):
            fd = inotify()
        to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)
        MADE.kept += [to, other]
        MADE.remove(path, "inotify", [os.getpid()], what="in flight")


def make_unknown(count):
    """Held by a request to wait for an event, on no list that is looked at."""
    context = ctypes.c_ulong()
    checked(LIBC.syscall(IO_SETUP, count, ctypes.byref(context)), "io_setup")
    for _, path in MADE.groups("unknown", count):
        with inside(path):
            fd = inotify()
        # struct iocb: only what is asked for, of which file, and which events.
        request = ctypes.create_string_buffer(
            struct.pack("<16xHhIQ32x", IOCB_CMD_POLL, 0, fd, select.POLLIN), 64)
        checked(LIBC.syscall(IO_SUBMIT, context, 1, ctypes.byref(
            ctypes.c_void_p(ctypes.addressof(request)))), "io_submit")
        os.close(fd)
        MADE.kept.append(request)
        MADE.remove(path, "unexplained", [0])


def make_closed(count):
    """Closed with data that the other end doesn't take: TCP goes on trying."""
    init.loopback_up()
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", 0))
    server.listen(count)
    MADE.kept.append(server)
    for _, path in MADE.groups("closed", count):
        with inside(path):
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            client.connect(server.getsockname())
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    client.send(bytes(1 << 16))
            client.close()
        MADE.remove(path, "socket", [0], what="FIN wait 1")


# ---- memory

def make_swapped(count):
    """A page of tmpfs, swapped out."""
    init.make_swap("/dev/vdb")
    for number, path in MADE.groups("swap", count):
        with inside(path):
            init.write(f"/tmp/swapped{number}", "x" * PAGE)
        swap_out(path)
        MADE.remove(path, "swap", [0], what="vdb")


def swap_out(path):
    for _ in range(100):
        if int(init.read(f"{path}/memory.swap.current")):
            return
        with contextlib.suppress(OSError):
            init.write(f"{path}/memory.reclaim", "1M")
    check(False, f"{path}: nothing was swapped out")


def make_stocked(_count):
    """Charged ahead on a CPU that is isolated: nobody disturbs that to take it back."""
    for _, path in MADE.groups("stock", STOCKED):

        def touch(path=path):
            enter(path)
            os.sched_setaffinity(0, [ISOLATED_CPU])
            MADE.kept.append(bytearray(16 * PAGE))
            os.sched_setaffinity(0, [0])
            leave()

        reap(child(touch))
        MADE.remove(path, "stock", [0], what=f"CPU {ISOLATED_CPU}")


def make_dirty(count):
    """A page that was written, on a file system whose writeback knows memcgs."""
    checked(LIBC.mount(b"/dev/vdc", DISK.encode(), b"ext2", 0, None), DISK)
    init.write("/proc/sys/vm/dirty_writeback_centisecs", "0")
    init.write("/proc/sys/vm/dirty_expire_centisecs", "360000")
    for number, path in MADE.groups("writeback", count):
        with inside(path):
            init.write(f"{DISK}/dirty{number}", "x" * PAGE)
        MADE.remove(path, "writeback", [0], what="dirty inode")


# ---- css_sets

def make_zombies(count):
    for _, path in MADE.groups("task", count):
        pid = os.fork()
        if not pid:
            enter(path)
            os._exit(0)
        wait_for_zombie(pid)
        MADE.remove(path, "task", [pid], what="zombie")


def in_own_namespace(path, then=lambda: None):
    """A process in a cgroup namespace that was made in the group, which it left."""
    def unshare():
        enter(path)
        checked(LIBC.unshare(CLONE_NEWCGROUP), "unshare")
        leave()
        then()
    return child(unshare)


def bind_namespace(pid, number):
    place = f"/tmp/namespace{number}"
    init.write(place, "")
    checked(LIBC.mount(f"/proc/{pid}/ns/cgroup".encode(), place.encode(), None, MS_BIND,
                       None), place)
    return place


def begin_mount():
    """What would mount the namespace's cgroups holds it; the process is elsewhere again."""
    checked(LIBC.syscall(FSOPEN, b"cgroup2", 0), "fsopen")
    with open("/proc/1/ns/cgroup", "rb") as namespace:
        checked(LIBC.setns(namespace.fileno(), CLONE_NEWCGROUP), "setns")


def make_namespaces(count):
    for number, path in MADE.groups("cgroup_namespace", count):
        kind = number % 4
        pid = in_own_namespace(path, begin_mount if kind == 3 else lambda: None)
        holder, what = pid, "is in it"
        if kind == 1:
            holder, what = 0, f"bind mount at {bind_namespace(pid, number)}"
            reap(pid)
        elif kind == 2:
            MADE.kept.append(os.open(f"/proc/{pid}/ns/cgroup", os.O_RDONLY))
            holder, what = os.getpid(), "open"
            reap(pid)
        elif kind == 3:
            holder, what = 0, "nobody that is known"
        MADE.remove(path, "cgroup_namespace", [holder], what=what)


# ---- of the hierarchy

def make_parents(count):
    """Removed with a child that is held."""
    for number, path in MADE.groups("child", count):
        init.write(f"{path}/cgroup.subtree_control", "+memory")
        below = group(path, number)
        MADE.hold(below, inotify)
        MADE.remove(below, "inotify", [os.getpid()])
        MADE.remove(path, "child", [0])


def make_disabled(count):
    """The cgroup stays, only the controller is taken from it."""
    for _, path in MADE.groups("disabled", count):
        MADE.hold(path, inotify)
    before = time.time()
    init.write(f"{CGROUPS}/disabled/cgroup.subtree_control", "-memory")
    for number in range(count):
        MADE.expected.append({
            "path": f"/disabled/g{number}", "reason": "inotify", "holders": [os.getpid()],
            "removed": [before, time.time()], "exact": False, "cgroup_lives": True})


def make_again(count):
    """There is a new one of the same name."""
    for _, path in MADE.groups("again", count):
        MADE.hold(path, inotify)
        MADE.remove(path, "inotify", [os.getpid()], path_in_use=True)
        os.mkdir(path)


# ---- of cgroup v1

def make_waiting(count):
    """A process that nobody kills, and that gets no memory: it waits in the group that it
    was taken from."""
    for _, path in MADE.groups("oom", count):
        init.write(f"{path}/memory.limit_in_bytes", str(LIMIT))
        init.write(f"{path}/memory.oom_control", "1")
        pid = os.fork()
        if not pid:
            os.closerange(3, 1 << 16)
            enter(path)
            MADE.kept.append(b"x" * (2 * LIMIT))
            os._exit(0)
        while "under_oom 1" not in init.read(f"{path}/memory.oom_control"):
            time.sleep(0.05)
        init.write(f"{CGROUPS}/cgroup.procs", str(pid))
        MADE.remove(path, "oom", [pid])


RECIPES = {
    "v2": (make_inotify, make_fanotify, make_sockets, make_shared, make_in_flight, make_closed,
           make_swapped, make_stocked, make_dirty, make_zombies, make_namespaces,
           make_parents, make_disabled, make_again, make_unknown),
    "v1": (make_inotify, make_zombies, make_namespaces, make_waiting)}


# ---- the tool

def said(*options):
    return init.told_by(*TOOL, *options)


def churn():
    """Cgroups and processes that come and go, until it is killed."""
    number = 0
    while True:
        path = group(CGROUPS, number)
        with inside(path):
            fd = inotify()
        init.retry(lambda path=path: os.rmdir(path))
        if not number % 3:
            pid = os.fork()
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
        os.close(fd)
        number += 1


def while_others_come_and_go():
    pid = os.fork()
    if not pid:
        os.closerange(3, 1 << 16)
        churn()
    found = json.loads(said("--json"))
    reap(pid)
    return {"notes": found["notes"], "groups": [
        {key: each[key] for key in ("path", "reasons", "unexplained", "holds", "path_in_use",
                                    "cgroup_lives")}
        for each in found["groups"]]}


def memory_lines():
    """How many groups there are, which changes until each removal has ended."""
    return [line for line in init.read("/proc/cgroups").splitlines() if "memory" in line]


def percpu_of_parents():
    """What each parent is charged for the per-CPU memory of its groups; v1 says nothing."""
    found = {}
    for name in ("inotify", "fanotify", "socket"):
        with contextlib.suppress(FileNotFoundError, KeyError):
            found[name] = init.fields(f"{CGROUPS}/{name}/memory.stat")["percpu"]
    return found


def ticks():
    """Seconds by the kernel's jiffies, less those by its clock. A guest on a busy machine
    loses ticks, and what is only known in jiffies seems younger by that much."""
    for line in init.read("/proc/timer_list").splitlines():
        if line.startswith("jiffies:"):
            return int(line.split()[1]) * TICK - time.time()
    raise init.Failed("/proc/timer_list has no jiffies")


def prepare(version):
    init.mount("tmpfs", "/tmp")
    init.mount("tmpfs", "/mnt")
    os.makedirs(DISK)
    init.mount_groups(version == "v1")
    if version == "v2":
        init.write(f"{CGROUPS}/cgroup.subtree_control", "+io")
        init.write("/proc/sys/user/max_fanotify_groups", "100000")
    init.write("/proc/sys/fs/inotify/max_user_instances", "100000")
    os.sched_setaffinity(0, [0])


def work(count, version):
    prepare(version)
    in_step = ticks()
    for recipe in RECIPES[version]:
        recipe(count)
        print(f"# {recipe.__name__}: {len(MADE.expected)} groups", flush=True)
    settled(memory_lines)
    before = time.time()
    text = said("--json")
    read_at = [before, time.time(), in_step - ticks()]
    found = json.loads(text)
    for each in found["groups"]:
        del each["memory"]
    print(said("--top", "20"))
    return {"expected": MADE.expected, "found": found, "seconds": read_at[1] - before,
            "read_at": read_at, "in_step": in_step, "metrics": said("--prometheus"),
            "percpu": percpu_of_parents(), "busy": while_others_come_and_go(),
            "without_permission": init.run_tool(*TOOL, user=65534)}


def show_and_wait(arguments):
    """Everything must be as it was found when the guest is dumped."""
    count, version = int(arguments[1]), arguments[-1]
    result = {"disabled": init.run_tool(*TOOL)} if version == "disabled" else work(count, version)
    settled(memory_lines)
    result.update(n=count, implementation="rust" if os.path.exists(init.STATS) else "c")
    print("# MM_RECLAIM_JSON " + json.dumps(result))
    lost = result["in_step"] - ticks() if "in_step" in result else 0
    print(DUMP_MARK, time.time(), lost, flush=True)
    time.sleep(3600)
    return result


init.main(show_and_wait)
