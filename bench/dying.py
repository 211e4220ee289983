# SPDX-License-Identifier: GPL-2.0
"""What `make bench-dying` measures: what groups keep that were removed, while something
still refers to them, on stock and on this project.

The figures of the series "mm: reduce the memory footprint of dying memory cgroups"
(Roman Gushchin, 2019) are for 1000 groups on 32 CPUs; so are these, and guests have as
many possible CPUs. Bytes decide; see goals.py.
"""

from harness import disk_image, scenario_bench
from harness.goals import at_least, at_most, goal, spread_text
from harness.scenario import Case, Scenario, mib, named, one_of

CPUS = 32
ONLINE = 2
SWAP = 256 << 20
KIB = 1024
# Less than on stock: what is charged per CPU, which are the groups' own statistics; all
# that the machine has per CPU, with what is not charged; and the former, of groups that
# come one after the other.
OWN_BACK = 0.95
ALL_BACK = 0.80
# With few groups it comes in steps of 0.125 MiB, about 1% of what 200 have on stock.
ALL_BACK_OF_FEW, FEW = 0.78, 200
LESS = 0.94
# Of the slab that is charged: the sums of the statistics.
SUMS_BACK = 0.75
# What is neither per CPU nor a cache, and is not of one group, in MiB.
FLAT = 1


def disks():
    return (disk_image.drive("swap-dying", SWAP),)


def case(label, n, *workload, memory=1536, timeout=900):
    return Case(label, n, workload, memory, kernel=(f"maxcpus={ONLINE}",), timeout=timeout,
                cpus=CPUS)


def each(name):
    """In KiB, of each group that is dying."""
    return lambda r: one_of(name)(r) / KIB / one_of("dying")(r)


def back(name):
    """How much of what a group had when it was alive it has given back, in percent."""
    def value(result):
        alive, kept = (one_of(f"{name}_{when}")(result) for when in ("alive", "dying"))
        return 100 * (1 - kept / alive) if alive else None
    return value


def grown(number):
    return lambda r: r["series"]["all_percpu_grown"][number] / (1 << 20)


def most(name):
    return lambda r: max(r["series"][name]) / (1 << 20)


def all_dying(table, case, n):
    """On both: else there is nothing to compare. And in the end nothing is."""
    for arm in table.arms:
        yield at_least(table, case.label, f"{case.label}: groups that are dying, {arm}",
                       "dying", n, arm)
    yield at_most(table, case.label, f"{case.label}: what is charged per CPU when they are "
                  "freed", "gone", FLAT, "MiB")
    yield at_most(table, case.label, f"{case.label}: charged slab when they are freed",
                  "slab_gone", FLAT, "MiB")


GONE = {"gone": ("charged per CPU when they are freed", "MiB", mib("percpu_gone")),
        "slab_gone": ("charged slab when they are freed", "MiB", mib("slab_gone"))}


def less_than_stock(table, at, text, metric, share):
    """By this share, in the worst of the rounds."""
    both = [table.spread(arm, at, metric) for arm in ("rust", "stock")]
    return goal(f"{text}: at least {share:.0%} less than on stock",
                both if all(both) else None,
                lambda both: f"{spread_text(both[0], 'MiB')}, {spread_text(both[1], 'MiB')} "
                             "on stock",
                lambda both: both[0]["max"] <= (1 - share) * both[1]["min"])


# 1. A number of them at a time.

def pinned_cases(quick):
    return [case(f"{n} groups, {pin}", n, "--pin", pin, "pinned")
            for pin, n in ((("inotify", 200),) if quick else
                           (("inotify", 1000), ("swapped", 1000)))]


def pinned_goals(table, cases):
    for case in cases:
        at = case.label
        yield from all_dying(table, case, case.n)
        yield at_least(table, at, f"{at}: groups that gave back their statistics",
                       "drained", case.n)
        yield less_than_stock(table, at, f"{at}: what is charged per CPU", "percpu",
                              OWN_BACK)
        yield less_than_stock(table, at, f"{at}: charged slab", "slab", SUMS_BACK)


# 2. One after the other.

def runs_cases(quick):
    n = FEW if quick else 2000
    return [case(f"{n} runs", n, "--pin", "inotify", "runs", memory=2048)]


def runs_goals(table, cases):
    for case in cases:
        at = case.label
        yield from all_dying(table, case, 3 * case.n)
        yield less_than_stock(table, at, f"{at}, three times: what is charged per CPU",
                              "percpu", LESS)
        yield less_than_stock(table, at, f"{at}, three times: charged slab, most", "slab",
                              SUMS_BACK)
        for turn in ("first", "second", "third"):
            yield less_than_stock(table, at, f"{at}, the {turn} time: all that the machine "
                                  "has per CPU", turn,
                                  ALL_BACK_OF_FEW if case.n <= FEW else ALL_BACK)


# 3. Why there are so many.

def jobs_cases(quick):
    n = 100 if quick else 1000
    return [case(f"{n} jobs, {pin}", n, "--pin", pin, "jobs")
            for pin in (("health",) if quick else ("health", "unreaped", "swapped",
                                                   "inotify"))]


def jobs_goals(table, cases):
    for case in cases:
        at = case.label
        yield from all_dying(table, case, case.n)
        yield less_than_stock(table, at, f"{at}: what is charged per CPU", "percpu",
                              OWN_BACK)


# 4. Groups that nothing keeps.

def freed_cases(quick):
    n = 1000 if quick else 10000
    return [case(f"{n} groups", n, "freed")]


def freed_goals(table, cases):
    for case in cases:
        for metric in ("percpu", "slab"):
            yield at_most(table, case.label, f"{case.label} that are freed: growth of {metric} "
                          "after the first 100", metric, FLAT, "MiB")


SCENARIOS = named((
    Scenario(
        "pinned", "Removed groups that something refers to",
        "All in one group, which says what is charged to it. A descriptor of inotify is "
        "made in each, by a process that then leaves; or a page of a tmpfs that others "
        "use, too, and that is in swap. Published for 1000 of them on 32 CPUs: 64,128 kB "
        "per CPU before, 26,880 kB after (58% less).",
        {"percpu": ("charged per CPU", "MiB", mib("percpu_dying")),
         "alive": ("- when they were alive", "MiB", mib("percpu_alive")),
         "each": ("- of each group", "KiB", each("percpu_dying")),
         "slab": ("charged slab", "MiB", mib("slab_dying")),
         "all_percpu": ("Percpu of the machine", "MiB", mib("all_percpu_dying")),
         "all_slab": ("SUnreclaim of the machine", "MiB", mib("all_slab_dying")),
         "percpu_back": ("part that came back", "%", back("percpu")),
         "drained": ("groups that gave them back", "", one_of("drained")),
         "dying": ("groups that are dying", "", one_of("dying")), **GONE},
        pinned_goals, pinned_cases, plotted=("percpu", "slab")),
    Scenario(
        "runs", "Containers that leave a group behind",
        "One after the other, as many three times. Published for 2000 of them, on 96 "
        "threads: Percpu grows by 76,032, 74,112 and 74,112 kB before, and by 4,224, 1,536 "
        "and 0 kB with a later series (Waiman Long, 2022).",
        {"percpu": ("charged per CPU, most", "MiB", most("percpu_grown")),
         "first": ("Percpu of the machine: first time", "MiB", grown(0)),
         "second": ("- second time", "MiB", grown(1)),
         "third": ("- third time", "MiB", grown(2)),
         "slab": ("charged slab, most", "MiB", most("slab_grown")),
         "dying": ("groups that are dying", "", one_of("dying")), **GONE},
        runs_goals, runs_cases, plotted=("first", "second", "third")),
    Scenario(
        "jobs", "Jobs of which something stays",
        "Fifty at a time: what the checks of ten containers' health have started, and the "
        "containers' first processes do not wait for; a job that nobody waits for; a page "
        "in swap; a descriptor of inotify. On both kernels all of them pile up.",
        {"dying": ("groups that are dying", "", one_of("dying")),
         "percpu": ("charged per CPU", "MiB", mib("percpu_dying")),
         "slab": ("charged slab", "MiB", mib("slab_dying")), **GONE},
        jobs_goals, jobs_cases, plotted=("percpu", "slab")),
    Scenario(
        "freed", "Groups that nothing refers to",
        "Made and removed one after the other. Growth since the first hundred.",
        {"percpu": ("charged per CPU, most", "MiB", most("percpu")),
         "all_percpu": ("Percpu of the machine, most", "MiB", most("all_percpu")),
         "slab": ("charged slab, most", "MiB", most("slab"))},
        freed_goals, freed_cases, plotted=("percpu", "all_percpu")),
))

NOTES = scenario_bench.NOTES + f"""\
 Guests have {ONLINE} CPUs, and
{CPUS} possible ones."""

BENCH = scenario_bench.Bench(
    "dying", "The bench of removed groups: what they keep, on stock and on this project.",
    SCENARIOS, ("stock", "rust"), (), NOTES, "dying.py", disks)
