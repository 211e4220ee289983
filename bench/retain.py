# SPDX-License-Identifier: GPL-2.0
"""What `make bench-retain` measures: page cache that outlives a cgroup's limit. The workloads are
in guest/workloads/retain.py; each runs with a pool, without one, and on stock.
"""

import functools

from guest.groups import MIB
from guest.retained.files import write_content
from harness import disk_image, scenario_bench
from harness.common import QUICK
from harness.goals import at_least, at_most, goal, no_kills, time_goal
from harness.scenario import KILLS, LRUS, Case, Scenario, median, mib, named, one_of

# Published: 11.16 s, and 0.28 s. Reading those from the page cache takes some four times as long
# in emulation, so the disk is four times as slow as the one of then.
FASTER = 39
SLOW_DISK = 92_000_000 // 4
FAST_DISK = 200_000_000
# In MiB, of the file that is read there, and what of it can't be in a group that may have 20.
SIZE = 1024
MOST_OF_IT = SIZE * 7 // 8
SLOWLY = ("--slow", "--size", str(SIZE))
DISK_SIZE = 6 << 30
# In MiB, of the largest guest, also where all is short; and the file that is read once.
LARGEST = {False: 3072, True: 640}
ONCE = 512
# Of the guest that reads that one.
ONCE_MEMORY = 1536
# Files that are on it, in MiB: the first one takes three quarters of that guest, or is read once.
GIVEN = {"file": max(LARGEST[QUICK] * 3 // 4, ONCE), "other": ONCE}
# Of what the same takes with free memory.
NO_WORSE = 1.05
# In percent of the time in the kernel, where nothing is gained; `make bench-profile` counts the
# instructions of the same workload, which decide.
COST = 3
# Of the machine, at the least, where somebody wants a half at once.
WANTED = 0.6
# Of all checks, where KASAN and lockdep are on.
CHECKS_TIMEOUT = 2400
OFF, ON = "off", "on"
# Stock has nothing to be switched on.
STOCK = ("stock", "again")


def fast_disks():
    """That of the files, for which checks need not wait."""
    return (disk_image.NULL, disk_image.for_files("ext4", DISK_SIZE))


def write_files(folder):
    """That guests would write at the speed of the disk before they begin."""
    for name, size in GIVEN.items():
        with open(folder / name, "wb") as file:
            write_content(file, size * MIB)


@functools.cache
def disks():
    files = disk_image.with_files("ext4", DISK_SIZE, write_files)
    return (disk_image.NULL, *(f"{files},throttling.bps-total={speed}"
                    for speed in (FAST_DISK, SLOW_DISK)))


def us(name):
    return median(name, float)


def case(label, workload, *how, retain=False, memory=2048, v1=False):
    return Case(label, 1, (*how, *(("--v1",) if v1 else ()),
                           *(("--retain",) if retain else ()), workload),
                memory, timeout=900, left_out=STOCK if retain else ())


def off_and_on(workload, *how, quick=False, memory=2048, v1=False):
    """Each with a pool and without, on both LRUs and on cgroup v1."""
    versions = [(title, ("--lru", lru), False) for lru, title in LRUS]
    if v1:
        versions.append(("cgroup v1, classic LRU", ("--lru", "classic"), True))
    return [case(f"{title}, {state}", workload, *options, *how, retain=state == ON,
                 memory=memory, v1=is_v1)
            for title, options, is_v1 in (versions[1:2] if quick else versions)
            for state in (OFF, ON)]


def pairs(cases):
    """The labels of both, where both were chosen."""
    labels = {each.label for each in cases}
    for label in sorted(labels):
        title, _, state = label.rpartition(", ")
        if state == ON and f"{title}, {OFF}" in labels:
            yield title, f"{title}, {OFF}", label


def against(table, text, metric, one, other, most, unit):
    """What `one` has, by what `other` has; it is a time, and reported."""
    both = [table.spread("rust", label, metric) for label in (one, other)]
    ratio = None
    if all(both) and both[1]["median"]:
        ratio = {key: value / both[1]["median"] for key, value in both[0].items()
                 if key in ("median", "min", "max")}
    return time_goal(f"{text}: at most {most:g} {unit}", ratio, "times", most,
                     table.noise(other, metric))


def never_more(table, text, metric, one, other):
    """`one` has at most what `other` has at the most; it decides."""
    both = [table.spread("rust", label, metric) for label in (one, other)]
    return goal(text, both if all(both) else None,
                lambda both: f"{both[0]['max']:g}, and {both[1]['max']:g}",
                lambda both: both[0]["max"] <= both[1]["max"])


def no_kills_of(table, cases):
    for each in cases:
        yield from no_kills(table, each.label, each.left_out)


# 1. Again and again.

def twice_cases(quick):
    return [] if quick else off_and_on("twice", *SLOWLY, v1=True)


def twice_goals(table, cases):
    for title, off, on in pairs(cases):
        yield at_least(table, off, f"{title}: MiB read from the disk the second time, without",
                       "second_bytes", MOST_OF_IT)
        for name in ("second", "third"):
            yield at_most(table, on, f"{title}: read from the disk the {name} time",
                          f"{name}_bytes", 0, "MiB")
        yield at_most(table, on, f"{title}: the most that the group had", "peak", 20, "MiB")
        both = [table.spread("rust", label, "second") for label in (off, on)]
        # The time of the disk does not depend on the machine, but that of the memory does.
        yield goal(f"{title}: the second time at least {FASTER} times as fast as without",
                   both if all(both) else None,
                   lambda both: f"{both[0]['median'] / both[1]['median']:.3g} times",
                   lambda both: both[0]["median"] >= FASTER * both[1]["median"], False)
    yield from no_kills_of(table, cases)


# 2. Two containers of one image.

SHARED = {"second_bytes": "that the second one reads from the disk",
          "cached": "that are in the page cache when it begins"}


def shared_cases(quick):
    return [] if quick else off_and_on("shared", *SLOWLY)


def shared_goals(table, cases):
    for title, off, on in pairs(cases):
        for label, least in ((off, "second_bytes"), (on, "cached")):
            yield at_least(table, label, f"{label}: MiB of {SIZE}, {SHARED[least]}", least,
                           MOST_OF_IT)
        yield at_most(table, on, f"{title}: what the second one reads from the disk",
                      "second_bytes", 0, "MiB")
        yield at_most(table, on, f"{title}: the most that it had", "peak", 20, "MiB")
    yield from no_kills_of(table, cases)


# 3. Somebody needs the memory.

def decide_cases(quick):
    return off_and_on("decide", quick=quick, memory=LARGEST[quick])


def decide_goals(table, cases):
    for title, off, on in pairs(cases):
        yield at_least(table, off, f"{title}: MiB that are free without a pool", "free",
                       WANTED * cases[0].memory)
        yield at_least(table, on, f"{title}: MiB that the pool has", "pooled",
                       WANTED * cases[0].memory)
        for metric, text in (("kept", "pages of the others that come to the pool meanwhile"),
                             ("written", "MiB that they write"),
                             ("files", "files that they replace")):
            yield at_least(table, on, f"{title}: {text}", metric, 1)
        for metric, text in (("burst", "the burst"), ("p99", "99th percentile of its faults")):
            yield against(table, f"{title}: {text}", metric, on, off, NO_WORSE,
                          "times that with free memory")
        # Pages scanned directly are mostly those of who is at his limit, and as many as they write.
        yield never_more(table, f"{title}: times that somebody reclaims himself as memory is "
                         "short: no more than with free memory", "allocstall", on, off)
    yield from no_kills_of(table, cases)


# 4. Somebody who did not ask.

def bystander_cases(quick):
    return [] if quick else off_and_on("bystander", memory=1024)


def bystander_goals(table, cases):
    for title, off, on in pairs(cases):
        yield never_more(table, f"{title}: refaults of a third group: as many as without, or "
                         "less", "refaults", on, off)
        yield at_least(table, on, f"{title}: MiB that the pool freed", "evicted", 100)
    yield from no_kills_of(table, cases)


# 5. Nothing to gain.

def once_cases(quick):
    return [] if quick else off_and_on("once", "--size", str(ONCE), memory=ONCE_MEMORY)


def once_goals(table, cases):
    for title, off, on in pairs(cases):
        for metric, text in (("kept", "that come to the pool"), ("unused", "that it refuses")):
            yield at_least(table, on, f"{title}: pages {text}", metric, 1)
        yield against(table, f"{title}: time in the kernel", "system", on, off, 1 + COST / 100,
                      "times that without")
    yield from no_kills_of(table, cases)


SCENARIOS = named((
    Scenario(
        "twice", "A file that is larger than the limit",
        "A group may have 20 MB, and reads a file of 1 GB three times. Published: 11.16 s the "
        "second time, 0.28 s with pages that outlive the limit. The disk is four times as slow "
        "as the one of then, as the CPU is here.",
        {**{name: (f"read the {name} time", "us", us(name))
            for name in ("first", "second", "third")},
         **{f"{name}_system": (f"- CPU time in the kernel, the {name} time", "us",
                               us(f"{name}_system")) for name in ("first", "second", "third")},
         **{f"{name}_bytes": (f"- from the disk, the {name} time", "MiB", mib(f"{name}_bytes"))
            for name in ("first", "second", "third")},
         "peak": ("the most that the group had", "MiB", mib("peak")),
         **KILLS},
        twice_goals, twice_cases, plot="retained"),
    Scenario(
        "shared", "A second container with the same files",
        "It begins when the first one, which may have 20 MB, has read all of them.",
        {"second": ("time", "us", us("second")),
         "second_bytes": ("from the disk", "MiB", mib("second_bytes")),
         "cached": ("in the page cache before", "MiB", mib("cached")),
         "peak": ("the most that it had", "MiB", mib("peak")), **KILLS},
        shared_goals, shared_cases, plot="retained"),
    Scenario(
        "decide", "Memory is wanted that the pool has",
        "Three quarters of 3 GB are in the pool, or free. A group with memory.low wants 1.5 GB "
        "at once, while two others, which may have 20 MB each and ask for the same as the first "
        "one, write 1 GB again and again as dd does, and small files that replace older ones, "
        "as when packages are updated.",
        {"burst": ("the burst", "us", us("burst")),
         **{name: (f"a fault, {text}", "us", us(name)) for name, text in
            (("p50", "median"), ("p99", "99th percentile"), ("p999", "99.9th percentile"),
             ("worst", "the worst"))},
         "allocstall": ("direct reclaim", "", one_of("allocstall")),
         "pgscan_direct": ("pages scanned in it, and at a limit", "", one_of("pgscan_direct")),
         "pgscan_kswapd": ("pages scanned by kswapd", "", one_of("pgscan_kswapd")),
         "pooled": ("in the pool before", "MiB", mib("pooled")),
         "free": ("free before", "MiB", mib("free")),
         "kept": ("pages of the others that came to the pool", "", one_of("kept")),
         "written": ("written as dd does", "MiB", mib("written")),
         "files": ("files that were replaced", "", one_of("files")), **KILLS},
        decide_goals, decide_cases, plot="retained"),
    Scenario(
        "bystander", "A third group",
        "It has 20 MB, reads a file of 12 MB again and again, and did not ask for anything. "
        "Beside it, the one that did reads two fifths of memory, and somebody wants two thirds.",
        {"refaults": ("refaults", "", one_of("workingset_refault_file")),
         "evicted": ("freed by the pool", "MiB", mib("evicted")),
         "activated": ("- that were activated", "", one_of("workingset_activate_file")),
         "pgscan": ("pages scanned", "", one_of("pgscan")),
         "pgsteal": ("pages reclaimed", "", one_of("pgsteal")), **KILLS},
        bystander_goals, bystander_cases, plotted=("refaults", "pgscan")),
    Scenario(
        "once", "Nothing is read again",
        "A group that may have 20 MB reads a file of 512 MB, when another one has gone through the "
        "pool, which has room for a quarter of that.",
        {"system": ("time in the kernel, of all CPUs", "us", us("system")),
         "kept": ("pages that came to the pool", "", one_of("kept")),
         "unused": ("pages that it refused, as it is of no use", "", one_of("refused_unused")),
         "hits": ("pages that were of use", "", one_of("hit")),
         "pool_peak": ("the most that the pool had", "MiB", mib("pool_peak")), **KILLS},
        once_goals, once_cases, plotted=("system", "kept")),
))

BENCH = scenario_bench.Bench(
    "retain", "The bench of page cache that outlives limits: stock and this project.",
    SCENARIOS, ("stock", "rust"), (), scenario_bench.NOTES, "retain.py", disks, (3, 1))
