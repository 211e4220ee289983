# SPDX-License-Identifier: GPL-2.0
"""What `make bench-priority` measures: what priorities between cgroups do when the whole
machine is short of memory. The workloads are in guest/workloads/priority.py; what is expected
of each is compared with the same kernel without values, or with memory.low, and with stock.
"""

from harness import disk_image, scenario_bench
from harness.goals import (
    at_least, at_most, factor, goal, no_kills, not_slower, spread_text)
from harness.scenario import KILLS, LRUS, Case, Scenario, median, named, one_of, plain

CLASSIC, _ = LRUS
# Published: 65,679 and 64,401 KB/s with 12/12, 118,771 and 580,878 with 12/6.
SECOND, FIRST = 9, 1
# In percent: of its memory, where memory.low keeps all of it; and of the speed that it has with
# that.
KEPT = 90
# Against memory.low, beside a group that holds memory and does nothing.
IDLE = 30
# A server against the same without a value, which decides; and a pod, which does not.
HELPED = 2
# Of what memory.min and memory.low protect, in percent.
PROTECTED = 95
# As published.
SWAP = 4 << 30
# As a disk has: it is what two wait for that swap at the same time, and not this machine.
IOPS = 400


def fast_disks():
    """Those of guest/memory.py, which checks need not wait for."""
    return (disk_image.NULL, disk_image.NULL, disk_image.drive("swap", SWAP))


def disks():
    *others, swap = fast_disks()
    return (*others, f"{swap},throttling.iops-total={IOPS}")


def percent(name):
    return median(name, lambda share: share * 100)


def against(table, one, other, metric, text, least, arm="rust", decides=True):
    """The figure of a case is at least so many times that of another one. It decides where that
    is far more than what differs from time to time."""
    both = [table.spread(arm, label, metric) for label in (one, other)]
    ready = all(both) and both[1]["max"]
    return goal(f"{text}: at least {least:g} times", both if ready else None,
                lambda both: f"{factor(both[0]['min'] / both[1]['max'])} times, "
                f"{factor(both[0]['median'])} against {factor(both[1]['median'])}",
                lambda both: both[0]["min"] >= least * both[1]["max"], decides=decides)


def keeps(table, label, who, metric):
    return at_least(table, label, f"{label}: {who} keeps at least {KEPT} % of its memory", metric,
                    KEPT)


def each_page(name):
    """What a page takes, in us."""
    rate = plain(name)
    return lambda result: 1e6 / rate(result) if rate(result) else None


def less(table, one, other, metric, text, arm="rust"):
    """The figure of a case is below that of another one; it is a time, and reported."""
    both = [table.spread(arm, label, metric) for label in (one, other)]
    return goal(f"{text} below that without", both if all(both) else None,
                lambda both: f"{factor(both[0]['median'])} us, {factor(both[1]['median'])} us",
                lambda both: both[0]["max"] < both[1]["min"], decides=False)


def rates(first, second):
    return {"rate0": (f"{first}: pages read", "1/s", plain("rate0")),
            "rate1": (f"{second}: pages read", "1/s", plain("rate1")),
            "page0": (f"{first}: a page", "us", each_page("rate0")),
            "page1": (f"{second}: a page", "us", each_page("rate1")),
            "kept0": (f"{first}: least part of its memory that it has", "%", percent("kept0")),
            "kept1": (f"{second}: the same", "%", percent("kept1")),
            "skipped0": (f"{first}: times that it was skipped", "", one_of("skipped0")),
            "skipped1": (f"{second}: the same", "", one_of("skipped1")),
            "override0": (f"{first}: times that it was taken from all the same", "",
                          one_of("override0")),
            "override1": (f"{second}: the same", "", one_of("override1")),
            **KILLS}


# Without values, and nobody is compared with them.
STOCK = ("stock", "again")


def case(label, workload, *how, beside_stock=False, kernel=(), settle=20, memory=512):
    return Case(label, 1, (*how, "--settle", str(settle), "--seconds", "10", workload),
                memory, timeout=900, kernel=kernel, left_out=() if beside_stock else STOCK)


V1 = ("cgroup v1, classic LRU", ("--v1", "--lru", "classic"))
# What is swapped takes a third of its size in memory.
ZRAM = ("zram, MGLRU", ("--lru", "mglru", "--swap", "zram", "--part", "55"))


def versions(*others):
    """Title, and how."""
    return (*((title, ("--lru", lru)) for lru, title in LRUS), *others)


def as_without(table, label, *metrics):
    """Where nobody is spared, a page takes as long as on stock, but for noise."""
    for metric in metrics:
        yield not_slower(table, label, f"{label}: {metric} as on stock", metric)


def titles_with(cases, row):
    """Of the cases in this row: what stands before it in their labels."""
    return [each.label.removesuffix(f", {row}") for each in cases
            if each.label.endswith(f", {row}")]


def nobody_killed(table, cases):
    for each in cases:
        yield from no_kills(table, each.label, each.left_out)


# 1. Two readers.

def reader_cases(quick):
    found = []
    for title, how in versions()[:1] if quick else versions(V1, ZRAM):
        published = title == CLASSIC[1] and not quick
        for second in ("12", "8", "6") if published else ("12", "6"):
            # Memory changes hands in half a minute, and in a whole one if there is twice as
            # much: as much as in the series.
            found.append(case(
                f"{title}, 12/{second}", "readers", *how, "--first", "12", "--second", second,
                settle=60 if published else 30, memory=1024 if published else 512,
                beside_stock=second == "12" and title in dict(LRUS).values() and not quick))
    return found


def reader_goals(table, cases):
    for title in titles_with(cases, "12/6"):
        label, same = f"{title}, 12/6", f"{title}, 12/12"
        yield keeps(table, label, "the second one", "kept1")
        # With zram, one of two equal ones may keep all it has, and either may be the one. On a
        # disk the first one no longer waits for the other's swap, which zram has nothing of.
        for metric, which, least in (("rate1", "second", SECOND), ("rate0", "first", FIRST)):
            yield against(table, label, same, metric, f"{label}: the {which} against 12/12",
                          least, decides=title != ZRAM[0])
        yield at_most(table, label, f"{label}: the first one is skipped", "skipped0", 0, "times")
        yield at_least(table, label, f"{label}: the second one is skipped", "skipped1", 1)
    yield from nobody_killed(table, cases)


# 2. A holder and another one.

PROTECTIONS = {"nothing": (), "memory.low": ("--low",), "6": ("--first", "6"),
               "6 active": ("--first", "6,active")}
BUSY, IDLE_HOLDER = "holder busy", "holder idle"
# Within these seconds the other one gets what the holder does not use.
SETTLED = {title: 90 if title == CLASSIC[1] else 30 for _, title in LRUS}


def pair_cases(quick):
    return [case(f"{title}, {state}, {protection}", "pair", "--lru", lru,
                 *(("--idle",) if state == IDLE_HOLDER else ()), *how,
                 settle=SETTLED[title] if state == IDLE_HOLDER else 15)
            for lru, title in LRUS for state in (BUSY, IDLE_HOLDER)
            for protection, how in PROTECTIONS.items()
            if not quick and (state, protection) != (IDLE_HOLDER, "nothing")]


def pair_goals(table, cases):
    for protection in ("6", "6 active"):
        for title in titles_with(cases, f"{BUSY}, {protection}"):
            label = f"{title}, {BUSY}, {protection}"
            yield keeps(table, label, "the holder", "kept0")
            # Where it has all of its memory, that is how fast the CPU is.
            yield against(table, label, f"{title}, {BUSY}, memory.low", "rate0",
                          f"{label}: the holder against memory.low", KEPT / 100, decides=False)
    # MGLRU gives up memory.low in each pass in which others do not suffice.
    _, title = CLASSIC
    if title in titles_with(cases, f"{IDLE_HOLDER}, 6 active"):
        label = f"{title}, {IDLE_HOLDER}, 6 active"
        yield against(table, label, f"{title}, {IDLE_HOLDER}, memory.low", "rate1",
                      f"{label}: the other one against memory.low", IDLE)
    yield from nobody_killed(table, cases)


# 3. Kubernetes.

POD, POD_BELOW = "pod 6", "pod 6 below slice 10"


def pod_cases(quick):
    rows = {"nothing": (), POD: ("--first", "6"),
            POD_BELOW: ("--slice", "10", "--first", "6")}
    return [case(f"{title}, {row}", "pods", *how, *options)
            for title, how in versions(V1) for row, options in rows.items()
            if not quick and (row != POD_BELOW or title == CLASSIC[1])]


def pod_goals(table, cases):
    for row, number in ((POD, 6), (POD_BELOW, 10)):
        for title in titles_with(cases, row):
            found = table.spread("rust", f"{title}, {row}", "effective")
            yield goal(f"{title}, {row}: the pod has {number}", found,
                       lambda found: spread_text(found, ""),
                       lambda found, number=number: found["min"] == number == found["max"])
    for title in titles_with(cases, POD):
        label = f"{title}, {POD}"
        yield keeps(table, label, "the pod", "kept0")
        # Without a value it may happen to keep all of it, too.
        yield against(table, label, f"{title}, nothing", "rate0",
                      f"{label}: the pod against nothing", HELPED, decides=False)
    for each in cases:
        yield at_least(table, each.label, f"{each.label}: pods came and went meanwhile",
                       "churned", 3)
    yield from nobody_killed(table, cases)


# 4. A server.

def server_cases(quick):
    return [case(f"{title}, {given}", "server", *how, "--first", given, kernel=("psi=1",),
                 beside_stock=given == "default")
            for title, how in versions() for given in ("default", "6") if not quick]


def server_goals(table, cases):
    for title in titles_with(cases, "default"):
        label = f"{title}, default"
        yield not_slower(table, label, f"{label}: median as on stock", "p50")
    for title in titles_with(cases, "6"):
        label, without = f"{title}, 6", f"{title}, default"
        yield keeps(table, label, "the server", "kept")
        # It may be that -k chose one of them only.
        if title in titles_with(cases, "default"):
            yield against(table, label, without, "answers", f"{label}: answers against default",
                          HELPED)
            yield less(table, label, without, "p99", f"{label}: 99th percentile")
    yield from nobody_killed(table, cases)


# 5. Everybody is equal.

def rest_cases(quick):
    return [case(f"{title}, all {given}", "rest", *how, "--first", given,
                 beside_stock=given == "default")
            for title, how in (versions()[1:] if quick else versions(V1))
            for given in (("0",) if quick or title == V1[0] else ("default", "0"))]


def rest_goals(table, cases):
    for title in titles_with(cases, "all 0"):
        label = f"{title}, all 0"
        yield at_least(table, label, f"{label}: somebody is taken from", "override0", 1)
    for title in titles_with(cases, "all default"):
        yield from as_without(table, f"{title}, all default", "page0", "page1")
    yield from nobody_killed(table, cases)


# 6. Nobody has a value, and some have memory.min and memory.low.

def neighbour_cases(quick):
    return [] if quick else [case(title, "neighbours", *how, beside_stock=True)
                             for title, how in versions()]


def neighbour_goals(table, cases):
    for each in cases:
        for arm in table.arms:
            yield at_least(table, each.label, f"{each.label}: memory.min keeps at least "
                           f"{PROTECTED} %, {arm}", "kept0", PROTECTED, arm)
            if each.label == CLASSIC[1]:
                yield at_least(table, each.label, f"{each.label}: memory.low keeps at least "
                               f"{PROTECTED} %, {arm}", "kept1", PROTECTED, arm)
                yield at_most(table, each.label, f"{each.label}: times that memory.low was given "
                              f"up, {arm}", "low", 0, "of them", arm)
        yield from as_without(table, each.label, "page3")
    yield from nobody_killed(table, cases)


SCENARIOS = named((
    Scenario(
        "readers", "Two readers",
        "Each has 83% of memory, and reads it again and again; swap is on a disk. Or 55%, and "
        "swap is in memory (zram). The second one has a value of 12, which is as if it had "
        "none, 8, or 6. Published for 1 GB and 12/6: the second one reads again 9.0 times as "
        "fast as with 12/12, and the first one 1.8 times, as it no longer waits for the other "
        "one's swap.",
        rates("first", "second"), reader_goals, reader_cases, plot="sizes"),
    Scenario(
        "pair", "A holder and another one",
        "The holder has half of memory, reads it again and again or does nothing, and is "
        "protected by memory.low, a value, or a value that counts while it is active. The "
        "other one wants three quarters. Published for a BPF series of 2026, with the holder "
        "idle: 37 times as much work of the other one as with memory.low; with both busy, "
        "0.90 times as much of the holder.",
        rates("holder", "other"), pair_goals, pair_cases, plot="sizes"),
    Scenario(
        "pods", "A pod below slices that have no value",
        "kubepods and burstable have none, or kubepods has 10. The pod reads half of memory, "
        "and another one three quarters, while pods are made, moved to and removed.",
        {**rates("pod", "other"), "effective": ("the pod's effective value", "",
                                                plain("effective")),
         "churned": ("pods that came and went", "", plain("churned"))},
        pod_goals, pod_cases, plot="sizes"),
    Scenario(
        "server", "A server beside files and a build",
        "It answers requests from 45% of memory, one after the other; beside it, a stream of "
        "reads becomes faster and faster, and two compile, with a fifth of memory each.",
        {"answers": ("answers", "1/s", plain("answers")), "p50": ("median", "us", plain("p50")),
         "p99": ("99th percentile", "us", plain("p99")),
         "kept": ("part of its memory that the server has in the end", "%", percent("kept")),
         "psi_some": ("some task waits for memory", "us", plain("psi_some")),
         "psi_full": ("all of them do", "us", plain("psi_full")),
         "allocstall": ("direct reclaim", "", plain("allocstall")),
         "pgscan_direct": ("pages scanned in it", "", plain("pgscan_direct")),
         "files": ("files compiled", "", plain("files")),
         "streamed": ("MiB streamed", "", plain("streamed")),
         **KILLS},
        server_goals, server_cases, plotted=("answers", "p99")),
    Scenario(
        "rest", "All have the same value",
        "Four groups read a third of memory each. With 0, nobody is reached by kswapd, and by "
        "direct reclaim last of all: so values are overridden.",
        rates("one", "another"), rest_goals, rest_cases, plotted=("rate0", "rate1")),
    Scenario(
        "neighbours", "Nobody has a value",
        "One holds a fifth of memory with memory.min, one with memory.low, and one with neither; "
        "a fourth one wants two thirds. What the first two keep, and memory.events, is as on "
        "stock.",
        {"kept0": ("memory.min: least part of its memory that it has", "%", percent("kept0")),
         "kept1": ("memory.low: the same", "%", percent("kept1")),
         "kept2": ("neither: the same", "%", percent("kept2")),
         "page3": ("the fourth one: a page", "us", each_page("rate3")),
         **{name: (f"memory.events of all: {name}", "", one_of(name))
            for name in ("low", "high", "max", "oom", "oom_kill")},
         **KILLS},
        neighbour_goals, neighbour_cases, plotted=("page3", "kept1")),
))

BENCH = scenario_bench.Bench(
    "priority", "The bench of priorities between cgroups: stock and this project.",
    SCENARIOS, ("stock", "rust"), (), scenario_bench.NOTES, "priority.py", disks,
    (2, 1))
