#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows that the tools for users work: makes
cgroups with objects, runs the tools, and prints what they say."""

import json
import os
import pathlib

from guest import init
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


def totals():
    """What the kernel says of one moment: tables that wait for a grace period go meanwhile."""
    for _ in range(20):
        before = init.fields(init.STATS)
        found = {"summary": init.read("/sys/kernel/debug/mm_reclaim/summary"),
                 "vmstat": init.fields("/proc/vmstat"), "stats": init.fields(init.STATS)}
        if found["stats"] == before:
            return found
    raise init.Failed("the totals of the maps change all the time")


def has_all(stats):
    """Whether small changes, which wait for others or a timer, have come to memory.stat."""
    return init.fields(f"{init.CGROUPS}/memory.stat")["shrinker_maps"] == stats["bytes"]


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
    wait_until(lambda: has_all(init.fields(init.STATS)), "memory.stat lacks maps")
    found |= {
        "objects": OBJECTS,
        "maps": json.loads(init.told_by("memcg_shrinker_maps.py", "--json")),
        "table": init.told_by("memcg_shrinker_maps.py", "--sort", "memory").splitlines(),
        "settings": json.loads(init.told_by("memcg_reclaim.py", "--json")),
        "shrinkers": init.told_by("memcg_shrinker.py").splitlines(),
        "sysfs": {path.name: path.read_text() for path in SYSFS.iterdir()},
        **totals(),
    }
    init.umount("/sys/kernel/debug")
    return {**found, "without_debugfs": json.loads(
        init.told_by("memcg_shrinker_maps.py", "--no-objects", "--json"))}


init.main(work)
