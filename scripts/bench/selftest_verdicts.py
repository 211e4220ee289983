# SPDX-License-Identifier: GPL-2.0
"""Compares what a suite said on two kernels, test by test."""

import dataclasses

import ktap


@dataclasses.dataclass(frozen=True)
class Verdict:
    test: str
    states: tuple  # of each arm, or None where it did not run
    wrong: str = ""  # or nothing
    note: str = ""


def plain(test):
    """The name in the suite's lists: without the number."""
    number, _, name = test.partition(" ")
    return name if number.isdigit() else test


def judge(suite, test, states, names):
    """What is wrong with these states of one test, if anything."""
    said = ", ".join(f"{state or 'missing'} on {name}"
                     for name, state in zip(names, states))
    if len(set(states)) > 1:
        return Verdict(test, states, f"the kernels differ: {said}")
    if states[0] == "pass":
        return Verdict(test, states)
    reason = suite.known.get(plain(test))
    if reason:
        return Verdict(test, states, note=f"{said}: {reason}")
    return Verdict(test, states, f"{said}, and not a known one (see "
                                 "scripts/bench/selftest_suites.py)")


def compare(suite, results):
    """The verdicts for {arm: {test: state}}, in the order of the tests."""
    names = list(results)
    tests = dict.fromkeys(test for states in results.values() for test in states)
    return [judge(suite, test, tuple(results[name].get(test) for name in names),
                  names) for test in tests]


def to_repeat(suite, states):
    """Whether a test that depends on time is all that went wrong there."""
    bad = {plain(test) for test, state in states.items() if state != "pass"}
    return bool(bad & suite.timing.keys())


def merge(suite, states, again):
    """After a repetition: one success is enough for tests that depend on time,
    one failure for the others."""
    merged = {}
    for test in dict.fromkeys([*states, *again]):
        both = [found[test] for found in (states, again) if test in found]
        best = plain(test) in suite.timing and "pass" in both
        merged[test] = "pass" if best else ktap.worse(*both)
    return merged
