# SPDX-License-Identifier: GPL-2.0
"""Turns the counts of `make bench-profile` into profile.json and tables."""

from bench.containers import BUSY_SHARE, IDLE_SHARE, READS
from bench.profile import misses, start
from bench.profile.rounds import Rounds
from bench.profile.workloads import (
    CONTAINERS, FILES, ICOUNT, MEMORY, OPERATIONS, SIBLINGS, UNCHARGE)
from bench.retain import COST, OFF, ON
from guest.containers import BUSY, PAGES, STATES
from harness.goals import goal
from harness.report import goal_table, ratio, sections, table
from harness.scenario import LRUS
from harness.scenario_bench import TWIN

TOP = 25
HELPER = "rust_helper_"
SHORT = [each.name for each in (*MEMORY, UNCHARGE, *FILES.operations)
         if each.name not in ("fault", "map")]
# Of set_shrinker_bit(), in instructions: far less than those of what calls it.
BITS = {"bit_set": 60, "bit_clear": 90}
# The others are a part of what has a limit.
UNLIMITED = (*BITS, *misses.LEFT_OUT, "bit", "set_shrinker_bit", "lists")
# At most so many times the instructions of stock. Two builds of one source differ by up to one
# percent, and what a page fault finds around it by two. One fault at which a page is copied has two
# static keys, and a register more to fill, in 272 instructions.
LIMITS = {
    **{each.name: 1.02 for each in OPERATIONS if each.title and each.name not in UNLIMITED},
    **dict.fromkeys(SHORT, 1.01), "copy": 1.015, "fault": 1.03, "map": 1.03,
    **dict.fromkeys(("drop", "one", "all", "stat", "online"), 1.0),
    # docs/profile.md says what these take more, function by function.
    "come": 1.06, "far": 1.08, "create": 1.09, "first": 1.16, "reclaim": 1.12, "mount": 1.04,
    "remove": 1.19, "offline": 1.03}
# Of the short ones, what happens in fewer of them, as when another task is due, is left out.
OFTEN = dict.fromkeys(SHORT, 0.05)
NOTES = """\
Instructions that the guest executed, by the function in which they are, for one
operation; the mean of all operations in one guest, and the median of the rounds.
Interrupts, exceptions and other tasks are left out: how often it was waited for
those is in the table. Ratios above 1 are in favour of this project. An instruction
is not a time: what misses a cache or is atomic takes longer."""
# In ms of the time that SIBLINGS has, however many groups are passed over.
SECTION_LIMIT = 0.1
SECTIONS = f"""\
One group has all others below it, and only the last of these has memory. Processes
reclaim from their parent at once, and then kswapd does. These are the RCU read-side
critical sections of the iterator, which are what forbids preemption without
PREEMPT_RCU; there is no PREEMPT_NONE on x86 any more. An instruction takes
{1 << ICOUNT} ns of the guest's time, so that it is as deterministic as their number."""
RETAINED = """\
Page cache that outlives limits, where nothing is gained: one who may have 20 MB reads a file of
512 MB, once, after another one that went through the pool, in which nobody uses anything. For each
page that is read, what read(2) executes, with all reclaim, and what the pool's work item does to
make room in it."""
# Of the instructions without a pool.
RETAINED_LIMIT = 1 + COST / 100
RECLAIMED = f"""\
Memory is full, and somebody reads as much as there is of it, into large folios or a page to a
folio, beside no containers, idle ones, or ones that have some page cache and dentries:
{CONTAINERS[-1].groups[0]} with seven super blocks each. What shrink_node() executes for each MiB
that is reclaimed, in kswapd and in who reclaims directly."""
# What takes time that is not that of instructions, or that of others.
CALLS = {"waits": ("schedule",), "work items": ("__queue_work",),
         "RCU callbacks": ("call_rcu", "kvfree_call_rcu", "call_rcu_hurry")}


def number(value):
    return misses.shown(value, 1)


# Of functions: what the heading ends in, the figure, and how that is shown. The first one ranks.
INSTRUCTIONS = (("", "instructions", number), (", calls", "calls", misses.shown))
MISSES, SHARING = (tuple((f", {label}", key, misses.shown) for key, label in kinds.items())
                   for kinds in (misses.LEVELS, misses.SHARING))


def totals(functions):
    """What all functions of an operation did together."""
    return {
        "instructions": sum(f["instructions"] for f in functions.values()),
        "helper_calls": sum(f["calls"] for name, f in functions.items()
                            if name.startswith(HELPER)),
        "atomics": sum(f["atomics"] for f in functions.values()),
        **{what: sum(functions[name]["calls"] for name in names
                     if name in functions) for what, names in CALLS.items()},
    }


def in_ms(instructions):
    return (instructions << ICOUNT) / 1e6


def section_goal(found):
    return goal(f"no RCU section of the iterator takes longer than {SECTION_LIMIT} ms of the "
                "guest's time", in_ms(found["longest"]) if found else None,
                lambda longest: f"{longest:.3f} ms", lambda longest: longest <= SECTION_LIMIT)


def often(name, functions):
    """The instructions of what is done in enough of the operations."""
    return sum(f["instructions"] for f in functions.values()
               if f["calls"] >= OFTEN.get(name, 0))


def instruction_goals(titles, rounds):
    """Instructions are the same in each run, but for a few in a thousand: these
    decide, by the worst round."""
    def pairs(name):
        return rounds.pairs(name, lambda content: often(name, content["functions"]))

    for name in filter(titles.get, LIMITS):
        yield goal(f"{titles[name]}: at most {LIMITS[name]} times the instructions of stock",
                   max((rust / stock for rust, stock in pairs(name) if stock and rust),
                       default=None),
                   lambda times: f"{times:.3f} times",
                   lambda times, limit=LIMITS[name]: times <= limit)
    for name in filter(titles.get, BITS):
        yield goal(f"{titles[name]}: at most {BITS[name]} instructions",
                   max((rust for rust, _ in pairs(name)), default=None),
                   lambda number: f"{number:.1f}",
                   lambda number, limit=BITS[name]: number <= limit)


def retained(profile, lru, state):
    """Per page that is read: by who reads it, and in the pool; None if it was not counted."""
    name = f"once-{lru}-{state}"
    if f"{name}-read" not in profile:
        return None
    return [sum(f["instructions"] for f in profile.get(f"{name}-{part}", {"functions": {}})
                ["functions"].values()) for part in ("read", "pool")]


def retained_goals(profile):
    for lru, _ in LRUS:
        off, on = (retained(profile, lru, state) for state in (OFF, ON))
        if off or on:
            yield goal(f"retained page cache, {lru} LRU: where nothing is gained, at most "
                       f"{RETAINED_LIMIT} times the instructions without a pool",
                       sum(on) / sum(off) if on and off else None,
                       lambda times: f"{times:.3f} times", lambda times: times <= RETAINED_LIMIT)


def retained_table(profiles):
    rows = []
    for lru, _ in LRUS:
        found = [retained(profiles.get(arm, {}), lru, state)
                 for arm, state in (("stock", OFF), ("rust", OFF), ("rust", ON))]
        for title, pick in (("read(2)", lambda each: each[0]), ("the pool", lambda each: each[1]),
                            ("both", sum)):
            values = [pick(each) if each else None for each in found]
            rows.append([f"{lru} LRU: {title}", *(value and number(value) for value in values),
                         round(values[2] / values[1], 3) if values[1] and values[2] else None])
    return table(["instructions per page", "stock", "rust, off", "rust, on", "on / off"], rows)


def reclaimed(profile, *where):
    """Per MiB; None if it was not counted."""
    functions = profile.get("-".join(("containers", *where, "reclaim")), {}).get("functions")
    return functions and sum(f["instructions"] for f in functions.values())


def reclaimed_goals(profiles):
    """With MGLRU reclaim visits few containers, on stock as here, so that there is nothing to save.
    Against none, a page to a folio: beside containers, memory is cut into smaller folios, on stock
    as here, and how large they are is most of what reclaim costs then."""
    stock, rust = (profiles.get(arm, {}) for arm in ("stock", "rust"))
    for lru, title in LRUS:
        for reads, how in READS.items():
            none, idle, busy = (reclaimed(rust, lru, state, reads) for state in STATES)
            of_stock = reclaimed(stock, lru, BUSY, reads)
            limits = []
            if lru == "classic":
                limits.append(("not idle", "of stock", busy, of_stock, BUSY_SHARE))
            elif reads == PAGES:
                limits.append(("not idle", "without any", busy, none, IDLE_SHARE))
            if reads == PAGES:
                limits.append(("idle", "without any", idle, none, IDLE_SHARE))
            for state, than, one, other, limit in limits:
                if one or other:
                    yield goal(f"reclaim beside containers, {title}, {how}, {state}: at most "
                               f"{limit} times the instructions {than}",
                               one / other if one and other else None,
                               lambda times: f"{times:.3f} times",
                               lambda times, limit=limit: times <= limit)


def reclaimed_table(profiles):
    rows = []
    for lru, title in LRUS:
        for state in STATES:
            for reads, how in READS.items():
                stock, rust = (reclaimed(profiles.get(arm, {}), lru, state, reads)
                               for arm in ("stock", "rust"))
                if stock or rust:
                    rows.append([f"{title}, {state}, {how}", stock and number(stock),
                                 rust and number(rust),
                                 ratio(stock / rust) if stock and rust else None])
    return table(["instructions per MiB", "stock", "rust", "stock / rust"], rows)


def build(results, machine):
    """The content of profile.json."""
    rounds = Rounds(results)
    # What two guests with stock differ by is for goals alone.
    every = {arm: rounds.median(arm) for arm in rounds.by_arm if arm != TWIN}
    # The floor has one kind of workload.
    profiles = {arm: profile for arm, profile in every.items() if arm != start.FLOOR}
    measured = next(iter(profiles.values()), {})
    titles = {operation.name: operation.title for operation in OPERATIONS
              if operation.title and operation.name in measured}
    summary = {name: {arm: totals(profile[name]["functions"])
                      for arm, profile in profiles.items()} for name in titles}
    iterate = SIBLINGS.operations[0].name
    sections_of = {arm: {key: profile[iterate][key]
                         for key in ("counted", "sections", "longest")}
                   for arm, profile in profiles.items() if iterate in measured}
    missed = misses.counted(measured, titles)
    goals = [*start.goals(every),
             *instruction_goals(titles, rounds),
             *([section_goal(sections_of.get("rust"))] if sections_of else ()),
             *retained_goals(profiles.get("rust", {})),
             *reclaimed_goals(profiles),
             *misses.goals(titles, rounds, missed)]
    groups = ", ".join(f"{count} for {scenario}" for scenario, count
                       in machine["groups"].items())
    about = f"Groups in the guests: {groups}.\n{NOTES}" if groups else NOTES
    return {
        "machine": machine, "skipped": [], "failed": [], "doubts": [],
        "summary": summary, "goals": goals, "results": results, **sections(
            ("", about, {"operations": summary_table(titles, summary),
                         "goals": goal_table(goals)}),
            ("misses", misses.NOTES, {
                "misses": misses.miss_table(titles, profiles, missed)}),
            ("what several CPUs write", misses.SHARED, {
                "shared": misses.shared_table(titles, profiles, missed)}),
            ("empty groups are passed over", SECTIONS,
             {"siblings": section_table(sections_of)}),
            ("containers on many nodes", start.NOTES, {"start": start.start_table(every, number)}),
            ("page cache that outlives limits", RETAINED, {"retained": retained_table(profiles)}),
            ("reclaim beside containers", RECLAIMED, {"reclaimed": reclaimed_table(profiles)}),
            *((title.removeprefix("- of it "), "", function_tables(profiles, name))
              for name, title in titles.items()))}


def summary_table(titles, summary):
    arms = list(dict.fromkeys(arm for found in summary.values() for arm in found))
    others = [arm for arm in arms if arm != "stock"]
    counts = {f"calls of {HELPER}*": "helper_calls", "atomic": "atomics",
              **{what: what for what in CALLS}}
    rows = []
    for name, title in titles.items():
        found = summary[name]
        instructions = {arm: found[arm]["instructions"] for arm in found}
        rows.append([title, *(number(instructions[arm]) for arm in arms), *(
            ratio(instructions["stock"] / instructions[arm])
            if instructions.get("stock") and instructions[arm] else None for arm in others),
            *(round(found[arm][key], 2) for key in counts.values() for arm in arms)])
    return table(["instructions of an operation", *arms, *(f"stock / {arm}" for arm in others),
                  *(f"{what}, {arm}" for what in counts for arm in arms)], rows)


def section_table(found):
    return table(["arm", "groups returned", "RCU sections", "instructions of the longest",
                  "its time, in ms"],
                 [[arm, *each.values(), round(in_ms(each["longest"]), 3)]
                  for arm, each in found.items()])


def function_tables(profiles, name):
    by_arm = {arm: profile[name]["functions"] for arm, profile in profiles.items()}
    return {name: function_table(by_arm, INSTRUCTIONS),
            f"{name}-misses": function_table(by_arm, MISSES),
            f"{name}-shared": function_table(by_arm, SHARING)}


def function_table(by_arm, columns):
    """Those in which most of the first column is, in any arm."""
    first = columns[0][1]
    most = {}
    for functions in by_arm.values():
        for function, counts in functions.items():
            most[function] = max(counts.get(first, 0), most.get(function, 0))
    ranked = sorted(filter(most.get, most), key=lambda function: (-most[function], function))
    rows = []
    for function in ranked[:TOP]:
        counts = [functions.get(function) for functions in by_arm.values()]
        rows.append([f"`{function}`", *(show(each.get(key, 0)) if each else None
                                        for each in counts for _, key, show in columns)])
    rest = ranked[TOP:]
    if rest:
        rows.append([f"{len(rest)} others", *(
            show(sum(functions[other].get(key, 0) for other in rest if other in functions))
            for functions in by_arm.values() for _, key, show in columns)])
    return table(["function", *(f"{arm}{what}" for arm in by_arm for what, *_ in columns)], rows)
