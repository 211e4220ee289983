#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which objects come to lists of groups and go, with
their groups, too, while others count and reclaim them.

The objects are dentries in the folders of cgroups, most of names that are not there.
"""

import itertools
import os
import time

from guest import balance, init
from guest.groups import Group, stat
from guest.init import CGROUPS

DROP = "/proc/sys/vm/drop_caches"
# Names looked up between two looks at the time.
MANY = 20


def look_up(folder):
    for i in range(MANY):
        os.path.exists(f"{folder}/none.{os.getpid()}.{i}")


def until(end, step):
    """Returns how often it was done."""
    for count in itertools.count():
        if time.monotonic() >= end:
            return {"steps": count}
        step(count)


def add(_, group, end):
    """Each time in a folder that is new, as a name is looked up only once. One of the
    objects is in use, and leaves its list when somebody wants to reclaim it."""
    def step(count):
        folder = f"{group.path}/{os.getpid()}.{count}"
        os.mkdir(folder)
        os.stat(f"{folder}/cgroup.procs")
        with open(f"{folder}/cgroup.procs", encoding="ascii"):
            look_up(folder)
        init.retry(lambda: os.rmdir(folder))

    return until(end, step)


def leave(end):
    """Leaves objects to the parent of a group that goes."""
    def step(count):
        group = Group(f"gone.{count}")
        group.run(lambda _: look_up(CGROUPS))
        group.remove()

    return until(end, step)


def shrink(_, end):
    return until(end, lambda _: init.write(DROP, "2"))


def work(arguments):
    """-n is how many processes of each kind there are."""
    parser = init.parser()
    parser.add_argument("--duration", type=float, default=60)
    options = parser.parse_args(arguments)
    init.mount_groups()
    visited = stat("bits_visited")
    # No message of each, which might come between the lines of a report.
    init.write(DROP, "4")
    end = time.monotonic() + options.duration
    group, other = Group("objects"), Group("others")
    adding = [group.start(add, group, end) for _ in range(options.n)]
    shrinking = [other.start(shrink, end) for _ in range(options.n)]
    left = leave(end)["steps"]
    added, shrunk = (sum(process.result()["steps"] for process in processes)
                     for processes in (adding, shrinking))
    group.remove()
    other.remove()
    if not (added and left and shrunk):
        raise init.Failed("one kind of process did nothing")
    if balance.is_ours() and stat("bits_visited") - visited < left:
        raise init.Failed("the objects were on no list that reclaim visits")
    return {"added": added * MANY, "groups_gone": left, "shrunk": shrunk}


init.main(work)
