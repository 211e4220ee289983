# SPDX-License-Identifier: GPL-2.0
"""Shows that the comparison finds what is wrong: small outputs of two kernels."""

import dataclasses

import pytest

from tests.selftests import comparison, ktap
from tests.selftests.suites import WHOLE, Suite

SUITE = Suite("example", "cgroup", (), known={"odd": "it is known"},
              timing={"late": "it depends on time"})
SCRIPT = Suite("script", "mm", (), ktap=False)
SHY = Suite("shy", "mm", (), timing={WHOLE: "it gives up"})
GOOD = "TAP version 13\n1..2\nok 1 even\n# noise\nok 2 late\n"
KNOWN = "1..2\nok 1 even\nok 2 odd # SKIP no such thing\n"
GAVE_UP = "1..2\nok 1 even\nBail out!\n"
LATE = "1..2\nok 1 even\nnot ok 2 late\n"
NINE_GOOD = ((GOOD, 0),) * 9


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    stock: tuple  # the output and the status
    rust: tuple
    fails: bool
    suite: Suite = SUITE
    # If it is repeated; as often on both.
    stock_again: tuple = ()
    rust_again: tuple = ()


CASES = (
    Case("all pass", (GOOD, 0), (GOOD, 0), False),
    Case("one fails on rust", (GOOD, 0), (LATE, 1), True),
    Case("one fails on stock", (LATE, 1), (GOOD, 0), True),
    Case("one fails on both", (LATE, 1), (LATE, 1), True),
    Case("one is skipped on rust", (GOOD, 0),
         (GOOD.replace("late", "late # SKIP"), 0), True),
    Case("a known one is skipped on both", (KNOWN, 0), (KNOWN, 0), False),
    Case("a known one is skipped on rust only",
         (KNOWN.replace(" # SKIP no such thing", ""), 0), (KNOWN, 0), True),
    Case("nothing is printed", ("", 0), ("", 0), True),
    Case("all is skipped", ("1..0 # SKIP no\n", 4), ("1..0 # SKIP no\n", 4), True),
    Case("one whose name is behind the word is skipped",
         ("1..1\nok 1 # SKIP even\n", 0), ("1..1\nok 1 # SKIP even\n", 0), True),
    Case("a known one whose name is behind the word is skipped",
         ("1..1\nok 1 # SKIP odd\n", 0), ("1..1\nok 1 # SKIP odd\n", 0), False),
    Case("one is missing on rust", (GOOD, 0), (GOOD.replace("ok 2", "# 2"), 0), True),
    Case("one is missing on both", (GOOD.replace("ok 2", "# 2"), 0),
         (GOOD.replace("ok 2", "# 2"), 0), True),
    Case("a size differs", ("1..1\nok 1 with 2MB\n", 0), ("1..1\nok 1 with 16MB\n", 0),
         False),
    Case("a suite crashes at its end", (GOOD, -11), (GOOD, -11), True),
    Case("a suite takes too long", (GOOD, 0), (GOOD, None), True),
    Case("a suite fails as a whole", (GOOD, 1), (GOOD, 1), True),
    Case("a later failure of a repeated one counts", (GOOD, 0),
         (GOOD + LATE.replace("late", "even").replace("2", "1") + GOOD, 0), True),
    Case("a script passes", ("", 0), ("", 0), False, SCRIPT),
    Case("a script fails", ("", 1), ("", 1), True, SCRIPT),
    Case("a script is skipped", ("", 4), ("", 4), True, SCRIPT),
    Case("a late one fails once in ten runs", (GOOD, 0), (LATE, 1), False,
         stock_again=NINE_GOOD, rust_again=NINE_GOOD),
    Case("a late one fails as often on both", (GOOD, 0), (LATE, 1), False,
         stock_again=((LATE, 1),) * 5 + NINE_GOOD[:4],
         rust_again=((LATE, 1),) * 5 + NINE_GOOD[:4]),
    Case("a late one fails more often on rust", (GOOD, 0), (LATE, 1), True,
         stock_again=NINE_GOOD,
         rust_again=((LATE, 1),) * 4 + NINE_GOOD[:5]),
    Case("a late one fails more often on stock", (LATE, 1), (GOOD, 0), False,
         stock_again=((LATE, 1),) * 4 + NINE_GOOD[:5],
         rust_again=NINE_GOOD),
    Case("a late one always fails on rust", (LATE, 1), (LATE, 1), True,
         stock_again=((LATE, 1),) * 8 + NINE_GOOD[:1],
         rust_again=((LATE, 1),) * 9),
    Case("a late one always fails", (LATE, 1), (LATE, 1), True,
         stock_again=((LATE, 1),) * 9, rust_again=((LATE, 1),) * 9),
    Case("a late one fails, and is not repeated", (GOOD, 0), (LATE, 1), True),
    Case("another one fails when repeated", (GOOD, 0), (LATE, 1), True,
         stock_again=NINE_GOOD,
         rust_again=((GOOD.replace("ok 1", "not ok 1"), 1), *NINE_GOOD[:8])),
    Case("a late one is ended by a signal when repeated", (GOOD, 0), (LATE, 1),
         True, stock_again=NINE_GOOD,
         rust_again=((GOOD, -11), *NINE_GOOD[:8])),
    Case("one that gave up goes on when repeated", (GOOD, 0), (GAVE_UP, 1), False,
         SHY, NINE_GOOD, NINE_GOOD),
    Case("one that gave up does so again", (GOOD, 0), (GAVE_UP, 1), True, SHY,
         NINE_GOOD, ((GAVE_UP, 1),) * 9),
    Case("one that gave up fails when repeated", (GOOD, 0), (GAVE_UP, 1), True,
         SHY, NINE_GOOD, ((LATE, 1), *NINE_GOOD[:8])),
    Case("one that may give up is ended by a signal", (GOOD, 0), (GAVE_UP, -6),
         True, SHY, NINE_GOOD, NINE_GOOD),
    Case("one that may give up takes too long", (GOOD, 0), (GAVE_UP, None), True,
         SHY, NINE_GOOD, NINE_GOOD),
    Case("a late one fails, and then the suite is ended by a signal", (GOOD, 0),
         (LATE, -11), True, SUITE, NINE_GOOD, NINE_GOOD),
    Case("only what depends on time is repeated", (GOOD, 0),
         (GOOD.replace("ok 1", "not ok 1"), 1), True, SUITE, NINE_GOOD,
         NINE_GOOD),
)


def finds(case):
    """Whether the comparison says that something is wrong."""
    first = {"stock": case.stock, "rust": case.rust}
    more = {"stock": case.stock_again, "rust": case.rust_again}
    runs = {name: [ktap.parse(*said, case.suite.ktap)[0]]
            for name, said in first.items()}
    if comparison.to_repeat(case.suite, runs):
        for name, said in more.items():
            runs[name] += [ktap.parse(*each, case.suite.ktap)[0] for each in said]
    return any(verdict.wrong
               for verdict in comparison.compare(case.suite, runs))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_comparison(case):
    assert finds(case) == case.fails
