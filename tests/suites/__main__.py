# SPDX-License-Identifier: GPL-2.0
"""Runs the KUnit suites on a kernel without sanitizers, with a CPU for each role of
a race: each race must have all of its roles, and all of its hits.
"""

import argparse
import collections
import os
import re

from harness import arms, initramfs, kernels, kunit_guest, qemu, results
from harness.common import LOGS, BenchError, main, shown
from harness.progress import Progress

NAME = "suites"
ALL = "mm_reclaim*"
# What tests/kunit/race.c says of each role at the end of a race.
ROLE = re.compile(r"# (?P<race>\w+): role (?P<nr>\d+) of (?P<roles>\d+), "
                  r"(?P<function>\w+): busy in (?P<busy>\d+) rounds")
# The most roles that a race has.
CPUS = 4


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpus", type=int, default=CPUS,
                        help="of the guest (default: %(default)s)")
    parser.add_argument("--race-ms", type=int, default=4000,
                        help="of each race, at least (default: %(default)s)")
    parser.add_argument("--suites", metavar="PATTERN",
                        default=os.environ.get("FILTER") or ALL,
                        help="as FILTER of make kunit: SUITE or SUITE.CASE "
                             "(default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=1800, metavar="SECONDS",
                        help="of the guest (default: %(default)s)")
    parser.add_argument("--accel", choices=("kvm", "tcg"), default="tcg")
    return parser.parse_args()


def check_roles(log, is_whole):
    """Prints how often each role was busy, and returns how many races there were.
    The kernel has judged them: this is to see that it did. `is_whole` is whether
    all suites ran."""
    races = collections.defaultdict(list)
    for role in ROLE.finditer(log.read_text(errors="replace")):
        races[role["race"]].append(role)
    for race, roles in races.items():
        print(f"    {race}: " + ", ".join(
            f"{role['function']} {role['busy']}" for role in roles))
        if len(roles) != int(roles[0]["roles"]):
            raise BenchError(f"{len(roles)} of {roles[0]['roles']} roles of {race} "
                             f"ran, see {shown(log)}")
    if is_whole and not any(len(roles) >= CPUS for roles in races.values()):
        raise BenchError(f"no race had {CPUS} roles, see {shown(log)}")
    return len(races)


def suites():
    options = parse_options()
    qemu.check()
    arm = kernels.alone(kernels.used_by(NAME)[0])
    arms.check_images([arm])
    progress = Progress(NAME, ["suites"])
    found = results.Run(NAME, [arm.kernel])
    progress.next(f"KUnit suites with {options.cpus} CPUs")
    try:
        passed = kunit_guest.run(
            arm, qemu.Machine(options.accel, 1024, options.cpus),
            initramfs.build_initramfs(), NAME, options.race_ms, options.timeout,
            (*kunit_guest.WHOLE, f"kunit.filter_glob={options.suites}"))
        progress.done("the rounds in which each role was busy:")
        races = check_roles(LOGS / f"{NAME}.log", options.suites == ALL)
    except BenchError as error:
        print(f"FAIL: {error}")
        found.check(NAME, error, log=NAME)
        return found.conclude()
    for case in passed:
        found.check(case, log=NAME)
    return found.conclude(f"{races} of them races; console: {shown(LOGS)}/{NAME}.log")


if __name__ == "__main__":
    main(suites)
