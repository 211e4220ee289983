#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which groups are removed while something still
refers to them, and what they keep is measured."""

import contextlib
import errno
import os
import resource
import signal
import time

from guest import balance, init
from guest.groups import Group, check, stat, wait_until
from guest.init import CGROUPS, LIBC, PAGE, checked

SWAP = "/dev/vda"
PLACE = "/tmp/shared"
# How long the kernel may take to give back what it can.
SETTLE = 120
# What is running at a time, of jobs.
JOBS = 50
# Containers whose health is checked in turn, and prctl()'s number.
CONTAINERS = 10
PR_SET_CHILD_SUBREAPER = 36
# Containers that come and go before what they left has been looked at: one takes a second
# on most hosts, and the kernel waits for about as long.
PACE = 20
# Of groups that nothing keeps: where they may begin to be flat, and how often that is
# looked at.
FIRST, EVERY = 100, 1000


# ---- what keeps a group

class Inotify:
    """A descriptor of inotify, made in the group by somebody who leaks it."""

    def __init__(self, most):
        init.write("/proc/sys/fs/inotify/max_user_instances", str(most + 16))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most + 64, most + 64))
        self.files = []

    def pin(self, group):
        with group.inside():
            self.files.append(checked(LIBC.inotify_init1(0), "inotify_init1"))

    def release(self):
        for file in self.files:
            os.close(file)


class Swapped:
    """A page of a tmpfs that others have, too, in swap."""

    def __init__(self, _most):
        init.make_swap(SWAP)
        init.mount("tmpfs", PLACE)
        self.nr = 0

    def share(self, _hears):
        with open(f"{PLACE}/{self.nr}", "wb") as file:
            file.write(bytes(PAGE))

    def pin(self, group):
        self.nr += 1
        # Not this process: a page of its own would be swapped out, too, and stay.
        group.run(self.share)
        # It says that it could not have all that.
        with contextlib.suppress(OSError):
            group.write("memory.reclaim", "1M")
        swapped = int(group.read("memory.swap.current"))
        check(swapped == PAGE, f"{swapped} bytes of a group are in swap, not {PAGE}")

    def release(self):
        init.umount(PLACE)


class Unreaped:
    """A process that has ended, and whose parent does not care."""

    def __init__(self, _most):
        self.pids = []

    def pin(self, group):
        pid = os.fork()
        if not pid:
            group.write("cgroup.procs", "0")
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.pids.append(pid)

    def release(self):
        for pid in self.pids:
            os.waitpid(pid, 0)


def first_process(hears, says):
    """Of a container: starts its checks, and waits for nothing else."""
    checked(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
    for path in os.fdopen(hears):
        pid = os.fork()
        if not pid:
            init.write(f"{path.rstrip()}/cgroup.procs", "0")
            os.fork()
            os._exit(0)
        os.waitpid(pid, 0)
        os.write(says, b".")


class Health:
    """What the checks of some containers have started: the containers' first processes
    inherit it, and do not wait for it."""

    def __init__(self, _most):
        self.containers = []
        self.nr = 0
        for _ in range(CONTAINERS):
            hears, tells = os.pipe()
            told, says = os.pipe()
            pid = os.fork()
            if not pid:
                first_process(hears, says)
                os._exit(0)
            self.containers.append((pid, tells, told))

    def pin(self, group):
        _, tells, told = self.containers[self.nr % CONTAINERS]
        self.nr += 1
        os.write(tells, f"{group.path}\n".encode())
        check(os.read(told, 1), "the first process of a container ended")

    def release(self):
        for pid, _, _ in self.containers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        # They are the children of the guest's first process now, which this one is.
        for _ in range(self.nr):
            os.wait()


PINS = {"inotify": Inotify, "swapped": Swapped, "unreaped": Unreaped, "health": Health}


# ---- what the kernel keeps

def dying(parent):
    return init.fields(f"{parent.path}/cgroup.stat")["nr_dying_descendants"]


def sample(parent):
    """Bytes: what is charged to the parent, and what the machine has."""
    info = init.fields("/proc/meminfo")
    charged = init.fields(f"{parent.path}/memory.stat")
    return {"percpu": charged["percpu"], "slab": charged["slab_unreclaimable"],
            "all_percpu": info["Percpu:"] * 1024,
            "all_slab": info["SUnreclaim:"] * 1024}


def settle(parent):
    """Until nothing changes for three seconds, and no removed group has anything left to
    give back. Returns what there is then."""
    keep_pace(parent)
    last, same = None, 0
    for _ in range(SETTLE * 2):
        time.sleep(0.5)
        now = (dying(parent), sample(parent)["percpu"], stat("draining"))
        same = same + 1 if now == last else 0
        last = now
        if same == 6:
            return sample(parent)
    raise init.Failed("what removed groups keep does not settle")


def settles(condition, what):
    wait_until(condition, what,
               lambda: f"; of {stat('dying')}, {stat('drained')} are drained")


def keep_pace(parent):
    """Waits until no removed group has anything left to give back, however slow the machine
    is; not on stock, which keeps all."""
    settles(lambda: not balance.is_ours() or stat("drained") == dying(parent),
            "removed groups are not drained")


def kept_by(before, after, name):
    return {f"{key}_{name}": [after[key] - before[key]] for key in before}


def make_parent():
    parent = Group("parent")
    parent.write("cgroup.subtree_control", "+memory")
    return parent


def begin(options, most):
    """With what only the first group allocates."""
    parent = make_parent()
    pins = PINS[options.pin](most)
    first = Group("first", parent=parent)
    pins.pin(first)
    return parent, pins, first, settle(parent)


def end(parent, pins, base):
    """Nothing may be left of them."""
    pins.release()
    settles(lambda: not dying(parent), "groups are dying, of none")
    return kept_by(base, settle(parent), "gone")


# ---- workloads

def pinned(options):
    """Groups that stay when they are removed."""
    parent, pins, first, base = begin(options, options.n)
    groups = [Group(f"g{number}", parent=parent) for number in range(options.n)]
    for group in groups:
        pins.pin(group)
    full = sample(parent)
    for group in groups:
        group.remove()
    kept = settle(parent)
    found = dying(parent)
    said = init.fields(f"{parent.path}/memory.stat")
    first.remove()
    return {"dying": [found], "drained": [said.get("drained_memcgs", 0)],
            **kept_by(base, full, "alive"), **kept_by(base, kept, "dying"),
            **end(parent, pins, base)}


def runs(options):
    """Containers, one after the other, each of which leaves a group behind; three
    times."""
    parent, pins, first, base = begin(options, 3 * options.n)
    found = {}
    before = base
    for turn in range(3):
        for number in range(options.n):
            group = Group(f"g{turn}.{number}", parent=parent)
            pins.pin(group)
            group.remove()
            if number % PACE == PACE - 1:
                keep_pace(parent)
        after = settle(parent)
        for key, values in kept_by(before, after, "grown").items():
            found.setdefault(key, []).extend(values)
        before = after
    found["dying"] = [dying(parent)]
    first.remove()
    return {**found, **end(parent, pins, base)}


def jobs(options):
    """Jobs that cron starts, JOBS at a time, in fast motion."""
    parent, pins, first, base = begin(options, options.n)
    for turn in range(options.n // JOBS):
        groups = [Group(f"job{turn}.{number}", parent=parent) for number in range(JOBS)]
        for group in groups:
            pins.pin(group)
        for group in groups:
            group.remove()
        time.sleep(0.5)
    kept = settle(parent)
    found = dying(parent)
    first.remove()
    return {"dying": [found], **kept_by(base, kept, "dying"), **end(parent, pins, base)}


def freed(options):
    """Groups that nothing keeps."""
    parent = make_parent()
    samples = []
    for number in range(1, options.n + 1):
        Group("g", parent=parent).remove()
        if number == FIRST or number % EVERY == 0:
            settles(lambda: not dying(parent), "groups are dying, of none")
            samples.append(settle(parent))
    return {key: [each[key] - samples[0][key] for each in samples[1:]] for key in samples[0]}


def leave(nr):
    """Makes groups that stay when they are removed. Returns who keeps them, when they have
    given back what they can."""
    pins = Inotify(nr)
    for number in range(nr):
        group = Group(f"g{number}")
        pins.pin(group)
        group.remove()
    settles(lambda: stat("drained") == nr, "removed groups are not drained")
    return pins


def release(pins):
    pins.release()
    settles(lambda: not balance.groups(), "groups are dying, of none")


def has_memory(where):
    """Whether version 2, mounted there, has the controller."""
    return "memory" in init.read(f"{where}/cgroup.controllers").split()


def remounted(options):
    """Removed groups, and the other version of cgroups, which wants the controller: it has
    to wait until they are gone. Each version drains them."""
    other = "/tmp/other"
    pins = leave(options.n)
    try:
        init.mount("cgroup", other, "memory")
    except OSError as error:
        check(error.errno == errno.EBUSY, f"version 1 fails with {error}")
    else:
        raise init.Failed("version 1 has the controller while groups are dying")
    release(pins)
    init.umount(CGROUPS)
    init.retry(lambda: init.mount("cgroup", CGROUPS, "memory"))

    pins = leave(options.n)
    release(pins)
    init.mount("cgroup2", other)
    init.umount(CGROUPS)
    settles(lambda: has_memory(other), "version 2 does not get the controller back")

    init.umount(other)
    init.mount_groups()
    release(leave(options.n))
    return {}


WORKLOADS = {function.__name__: function
             for function in (pinned, runs, jobs, freed, remounted)}


def parse(arguments):
    parser = init.parser()
    parser.add_argument("--pin", choices=PINS, default="inotify")
    parser.add_argument("workload", choices=WORKLOADS)
    return parser.parse_args(arguments)


def work(arguments):
    options = parse(arguments)
    init.mount_groups()
    series = WORKLOADS[options.workload](options)
    check(not init.oom_kills(), "a process was killed: memory is too short")
    return {"series": series}


init.main(work)
