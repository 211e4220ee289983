# SPDX-License-Identifier: GPL-2.0
"""Reads what a selftest prints: one line for each test, and their number first.

A suite that says nothing, or less than it planned, has failed.
"""

import re

from tests.selftests.suites import WHOLE

RESULT = re.compile(r"(not )?ok (\d+)(?: (?:- )?(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)(?:\s+# *SKIP\b *(.*))?$", re.IGNORECASE)
DIRECTIVE = re.compile(r"\s*# *(SKIP|XFAIL|XPASS|TODO)\b\s*(.*)", re.IGNORECASE)
# How much a test that tries different sizes needed is not a part of its name.
SIZE = re.compile(r"\b\d+(?=[KMG]B\b)")
# From the best to the worst. A suite that a signal ended, or that was stopped
# because it took too long, has died: nothing excuses that.
STATES = ("pass", "skip", "fail", "died")
# As kselftest.h has it.
KSFT_SKIP = 4


def worse(*states):
    return max(states, key=STATES.index)


def of_line(match):
    """The name and the state that a line gives."""
    text = match[3] or ""
    directive = DIRECTIVE.search(text)
    state = "fail" if match[1] else "pass"
    if directive and directive[1].upper() == "SKIP":
        state = worse(state, "skip")
    # kselftest.h has the name of a test that is skipped behind the directive.
    name = DIRECTIVE.sub("", text).strip() or (directive[2] if directive else "")
    name = SIZE.sub("N", name)
    # Lines of a program that names its tests alike differ in the number.
    return f"{match[2]} {name}".strip(), state


def exit_state(status):
    """`status` is None if the program was stopped because it took too long."""
    if status is None or status < 0:
        return "died"
    return {0: "pass", KSFT_SKIP: "skip"}.get(status, "fail")


def parse(output, status, ktap=True):
    """Returns the state of each test, by name, and what is wrong with the whole,
    or nothing. A test with several results has the worst of them."""
    tests, numbers, planned, skipped = {}, set(), None, None
    for line in output.splitlines() if ktap else ():
        match = RESULT.match(line)
        if match:
            name, state = of_line(match)
            tests[name] = worse(state, tests.get(name, "pass"))
            numbers.add(int(match[2]))
            continue
        match = PLAN.match(line)
        if match:
            planned = max(planned or 0, int(match[1]))
            skipped = match[2] if not int(match[1]) else None

    state = exit_state(status)
    if status is None:
        why = "was stopped because it took too long"
    elif status < 0:
        why = f"was ended by signal {-status}"
    elif not ktap:
        why = f"ended with {status}" if state == "fail" else ""
    elif skipped is not None and state == "skip" and not tests:
        why = f"skipped: {skipped}"
    elif not tests:
        why, state = f"printed no result, and ended with {status}", "fail"
    elif planned != len(numbers):
        why, state = f"planned {planned or 'no'} tests, ran {len(numbers)}", "fail"
    elif state == "fail" and "fail" not in tests.values():
        why = f"ended with {status}, though no test failed"
    else:
        # What its tests say.
        why, state = "", "pass"
    tests[WHOLE] = state
    return tests, why
