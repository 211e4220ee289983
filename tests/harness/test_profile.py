# SPDX-License-Identifier: GPL-2.0
"""What bench-profile reads of its plugin's counts, reports of them, and runs."""

import argparse

import pytest

from bench.profile import __main__ as program
from bench.profile import counting, misses, report, rounds, start, workloads
from harness import goals
from harness.kernels import ARMS

OPERATIONS = workloads.OBJECTS.operations[:2]
COUNTS = """\
operation 9 7 3 20
operation 8 4 0 0
block 0 1000 10 1 7
block 0 1008 5 0 2
block 1 2000 3 0 4
shared 0 2
shared 1 0
missed 0 1008 6 5 4 3 2 1
missed 0 1000 1 1 1 1 1 1
missed 1 3000 1 0 0 0 0 0
"""
ARM_NAMES = ("stock", "again", "rust")


class Symbols:
    """Functions of 4 KiB."""

    def at(self, address):
        return f"f{address >> 12}", not address % 4096


def test_counts(tmp_path):
    path = tmp_path / "counts"
    path.write_text(COUNTS)
    first, second = counting.read(path, Symbols(), OPERATIONS).values()
    assert first == {
        "entered": 9, "counted": 7, "sections": 3, "longest": 20, "shared_lines": 2,
        "functions": {"f1": {"instructions": 80, "calls": 7, "atomics": 7, "l1": 7, "l2": 6,
                             "l3": 5, "lost": 4, "taken": 3, "shared": 2}}}
    assert second["functions"]["f2"] == {"instructions": 12, "calls": 4, "atomics": 0}
    assert second["functions"]["f3"]["l1"] == 1


def test_counts_without_caches(tmp_path):
    path = tmp_path / "counts"
    path.write_text("\n".join(COUNTS.splitlines()[:5]))
    first, _ = counting.read(path, Symbols(), OPERATIONS).values()
    assert "shared_lines" not in first
    assert first["functions"]["f1"] == {"instructions": 80, "calls": 7, "atomics": 7}


def test_incomplete_counts(tmp_path):
    path = tmp_path / "counts"
    path.write_text(COUNTS.splitlines()[0])
    with pytest.raises(counting.BenchError):
        counting.read(path, Symbols(), OPERATIONS)


@pytest.mark.parametrize("caches, end", [(True, ",out=b,caches=on"), (False, ",out=b")])
def test_argument(caches, end):
    assert counting.argument("x,y.so", "a", "b", caches) == f"x,,y.so,points=a{end}"


def profile(operations=OPERATIONS, **counts):
    function = {"instructions": 100, "calls": 1, "atomics": 0, **counts}
    return {operation.name: {"counted": 1, "sections": 1, "longest": 1, "shared_lines": 1,
                             "functions": {"f": dict(function)}} for operation in operations}


def results(key, operations=OPERATIONS, **by_arm):
    """`by_arm` has a count for each round."""
    return [{"arm": arm, "round": number, "retries": 0,
             "profile": profile(operations, **{key: count})}
            for arm, counts in by_arm.items() for number, count in enumerate(counts, 1)]


def verdict(*args, kinds=misses.LEVELS, **by_arm):
    found = rounds.Rounds(results(*args, **by_arm))
    return misses.at_most("", found, OPERATIONS[0].name, kinds)["verdict"]


@pytest.mark.parametrize("stock, again, rust, said", [
    ((10, 10, 10), None, (10, 9, 10), goals.MET),
    ((1, 1, 1), None, (1.09, 1.09, 1.09), goals.MET),
    ((1, 1, 1), None, (1.11, 1.11, 1.11), goals.MISSED),
    ((10, 10, 10), None, (10.19, 10.19, 10.19), goals.MET),
    ((10, 10, 10), None, (10.21, 10.21, 10.21), goals.MISSED),
    # One round may be worse.
    ((10, 10, 10), None, (10, 10, 99), goals.MET),
    ((10, 10, 10), None, (10, 99, 99), goals.MISSED),
    # In each round, stock of the same one is what counts.
    ((10, 20, 10), None, (15, 15, 15), goals.MISSED),
    ((10, 10, 10), (10.5, 10, 10), (10.4, 10.4, 10), goals.MET),
    ((10, 10, 10), (9.5, 10, 10), (10.6, 10.6, 10), goals.MISSED),
    ((10, 10, 10), None, (), goals.UNKNOWN),
])
def test_goal(stock, again, rust, said, monkeypatch):
    monkeypatch.setattr(misses, "EXPLAINED", {})
    arms = {"stock": stock, "rust": rust, **({"again": again} if again else {})}
    assert verdict("l2", **arms) == said


def test_explained(monkeypatch):
    monkeypatch.setattr(misses, "EXPLAINED", {OPERATIONS[0].name: {"l2": 3}})
    assert verdict("l2", stock=(10,), rust=(13.1,)) == goals.MET
    assert verdict("l2", stock=(10,), rust=(13.3,)) == goals.MISSED
    assert verdict("l3", stock=(10,), rust=(13.1,)) == goals.MISSED
    goal = misses.at_most("less", rounds.Rounds(results("l2", stock=(10,), rust=(1,))),
                          OPERATIONS[0].name, misses.LEVELS)
    assert goal["goal"] == "less, and 3 of L2"


def test_explained_are_operations():
    names = {operation.name for operation in workloads.OPERATIONS}
    assert names >= {*misses.EXPLAINED, *misses.LEFT_OUT}
    assert {*misses.LEVELS, *misses.SHARING}.issuperset(
        key for each in misses.EXPLAINED.values() for key in each)


def test_all_levels_must_meet_it():
    assert verdict("taken", stock=(1,), rust=(2,)) == goals.MET
    assert verdict("taken", stock=(1,), rust=(2,), kinds=misses.SHARING) == goals.MISSED


def test_median():
    found = rounds.Rounds([*results("l1", stock=(5, 1, 3)), {
        "arm": "stock", "round": 1, "profile": profile(workloads.SIBLINGS.operations, l1=7)}])
    median = found.median("stock")
    assert median[OPERATIONS[0].name]["functions"]["f"]["l1"] == 3
    # Of one round alone.
    assert median["iterate"]["functions"]["f"]["l1"] == 7


def build(**by_arm):
    every = (*workloads.OPERATIONS, *workloads.SIBLINGS.operations)
    return report.build(results("instructions", every, **by_arm), {"groups": {"hot": 20}})


def missed_goals(content):
    return [goal["goal"] for goal in content["goals"] if goal["verdict"] != goals.MET]


def test_report():
    content = build(stock=(50, 50), again=(9000, 9000), rust=(50, 50))
    tables = content["tables"]
    assert not missed_goals(content)
    shown = {row[0] for row in tables["operations"]["rows"]}
    assert shown == {operation.title for operation in workloads.OPERATIONS if operation.title}
    assert len(tables["misses"]["rows"]) == len(shown)
    assert len(tables["shared"]["rows"]) == len(workloads.OBJECTS.operations)
    assert not any("again" in column for table in tables.values()
                   for column in table["columns"])
    # Where there is none of what ranks, there is no table.
    assert "come" in tables and "come-misses" not in tables


def test_worst_round_decides():
    assert not missed_goals(build(stock=(50, 50), rust=(50, 50)))
    assert missed_goals(build(stock=(50, 50), rust=(50, 51)))


def test_some_instructions_are_counted_alone():
    least, most = min(report.BITS.values()), max(report.BITS.values())
    assert not missed_goals(build(stock=(1000, 1000), rust=(least, least)))
    missed = missed_goals(build(stock=(1000, 1000), rust=(least, most + 1)))
    assert len(missed) == len(report.BITS)


@pytest.mark.parametrize("instructions, verdict", [(1029, goals.MET), (1031, goals.MISSED)])
def test_what_is_read_once(instructions, verdict):
    """A guest that is on has one operation more, which makes room in the pool."""
    by_arm = {"stock": {False: 1000}, "rust": {False: 1000, True: instructions / 2}}
    content = report.build([
        *({"arm": arm, "round": 1, "retries": 0,
           "profile": profile(each.operations, instructions=counts[each.ours])}
          for arm, counts in by_arm.items() for each in workloads.ONCE if each.ours in counts)],
        {"groups": {}})
    assert [goal["verdict"] for goal in content["goals"]] == [verdict] * len(workloads.LRUS)
    assert content["tables"]["retained"]["rows"][2][1:4] == [1000, 1000, instructions]


@pytest.mark.parametrize("instructions, verdict", [(105, goals.MET), (106, goals.MISSED)])
def test_containers_that_start(instructions, verdict):
    """What all of the calls take is judged."""
    counts = {"stock": 400, "rust": instructions, start.FLOOR: 100}
    content = report.build([
        {"arm": arm, "round": 1, "retries": 0,
         "profile": profile(each.operations, instructions=count)}
        for arm, count in counts.items() for each in workloads.START.values()], {"groups": {}})
    assert [goal["verdict"] for goal in content["goals"]] == [verdict] * len(workloads.START)
    rows = content["tables"]["start"]["rows"]
    assert len(rows) == len(workloads.START) * len(start.CALLS)
    nr = len(workloads.START_CALLS)
    assert rows[nr][1:4] == [400 * nr, instructions * nr, 100 * nr]


def test_floor_is_for_what_starts():
    """Nor is anything judged without it."""
    options = argparse.Namespace(
        rounds=1, caches=True, arms=[ARMS[name] for name in ("rust", start.FLOOR)],
        workloads=(workloads.HOT, *workloads.START.values()))
    steps = list(program.plan(options))
    assert {(arm.name, str(workload)) for _, arm, workload, _ in steps} == {
        ("rust", "hot"), *((arm, f"start-{nodes}") for arm in ("rust", start.FLOOR)
                           for nodes in workloads.START)}
    assert not list(start.goals({"rust": profile(workloads.START[16].operations)}))


def test_names_are_unique():
    names = [operation.name for workload in workloads.WORKLOADS
             for operation in workload.operations]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("workload", workloads.WORKLOADS, ids=str)
def test_operations_that_others_refer_to(workload):
    for operation in workload.operations:
        rule, other, *_ = operation.rule.split()
        assert rule == "any" or int(other) < len(workload.operations)
    assert all(any(rule.startswith((f"around {number}", f"after {number}")) for rule in
                   (operation.rule for operation in workload.operations))
               for number, operation in enumerate(workload.operations)
               if operation.title is None)


@pytest.mark.parametrize("caches, guests", [
    # Two rounds of three arms; one of two arms of what has none; and one of what is ours alone.
    (True, {"hot": 6, "siblings": 2, "once-classic-off": 2, "once-classic-on": 1}),
    (False, {"hot": 2, "siblings": 2, "once-classic-off": 2, "once-classic-on": 1})])
def test_plan(caches, guests):
    options = argparse.Namespace(
        rounds=2, caches=caches, arms=[ARMS[name] for name in ARM_NAMES],
        workloads=(workloads.HOT, workloads.SIBLINGS, *workloads.ONCE[:2]))
    steps = list(program.plan(options))
    assert {str(workload): sum(step[2] is workload for step in steps)
            for workload in options.workloads} == guests
    assert len({(number, arm.name, str(workload))
                for number, arm, workload, _ in steps}) == len(steps)
