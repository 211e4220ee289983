# SPDX-License-Identifier: GPL-2.0
"""What `make bench-untrusted` measures: a container that does its worst, beside
a neighbour, on stock and on this project. The programs are in
guest/workloads/untrusted.py, which also fails if memory that is not charged exceeds
what is documented.
"""

from harness import scenario_bench
from harness.goals import at_least, at_most, not_slower, ratio_goal
from harness.scenario import Case, Scenario, median, mib, named, one_of, over
from harness.stats import ms

# Of all that a container has the kernel keep for it, what the maps add and
# nobody pays for.
SHARE = 0.01


def in_ms(name):
    return median(name, ms)


def unpaid_share(result):
    """Of the maps, what was not charged, against all that was charged. On stock
    nothing of them is."""
    series = result["series"]
    maps = series["maps_all"][0]
    if result["implementation"] == "rust":
        maps -= max(0, min(series["maps_looked"][0],
                           series["charged_slabs_looked"][0]))
    return max(0, maps) / series["charged_all"][0]


# 1. A neighbour.

def beside_case(what, n, memory, repeats, *how):
    return Case(f"{what}, N = {n}", n,
                ("--repeats", str(repeats), *how, "beside"), memory,
                timeout=600)


def beside_cases(quick):
    if quick:
        return [beside_case("hoard", 100, 768, 5, "--attack", "hoard",
                            "--mounts", "512", "--groups", "50")]
    return [beside_case("churn", 1000, 1536, 15),
            beside_case("hoard", 1000, 1536, 15, "--attack", "hoard",
                        "--mounts", "2048", "--groups", "300")]


def beside_goals(table, cases):
    for case in cases:
        for metric, what in (("reclaim_attacked", "memory.reclaim"),
                             ("drop_attacked", "drop_caches"),
                             ("come_and_go_attacked", "a group and a mount")):
            yield not_slower(table, case.label, f"{case.label}: {what} beside the container "
                             "not slower than on stock", metric)


def times_of(what, title):
    return {f"{what}_idle": (f"{title}: alone", "ms", in_ms(f"{what}_idle")),
            f"{what}_attacked": ("- beside the container", "ms",
                                 in_ms(f"{what}_attacked")),
            f"{what}_least": ("-- the least of these", "ms",
                              lambda r: min(r["series"][f"{what}_attacked"]) / 1e6),
            f"{what}_after": ("- when it is gone", "ms", in_ms(f"{what}_after")),
            f"{what}_factor": ("- beside it against alone", "times",
                               over(f"{what}_attacked", f"{what}_idle"))}


# 2. Who pays.

def pay_case(n, memory, mounts, groups, limit, nodes=1):
    more, kernel = (("", ()) if nodes == 1 else
                    (f", {nodes} nodes", (f"numa=fake={nodes}",)))
    return Case(f"{mounts} mounts, {groups} groups{more}", n,
                ("--mounts", str(mounts), "--groups", str(groups), "--limit",
                 limit, "pay"), memory, kernel=kernel, timeout=600)


def pay_cases(quick):
    if quick:
        return [pay_case(100, 768, 1024, 100, "256M")]
    return [pay_case(1000, 1536, 4096, 1, "384M"),
            pay_case(1000, 1536, 64, 4000, "384M"),
            pay_case(1000, 1536, 2048, 500, "384M"),
            pay_case(1000, 1536, 2048, 500, "384M", 2)]


def pay_goals(table, cases):
    for case in cases:
        at = case.label
        yield at_most(table, at, f"{at}: of what is charged, what the maps add uncharged",
                      "share", SHARE, "of it")
        yield ratio_goal(table, at, f"{at}: maps not larger than on stock", "maps_all", 1.0,
                         "smaller", decides=True)


# 3. At the limit.

def limit_cases(_quick):
    return [Case("1024 mounts, 500 groups, room for 2 MiB", 1,
                 ("--mounts", "1024", "--groups", "500", "limit"), 1024,
                 timeout=600)]


def limit_goals(table, cases):
    """The guest itself looks at how much the maps took."""
    return [at_least(table, cases[0].label, "the container is killed at its limit",
                     "killed", 1)]


SCENARIOS = named((
    Scenario(
        "beside", "A neighbour beside a container that does its worst",
        "N groups have nothing. The container either has one group after another, "
        "with eight mounts and four files in each (churn), or many mounts and "
        "groups, and in each group a name looked up in each 64th mount (hoard). "
        "The neighbour, on the other CPU, has 3000 dentries and writes 1M to "
        "memory.reclaim; and makes and removes a group and a mount. drop_caches "
        "is that of the machine.",
        {**times_of("reclaim", "memory.reclaim"),
         **times_of("drop", "drop_caches 2"),
         **times_of("come_and_go", "a group and a mount"),
         "churned": ("groups that the container made and removed", "",
                     one_of("churned")),
         "maps_peak": ("maps, beside the container", "MiB", mib("maps_peak")),
         "maps_after": ("- when it is gone", "MiB", mib("maps_after"))},
        beside_goals, beside_cases,
        plotted=("reclaim_attacked", "drop_attacked", "come_and_go_attacked")),
    Scenario(
        "pay", "Who pays for maps",
        "N groups have nothing. The container mounts file systems, makes groups, "
        "and looks up a name that is not there in each group and in each 64th "
        "mount, so that each group has as many units as there can be, and no "
        "object. Then it removes all. Maps are exact on this project, and whole "
        "slabs of kmalloc-1k on stock, where the rest of the host has them too.",
        {"maps_mounted": ("maps, by the mounts", "MiB", mib("maps_mounted")),
         "maps_made": ("- by the groups", "MiB", mib("maps_made")),
         "maps_looked": ("- by the names", "MiB", mib("maps_looked")),
         "maps_all": ("- all", "MiB", mib("maps_all")),
         "charged_looked": ("charged for the names", "MiB",
                            mib("charged_looked")),
         "charged_all": ("charged, all", "MiB", mib("charged_all")),
         "share": ("maps that nobody pays for, against that", "times",
                   unpaid_share),
         "unpaid_mounted": ("slabs and percpu that nobody pays for, by the "
                            "mounts", "MiB", mib("unpaid_mounted")),
         "unpaid_all": ("- all", "MiB", mib("unpaid_all")),
         "maps_after": ("maps left when all is unmounted and removed", "MiB",
                        mib("maps_after")),
         "unpaid_after": ("- slabs and percpu that nobody pays for", "MiB",
                          mib("unpaid_after")),
         "dying": ("groups that were removed, and stay", "", one_of("dying")),
         "mounted": ("mount", "s", median("mounted", float)),
         "looked": ("look up", "s", median("looked", float)),
         "drop": ("drop_caches 2 afterwards", "ms", in_ms("drop"))},
        pay_goals, pay_cases, plotted=("maps_all", "maps_after", "unpaid_all")),
    Scenario(
        "limit", "A container at its limit",
        "The same, with a memory.max that leaves 2 MiB when it comes to the names. "
        "A guest of this project fails if the container is not killed, or if its "
        "maps take more.",
        {"killed": ("killed", "", one_of("killed")),
         "grown": ("maps, by the names", "MiB", mib("grown")),
         "left": ("- left when it is gone", "MiB", mib("left"))},
        limit_goals, limit_cases, plotted=("grown", "left")),
))

NOTES = scenario_bench.NOTES + """\
 The container
has a mount namespace of its own, a CPU to itself, and memory.max."""

BENCH = scenario_bench.Bench(
    "untrusted", "What a container can do to its neighbours, on stock and on this project.",
    SCENARIOS, ("stock", "rust"), (), NOTES, "untrusted.py")
