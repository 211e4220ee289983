#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that does everything at once, at random, for a
while, then takes all of it away and compares what is left with the beginning.
"""

import collections
import json
import os
import select
import time
import traceback

from guest import balance, init, leaks
from guest.init import STATS, Failed
from guest.torturer import KNOB, MAX_MOUNTS, MOST_DURATIONS, TOP, Torturer

# How many ids others have. 64 share a unit.
BASE = 60


def start(number, options, until):
    """Returns the process of a torturer, and the pipe its result comes from."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        return pid, reads
    status = 1
    try:
        # What memory is short for is to be killed, and not this.
        init.write("/proc/self/oom_score_adj", "-1000")
        found = Torturer(number, options.seed, options.v1).work(
            until, until + (MOST_DURATIONS - 1) * options.duration)
        os.write(writes, json.dumps(found).encode())
        status = 0
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
    os._exit(status)


def collect(torturers, patience):
    """Adds up what they did."""
    total = collections.defaultdict(collections.Counter)
    for pid, reads in torturers:
        if not select.select([reads], [], [], patience)[0]:
            raise Failed("a torturer does not end")
        with os.fdopen(reads, "rb") as pipe:
            said = pipe.read()
        if os.waitpid(pid, 0)[1] or not said:
            raise Failed("a torturer failed, see above")
        found = json.loads(said)
        for name, counts in found.items():
            total[name].update(counts)
    return total


def take_ids(count):
    """Mounts until so many ids are taken, and returns where. The C implementation
    does not say how many are: each mount takes one."""
    places = []
    while balance.counters().get("ids", len(places)) < count:
        places.append(f"/tmp/taken{len(places)}")
        init.mount("tmpfs", places[-1])
    return places


def give_back(places):
    for place in places:
        init.umount(place)
        os.rmdir(place)


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
    give_back(take_ids(BASE + 2 * MAX_MOUNTS * options.n))
    # So that groups have objects of shrinkers of more than one unit.
    take_ids(BASE)
    ours = balance.is_ours()
    if ours:
        init.write(KNOB, "1")
    time.sleep(1)
    before, stats = balance.state(), init.fields(STATS) if ours else {}

    # From here on without a message for each time.
    init.write("/proc/sys/vm/drop_caches", "4")
    os.mkdir(TOP)
    if not options.v1:
        init.write(f"{TOP}/cgroup.subtree_control", "+memory")
    print(f"# {before}", flush=True)
    until = time.monotonic() + options.duration
    torturers = [start(i, options, until) for i in range(options.n)]
    total = collect(torturers, options.duration * MOST_DURATIONS + 300)
    print(f"# {time.monotonic() - until:.1f} s after the duration, now clean up", flush=True)
    init.retry(lambda: os.rmdir(TOP))
    balance.settle(before)
    if options.leaks:
        leaks.check()
    after = init.fields(STATS) if ours else {}
    return {
        "cgroup": "v1" if options.v1 else "v2", "seed": options.seed, **total,
        "balance": before,
        "counted": {name: after[name] - stats[name] for name in after},
        "oom_kills": init.fields("/proc/vmstat").get("oom_kill", 0),
    }


init.main(work)
