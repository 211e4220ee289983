# SPDX-License-Identifier: GPL-2.0
"""What `make bench-softlimit` measures: a kernel of ours with soft limits off
and on, and stock.

The workloads are those of the series "Soft limit rework" by Michal Hocko, 2013,
in guest/workloads/soft_limit.py. All metrics are times, memory or counts, so that stock / on
above 1 is in favour of soft limits. Whether first passes happen, and how many groups
are visited, decides; see goals.py.
"""

from harness import disk_image, scenario_bench
from harness.common import QUICK
from harness.goals import at_least, at_most, below, no_kills, not_slower
from harness.scenario import KILLS, LRUS, Case, Scenario, mib, named, over, plain

CLASSIC, MGLRU = LRUS
# Kernels that take nothing but file pages still swap a few of their own.
SWAP_LEFT = 4
# With groups against without.
FLAT = 1
# The same of the groups that are visited while a GiB is reclaimed, of which there
# are two without the empty ones. How often reclaim starts anew differs.
VISITED = 3
# Of what stock scans, as those in excess come first. It depends on how far kswapd runs ahead.
MOST_SCANNED = 1.5
SWAP = 1536 << 20
# In bytes per second.
DISK_SPEED = 200_000_000


def disks():
    """Two where data goes that nobody reads again, and swap. The first one takes what it
    gets at once, the second one as fast as a real disk."""
    null = disk_image.NULL
    return (null, f"{null},throttling.bps-write={DISK_SPEED}", disk_image.drive("swap", SWAP))


def looks(table, label):
    return at_least(table, label, f"{label}: reclaim looks for groups in excess first",
                    "passes", 1, "on")


# 1. A stream and the eater.

STREAMS = {"writer": (), "reader": ("--reads",)}


def eater_case(what, lru, title, memory):
    return Case(f"{what}, {title}", 1,
                ("--lru", lru, "--soft", "0", *STREAMS[what], "beside_eater"), memory)


def eater_cases(quick):
    if quick:
        return [eater_case("writer", *MGLRU, 768), eater_case("reader", *CLASSIC, 768)]
    return [eater_case(what, *lru, 1024) for what in STREAMS for lru in LRUS]


def eater_goals(table, cases):
    for case in cases:
        at = case.label
        yield below(table, at, f"{at}: swap of the eater with soft limits", "swap_peak",
                    SWAP_LEFT, "MiB", "on")
        yield not_slower(table, at, f"{at}: it is not slower", "streamed", arm="on")
        yield looks(table, at)
        yield from no_kills(table, at)


# 2. A job whose working set fits, beside one over its limit.

BESIDE = {"batch": "a batch job", "build": "a build"}
# And how many requests: one that has to read a page takes longer.
JOBS = {"interactive": ("anonymous memory", 40000), "database": ("page cache", 5000)}


def spare_cases(quick):
    memory, share = (768, 16) if quick else (1024, 1)
    return [Case(f"{text} beside {other}, {title}", 1,
                 ("--lru", lru, "--soft", "0", "--spared", job, "--beside", beside,
                  "--requests", str(requests // share), "spare"), memory, timeout=600)
            for job, (text, requests) in JOBS.items() for beside, other in BESIDE.items()
            for lru, title in ((CLASSIC,) if quick else LRUS)
            if not quick or (job, beside) == ("interactive", "batch")]


def spare_goals(table, cases):
    for case in cases:
        at = case.label
        yield not_slower(table, at, f"{at}: refaults of who is spared", "refaults",
                         "as many as on stock", "on")
        yield not_slower(table, at, f"{at}: its requests", "took", arm="on")
        yield looks(table, at)
        yield from no_kills(table, at)


# 3. Loads that need all of the memory.

def load_cases(quick):
    memory, rounds = (768, 1) if quick else (1024, 6)
    return [Case(f"{title}, soft limits {soft}", 1,
                 ("--lru", lru, "--rounds", str(rounds),
                  *(("--soft", "0") if soft == "0" else ()), "loads"), memory)
            for soft in (("unset",) if quick else ("unset", "0"))
            for lru, title in ((MGLRU,) if quick else LRUS)]


def load_goals(table, cases):
    for case in cases:
        at = case.label
        yield from no_kills(table, at)
        if "unset" not in at:
            yield looks(table, at)
            continue
        yield at_most(table, at, f"{at}: first passes, where no group can be in excess",
                      "passes", 0, "of them", "on")
        for metric, word in (("elapsed", "the time of stock"),
                             ("system", "the system time of stock")):
            yield not_slower(table, at, f"{at}: not slower", metric, word, "on")


# 4. Empty groups beside the writer.

def empty_case(n, lru, title, version, repeats, memory):
    limit = ("--v2",) if version == "v2" else ("--soft", "0")
    return Case(f"N = {n}, {title}, cgroup {version}", n,
                ("--lru", lru, "--repeats", str(repeats), *limit, "--no-swap",
                 "among_empty"), memory, timeout=600)


def empty_cases(quick):
    if quick:
        return [empty_case(200, *MGLRU, "v1", 1, 768)]
    return [*(empty_case(n, *lru, "v1", 3, 1024)
              for n in (2000, 8000) for lru in LRUS),
            empty_case(8000, *CLASSIC, "v2", 3, 1024)]


def empty_goals(table, cases):
    for case in cases:
        at = case.label
        yield below(table, at, f"{at}: system time against none", "over_none", FLAT, "times",
                    "on")
        yield at_most(table, at, f"{at}: groups visited against none", "visited", VISITED,
                      "times", "on")
        yield from no_kills(table, at)


# 5. Memory that can't be reclaimed, and a trickle that can.

def trickle_cases(quick):
    return [] if quick else [
        Case(title, 1, ("--lru", lru, "--no-swap", "--pause", "0", "trickles"), 1024)
        for lru, title in LRUS]


def trickle_goals(table, cases):
    for case in cases:
        at = case.label
        # With MGLRU, stock leaves a group alone that it got nothing of; a first pass does not.
        yield not_slower(table, at, f"{at}: pages scanned for each that is freed: at most "
                         f"{MOST_SCANNED:g} times those of stock", "per_page",
                         "as many as on stock", "on", MOST_SCANNED)
        yield looks(table, at)
        yield from no_kills(table, at)


# First passes of reclaim are over groups in excess; stock has none.
COUNTS = {"passes": ("first passes", "", lambda r: r["passes"]),
          **KILLS}
SCENARIOS = named((
    Scenario(
        "eater", "A writer or reader beside a memory eater",
        "One group has a soft limit of 0. It writes twice the memory to a disk, "
        "or reads a part of a disk that is nearly as large as memory eight times. "
        "The other one has no limit, takes all but 400 MiB in 100 chunks, and "
        "keeps it. Published for the writer: 123,900 KB of the eater in swap "
        "without, 300 KB with soft limits; since then the kernel has learned to "
        "leave anonymous memory alone while files are written once.",
        {"swap_peak": ("swap of the eater, most", "MiB", mib("swap_peak")),
         "swap": ("- when the writer has ended", "MiB", mib("swap")),
         "streamed": ("the writer or reader", "s", plain("streamed")),
         "ate": ("the eater, until it has all", "s", plain("ate")),
         "system": ("system time", "s", plain("system")), **COUNTS},
        eater_goals, eater_cases, plot="samples"),
    Scenario(
        "spare", "A job that fits beside one over its limit",
        "A job has 45% of memory, anonymous or page cache, and answers requests for 16 pages of it "
        "each. The other one has a soft limit of 0: a batch job that goes through 75% of memory "
        "again and again, or a build, two processes at a time with 30% each.",
        {"refaults": ("pages of the job that came back", "", plain("refaults")),
         "took": ("all of its requests", "us", plain("took")),
         "p99": ("99th percentile of them", "us", plain("p99")),
         "done": ("the other one, in a second", "", plain("done")), **COUNTS},
        spare_goals, spare_cases, plotted=("refaults", "took")),
    Scenario(
        "loads", "Two loads",
        "Two groups that use memory again and again, read files and compute "
        "checksums; 60% of memory is theirs, and the files don't fit in the "
        "rest.",
        {"elapsed": ("until both have ended", "s", plain("elapsed")),
         "system": ("system time", "s", plain("system")),
         "swap": ("written to swap", "MiB", mib("swap")), **COUNTS},
        load_goals, load_cases, plotted=("elapsed", "system")),
    Scenario(
        "empty", "A writer among empty groups",
        "The writer, with a soft limit of 0 on v1, before and after N empty "
        "groups are made in the same guest. System time is that of all CPUs. "
        "Published, for 8,000 groups against none: 5.9 times as much system time "
        "if each is visited, 1.3 times if subtrees are left out.",
        {"none_system": ("no groups: system time", "s", plain("none_system")),
         "some_system": ("N groups: system time", "s", plain("some_system")),
         "over_none": ("- against none", "times",
                       over("some_system", "none_system")),
         "none": ("no groups: the writer", "s", plain("none")),
         "some": ("N groups: the writer", "s", plain("some")),
         "none_visits": ("no groups: groups visited for a GiB", "",
                         plain("none_visits")),
         "some_visits": ("N groups: groups visited for a GiB", "",
                         plain("some_visits")),
         "visited": ("- against none", "times",
                     over("some_visits", "none_visits")), **COUNTS},
        empty_goals, empty_cases, plotted=("none_system", "some_system")),
    Scenario(
        "trickle", "A group whose memory can't be reclaimed, but for a trickle",
        "A quarter of memory is pinned page cache of a group with a soft limit of 0, which "
        "also reads one page after the other, all the time. As much is cold page cache of "
        "another group, and half of that is wanted. Nobody may keep reclaim to himself: what "
        "that costs is counted in pages.",
        {"per_page": ("scanned for each that is freed", "pages", over("scanned", "freed")),
         "scanned": ("- scanned", "", plain("scanned")),
         "freed": ("- freed, but for the trickle", "", plain("freed")), **COUNTS},
        trickle_goals, trickle_cases, plotted=("per_page",)),
))

NOTES = scenario_bench.NOTES + """\
 The disk that
is written keeps nothing; beside the eater it takes 200 MB/s, otherwise all at
once. Swap is a file of the host."""

BENCH = scenario_bench.Bench(
    "softlimit", "The bench of soft limits: stock, and this project with them off and on.",
    SCENARIOS, ("stock", "on") if QUICK else ("stock", "off", "on"), (), NOTES,
    "soft_limit.py", disks)
