# SPDX-License-Identifier: GPL-2.0
"""Shows that goals that are missed fail a bench, and those of times don't."""

import pytest

from bench import drop_caches
from harness import goals
from harness.kernels import ARMS
from harness.scenario import Case
from harness.stats import Table

SIZE = 500
CASES_OF = [Case("N = 500", SIZE, (), 0)]
METRICS = {name: (name, "", lambda result, name=name: result.get(name))
           for name in ("calls", "maps", "create")}
CHOICE = [ARMS[name] for name in ("stock", "rust")]
GOOD = {"stock": {"calls": 1024, "maps": 4.9, "create": 100},
        "rust": {"calls": 1024, "maps": 1.0, "create": 100},
        "exhaustive": {"calls": SIZE * SIZE, "maps": 1.0, "create": 100}}


def table_of(figures):
    """`figures` are those of each arm, in one round or several."""
    rounds = figures if isinstance(figures, list) else [figures]
    return Table([{"arm": arm, "case": "N = 500", "round": number, **found}
                  for number, by_arm in enumerate(rounds)
                  for arm, found in by_arm.items()], METRICS)


def with_rust(**changed):
    return {**GOOD, "rust": {**GOOD["rust"], **changed}}


# The figures, and whether a goal that decides is missed.
CASES = {
    "all is well": (GOOD, False),
    "fewer calls than on stock": (with_rust(calls=24), False),
    "slow": (with_rust(create=1000), False),
    "a call more than on stock": (with_rust(calls=1025), True),
    "a call more in one round": ([GOOD, with_rust(calls=1025)], False),
    "calls that were not counted": (with_rust(calls=None), True),
    "maps of twice the size": (with_rust(maps=2.0), True),
    "maps as large as on stock in one round": ([GOOD, with_rust(maps=4.9)], True),
    "no figure for maps": (with_rust(maps=None), True),
    "maps that take nothing": (with_rust(maps=0.0), False),
    "no stock": ({"rust": GOOD["rust"]}, True),
    "no rust": ({"stock": GOOD["stock"]}, True),
    "a counter that misses calls":
        ({**GOOD, "exhaustive": {**GOOD["exhaustive"], "calls": 9}}, True),
}
# The time of stock, of stock again and of rust, and the verdict.
TIMES = ((100, 110, 99, goals.MET), (100, 110, 108, goals.NOISE),
         (100, 92, 108, goals.NOISE), (100, 110, 120, goals.MISSED),
         (100, None, 99, goals.MET), (100, None, 120, f"{goals.MISSED}, or noise"))


def missed(figures, choice=CHOICE):
    table = table_of(figures)
    found = [goal for judge in (drop_caches.drops_goals, drop_caches.maps_goals)
             for goal in judge(table, CASES_OF)]
    return [goal for goal in goals.deciding(found, choice, drop_caches.BENCH.arms)
            if goal["verdict"] != goals.MET]


@pytest.mark.parametrize("case", CASES)
def test_what_decides(case):
    figures, fails = CASES[case]
    assert bool(missed(figures)) == fails


def test_nothing_to_compare_with():
    assert not missed(with_rust(calls=9999), CHOICE[1:])


@pytest.mark.parametrize("stock, again, rust, said", TIMES)
def test_times(stock, again, rust, said):
    figures = {"stock": {"create": stock}, "rust": {"create": rust}}
    if again:
        figures["again"] = {"create": again}
    goal = goals.not_slower(table_of(figures), "N = 500", "", "create")
    assert (goal["verdict"], goal["decides"]) == (said, False)


@pytest.mark.parametrize("one, verdict", [(2.1, goals.MET), (2.2, goals.MISSED)])
def test_within(one, verdict):
    medians = {("rust", "A", "start"): {"median": one}, ("floor", "A", "start"): {"median": 2}}

    class Table:
        def spread(self, *where):
            return medians.get(where)

    found = goals.within(Table(), "", *medians, 1.05)
    assert (found["verdict"], found["decides"]) == (verdict, False)
    none = goals.within(Table(), "", next(iter(medians)), ("floor", "B", "start"), 1.05)
    assert (none["verdict"], none["found"]) == (goals.UNKNOWN, "-")
