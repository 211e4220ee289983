#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows that the tools for users work: makes
cgroups with objects, runs the tools, and prints what they say."""

import json
import os
import pathlib

from guest import balance, init
from guest.groups import TRACING, Group, drop_caches, mount_tracing, wait_until
from guest.priorities import WORST, effective, prioritize

OBJECTS = 3
SYSFS = pathlib.Path("/sys/kernel/mm/mm_reclaim")
EVENTS = f"{TRACING}/events/mm_reclaim"
NAMES = ("mm_reclaim_install", "mm_reclaim_list", "mm_reclaim_walk")


def look_up(_hears, group):
    """Leaves the dentries of names that are not there, charged to the group."""
    for number in range(OBJECTS):
        os.path.exists(f"{group.path}/none{number}")


def traced():
    """The lines of each tracepoint that name a cgroup which gets objects and loses them."""
    mount_tracing()
    init.write(f"{EVENTS}/enable", "1")
    group = Group("traced")
    group.run(look_up, group)
    drop_caches()
    init.write(f"{EVENTS}/enable", "0")
    wanted = f"memcg_id={os.stat(group.path).st_ino} "
    lines = [line for line in init.read(f"{TRACING}/trace").splitlines() if wanted in line]
    return {name: [line for line in lines if f" {name}: " in line] for name in NAMES}


def said_by_kernel():
    return {"summary": init.read(f"{init.DEBUGFS}/summary"),
            "vmstat": init.fields("/proc/vmstat")}


def work(arguments):
    init.mount_groups()
    for group in (Group(f"g{number}") for number in range(int(arguments[1]))):
        group.run(look_up, group)
    idle = Group("idle")
    prioritize(idle, "6 active")
    prioritize(Group("spared"), "6")
    # It counts as active until then, as it has just got its value.
    wait_until(lambda: effective(idle) == WORST, "an empty group stays active")
    found = {"traced": traced()}
    # Small changes wait for others, or a timer, before they come to memory.stat.
    wait_until(lambda: balance.unexplained_maps() == {"unexplained_maps": 0},
               "memory.stat lacks maps")
    said, stats = balance.of_one_moment(said_by_kernel)
    found |= {
        "objects": OBJECTS,
        "maps": json.loads(init.told_by("memcg_shrinker_maps.py", "--json")),
        "table": init.told_by("memcg_shrinker_maps.py", "--sort", "memory").splitlines(),
        "settings": json.loads(init.told_by("memcg_reclaim.py", "--json")),
        "shrinkers": init.told_by("memcg_shrinker.py").splitlines(),
        "sysfs": {path.name: path.read_text() for path in SYSFS.iterdir()},
        "stats": stats,
        **said,
    }
    init.umount("/sys/kernel/debug")
    return {**found, "without_debugfs": json.loads(
        init.told_by("memcg_shrinker_maps.py", "--no-objects", "--json"))}


init.main(work)
