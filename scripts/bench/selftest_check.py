# SPDX-License-Identifier: GPL-2.0
"""Shows that the comparison finds what is wrong: small outputs of two kernels."""

import dataclasses

import ktap
import selftest_verdicts
from selftest_suites import WHOLE, Suite

SUITE = Suite("example", "cgroup", (), known={"odd": "it is known"},
              timing={"late": "it depends on time"})
SCRIPT = Suite("script", "mm", (), ktap=False)
SHY = Suite("shy", "mm", (), timing={WHOLE: "it gives up"})
GOOD = "TAP version 13\n1..2\nok 1 even\n# noise\nok 2 late\n"
KNOWN = "1..2\nok 1 even\nok 2 odd # SKIP no such thing\n"
GAVE_UP = "1..2\nok 1 even\nBail out!\n"
LATE = "1..2\nok 1 even\nnot ok 2 late\n"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    stock: tuple  # the output and the status
    rust: tuple
    fails: bool
    suite: Suite = SUITE
    again: tuple = ()  # of a repetition on rust


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
    Case("a late one passes when repeated", (GOOD, 0), (LATE, 1), False,
         again=(GOOD, 0)),
    Case("a late one fails again", (GOOD, 0), (LATE, 1), True, again=(LATE, 1)),
    Case("another one fails when repeated", (GOOD, 0), (LATE, 1), True,
         again=(GOOD.replace("ok 1", "not ok 1"), 1)),
    Case("one that gave up goes on when repeated", (GOOD, 0), (GAVE_UP, 1), False,
         SHY, (GOOD, 0)),
    Case("one that gave up does so again", (GOOD, 0), (GAVE_UP, 1), True, SHY,
         (GAVE_UP, 1)),
    Case("one that gave up fails when repeated", (GOOD, 0), (GAVE_UP, 1), True,
         SHY, (LATE, 1)),
    Case("only what depends on time is repeated", (GOOD, 0),
         (GOOD.replace("ok 1", "not ok 1"), 1), True, again=(GOOD, 0)),
)


def finds(case):
    """Whether the comparison says that something is wrong."""
    found = {name: ktap.parse(*said, case.suite.ktap)[0]
             for name, said in (("stock", case.stock), ("rust", case.rust))}
    if case.again and selftest_verdicts.to_repeat(case.suite, found["rust"]):
        again, _ = ktap.parse(*case.again, case.suite.ktap)
        found["rust"] = selftest_verdicts.merge(case.suite, found["rust"], again)
    return any(verdict.wrong
               for verdict in selftest_verdicts.compare(case.suite, found))


def run():
    """How many cases the comparison judged rightly, and how many not."""
    failed = 0
    for case in CASES:
        if finds(case) != case.fails:
            print(f"self-test: {case.name}: FAIL: "
                  + ("not found" if case.fails else "judged wrong"))
            failed += 1
    print(f"self-test: {len(CASES) - failed} of {len(CASES)} cases judged rightly")
    return len(CASES) - failed, failed
