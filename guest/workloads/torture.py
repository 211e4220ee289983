#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that does everything at once, at random, for a
while, then takes all of it away and compares what is left with the beginning.
"""

import collections
import os
import time

from guest import balance, init, leaks
from guest.groups import Process
from guest.init import STATS
from guest.torturer import (
    CPU, KNOB, MAX_MOUNTS, MOST_DURATIONS, SWAP, TOP, Torturer)

# Of what may still be on its way.
TRIES = 20
# How many ids others have. 64 share a unit.
BASE = 60


def torment(_hears, number, options, until):
    # What memory is short for is to be killed, and not this.
    init.write("/proc/self/oom_score_adj", "-1000")
    return Torturer(number, options.seed, options.v1).work(
        until, until + (MOST_DURATIONS - 1) * options.duration)


def collect(torturers, patience):
    """Adds up what they did."""
    total = collections.defaultdict(collections.Counter)
    for torturer in torturers:
        found = torturer.result(patience)
        for name in ("done", "refused", "killed"):
            total[name].update(found[name])
    return total


def take_ids(count):
    """Mounts until so many ids are taken, and returns where. The C implementation
    does not say how many are: each mount takes one."""
    places = []
    while balance.counters().get("ids", len(places)) < count:
        places.append(f"/tmp/taken{len(places)}")
        init.mount("tmpfs", places[-1])
    return places


def discharge(is_v1):
    """What each CPU keeps charged to a group for the next time keeps the group. It is given
    back when the group goes offline, but not while somebody else has all give back theirs: so
    a removed group may keep it, on stock, too. A limit that it exceeds takes it.

    A CPU that went offline before it gave back what it was asked for is not asked again, also
    on stock, but gives back all when it goes offline."""
    limit = "memory.force_empty" if is_v1 else "memory.max"
    removed = balance.groups() - 1
    for _ in range(TRIES):
        for online in "01":
            init.retry(lambda online=online: init.write(CPU, online))
        init.write(f"{TOP}/{limit}", "0")
        if balance.groups() == 1:
            break
        time.sleep(0.1)
    print(f"# {removed} removed groups were there, then {balance.groups() - 1}", flush=True)


def parse(arguments):
    """-n is how many torturers there are."""
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=float, default=60)
    parser.add_argument("--leaks", action="store_true")
    return parser.parse_args(arguments)


def work(arguments):
    options = parse(arguments)
    init.mount_groups(options.v1)
    # What the root gets for so many mounts stays, as it may have objects. Twice
    # as many: a file system that was unmounted may take a moment to go.
    init.take_away(take_ids(BASE + 2 * MAX_MOUNTS * options.n))
    # So that groups have objects of shrinkers of more than one unit.
    take_ids(BASE)
    ours = balance.is_ours()
    if ours:
        init.write(KNOB, "1")
    time.sleep(1)
    before, stats = balance.state(), init.fields(STATS) if ours else {}

    init.make_swap(SWAP)
    init.swapoff(SWAP)
    # From here on without a message for each time.
    init.write("/proc/sys/vm/drop_caches", "4")
    os.mkdir(TOP)
    if not options.v1:
        init.write(f"{TOP}/cgroup.subtree_control", "+memory")
    print(f"# {before}", flush=True)
    until = time.monotonic() + options.duration
    torturers = [Process(None, torment, (i, options, until)) for i in range(options.n)]
    total = collect(torturers, options.duration * MOST_DURATIONS + 300)
    print(f"# {time.monotonic() - until:.1f} s after the duration, now clean up", flush=True)
    # Not before: what the limited groups have in swap could not come back.
    if SWAP in init.read("/proc/swaps"):
        init.swapoff(SWAP)
    discharge(options.v1)
    init.retry(lambda: os.rmdir(TOP))
    balance.settle(before)
    if options.leaks:
        leaks.check()
    after = init.fields(STATS) if ours else {}
    return {
        "seed": options.seed, **total,
        "balance": before,
        "counted": {name: after[name] - stats[name] for name in after},
        "swapped": init.fields("/proc/vmstat")["pswpout"],
    }


init.main(work)
