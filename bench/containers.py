# SPDX-License-Identifier: GPL-2.0
"""What `make bench-containers` measures: hosts with containers as engines make them, each with
namespaces and seven super blocks, idle or not. The workloads are in
guest/workloads/containers.py.

Times are of an emulated machine, and reported; what the kernel does for them is counted, and
decides.
"""

from guest.containers import BUSY, FOLIOS, IDLE, NONE, NR_MOUNTS, PAGES, STATES
from harness import disk_image, scenario_bench
from harness.goals import (
    GROUP_KIB, MAPS_SHARE, SLABS_KIB, at_most, not_slower, ratio_goal, within)
from harness.scenario import LRUS, Case, Scenario, mib, named, one_of, plain
from harness.stats import KMALLOC_1K, OWN_CACHE, caches

DISK_SIZE = 4 << 30
GIB = 1 << 30
# Of stock's CPU time, where containers are not idle.
BUSY_SHARE = 0.7
# Of what reclaim costs where there are no containers.
IDLE_SHARE = 1.05
READS = {FOLIOS: "large folios", PAGES: "a page to a folio"}


def disks():
    return (disk_image.NULL, disk_image.for_files("ext4", DISK_SIZE))


def ms_per_gib(at, *names):
    """Of what is reclaimed, the sum of these times, which are in us; `at` is what the names of all
    of them begin with."""
    def found(result):
        series = result["series"]
        taken = series[f"{at}taken"][0]
        return sum(series[at + name][0] for name in names) / 1e3 * GIB / taken if taken else None
    return found


def case(label, n, workload, *how, memory=4096, kernel=(), cpus=0):
    return Case(label, n, (*how, "--memory", str(memory), workload), memory, kernel=kernel,
                timeout=1800, cpus=cpus)


NODES = (1, 4)


def nodes(number):
    return ("", ()) if number == 1 else (f", {number} nodes", (f"numa=fake={number}",))


def nodes_of(case):
    [found] = (number for number in NODES if case.kernel == nodes(number)[1])
    return found


def reclaim_metrics(at="", title=""):
    """Of one who reads; `at` is what the names of the series begin with."""
    return {f"{at}{name}": (f"{title}{text}", unit, value) for name, text, unit, value in (
        ("cpu", "CPU time of kswapd and of who reads, by GiB reclaimed", "ms",
         ms_per_gib(at, "kswapd", "system")),
        ("kswapd", "- of it kswapd", "ms", ms_per_gib(at, "kswapd")),
        ("taken", "- MiB reclaimed", "", mib(f"{at}taken")),
        ("taken_directly", "- of it directly", "", mib(f"{at}taken_directly")),
        ("stalls", "- times that somebody reclaimed directly", "", one_of(f"{at}stalls")),
        ("slabs", "- objects that shrinkers looked at", "", one_of(f"{at}slabs")))}


def fault_metrics(at, title):
    return {f"{at}{name}": (f"{title}a page fault, {text}", "us", plain(f"{at}{name}"))
            for name, text in (("p50", "median"), ("p99", "99th percentile"),
                               ("p999", "99.9th percentile"))}


# 1. All of the machine.

def each_read():
    """What the names of its series begin with, and its title."""
    for state in STATES:
        for reads, title in READS.items():
            yield state, f"{state}_{reads}_", f"{state}, {title}: "


def reclaim_cases(quick):
    n, memory = (50, 1024) if quick else (2000, 3072)
    for number in NODES[:1] if quick else NODES:
        more, kernel = nodes(number)
        for lru, title in LRUS[1:] if quick else LRUS:
            yield case(f"{title}{more}", n, "reclaim", "--lru", lru, memory=memory,
                       kernel=kernel)


def reclaim_goals(table, cases):
    for each in cases:
        for state, at, title in each_read():
            if state == BUSY:
                yield ratio_goal(table, each.label, f"{each.label}, {title}CPU time at most "
                                 f"{BUSY_SHARE} of stock's", f"{at}cpu", 1 / BUSY_SHARE, "less")
            elif state == IDLE:
                yield within(table, f"{each.label}, {title}at most {IDLE_SHARE} times the CPU time "
                             "of that without",
                             *(("rust", each.label, f"{name}cpu")
                               for name in (at, at.replace(IDLE, NONE))), IDLE_SHARE)


# 2. Groups at their limits.

def limit_cases(quick):
    n, memory, limited, passes = (50, 1024, 10, 1) if quick else (2000, 4096, 100, 8)
    for lru, title in LRUS[1:] if quick else LRUS:
        yield case(title, n, "limits", "--lru", lru, "--limited", str(limited),
                   "--size", str(memory // 2), "--passes", str(passes), memory=memory)


def limit_goals(table, cases):
    for each in cases:
        yield not_slower(table, each.label, f"{each.label}: CPU time", "cpu")


# 3. Containers that start and stop.

def turnover_cases(quick):
    n, seconds = (20, 3) if quick else (700, 30)
    return [case(f"2 CPUs, {n} containers", n, "turnover", "--seconds", str(seconds))]


def turnover_goals(table, cases):
    for each in cases:
        for metric, text in (("per_container", "one is started and removed"),
                             ("start_p99", "99th percentile of a start")):
            yield not_slower(table, each.label, f"{each.label}: {text}", metric)


# 4. What a container costs.

DECIDES_FROM = 500


def memory_cases(quick):
    n = 50 if quick else DECIDES_FROM
    for number in NODES[:1] if quick else NODES:
        more, kernel = nodes(number)
        yield case(f"{n} containers{more}", n, "memory", kernel=kernel)


def memory_goals(table, cases):
    for each in cases:
        share = each.n * NR_MOUNTS / MAPS_SHARE
        yield ratio_goal(table, each.label, f"{each.label}: memory for shrinker maps at least "
                         f"{share:.3g} times smaller", "maps", share, "smaller", decides=True)
        yield at_most(table, each.label, f"{each.label}: memory for shrinker maps of each",
                      "maps", round(nodes_of(each) * GROUP_KIB + SLABS_KIB / each.n, 2), "KiB")
        # Of fewer, what a slab has room for is as much as what differs.
        yield ratio_goal(table, each.label, f"{each.label}: kernel memory not more than on stock",
                         "kernel", 1.0, "smaller", decides=each.n >= DECIDES_FROM)


def kib(*names):
    return lambda r: sum(one_of(name)(r) for name in names) / 1024


# Those that have most, or differ.
CACHES = ("kmalloc-2k", "kmalloc-1k", "shrinker_unit", "debugfs_inode_cache", "radix_tree_node",
          "dentry", "ovl_inode", "ext4_inode_cache", "shmem_inode_cache", "kernfs_node_cache",
          "kmalloc-cg-2k", "mnt_cache", "mem_cgroup", "mem_cgroup_per_node")


def cache_metrics():
    """Caches that there are on one kernel alone are empty on the other one."""
    return {
        **{f"cache_{name}": (f"- {name}", "KiB",
                             lambda r, name=name: r["caches"].get(name, 0) / 1024)
           for name in CACHES},
        "caches_other": ("- other caches", "KiB", lambda r: sum(
            size for name, size in r["caches"].items() if name not in CACHES) / 1024)}


SCENARIOS = named((
    Scenario(
        "reclaim", "Reclaim of the whole machine",
        "There are no containers, idle ones, or ones that have 64 KiB of page cache and 32 names "
        "each. Memory is full, and somebody reads as much as there is of it once more, into large "
        "folios as from a large file, or a page to a folio as with small reads, while another one "
        "faults in 16 MiB again and again.",
        {name: metric for _, at, title in each_read()
         for name, metric in {**reclaim_metrics(at, title), **fault_metrics(at, title)}.items()},
        reclaim_goals, lambda quick: list(reclaim_cases(quick)),
        plotted=tuple(f"{at}cpu" for _, at, _ in each_read())),
    Scenario(
        "limits", "A hundred groups at their limits",
        "Each may have 4 MiB and reads 20 MiB, eight times, all at once, beside 2000 idle "
        "containers.",
        {**reclaim_metrics(), "elapsed": ("all of it", "us", plain("elapsed"))},
        limit_goals, lambda quick: list(limit_cases(quick)), plotted=("cpu", "elapsed")),
    Scenario(
        "turnover", "Containers that start and stop",
        "On two CPUs, one after the other on each, beside others that have 4900 mounts.",
        {"per_container": ("a container", "us", plain("per_container")),
         **{f"{what}_{name}": (f"{what}, {text}", "us", plain(f"{what}_{name}"))
            for what in ("start", "remove")
            for name, text in (("p50", "median"), ("p99", "99th percentile"))}},
        turnover_goals, turnover_cases, plotted=("per_container", "start_p99")),
    Scenario(
        "memory", "What the kernel keeps for a container",
        "That is idle, after two drops of all caches.",
        {"kernel": ("slabs, per-CPU memory and page tables", "KiB",
                    kib("slab", "percpu", "pagetables")),
         "sunreclaim": ("slabs that can't be reclaimed", "KiB", kib("sunreclaim")),
         "sreclaimable": ("slabs that can", "KiB", kib("sreclaimable")),
         "percpu": ("per-CPU memory", "KiB", kib("percpu")),
         "pagetables": ("page tables", "KiB", kib("pagetables")),
         "maps": ("shrinker maps: kmalloc-1k and own caches", "KiB",
                  lambda r: caches(r, KMALLOC_1K, OWN_CACHE) / 1024),
         "caches": ("slabs by cache", "KiB", lambda r: sum(r["caches"].values()) / 1024),
         **cache_metrics()},
        memory_goals, lambda quick: list(memory_cases(quick)),
        plotted=("kernel", "sunreclaim", "sreclaimable", "percpu", "maps")),
))

BENCH = scenario_bench.Bench(
    "containers", "The bench of hosts with many containers: stock and this project.",
    SCENARIOS, ("stock", "rust"), ("inline",), scenario_bench.NOTES, "containers.py", disks)
