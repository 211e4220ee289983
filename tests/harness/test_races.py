# SPDX-License-Identifier: GPL-2.0
"""Shows that the filter of data races lets pass what it should, and no more."""

import types

import pytest

from harness import races
from harness.kernels import KERNELS

RULE = "=" * 66
# Where what is ours fails, and where nothing is ours.
RUST = KERNELS["kcsan-suites"]
STOCK = KERNELS["kcsan-stock"]
# What the offset of report() stands for.
OFFSET = 0x12


def listed(*functions):
    return races.key_of(functions, [f"a.c: {name}" for name in functions])


LISTED = {listed(*functions): {} for functions in (
    ("one", "two"), ("one",), ("one", "shrink_slab"), ("mem_cgroup_iter", "one"),
    ("mm_reclaim_add", "one"), ("_RNvCs1_10mm_reclaim3add", "one"),
    ("_RNvCs2_6kernel3add", "one"), ("one", "inlines_ours"))}
# As those for which the table says that the series has no part in the race.
for pair in (("two", "shrink_slab"), ("mem_cgroup_iter", "two"), ("two", "inlines_ours")):
    LISTED[listed(*pair)] = {"functions": pair, "series": "It changes something else."}


def chain(_vmlinux, name, offset):
    """In place of that of races: another offset is another line."""
    name = races.base(name)
    line = f"a.c: {name}" if offset == OFFSET else f"a.c: {name}, later"
    places = [types.SimpleNamespace(function=name, line=line)]
    if name == "inlines_ours":
        places.append(types.SimpleNamespace(function="shrink_slab", line="b.c: x"))
    return tuple(places)


def report(*functions, rule=RULE, between="", before=(), offset=OFFSET):
    lines = [rule, *before, f"BUG: KCSAN: data-race in {' / '.join(functions)}", ""]
    for name in functions:
        lines += ["write to 0xffff888003a0f000 of 8 bytes by task 7 on cpu 1:",
                  f" {name}+0x{offset:x}/0x40", " caller+0x5/0x10", between, ""]
    lines += ["Reported by Kernel Concurrency Sanitizer on:", rule]
    return "".join(f"[   12.345678] {line}\n" if line != between else f"{line}\n"
                   for line in lines)


# Each console, and whether a report must be left in it.
CASES = {
    "a listed pair": (report("one", "two"), False),
    "a listed pair, the other way round": (report("two", "one"), False),
    "a listed pair, at other lines": (report("one", "two", offset=0x20), True),
    "a listed function, at another line": (report("one", offset=0x20), True),
    "a line that is inlined in a function of the series":
        (report("one", "inlines_ours"), True),
    "parts of functions": (report("one.part.0", "two.cold"), False),
    "a listed function and an unknown one": (report("one"), False),
    "a line of the guest's program inside":
        (report("one", "two", between="# hello"), False),
    "a line of another CPU before the title":
        (report("one", "two", before=["drop_caches: 2"]), False),
    "a rule of something else before that of a report":
        (f"{RULE}\n" + report("one", "two"), False),
    "a rule that begins no report, and a report without a rule":
        (report("one", "two", before=["other"] * 9), True),
    "a pair of which one is listed": (report("one", "three"), True),
    "a function of the series": (report("one", "shrink_slab"), True),
    "one of which the table says that this is none of its race":
        (report("two", "shrink_slab"), False),
    "the same of one that is ours": (report("mem_cgroup_iter", "two"), True),
    "the same of what is inlined in another one": (report("two", "inlines_ours"), True),
    "a function of our C": (report("mm_reclaim_add", "one"), True),
    "a function of our Rust": (report("_RNvCs1_10mm_reclaim3add", "one"), True),
    "one that our Rust exports": (report("mem_cgroup_iter", "one"), True),
    "a function of any Rust": (report("_RNvCs2_6kernel3add", "one"), True),
    "one that is let pass and one that isn't":
        (report("one", "two") + report("three", "two"), True),
    "one without an end":
        (report("one", "two") + report("one", "two").rsplit(RULE, 1)[0], True),
    "one without a beginning": (report("one", "two", rule="---"), True),
    "one without functions": (report(), True),
}


@pytest.fixture(autouse=True)
def lines(monkeypatch):
    monkeypatch.setattr(races, "chain", chain)


def test_all_of_stock_are_known():
    assert "KCSAN" not in races.without_known(report("shrink_slab", "three"), STOCK,
                                              LISTED)


@pytest.mark.parametrize("case", CASES)
def test_without_known(case):
    console, left = CASES[case]
    rest = races.without_known(f"before\n{console}after\n", RUST, LISTED)
    assert ("BUG: KCSAN" in rest) == left
    assert "before" in rest
    assert "after" in rest


def test_the_table():
    assert races.known()
