# SPDX-License-Identifier: GPL-2.0
"""What the loads and stores of operations miss in caches: tables, and what is expected of it."""

import statistics

from bench.profile.workloads import CACHES_ICOUNT, WORKLOADS
from harness.goals import goal
from harness.report import table
from harness.scenario_bench import TWIN

LEVELS = {"l1": "L1", "l2": "L2", "l3": "L3"}
SHARING = {"shared": "stores to shared lines", "lost": "lost", "taken": "taken"}
# One miss in ten operations is as rare as another task that is due.
SLACK = 0.1
# Two builds differ in what shares a line: two guests with one kernel don't show it.
LAYOUT = 0.02
# What operations miss more than on stock, in lines: docs/profile.md says what that is.
SUMMARY_AND_LIST = {"l1": 2.2}
OTHER_NODE = {"l2": 1.1}
OF_SEVERAL = {"shared": 0.7, "lost": 0.2, "taken": 0.4}
EXPLAINED = {
    **dict.fromkeys(("set_shrinker_bit", "bit_clear", "access"), SUMMARY_AND_LIST),
    "bit": {**SUMMARY_AND_LIST, **OF_SEVERAL},
    "come": {**SUMMARY_AND_LIST, **OTHER_NODE, **OF_SEVERAL, "lost": 0.4},
    **dict.fromkeys(("other", "far"), OTHER_NODE),
    "fault": {"l2": 1, "l3": 1},
    "enter": {"l3": 1.1},
    "reclaim": {"l1": 6, "l2": 1},
    "lists": {"l1": 19, "l2": 6, "l3": 6},
    "first": {"l1": 46, "l2": 16, "l3": 12},
    "create": {"l1": 36},
    "remove": {"l1": 52, "l2": 15, "l3": 4},
    "mount": {"l1": 45},
    "shutdown": {"l1": 4, "l2": 1.5}, "freed": {"l1": 5},
    "stat": {"l1": 40, "l2": 1, "l3": 0.5}}
# A process that joins a group runs no code of ours, and others meanwhile.
LEFT_OUT = ("join",)
NOTES = f"""\
Loads and stores that are not in a model of caches, for one operation: an L1 (32 KiB) and an L2
(1 MiB) of each CPU, and an L3 (16 MiB) of all, which has what they have. Lines have 64 bytes and
physical addresses. Any line can be in any place, so that what a kernel misses does not depend on
the addresses of what it uses, and the one that was used least recently gives way. All that the
guest does goes through them, and what is part of an operation counts. There is no prefetcher, no
cache of instructions, no walk of page tables, and a miss takes no time: CPUs run one after the
other, for as long as the next timer lets them. An instruction takes {1 << CACHES_ICOUNT} ns."""
SHARED = """\
Lines that CPUs take from each other, for one operation. A shared line is one that more than one CPU
wrote in this operation, at any time: 512 groups share a line of the bitmap, and 8 one of their
summaries, but memory that one CPU frees and another one gets is counted, too. Lost: an access that
misses because another CPU wrote the line. Taken: a store to a line that another CPU has."""
# Operations of several CPUs.
SEVERAL = {operation.name for workload in WORKLOADS if workload.cpus > 1
           for operation in workload.operations}


def total(functions, key):
    return sum(counts.get(key, 0) for counts in functions.values())


def counted(profile, titles):
    """The operations for which misses were counted."""
    return [name for name in titles if "shared_lines" in profile[name]]


def shown(value, digits=2):
    return round(value) if value >= 1000 else round(value, digits)


def kinds_table(what, kinds, titles, profiles, names):
    """An operation to a row, and what `kinds` says of it, in each arm."""
    return table([what, *(f"{label}, {arm}" for label in kinds.values() for arm in profiles)],
                 [[titles[name], *(shown(total(profile[name]["functions"], key))
                                   for key in kinds for profile in profiles.values())]
                  for name in names])


def miss_table(titles, profiles, names):
    return kinds_table("misses of an operation", LEVELS, titles, profiles, names)


def shared_table(titles, profiles, names):
    names = [name for name in names if name in SEVERAL]
    found = kinds_table("lines of several CPUs", SHARING, titles, profiles, names)
    found["columns"] += [f"shared lines in all, {arm}" for arm in profiles]
    for row, name in zip(found["rows"], names):
        row += [profile[name]["shared_lines"] for profile in profiles.values()]
    return found


def compared(rounds, name, kinds):
    """For each of them, in the median of the rounds, by how much it is more than on stock, and of
    how much; and by how much guests with stock differ; or nothing."""
    found = {}
    for key in kinds:
        def figure(content, key=key):
            return total(content["functions"], key)
        pairs = rounds.pairs(name, figure)
        same = [value for pair in rounds.pairs(name, figure, TWIN) for value in pair]
        if pairs:
            found[key] = (statistics.median(one - other for one, other in pairs),
                          statistics.median(other for _, other in pairs),
                          max(same, default=0) - min(same, default=0))
    return found


def at_most(text, rounds, name, kinds):
    """As far as guests with stock agree, and builds of it; and no more than what is explained."""
    explained = {key: EXPLAINED.get(name, {}).get(key, 0) for key in kinds}
    besides = ", ".join(f"{count:g} of {kinds[key]}" for key, count in explained.items() if count)
    return goal(
        f"{text}{f', and {besides}' if besides else ''}", compared(rounds, name, kinds) or None,
        lambda found: ", ".join(f"{kinds[key]} {more:+.2f} of {stock:.2f} (noise: {noise:.2f})"
                                for key, (more, stock, noise) in found.items()),
        lambda found: all(more - explained[key] <= max(noise, SLACK, LAYOUT * stock)
                          for key, (more, stock, noise) in found.items()))


def goals(titles, rounds, names):
    names = [name for name in names if name not in LEFT_OUT]
    for name in names:
        yield at_most(f"{titles[name]}: at most the misses of stock", rounds, name, LEVELS)
    for name in names:
        if name in SEVERAL:
            yield at_most(f"{titles[name]}: no more of what several CPUs write than on stock",
                          rounds, name, SHARING)
