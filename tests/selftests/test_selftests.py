# SPDX-License-Identifier: GPL-2.0
"""Runs the kernel's own selftests of cgroups and of reclaim on the stock kernel
and on the Rust one, and compares them test by test.

A difference is a failure, and so is a test that does not pass on either, unless
tests/selftests/suites.py names it with a reason, and a suite that says
nothing. Tests that depend on time, which it names too, are repeated on both
kernels, and must not fail more often on ours."""

import dataclasses

import pytest

from harness import arms, kernels, session
from harness.common import LOGS, OUT, QUICK
from tests.selftests import comparison, guests, ktap
from tests.selftests.suites import SUITES, WHOLE

# The bench's kernels with a file system have not all that the suites ask for, but are
# soon built.
ARMS = [kernels.Arm("stock" if kernel.language == "C" else "rust", kernel)
        for kernel in map(kernels.KERNELS.get, kernels.used_by(
            "selftests QUICK" if QUICK else "selftests"))]
# On each kernel, for tests that depend on time. Of those that never fail on stock
# this finds one that fails each second time on ours in 95 of 100 cases, one that
# does each third time in 65.
REPETITIONS = 12


def here(suite):
    """The suite, and what is known of it on these kernels."""
    if not QUICK:
        return suite
    lacking = {test: f"needs {option}" for test, option in suite.lacking.items()}
    timing = {test: why for test, why in suite.timing.items()
              if test not in lacking}
    return dataclasses.replace(suite, known={**suite.known, **lacking},
                               timing=timing)


def states(suite, result):
    return ktap.parse(result["output"], result["status"], suite.ktap)


def repeat(suite, machine, runs):
    """Adds to the runs of the suite on each kernel if tests that depend on time
    call for that. Says why."""
    bad = sorted({comparison.plain(test) for states in runs.values()
                  for test, state in states[0].items() if state != "pass"})
    for arm in ARMS:
        results, _ = guests.run(
            arm, machine, [suite] * REPETITIONS,
            f"selftests-{arm.name}-{suite.name}-again")
        runs[arm.name] += [states(suite, result)[0] for result in results]
    return f"repeated {REPETITIONS} times on each kernel because of {', '.join(bad)}"


def passed(verdicts, seconds):
    """How many tests did, in a few words."""
    tests = [verdict for verdict in verdicts if verdict.test != WHOLE]
    counts = [sum(verdict.states[number] == "pass" for verdict in tests)
              for number in range(len(ARMS))]
    return f"{len(tests)} tests, passed: " + ", ".join(
        f"{count} on {arm.name} ({took:.0f} s)"
        for count, arm, took in zip(counts, ARMS, seconds))


def cases(_options):
    return {suite.name: here(suite) for suite in SUITES.values() if suite.quick or not QUICK}


@pytest.fixture(scope="module")
def done(request):
    """The guests' machine, and what all suites that were chosen said, by arm and name."""
    suites = [item.callspec.params["case"] for item in request.session.items]
    for old in LOGS.glob("selftests-*-*.log"):
        old.unlink()
    arms.check_images(ARMS)
    arms.check_configs(ARMS)
    with session.only_one():
        machine = guests.prepare()
        said = {}
        for arm in ARMS:
            results, guest = guests.run(arm, machine, suites, f"selftests-{arm.name}")
            said[arm.name] = {result["name"]: result for result in results}
            print(f", {len(suites)} suites on {arm.name}: {guest['guest_seconds']:.0f} s", end="",
                  flush=True)
        yield machine, said


def test_suite(case, step, done):
    step.uses(*ARMS)
    machine, said = done
    results = {arm.name: said[arm.name][case.name] for arm in ARMS}
    runs = {}
    for name, result in results.items():
        (OUT / f"selftests-{case.name}-{name}.tap").write_text(result["output"])
        tests, why = states(case, result)
        step.lines += [f"on {name} it {why}"] if why else []
        runs[name] = [tests]
    if comparison.to_repeat(case, runs):
        step.lines.append(repeat(case, machine, runs))
    verdicts = comparison.compare(case, runs)
    step.said = passed(verdicts, [result["seconds"] for result in results.values()])
    for verdict in verdicts:
        step.check(f"{case.name}: {verdict.test}", verdict.wrong, verdict.note)
        if verdict.note and not verdict.wrong:
            step.lines.append(f"{verdict.test}: {verdict.note}")
