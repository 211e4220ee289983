#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which files are used at random while their page cache goes to a
pool that is too small for it, and comes back; and what was written must be there."""

import errno
import os
import random
import time

from guest import init
from guest.groups import MIB, Process, check, drop_caches, memory, wait_until, was_told
from guest.init import PAGE
from guest.memory import add_lru_option, available, eat, use_lru
from guest.retained.files import FILES, SPLIT, add_file_system_option, mount_files
from guest.retained.leaks import expect_nothing_left, read_counters
from guest.retained.model import FileModel, visit
from guest.retained.pool import POOL, counter, limited, make_pool

LIMIT = 16 * MIB
# Of each file; the pool has room for some of all.
SIZE = 32 * MIB
CAP = 32 * MIB
# Operations between two moves to another group.
STEPS = 20
# Files, each with one who writes to it, and who only look at them.
USERS, VISITORS = 3, 2


def use_files(hears, number, seed, paths):
    """Uses a file, now as one group and then as another one."""
    model = FileModel(f"{FILES}/file{number}", SIZE // PAGE, f"{seed} {number}")
    count = 0
    while not was_told(hears):
        init.write(f"{paths[count % len(paths)]}/cgroup.procs", "0")
        for _ in range(STEPS):
            model.step()
        count += 1
    model.close()
    return {"counts": model.counts}


def visit_files(hears, seed, paths):
    """Looks at all files, of which others have one each, now as one group and then as another."""
    chance, count = random.Random(seed), 0
    while not was_told(hears):
        init.write(f"{paths[count % len(paths)]}/cgroup.procs", "0")
        for _ in range(STEPS):
            visit(f"{FILES}/file{chance.randrange(USERS)}", SIZE // PAGE, chance)
        count += 1
    return {"count": count}


def disturb(hears, pool, seed):
    """What may come at any time: no caches, moved and split folios, no pool, no memory. All of
    that before it ends."""
    chance = random.Random(seed)
    events = (drop_caches, compact, split, lambda: toggle(pool), starve)
    rounds = 0
    while not rounds or not was_told(hears):
        for event in chance.sample(events, len(events)):
            time.sleep(chance.random())
            event()
        rounds += 1
        print(f"# {rounds} rounds of disturbances", flush=True)
    return {"rounds": rounds}


def compact():
    init.write("/proc/sys/vm/compact_memory", "1")


def split():
    init.write(SPLIT, f"{FILES}/file0,0x0,{SIZE // PAGE:#x},0")


def toggle(pool):
    try:
        init.write(f"{pool}/{POOL}", "0")
    except OSError as error:
        # Somebody is using some of it.
        check(error.errno == errno.EAGAIN, f"a pool can't be ended: {error}")
    init.write(f"{pool}/{POOL}", "1")


def starve():
    """So that half of the page cache has to go; more may not be there."""
    stat = init.fields("/proc/vmstat")
    cached = (stat["nr_active_file"] + stat["nr_inactive_file"]) * PAGE
    eat(None, max(available() - memory() // 20, 0) + cached // 2, 0)


def work(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    add_lru_option(parser)
    add_file_system_option(parser)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    init.mount_groups(options.v1)
    use_lru(options.lru)
    seed = options.seed or int.from_bytes(os.urandom(4), "little")
    print(f"# seed {seed}", flush=True)

    before = read_counters()
    mount_files(options.file_system)
    pool = make_pool(CAP)
    groups = [limited(f"g{i}", size=LIMIT) for i in range(USERS)]
    paths = [group.path for group in groups]
    users = [Process(None, use_files, (i, seed, paths[i:] + paths[:i])) for i in range(USERS)]
    wait_until(lambda: all(os.path.exists(f"{FILES}/file{i}") for i in range(USERS)),
               "there are no files")
    visitors = [Process(None, visit_files, (f"{seed} {i}", paths)) for i in range(VISITORS)]
    disturbing = Process(None, disturb, (pool.path, seed))
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        check(not any(process.ended() for process in (*users, *visitors, disturbing)),
              "a process ended too early")
        time.sleep(0.5)
    print("# it ends", flush=True)
    rounds = disturbing.result()["rounds"]
    for process in visitors:
        check(process.result()["count"], "nobody else looks at the files")
    counts = {}
    for process in users:
        for name, count in process.result()["counts"].items():
            counts[name] = counts.get(name, 0) + count
    found = {name: sum(counter(group, name) for group in groups) for name in ("kept", "hit")}
    found["evicted"] = counter(pool, "evicted")
    check(all(found.values()), f"nothing was kept, or used, or evicted: {found}")
    expect_nothing_left(before)
    return {"seed": seed, "counts": counts, "disturbances": rounds, "pages": found}


init.main(work)
