# SPDX-License-Identifier: GPL-2.0
"""Runs the KUnit suites on a kernel without sanitizers, with a CPU for each role of
a race: each race must have all of its roles, and all of its hits. FILTER=SUITE or
SUITE.CASE runs some of them, as with make kunit.
"""

import collections
import os
import re

from harness import initramfs, kernels, kunit_guest, qemu
from harness.common import LOGS, BenchError, shown

ALL = "mm_reclaim*"
# What tests/kunit/race.c says of each role at the end of a race.
ROLE = re.compile(r"# (?P<race>\w+): role (?P<nr>\d+) of (?P<roles>\d+), "
                  r"(?P<function>\w+): busy in (?P<busy>\d+) rounds")
# The most roles that a race has.
CPUS = 4
# Of each race, at least; and of the guest, in seconds.
RACE_MS, TIMEOUT = 4000, 1800


def check_roles(log, is_whole):
    """Yields how often each role was busy. The kernel has judged them: this is to see that
    it did. `is_whole` is whether all suites ran."""
    races = collections.defaultdict(list)
    for role in ROLE.finditer(log.read_text(errors="replace")):
        races[role["race"]].append(role)
    for race, roles in races.items():
        yield f"{race}: " + ", ".join(
            f"{role['function']} {role['busy']}" for role in roles)
        if len(roles) != int(roles[0]["roles"]):
            raise BenchError(f"{len(roles)} of {roles[0]['roles']} roles of {race} "
                             f"ran, see {shown(log)}")
    if is_whole and not any(len(roles) >= CPUS for roles in races.values()):
        raise BenchError(f"no race had {CPUS} roles, see {shown(log)}")

def cases(_options):
    return {"suites": f"KUnit suites with {CPUS} CPUs"}


def test_suites(case, step):
    pattern = os.environ.get("FILTER") or ALL
    arm = kernels.alone(*kernels.used_by("suites"))
    step.uses(arm)
    step.log = "suites"
    passed = kunit_guest.run(
        arm, qemu.Machine("tcg", 1024, CPUS), initramfs.build_initramfs(), step.log,
        RACE_MS, TIMEOUT, (*kunit_guest.WHOLE, f"kunit.filter_glob={pattern}"))
    step.said = "the rounds in which each role was busy:"
    step.lines += check_roles(LOGS / f"{step.log}.log", pattern == ALL)
    for name in passed:
        step.check(name)
