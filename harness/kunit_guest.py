# SPDX-License-Identifier: GPL-2.0
"""Runs the KUnit suites that are built into a kernel, in a guest."""

from harness import arms, kunit_check, kunit_suites, races
from harness.common import LOGS


# Two nodes, or some suites have nothing to do.
ARGUMENTS = ("numa=fake=2", "kunit.enable=1", "kunit.autorun=1",
             "kunit_shutdown=reboot", "kunit.filter_glob=mm_reclaim*")
# What looks at every access is slow: a race that it saw a tenth as often has been
# looked at.
SLOW = ("mm_reclaim_test.hits_percent=10",)
# Of races with all of their hits, in which no role may be missing.
WHOLE = ("mm_reclaim_test.all_roles=1",)


def run(arm, machine, initrd, name, duration_ms, timeout, more=SLOW):
    """Returns the cases that passed, and raises GuestFailed if one did not, or if the
    kernel complained."""
    log = LOGS / f"{name}.log"
    ended, _ = arms.start(
        arm, machine, initrd, log,
        (*ARGUMENTS, *more, f"mm_reclaim_test.duration_ms={duration_ms}"),
        timeout)
    kunit_suites.keep_ktap(log, ended.console)
    console = races.without_known(ended.console, arm.kernel)
    why, lines = arms.trouble(ended), ended.console
    passed = []
    for suite, case, kind in () if why else kunit_suites.cases(console):
        if kind == "passed":
            passed.append(f"{suite.name}.{case.name}")
        elif kind == "failed" and not why:
            # What the kernel printed since the case before it.
            why, lines = f"the case {case.name} failed", "\n".join(case.log)
    why = why or next(kunit_check.complaints(console, arm.kernel.config), None)
    if not why and not passed:
        why = "no case ran"
    if why:
        raise arms.GuestFailed(why, log, lines)
    return passed
