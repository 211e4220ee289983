# SPDX-License-Identifier: GPL-2.0
"""What `make bench-scale` measures: the guests of each scenario, the figures
that are taken from them, and what is expected.

Bytes, calls and numbers of groups decide, at all sizes; see goals.py.

All metrics are times or memory, so that stock / rust above 1 is in favour of
rust everywhere; throughputs are given as the time for one operation.
"""

import itertools
import math

from harness import scenario_bench
from harness.goals import (
    at_least, at_most, below, factor, goal, maps, maps_by_size, noise_text, noisy, not_slower,
    ratio_goal, within)
from harness.scenario import Case, Scenario, median, named, one_of, over, per, series
from harness.stats import MEMORY, calls, ms

# What the 2018 series reported over its own predecessor.
SERIES_FACTOR = 548
# The goal for writing 2 to drop_caches, against one group in the same guest.
IDLE_FACTOR = 2
# The slope of proportional growth.
PROPORTIONAL = 1
# Shrinkers of the root that are called though nothing is in the groups: those that
# know nothing of groups, and what the count itself leaves behind.
IDLE_CALLS = 8
# One group alone pays for the call, too.
ONE_SHARE = 10
HOT = 0.97


# 1. Idle, and 3. the memory of its maps.

def idle_case(n, memory, depth=1, least=0):
    nested = ("--depth", str(depth)) if depth > 1 else ()
    return Case(f"N = {n}" + (f", depth {depth}" if nested else ""), n,
                ("--keep", *nested, "idle"), memory, least,
                timeout=240 + n // 5, line=f"depth {depth}" if nested else "flat")


def idle_cases(quick):
    if quick:
        return [idle_case(500, 1024), idle_case(500, 1024, 3)]
    return [idle_case(1000, 2048), idle_case(4000, 4096),
            idle_case(4000, 4096, 2), idle_case(4000, 4096, 5),
            idle_case(4000, 4096, 10), idle_case(8000, 4096),
            idle_case(16000, 8192, least=4096)]


def idle_goals(table, cases):
    for case in cases:
        yield at_most(table, case.label, f"{case.label}: calls of do_shrink_slab", "calls",
                      IDLE_CALLS, "calls")
    for case in cases:
        yield below(table, case.label, f"{case.label}: drop_caches 2 against one group in the "
                    "same guest", "over_one", IDLE_FACTOR, "times")
    for case in cases:
        if case.n == 4000 and case.line == "flat":
            yield ratio_goal(table, case.label, f"{case.label}: idle drop_caches 2 at least "
                             f"{SERIES_FACTOR} times faster", "idle", SERIES_FACTOR, "faster")


def maps_goals(table, cases):
    for case in cases:
        at = case.label
        if case.line != "flat":
            # The groups above have maps, too.
            yield maps(table, at, f"{at}: memory for shrinker maps smaller than on stock", 1)
            continue
        yield from maps_by_size(table, at, case.n)
        if case.n == 4000:
            yield maps(table, at, f"{at}: memory for shrinker maps at most 1/30 of stock", 30)
        if case.n == 16000:
            yield at_most(table, at, f"{at}: memory for shrinker maps", "maps", 64, "MiB")


# 2. Some groups have an object.

def busy_n(quick):
    return 500 if quick else 4000


def busy_ks(n):
    """As the guest chooses them."""
    ks = [10 ** i for i in range(9) if 10 ** i < n]
    return [*ks, n]


def busy_cases(quick):
    n = busy_n(quick)
    return [Case(f"N = {n}", n, ("--keep", "busy"), 1024 if quick else 4096,
                 timeout=240 + n // 5)]


def busy_calls(k):
    """In one write of 2; the less of those that were counted."""
    def value(result):
        counted = series(f"calls{k}")(result)
        return min(counted) if counted else None
    return value


def added(table, case):
    """What k groups with an object add to rust's time, by k."""
    idle = table.spread("rust", case.label, "busy0")
    found = {}
    for k in busy_ks(case.n):
        busy = table.spread("rust", case.label, f"busy{k}")
        if idle and busy and busy["median"] > idle["median"]:
            found[k] = busy["median"] - idle["median"]
    return found


def steepest(table, case, more):
    """Where the growth is steepest: the slope, and what noise makes of a slope of
    PROPORTIONAL there."""
    # With fewer objects noise is larger than what they take.
    points = [(k, math.log(more[k])) for k in more if k >= 100]
    found = []
    for (k, low), (next_k, high) in itertools.pairwise(points):
        width = math.log(next_k / k)
        noises = [table.noise(case.label, f"busy{each}") for each in (k, next_k)]
        noise = None if None in noises else \
            1 + sum(map(math.log, noises)) / width / PROPORTIONAL
        found.append(((high - low) / width, noise))
    return max(found, default=(None, None))


def busy_goals(table, cases):
    """Proportional: nowhere steeper, and no part that few groups pay, too."""
    case = cases[0]
    n = case.n
    more = added(table, case)
    slope, noise = steepest(table, case, more)
    share = more[1] / (more[n] / n) if 1 in more and n in more else None
    return [
        *(at_most(table, case.label, f"N = {n}, k = {k}: calls of do_shrink_slab",
                  f"calls{k}", k + IDLE_CALLS, "calls") for k in busy_ks(n)),
        {"goal": f"N = {n}, k from 100 to {n}: what the objects add to "
                 f"drop_caches 2 grows nowhere faster than k",
         "found": "-" if slope is None else f"k^{slope:.2f}{noise_text(noise)}",
         "decides": False, "verdict": noisy(slope, PROPORTIONAL, noise)},
        goal(f"N = {n}: k = 1 adds at most {ONE_SHARE} times what each group adds at k = {n}",
             share, lambda share: f"{factor(share)} times", lambda share: share <= ONE_SHARE,
             False)]


# 4. Containers on many nodes.

# Of what C takes without any maps, in time and in instructions (profile/start.py).
FLOOR = 1.05


def start_cases(quick):
    n, sizes = (50, ((16, 2048),)) if quick else (1000, ((16, 8192), (32, 12288)))
    return [Case(f"{n} containers with 10 mounts each, {nodes} nodes", n,
                 ("--keep", "start"), memory, kernel=(f"numa=fake={nodes}",),
                 timeout=900) for nodes, memory in sizes]


def start_goals(table, cases):
    for case in cases:
        at = case.label
        yield not_slower(table, at, f"{at}: starting them takes no longer", "start")
        yield maps(table, at, f"{at}: memory for shrinker maps is smaller", 1)
        yield within(table, f"{at}: starting them takes at most {FLOOR} times what it takes "
                     "without maps (--arms stock,rust,floor)",
                     ("rust", at, "start"), ("floor", at, "start"), FLOOR)


# 5. Mount churn.

def churn_cases(quick):
    n, count = (250, 200) if quick else (2000, 2000)
    return [Case(f"2 CPUs, {n} idle groups", n,
                 ("--keep", "--count", str(count), "churn"), 2048,
                 timeout=600)]


def churn_goals(table, cases):
    label = cases[0].label
    return [not_slower(table, label, "without other groups: not slower", "alone"),
            not_slower(table, label, f"with {cases[0].n} idle groups: not slower",
                       "among_idle")]


# 6. The hot path.

def hot_cases(quick):
    n, count = (20, 2000) if quick else (100, 20000)
    return [Case(f"{n} groups", n, ("--keep", "--count", str(count), "hot"),
                 1024, timeout=600)]


def hot_goals(table, cases):
    label = cases[0].label
    # Times among objects that stay would be those of something else.
    return [at_most(table, label, "groups that have objects left after the drops",
                    "not_dropped", 0, "groups")] + [
            not_slower(table, label, f"{name}: at least {HOT} of stock's "
                       "throughput", metric, limit=1 / HOT)
            for metric, name in (
                ("transitions", "an object of a group comes and goes"),
                ("files", "a file is created and unlinked"),
                ("left", "two objects come"),
                ("dropped", "two objects of each group are dropped"))]


# 7. The same of neighbours, from many CPUs.

def share_cases(quick):
    n, count = (4, 200) if quick else (8, 2000)
    return [Case(f"{cpus} CPUs", n, ("--keep", "--count", str(count), "share"), 1024,
                 timeout=600, cpus=cpus) for cpus in ((2,) if quick else (4, 8))]


def share_goals(table, cases):
    return [not_slower(table, case.label, f"{case.label}: {text}", metric)
            for case in cases
            for metric, text in (("one", "from one CPU alone"), ("all", "from all of them"))]


# 8. A writer under pressure.

def pressure_cases(quick):
    # The goals are about times alone, and the short form of another bench has containers.
    return [] if quick else [
        Case("2000 idle containers, 1024 MiB", 2000, ("--keep", "--count", "2048", "pressure"),
             1024, timeout=900)]


def pressure_goals(table, cases):
    label = cases[0].label
    return [not_slower(table, label, f"{lru}: {what}", f"{key}_{metric}")
            for key, lru in (("classic", "classic LRU"), ("mglru", "MGLRU"))
            for metric, what in (("wall", "the writer is not slower"),
                                 ("system", "not more system time"))]


def per_gib(name):
    return per(name, lambda r: r["series"]["mib"][0] / 1024, 1e6)


# 9. All the ids.

def largest_cases(quick):
    n, memory = (1000, 1024) if quick else (65535, 4096)
    return [Case(f"{n} groups wanted, 200 mounts", n, ("largest",), memory,
                 timeout=300 if quick else 3600)]


def largest_goals(table, cases):
    label = cases[0].label
    # Those above ours and, with v2, others of the machine have ids, too.
    return [at_least(table, label, f"{label}: all of them can be made and removed",
                     "groups", cases[0].n - 64),
            maps(table, label, f"{label}: memory for shrinker maps smaller than "
                 "on stock", 1)]


def left_over(result):
    if not result["series"].get("emptied", [1])[0]:
        yield "something may have been left to reclaim"
    if result["series"].get("not_dropped", [0])[0]:
        yield (f"{result['series']['not_dropped'][0]} groups had objects left "
               "after the drops")


ALL_KS = sorted({0, *busy_ks(busy_n(True)), *busy_ks(busy_n(False))})
MAPS = {name: MEMORY[name] for name in ("maps", "own", "sunreclaim", "percpu")}

SCENARIOS = named((
    Scenario(
        "idle", "Idle drop_caches",
        "Groups with a mount each, and nothing in any of them that could be "
        "reclaimed. \"One\" is the same in the same guest, when there was one "
        "group with one mount.",
        {"one": ("one group", "ms", median("one", ms)),
         "idle": ("drop_caches 2", "ms", median("idle", ms)),
         "over_one": ("- against one group", "times", over("idle", "one")),
         "calls": ("- do_shrink_slab calls", "",
                   lambda r: calls(r, "do_shrink_slab"))},
        idle_goals, idle_cases, plot="lines", plotted=("idle", "one"),
        doubts=left_over),
    Scenario(
        "busy", "Groups with an object",
        "k of the groups, evenly spread, have one object that drop_caches "
        "counts each time and never frees. Write of 2.",
        {f"busy{k}": (f"k = {k}", "ms", median(f"busy{k}", ms))
         for k in ALL_KS} |
        {f"calls{k}": (f"k = {k}: do_shrink_slab calls", "", busy_calls(k))
         for k in ALL_KS if k},
        busy_goals, busy_cases, plot="k", doubts=left_over),
    Scenario(
        "maps", "Memory for shrinker maps",
        "In the guests of the scenario idle: kmalloc-1k and our own caches, in "
        "MiB above the level without groups.",
        MAPS, maps_goals, source="idle", plot="lines", plotted=("maps",)),
    Scenario(
        "start", "Starting containers on many nodes",
        "Each container is a group, mounts made from inside it, and a file in "
        "each; on machines with 16 and 32 nodes.",
        {"start": ("all of it", "ms", median("start", ms)),
         "create": ("- create the groups", "ms", median("create", ms)),
         "mount_calls": ("- mount(2)", "ms", median("mount_calls", ms)),
         **MAPS},
        start_goals, start_cases, plotted=("start", "maps", "sunreclaim")),
    Scenario(
        "churn", "Mount churn",
        "mount, touch and unmount a ramfs from two CPUs at once, as the ramfs "
        "workload of stress-ng does. Time for one mount, both CPUs together.",
        {"alone": ("no other groups", "us",
                   per("alone", lambda r: r["count"])),
         "among_idle": ("with idle groups", "us",
                        per("among_idle", lambda r: r["count"]))},
        churn_goals, churn_cases, plotted=("alone", "among_idle")),
    Scenario(
        "hot", "First and last objects",
        "In groups that have no other object. Time for one operation.",
        {"not_dropped": ("groups with objects left", "", one_of("not_dropped")),
         "transitions": ("an object comes and goes", "us",
                         per("transitions", one_of("moves"))),
         "files": ("create and unlink a file", "us",
                   per("files", one_of("moves"))),
         "left": ("two objects come", "us", per("leave", one_of("drops"))),
         "dropped": ("two objects are dropped", "us",
                     per("drop", one_of("drops")))},
        hot_goals, hot_cases,
        plotted=("transitions", "files", "left", "dropped"), doubts=left_over),
    Scenario(
        "share", "First and last objects of neighbours",
        "Each CPU has a group, and these were created one after the other, so that they share "
        "words of the bitmap of memcgs. Time for an object to come and go on each.",
        {"one": ("one CPU alone", "us", per("one", one_of("each"))),
         "all": ("all of them", "us", per("all", one_of("each")))},
        share_goals, share_cases, plotted=("one", "all")),
    Scenario(
        "pressure", "A writer under pressure",
        "Writes more than the memory of a small guest, and gives each piece up "
        "with MADV_FREE, so that reclaim can take it without a disk. Per GiB "
        "that is written; system time is that of all CPUs.",
        {f"{lru}_{metric}": (f"{text}: {what}", "ms", per_gib(f"{lru}_{metric}"))
         for lru, text in (("classic", "classic LRU"), ("mglru", "MGLRU"))
         for metric, what in (("wall", "elapsed"), ("system", "system time"))},
        pressure_goals, pressure_cases,
        plotted=("classic_wall", "classic_system", "mglru_wall",
                 "mglru_system"), doubts=left_over),
    Scenario(
        "largest", "As many groups as there are ids",
        "Memory is above the level without groups.",
        {"groups": ("groups", "", one_of("groups")),
         "create": ("create them", "ms", median("create", ms)),
         "mount": ("mounts", "ms", median("mount", ms)),
         "idle": ("drop_caches 2, idle", "ms", median("idle", ms)),
         "unmount": ("unmount", "ms", median("unmount", ms)),
         "remove": ("remove the groups", "ms", median("remove", ms)),
         "drain": ("- until they are gone", "ms", median("drain", ms)),
         **MAPS, "slab": MEMORY["slab"]},
        largest_goals, largest_cases,
        plotted=("create", "mount", "idle", "remove", "maps", "slab"),
        doubts=left_over),
))

BENCH = scenario_bench.Bench(
    "scale", "The bench at scale: nine scenarios, each with stock and rust in turn.",
    SCENARIOS, ("stock", "rust"), ("inline", "floor"), scenario_bench.NOTES)
