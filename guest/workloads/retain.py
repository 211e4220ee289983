#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows what page cache does which outlives limits: runs one of
WORKLOADS, and prints what it measured. guest/workloads/retain_checks.py checks it.

The disks are those of bench/retain.py.
"""

import os
import time

from guest import init
from guest.groups import MIB, Group, check, part, was_told
from guest.init import PAGE
from guest.memory import add_lru_option, burst, eat, use_lru
from guest.retained.files import (
    FILES, bytes_read, cached_pages, given_file, make_file, mount_files, read_file, read_on,
    read_plainly, set_read_ahead)
from guest.retained.pool import KNOB, LIMIT, counter, limited, make_pool, peak

STEP = 0.1


def retains(options):
    """Whether there is a pool: not on stock, nor if it shall be without."""
    probe = Group("probe")
    try:
        return options.retain and os.path.exists(f"{probe.path}/{KNOB}")
    finally:
        probe.remove()


def prepare(options, cap=None):
    """The pool, or None, and the group with the limit."""
    if not retains(options):
        return None, limited(setting=None)
    return make_pool(cap), limited()


def setting_of(pool):
    """Of those beside the first group."""
    return "1" if pool else None


def vm():
    found = init.fields("/proc/vmstat")
    result = {name: found[name] for name in ("pgscan_direct", "pgscan_kswapd")}
    result["allocstall"] = sum(value for name, value in found.items()
                               if name.startswith("allocstall"))
    return result


def counted(before, after):
    return {name: [after[name] - before[name]] for name in after}


def free():
    return int(init.fields("/proc/vmstat")["nr_free_pages"]) * PAGE


class Samples:
    """What the group, the pool and nobody have, over time."""

    def __init__(self, pool, group):
        self.pool, self.group, self.start = pool, group, time.monotonic()
        self.found = []

    def take(self):
        self.found.append((round(time.monotonic() - self.start, 2), self.group.usage(),
                           self.pool.usage() if self.pool else 0, free()))

    def until(self, process):
        """Takes some until it has ended; returns what it says."""
        while not process.ended():
            self.take()
            time.sleep(STEP)
        return process.result()


def twice(options):
    """A file that is larger than the limit is read again."""
    size = options.size * MIB
    path = given_file("file", size)
    pool, group = prepare(options, size * 5 // 4)
    samples, found = Samples(pool, group), {}
    for name in ("first", "second", "third"):
        before = bytes_read()
        result = samples.until(group.start(read_plainly, path))
        found[name] = [result["elapsed"] * 1e6]
        found[f"{name}_system"] = [result["system"] * 1e6]
        found[f"{name}_bytes"] = [bytes_read() - before]
    found["peak"] = [peak(group)]
    # From a disk, it takes as long again.
    if pool:
        group.run(read_file, path)
    return found, samples.found


def shared(options):
    """A second container begins with what the first one has read."""
    size = options.size * MIB
    path = given_file("file", size)
    pool, group = prepare(options, size * 5 // 4)
    group.run(read_plainly, path)
    other = limited("other", setting_of(pool))
    cached, before, samples = cached_pages(path), bytes_read(), Samples(pool, other)
    result = samples.until(other.start(read_plainly, path))
    found = {"second": [result["elapsed"] * 1e6], "second_bytes": [bytes_read() - before],
             "cached": [cached * PAGE], "peak": [peak(other)]}
    if pool:
        other.run(read_file, path)
    return found, samples.found


def flood(hears):
    """As dd does."""
    data, count = bytes(MIB), 0
    with open(f"{FILES}/flood", "wb", buffering=0) as file:
        while not was_told(hears):
            for _ in range(16):
                file.write(data)
            count += 16
            file.seek(file.tell() % (1024 * MIB))
    return {"written": count * MIB}


def update(hears):
    """Small files that replace others, as when packages are installed."""
    count, data = 0, bytes(48 << 10)
    while not was_told(hears):
        path = f"{FILES}/package{count % 500}"
        with open(f"{path}.new", "wb", buffering=0) as file:
            file.write(data)
            if not count % 50:
                os.fsync(file.fileno())
        os.rename(f"{path}.new", path)
        count += 1
    return {"files": count}


def decide(options):
    """A group that is protected wants half of memory at once, of which the pool has most, or
    nobody; beside others that fill their limit, and so the pool, if there is one."""
    size, wanted = part(75), part(50)
    path = given_file("file", size)
    pool, group = prepare(options, size)
    group.run(read_file, path)
    if pool:
        check(pool.usage() > size * 7 // 8, f"the pool has {pool.usage()} of {size} bytes")
    found = {"pooled": [pool.usage() if pool else 0], "free": [free()]}
    others = [limited("flood", setting_of(pool)), limited("update", setting_of(pool))]
    working = [others[0].start(flood), others[1].start(update)]
    protected = Group("protected")
    protected.write("memory.low", wanted * 17 // 16)
    time.sleep(1)
    before, kept, samples = vm(), kept_of(others), Samples(pool, protected)
    result = samples.until(protected.start(burst, wanted))
    found.update({name: [value] for name, value in result.items()})
    found.update(counted(before, vm()))
    found["kept"] = [kept_of(others) - kept]
    for process in working:
        found.update({name: [value] for name, value in process.result().items()
                      if name in ("files", "written")})
    return found, samples.found


def kept_of(groups):
    return sum(counter(group, "kept") for group in groups)


def bystander(options):
    """A third group that has all of its file, and did not ask for anything, while the pool fills
    and somebody wants more than is free."""
    large, own = given_file("file", part(40)), make_file("own", LIMIT * 3 // 5)
    pool, group = prepare(options, part(80))
    third = limited("third", setting=None)
    for who, path in ((group, large), (third, own)):
        who.run(read_file, path)
    before = init.fields(f"{third.path}/memory.stat")
    samples = Samples(pool, third)
    reading = [who.start(read_on, path) for who, path in ((group, large), (third, own))]
    samples.until(Group("hungry").start(lambda _: eat(None, part(65), 0.02)))
    for process in reading:
        process.result()
    after = init.fields(f"{third.path}/memory.stat")
    return {**{name: [after[name] - before[name]]
               for name in ("workingset_refault_file", "workingset_activate_file", "pgscan",
                            "pgsteal")},
            "evicted": [counter(pool, "evicted") * PAGE if pool else 0]}, samples.found


def system_time():
    """Of all CPUs, in seconds."""
    with open("/proc/stat", encoding="ascii") as file:
        # user, nice, system, idle, iowait, irq, softirq
        words = file.readline().split()[1:]
    return sum(int(words[i]) for i in (2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def once(options):
    """Nothing is gained: what is read is not read again, as all that was read before."""
    size, names = options.size * MIB, ("kept", "refused_unused", "hit")
    path = given_file("file", size)
    pool, group = prepare(options, size // 4)
    samples = Samples(pool, group)
    group.run(read_file, path)
    path = given_file("other", size)
    before, events = system_time(), [counter(group, name) for name in names]
    samples.until(group.start(read_plainly, path))
    return {"system": [(system_time() - before) * 1e6],
            "pool_peak": [peak(pool) if pool else 0],
            **{name: [counter(group, name) - event] for name, event in zip(names, events)}
            }, samples.found


WORKLOADS = {function.__name__: function
             for function in (twice, shared, decide, bystander, once)}


def work(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    add_lru_option(parser)
    parser.add_argument("--retain", action="store_true")
    parser.add_argument("--slow", action="store_true", help="the slower disk")
    parser.add_argument("--size", type=int, default=1024, metavar="MIB")
    parser.add_argument("workload", choices=WORKLOADS)
    options = parser.parse_args(arguments)
    init.mount_groups(options.v1)
    use_lru(options.lru)
    disk = "/dev/vdc" if options.slow else "/dev/vdb"
    set_read_ahead(disk)
    mount_files("ext4", disk)
    found, samples = WORKLOADS[options.workload](options)
    return {"series": found, "samples": samples}


init.main(work)
