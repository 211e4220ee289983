# SPDX-License-Identifier: GPL-2.0
"""What `make bench` measures: N groups with a mount and a file each, on stock, on this
project, and on a kernel of ours that ignores its maps. N="250 500" takes these sizes.

Calls and memory decide, at all sizes; see goals.py.
"""

import math
import os
import statistics

from harness import scenario_bench
from harness.common import BenchError
from harness.goals import (
    at_least, goal, maps, maps_by_size, no_more, not_slower, ratio_goal)
from harness.scenario import Case, Scenario, named
from harness.stats import MEMORY, calls, ms

# Of the 2018 series, which the goals for times are about.
N = 4000
LINEAR = 1.3  # a slope of 2 is quadratic
LINEAR_FROM = 1000
# One drop_caches makes N * N calls in the arm exhaustive.
BEARABLE = 1000


def sizes(quick):
    text = os.environ.get("N") or ("250,500" if quick else "250,500,1000,2000,4000")
    words = text.replace(",", " ").split()
    if not words or not all(word.isdecimal() and int(word) for word in words):
        raise BenchError(f"N takes numbers from 1 on, and not \"{text}\"")
    return sorted(set(map(int, words)))


def cases(quick):
    found = sizes(quick)
    return [Case(f"N = {n}", n, (), 4096 if found[-1] > 2000 else 2048,
                 timeout=180 + n // 5, line="flat",
                 left_out=("exhaustive",) if n > BEARABLE else ()) for n in found]


def once(name):
    return lambda r: ms(r["ns"][name])


def usual(name, first=0):
    """The median of the calls from this one on."""
    def value(result):
        values = result["ns"][name][first:]
        return ms(statistics.median(values)) if values else None
    return value


def nth(number):
    return lambda r: ms(r["ns"]["drop3"][number])


def exponent(table, arm, cases):
    """The slope of an idle drop_caches against N in a log-log plot."""
    found = [(case.n, table.spread(arm, case.label, "idle2")) for case in cases
             if case.n >= LINEAR_FROM]
    points = [(math.log(n), math.log(spread["median"])) for n, spread in found
              if spread and spread["median"] > 0]
    return statistics.linear_regression(*zip(*points)).slope if len(points) > 1 else None


def linear(table, cases):
    slopes = [exponent(table, arm, cases) for arm in ("rust", "stock")]
    return goal(f"from N = {LINEAR_FROM}: drop_caches 2 close to linear in N (below N^{LINEAR})",
                None if None in slopes else slopes,
                lambda slopes: f"N^{slopes[0]:.2f} (stock: N^{slopes[1]:.2f})",
                lambda slopes: slopes[0] < LINEAR, False)


def drops_goals(table, cases):
    for case in cases:
        at = case.label
        yield no_more(table, at, f"{at}: calls of do_shrink_slab in an idle drop_caches",
                      "calls", "calls")
        if table.has("exhaustive", at):
            yield at_least(table, at, f"{at}: without maps each shrinker is called for each "
                           f"group, {case.n ** 2} times or more", "calls", case.n ** 2,
                           "exhaustive")
        if case.n == N:
            yield from (
                *(ratio_goal(table, at, f"{at}: {what} at least 12 times faster", metric,
                             12, "faster") for what, metric in (
                    ("idle drop_caches 2", "idle2"),
                    ("drop_caches 2, nothing left at all", "empty2"))),
                linear(table, cases),
                not_slower(table, at, f"{at}: creating groups not slower", "create"),
                ratio_goal(table, at, f"{at}: mounting faster (stock grows its maps)",
                           "mount", 1.0, "faster"),
                not_slower(table, at, f"{at}: first drop_caches 3 (real work) not slower",
                           "first3"))


def maps_goals(table, cases):
    for case in cases:
        yield from maps_by_size(table, case.label, case.n)
        if case.n == N:
            yield maps(table, case.label, f"{case.label}: memory for shrinker maps at least 20 "
                       "times smaller", 20)


def doubts(result):
    """What would make the calls of a guest mean something else."""
    n = result["n"]
    total, supers = (calls(result, name) for name in
                     ("do_shrink_slab", "super_cache_count"))
    if total is None:
        why = next((probe["unavailable"] for probe in result["calls"]
                    if "unavailable" in probe), "probes were missed")
        yield f"calls of do_shrink_slab not counted: {why}"
    elif total < n:
        yield f"only {total} calls of do_shrink_slab, but the root has more shrinkers"
    elif supers is not None and total < supers:
        yield (f"do_shrink_slab is inlined somewhere: {total} calls, but {supers} of "
               "super_cache_count")
    elif result["arm"] == "exhaustive" and total < n * n:
        yield f"only {total} calls, so not every shrinker was called for every group"
    hits = [probe["hits"] for probe in result["calls"] if "hits" in probe]
    if any(len(set(both)) > 1 for both in hits):
        yield f"the slab was not idle: two drops made {' and '.join(map(str, hits))} calls"


def maps_doubts(result):
    if result["implementation"] == "rust" and not MEMORY["own"][2](result):
        yield "no cache of our own in /proc/slabinfo, so the memory of the maps is not known"


SCENARIOS = named((
    Scenario(
        "drops", "drop_caches, and groups that come and go",
        "A time of drop_caches is that of one write(2); those of \"later calls\", \"all "
        "dropped\" and \"nothing left\" are medians of the calls in one guest. \"All "
        "dropped\" is after five drops, which leave one kernfs dentry in each group that "
        "drop_caches never frees; \"nothing left\" is after that has been taken away "
        "through the shrinkers' debugfs files. The arm exhaustive is measured up to N = "
        f"{BEARABLE}: it makes N * N calls in each drop_caches. Published in 2018, for "
        "five calls of `echo 3 > /proc/sys/vm/drop_caches` at N = 4000 on other hardware, "
        "with a clock that shows 10 ms: 13780, 5600, 5480, 8350 and 8350 ms before, 1100 "
        "and four times 10 ms after (Kirill Tkhai, \"Improve shrink_slab() scalability\", "
        "June 2018: cover letter, and commit message of the last patch).",
        {"idle2": ("drop_caches 2, all dropped", "ms", usual("drop2")),
         "empty2": ("drop_caches 2, nothing left at all", "ms", usual("empty2")),
         "first3": ("drop_caches 3, first call", "ms", nth(0)),
         "later3": ("drop_caches 3, later calls", "ms", usual("drop3", 1)),
         **{f"call{i}": (f"- call {i}", "ms", nth(i - 1)) for i in range(2, 6)},
         **{name: (label, "ms", once(name)) for name, label in (
             ("create", "create the groups"),
             ("mount", "join, mount, create a file"),
             ("mount_calls", "- of it in mount(2)"),
             ("mount_max", "- slowest mount(2)"),
             ("unmount", "unmount"),
             ("remove", "remove the groups"),
             ("drain", "- until they are gone"))},
         "calls": ("do_shrink_slab calls, idle", "",
                   lambda r: calls(r, "do_shrink_slab")),
         "super_calls": ("- of file systems", "",
                         lambda r: calls(r, "super_cache_count"))},
        drops_goals, cases, plot="lines", plotted=("idle2", "empty2"), doubts=doubts),
    Scenario(
        "maps", "Memory",
        "In the same guests, when all is dropped: above the level before there were "
        "groups.",
        MEMORY, maps_goals, source="drops", plot="lines", plotted=("maps", "sunreclaim"),
        doubts=maps_doubts),
))

BENCH = scenario_bench.Bench(
    "bench", "The bench: boots each kernel in QEMU and compares what reclaim costs them.",
    SCENARIOS, ("stock", "rust"), (), scenario_bench.NOTES, rounds=(5, 1),
    beside=("exhaustive",))
