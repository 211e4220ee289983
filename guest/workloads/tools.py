#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows that the tools for users work: makes
cgroups with objects, runs the tools, and prints what they say."""

import json
import os
import pathlib

from guest import init
from guest.groups import Group, wait_until
from guest.priorities import WORST, effective, prioritize

OBJECTS = 3
SYSFS = pathlib.Path("/sys/kernel/mm/mm_reclaim")


def look_up(_hears, group):
    """Leaves the dentries of names that are not there, charged to the group."""
    for number in range(OBJECTS):
        os.path.exists(f"{group.path}/none{number}")


def work(arguments):
    init.mount_groups()
    for group in (Group(f"g{number}") for number in range(int(arguments[1]))):
        group.run(look_up, group)
    idle = Group("idle")
    prioritize(idle, "6 active")
    prioritize(Group("spared"), "6")
    # It counts as active until then, as it has just got its value.
    wait_until(lambda: effective(idle) == WORST, "an empty group stays active")
    return {
        "objects": OBJECTS,
        "maps": json.loads(init.told_by("memcg_shrinker_maps.py", "--json")),
        "table": init.told_by("memcg_shrinker_maps.py", "--sort", "memory").splitlines(),
        "settings": json.loads(init.told_by("memcg_reclaim.py", "--json")),
        "shrinkers": init.told_by("memcg_shrinker.py").splitlines(),
        "sysfs": {path.name: path.read_text() for path in SYSFS.iterdir()},
    }


init.main(work)
