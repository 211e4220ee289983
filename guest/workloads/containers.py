#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that has many containers: runs one of WORKLOADS, and prints what
it measured. The disks are those of bench/containers.py.
"""

import os
import statistics
import time

from guest import init
from guest.containers import (
    BUSY, NONE, NR_MOUNTS, PAGES, READS, STATES, Container, start_many, use_all)
from guest.groups import MIB, Group, drop_caches
from guest.init import PAGE
from guest.memory import DISK, add_lru_option, burst, read_part, use_lru
from guest.retained.files import FILES, mount_files

IMAGE = f"{FILES}/image"
FILES_DISK = "/dev/vdb"
# Page cache of a container that is not idle.
KIB = 64
# Of a process, by its id: what it used, as the scheduler counts it. See clock_getcpuclockid(3).
CPUCLOCK_SCHED = 2


def cpu_time(pid):
    """In us."""
    return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED) / 1e3


def kswapds():
    """The processes that reclaim in the background, one for each node."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if init.read(f"/proc/{name}/comm").startswith("kswapd"):
                    found.append(int(name))
            except OSError:
                # It ended meanwhile.
                continue
    return found


class Usage:
    """What reclaim does, from when this is made."""

    def __init__(self):
        self.background = kswapds()
        self.before = self.now()

    def now(self):
        vm = init.fields("/proc/vmstat")
        return {
            "kswapd": sum(cpu_time(pid) for pid in self.background),
            "taken": (vm["pgsteal_kswapd"] + vm["pgsteal_direct"]) * PAGE,
            "taken_directly": vm["pgsteal_direct"] * PAGE,
            "scanned": (vm["pgscan_kswapd"] + vm["pgscan_direct"]) * PAGE,
            "slabs": vm["slabs_scanned"],
            "stalls": sum(value for name, value in vm.items()
                          if name.startswith("allocstall_"))}

    def found(self):
        after = self.now()
        return {name: [after[name] - before] for name, before in self.before.items()}


def quantiles(times):
    times = sorted(times)
    return {"p50": [statistics.median(times)], "p99": [times[len(times) * 99 // 100]]}


def reclaim(options):
    """Somebody reads as much as there is memory, while another one wants some: beside no
    containers, idle ones, or ones that have page cache and dentries again each time."""
    containers, found = [], {}
    front, reader = Group("front"), Group("reader")
    # Free memory is in larger pieces at first than it ever is again.
    reader.run(read_part, 0, 2 * options.memory * MIB, True)
    for state in options.states:
        if state != NONE and not containers:
            containers = start_many(options.n, IMAGE, f"{FILES}/c")
        for reads in options.reads:
            drop_caches()
            if state == BUSY:
                use_all(containers, KIB)
            for name, values in reclaimed(options, front, reader, reads == PAGES).items():
                found[f"{state}_{reads}_{name}"] = values
    return found


def reclaimed(options, front, reader, paged):
    """What reclaim did for one who reads, and how long faults of another one took."""
    # Memory is full before it is measured.
    reader.run(read_part, 0, options.memory * MIB, paged)
    # There is nothing to be written: for who counts instructions, this marks where they begin.
    os.sync()
    usage = Usage()
    reading = reader.start(read_part, options.memory * MIB, options.memory * MIB, paged)
    faults = []
    while not reading.ended():
        faults.append(front.run(burst, 16 * MIB))
    read = reading.result()
    return {**usage.found(), "system": [read["system"] * 1e6], "elapsed": [read["elapsed"] * 1e6],
            **{name: [statistics.median(each[name] for each in faults)]
               for name in ("p50", "p99", "p999")}}


def limits(options):
    """Groups that read more than they may have, at once, beside idle containers."""
    start_many(options.n, IMAGE, f"{FILES}/c")
    drop_caches()
    groups = [Group(f"l{number}") for number in range(options.limited)]
    for group in groups:
        group.write("memory.max", str(options.limit * MIB))
    each = options.size * MIB // len(groups)
    usage = Usage()
    before = time.monotonic()
    found = [process.result() for _ in range(options.passes) for process in
             [group.start(read_part, number * each, each, True)
              for number, group in enumerate(groups)]]
    return {**usage.found(), "elapsed": [(time.monotonic() - before) * 1e6],
            "system": [sum(one["system"] for one in found) * 1e6]}


def come_and_go(_hears, name, seconds):
    """Starts containers and removes them, one after the other."""
    starts, removals = [], []
    end = time.monotonic() + seconds
    where = f"{FILES}/{name}"
    os.mkdir(where)
    parent = Group(name)
    parent.write("cgroup.subtree_control", "+memory")
    while time.monotonic() < end:
        before = time.perf_counter_ns()
        container = Container(str(len(starts)), IMAGE, where, parent)
        container.start(4).result()
        middle = time.perf_counter_ns()
        container.remove()
        starts.append((middle - before) / 1e3)
        removals.append((time.perf_counter_ns() - middle) / 1e3)
    return {"starts": starts, "removals": removals}


def turnover(options):
    """Containers start and stop on two CPUs, beside others."""
    # When khugepaged gets to the memory of the processes that fork for each of them is chance.
    init.write("/sys/kernel/mm/transparent_hugepage/enabled", "never")
    start_many(options.n, IMAGE, f"{FILES}/c")
    drop_caches()
    before = time.monotonic()
    both = [process.result() for process in
            [Group(f"engine{number}").start(come_and_go, f"e{number}", options.seconds)
             for number in range(2)]]
    took = time.monotonic() - before
    starts = [each for one in both for each in one["starts"]]
    removals = [each for one in both for each in one["removals"]]
    return {"per_container": [took / len(starts) * 1e6],
            **{f"start_{name}": value for name, value in quantiles(starts).items()},
            **{f"remove_{name}": value for name, value in quantiles(removals).items()}}


def slab_bytes():
    """Of each cache, in whole slabs."""
    found = {}
    for line in init.read("/proc/slabinfo").splitlines()[2:]:
        # name, three numbers of objects, pages of a slab; tunables; slabs that are used, and all
        objects, _, slabs = line.split(" : ")
        found[objects.split()[0]] = int(objects.split()[5]) * int(slabs.split()[2]) * PAGE
    return found


def kernel_memory():
    """In bytes, by kind and by cache."""
    info = {name.rstrip(":"): kib * 1024 for name, kib in init.fields("/proc/meminfo").items()}
    return info, slab_bytes()


def memory_of(options):
    """What the kernel has for a container."""
    before, caches_before = kernel_memory()
    start_many(options.n, IMAGE, f"{FILES}/c")
    drop_caches()
    drop_caches()
    after, caches = kernel_memory()
    grown = {name: (size - caches_before.get(name, 0)) / options.n
             for name, size in caches.items()}
    return {**{name.lower(): [(after[name] - before[name]) / options.n]
               for name in ("Slab", "SReclaimable", "SUnreclaim", "Percpu", "PageTables")}}, {
        "caches": {name: size for name, size in grown.items() if size >= 16}}


WORKLOADS = {"reclaim": reclaim, "limits": limits, "turnover": turnover, "memory": memory_of}


def work(arguments):
    parser = init.parser()
    add_lru_option(parser)
    parser.add_argument("--states", nargs="+", choices=STATES, default=STATES, metavar="STATE",
                        help="of the containers")
    parser.add_argument("--reads", nargs="+", choices=READS, default=READS, metavar="HOW",
                        help="into large folios, or a page to a folio")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB", help="of the guest")
    parser.add_argument("--size", type=int, default=1024, metavar="MIB",
                        help="that all groups with a limit read")
    parser.add_argument("--passes", type=int, default=1, help="of these groups")
    parser.add_argument("--limited", type=int, default=100, help="groups that have a limit")
    parser.add_argument("--limit", type=int, default=4, metavar="MIB")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("workload", choices=WORKLOADS)
    options = parser.parse_args(arguments)
    init.mount_groups()
    use_lru(options.lru)
    mount_files("ext4", FILES_DISK)
    # The last one to close it would take its page cache along.
    with open(DISK, "rb", buffering=0):
        found = WORKLOADS[options.workload](options)
    series, more = found if isinstance(found, tuple) else (found, {})
    return {"series": {**series, "mounts": [options.n * NR_MOUNTS]}, **more}


init.main(work)
