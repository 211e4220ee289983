#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which shrinker_map_cost.py meets what it estimates:
groups, each with a file system that was mounted from inside it and has a file."""

import json
import os
import re

from guest import balance, init
from guest.init import CGROUPS, STATS

# Groups for each that was asked for: with few, other objects outweigh the maps.
TIMES = 10
UNITS = re.compile(r"kmalloc-(?:rnd-\d+-)?1k +(\d+)", re.M)
SLAB = "/sys/kernel/slab"


def unit_objects():
    """Objects in the caches where C has its units."""
    for name in os.listdir(SLAB):
        if re.fullmatch(r"kmalloc-(rnd-\d+-)?1k", name):
            init.write(f"{SLAB}/{name}/shrink", "1")
    return sum(map(int, UNITS.findall(init.read("/proc/slabinfo"))))


def fill(number):
    """Joins a new group, and mounts from inside it."""
    group, place = f"{CGROUPS}/g{number}", f"/tmp/m{number}"
    os.mkdir(group)
    init.write(f"{group}/cgroup.procs", "0")
    init.mount("tmpfs", place)
    init.write(f"{place}/file", "")


def cost():
    return json.loads(init.told_by("shrinker_map_cost.py", "--json"))


def totals():
    """What mm_reclaim has to say of them; nothing on stock."""
    if not os.path.exists(STATS):
        return {}
    found = init.fields(STATS)
    return {key: found[key] for key in ("ids", "bytes")}


def work(arguments):
    count = int(arguments[1])
    init.mount_groups()
    before = unit_objects()
    for number in range(TIMES * count):
        fill(number)
    init.write(f"{CGROUPS}/cgroup.procs", "0")
    objects = unit_objects()

    found, stats = balance.of_one_moment(cost, totals)
    # As where nobody is root.
    init.umount("/sys/kernel/debug")
    costs = [found, cost()]
    return {"groups": TIMES * count, "before": before, "objects": objects, "stats": stats,
            "costs": costs}


init.main(work)
