# SPDX-License-Identifier: GPL-2.0
"""What a guest must have at the end as at the beginning: our counters, objects
in slab caches, and no group but the root."""

import os
import time

from guest import init
from guest.init import CGROUPS, STATS, Failed

# Exact when nothing changes.
COUNTERS = ("ids", "maps", "units", "tables", "table_bytes", "memcgs_in_excess", "dying",
            "draining", "drained", "memcgs_with_priority")
CACHES = ("mem_cgroup", "mem_cgroup_per_node")
OUR_CACHES = ("shrinker_unit",)


def groups():
    """How many there are beside the root, with those that are dying."""
    if os.path.exists(f"{CGROUPS}/cgroup.stat"):
        stat = init.fields(f"{CGROUPS}/cgroup.stat")
        return sum(stat.get(name, 0) for name in
                   ("nr_descendants", "nr_dying_descendants",
                    "nr_dying_subsys_memory"))
    for line in init.read("/proc/cgroups").splitlines():
        if line.startswith("memory\t"):
            return int(line.split()[2]) - 1
    raise Failed("/proc/cgroups doesn't know the memory controller")


def is_ours():
    """Or else the kernel has the C implementation, and no counters."""
    return os.path.exists(STATS)


def counters():
    found = init.fields(STATS) if is_ours() else {}
    return {name: found[name] for name in COUNTERS if name in found}


def caches():
    """The objects in the slab caches. What each CPU keeps for itself, and what
    KASAN keeps in quarantine, counts as used, so it is given back before."""
    names = CACHES + (OUR_CACHES if is_ours() else ())
    for name in names:
        init.write(f"/sys/kernel/slab/{name}/shrink", "1")
    lines = [line.split() for line in init.read("/proc/slabinfo").splitlines()]
    found = {words[0]: int(words[1]) for words in lines if words[0] in names}
    missing = set(names) - set(found)
    if missing:
        raise Failed(f"/proc/slabinfo lacks {', '.join(sorted(missing))}")
    return found


def unexplained_maps():
    """Bytes of maps that memory.stat has and debugfs does not. Where it lacks them, there is
    cgroup v1."""
    path = f"{CGROUPS}/memory.stat"
    if not is_ours() or not os.path.exists(path):
        return {}
    found = init.fields(path)
    return {"unexplained_maps": found["shrinker_maps"] - init.fields(STATS)["bytes"]
            } if "shrinker_maps" in found else {}


def of_one_moment(read, totals=lambda: init.fields(STATS)):
    """What `read` returns, and the totals: tables that wait for a grace period go meanwhile."""
    for _ in range(20):
        before = totals()
        found = read()
        if totals() == before:
            return found, before
    raise Failed("the totals of the maps change all the time")


def read_state():
    return {**counters(), **unexplained_maps(), **caches(), "groups": groups()}


def wait_for(differences, what, patience):
    """Waits until there are none: frees wait for grace periods, and dying groups
    for the reclaim of what is charged to them."""
    until = time.monotonic() + patience
    while True:
        found = read_state()
        differs = differences(found)
        if not differs:
            return found
        if time.monotonic() > until:
            raise Failed(f"{what}: {differs}")
        init.write("/proc/sys/vm/drop_caches", "3")
        time.sleep(0.2)


def state(patience=20):
    """What settle() takes for normal. Groups leave their count before their
    memory is freed: what is on its way must not be part of it."""
    def unfreed(found):
        # The root has an object, and is no group here.
        expected = {"mem_cgroup": found["groups"] + 1, "unexplained_maps": 0}
        return {name: (number, found[name]) for name, number in expected.items()
                if name in found and found[name] != number}

    return wait_for(unfreed, "groups are not freed (expected, is)", patience)


def settle(before, patience=60):
    """Waits until all is as it was."""
    def differences(found):
        return {name: (was, found[name]) for name, was in before.items()
                if found[name] != was}

    wait_for(differences, "not as before (was, is)", patience)
