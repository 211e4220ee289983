# SPDX-License-Identifier: GPL-2.0
"""Compares what a suite said on two kernels, test by test.

Each suite runs once on each kernel. Where only tests that depend on time went
wrong, on either kernel, it is repeated as often on both, and the rates of
failures are compared: that of the second kernel must not be higher than that of
the first one by more than chance explains. All runs count, the first ones too.
For all other tests each run must be good.
"""

import dataclasses
import math

from tests.selftests import ktap
from tests.selftests.suites import WHOLE

# How probable a difference in favour of the first kernel may be if both fail
# alike: below that, it is ours.
CHANCE = 0.05


@dataclasses.dataclass(frozen=True)
class Verdict:
    test: str
    states: tuple  # of each arm, the worst; or None where it did not run
    wrong: str = ""  # or nothing
    note: str = ""


def plain(test):
    """The name in the suite's lists: without the number."""
    number, _, name = test.partition(" ")
    return name if number.isdigit() else test


def chance(failed, runs, other_failed, other_runs):
    """How probable it is that the other one has so many of all the failures, or
    more, if it makes no difference on which kernel a run is (Fisher's exact test,
    one-sided)."""
    total = failed + other_failed
    ways = sum(math.comb(other_runs, k) * math.comb(runs, total - k)
               for k in range(other_failed, min(total, other_runs) + 1))
    return ways / math.comb(runs + other_runs, total)


def gave_up(suite, run):
    """Whether this run ended early, where that depends on time: its later tests
    are not known."""
    return WHOLE in suite.timing and run[WHOLE] == "fail"


def known_runs(suite, test, runs):
    """The states of a test in the runs that tell something of it."""
    return [run.get(test) for run in runs
            if test in run or not gave_up(suite, run)]


def judge_rates(test, found, names):
    """For a test that depends on time: the states in all runs of each arm."""
    failed = [sum(state != "pass" for state in states) for states in found]
    worst = tuple(max(states, key=rank, default=None) for states in found)
    said = ", ".join(f"{bad} of {len(states)} runs on {name}"
                     for bad, states, name in zip(failed, found, names))
    if not any(failed):
        return Verdict(test, worst)
    for bad, states, name in zip(failed, found, names):
        if bad == len(states):
            return Verdict(test, worst, f"it never passes on {name}; it fails in "
                                        f"{said}")
    likely = chance(failed[0], len(found[0]), failed[-1], len(found[-1]))
    said = f"fails in {said} (by chance: {likely:.2g})"
    if likely < CHANCE:
        return Verdict(test, worst, f"{said}: more often on {names[-1]}")
    return Verdict(test, worst, note=f"{said}; it depends on time")


def rank(state):
    return -1 if state is None else ktap.STATES.index(state)


def judge(suite, test, found, names):
    """What is wrong with the states of one test in all runs, if anything."""
    missing = any(None in states for states in found)
    died = any("died" in states for states in found)
    if plain(test) in suite.timing and not missing and not died and all(found):
        return judge_rates(test, found, names)
    # Missing is as bad as it gets, here.
    states = tuple(None if None in each or not each else
                   max(each, key=rank) for each in found)
    said = ", ".join(f"{state or 'missing'} on {name}"
                     for name, state in zip(names, states))
    if died:
        return Verdict(test, states, said)
    if len(set(states)) > 1:
        return Verdict(test, states, f"the kernels differ: {said}")
    if states[0] == "pass":
        return Verdict(test, states)
    reason = suite.known.get(plain(test))
    if reason and states[0]:
        return Verdict(test, states, note=f"{said}: {reason}")
    return Verdict(test, states, f"{said}, and not a known one (see "
                                 "tests/selftests/suites.py)")


def compare(suite, results):
    """The verdicts for {arm: [{test: state} of each run]}, in the order of the
    tests."""
    names = list(results)
    tests = dict.fromkeys(test for runs in results.values() for run in runs
                          for test in run)
    return [judge(suite, test, [known_runs(suite, test, results[name])
                                for name in names], names) for test in tests]


def to_repeat(suite, results):
    """Whether only tests that depend on time went wrong in the first runs. What
    died is never repeated."""
    first = [runs[0] for runs in results.values()]
    if any(state == "died" for run in first for state in run.values()):
        return False
    return any(state != "pass" and plain(test) in suite.timing
               for run in first for test, state in run.items())
