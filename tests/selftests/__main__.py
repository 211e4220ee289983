# SPDX-License-Identifier: GPL-2.0
"""Runs the kernel's own selftests of cgroups and of reclaim on the stock kernel
and on the Rust one, and compares them test by test.

A difference is a failure, and so is a test that does not pass on either, unless
tests/selftests/suites.py names it with a reason, and a suite that says
nothing. Tests that depend on time, which it names too, are repeated on both
kernels, and must not fail more often on ours."""

import argparse
import dataclasses

from harness import arms, kernels, qemu, results, selection, session
from harness.common import LOGS, OUT, QUICK, main, shown
from harness.progress import Progress
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


def parse_options():
    some = [suite.name for suite in SUITES.values() if suite.quick or not QUICK]
    parser = argparse.ArgumentParser(description=__doc__)
    selection.add_option(parser, "suites")
    options = parser.parse_args()
    options.suites = [here(SUITES[name]) for name in selection.chosen(options, some)]
    return options


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


def repeat(suite, machine, runs, notes):
    """Adds to the runs of the suite on each kernel if tests that depend on time
    call for that."""
    bad = sorted({comparison.plain(test) for states in runs.values()
                  for test, state in states[0].items() if state != "pass"})
    notes.append(f"{suite.name} repeated {REPETITIONS} times on each kernel "
                 f"because of {', '.join(bad)}")
    for arm in ARMS:
        results, _ = guests.run(
            arm, machine, [suite] * REPETITIONS,
            f"selftests-{arm.name}-{suite.name}-again")
        runs[arm.name] += [states(suite, result)[0] for result in results]


def show(suite, verdicts, seconds, reasons):
    counts = [sum(verdict.states[number] == "pass" for verdict in verdicts
                  if verdict.test != WHOLE) for number in range(len(ARMS))]
    tests = sum(verdict.test != WHOLE for verdict in verdicts)
    print(f"{suite.name:28} {tests:5} tests, passed: " + ", ".join(
        f"{count} on {arm.name} ({took:.0f} s)"
        for count, arm, took in zip(counts, ARMS, seconds)))
    for verdict in verdicts:
        if verdict.wrong:
            print(f"    FAIL {verdict.test}: {verdict.wrong}")
        elif verdict.note:
            print(f"    {verdict.test}: {verdict.note}")
    for reason in reasons:
        print(f"    {reason}")


def selftests():
    options = parse_options()
    found = results.Run("selftests", [arm.kernel for arm in ARMS])
    qemu.check()
    arms.check_images(ARMS)
    arms.check_configs(ARMS)
    guard = session.only_one()
    for old in LOGS.glob("selftests-*-*.log"):
        old.unlink()
    first = "the programs and the disks"
    names = {arm.name: f"{len(options.suites)} suites on {arm.name}" for arm in ARMS}
    progress = Progress("selftests", [first, *names.values()])
    progress.next(first)
    machine = guests.prepare()
    progress.done(f"ok; guests with {machine.cpus} CPUs and {machine.memory} MiB")

    done = {}
    for arm in ARMS:
        progress.next(names[arm.name])
        said, guest = guests.run(
            arm, machine, options.suites, f"selftests-{arm.name}")
        done[arm.name] = {result["name"]: result for result in said}
        progress.done(f"{guest['guest_seconds']:.0f} s")

    notes = []
    for suite in options.suites:
        runs, reasons, seconds = {}, [], []
        for arm in ARMS:
            result = done[arm.name][suite.name]
            (OUT / f"selftests-{suite.name}-{arm.name}.tap").write_text(
                result["output"])
            tests, why = states(suite, result)
            if why:
                reasons.append(f"on {arm.name} it {why}")
            runs[arm.name] = [tests]
            seconds.append(result["seconds"])
        if comparison.to_repeat(suite, runs):
            repeat(suite, machine, runs, notes)
        verdicts = comparison.compare(suite, runs)
        show(suite, verdicts, seconds, reasons)
        for verdict in verdicts:
            found.check(f"{suite.name}: {verdict.test}", verdict.wrong, verdict.note)
    for note in notes:
        print(note)
    print(f"what they printed: {shown(OUT)}/selftests-*.tap; "
          f"consoles: {shown(LOGS)}/selftests-*.log")
    guard.close()
    return found.conclude()


if __name__ == "__main__":
    main(selftests)
