# SPDX-License-Identifier: GPL-2.0
"""Lets each allocation of an operation fail once, in guests whose kernel looks
for whatever that may break, and for lost memory."""

import argparse

from harness import arms, kernels, python_guest, qemu
from harness.common import LOGS, QUICK, BenchError, Progress, main, record, shown

# A cache that SLUB checks has no sheaves, in which kmemleak may find a pointer to an
# object long after that was allocated.
ARM = kernels.alone(*kernels.used_by("failinject"),
                    "mm_reclaim=verify kmemleak=on slab_debug=FZP")
CASES = (("cgroup v2", ()), ("cgroup v1", ("--v1",)))
QUICK_STRIDE = 8
# What is only there on cgroup v1.
QUICK_ONLY = {"cgroup v1": "write"}


def listed(counts):
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())
                     ) or "none"


def report(result):
    for found in result["operations"]:
        every, ours = found["every"], found["ours"]
        line = f"    {found['name']}:"
        if every:
            line += f" {sum(every.values())} allocations ({listed(every)}),"
        print(f"{line} {sum(ours.values())} of ours ({listed(ours)}), "
              f"{found['seconds']} s")


def failinject():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="QUICK=1 makes the stride larger, and only "
        "writes knobs on cgroup v1.")
    parser.add_argument("--accel", choices=("kvm", "tcg"), default="tcg")
    parser.add_argument("--case", metavar="TEXT", default="",
                        help="only guests whose name contains this, such as v1")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="operations whose name contains this, such as "
                             "\"mkdir\"")
    parser.add_argument("--stride", type=int, default=QUICK_STRIDE if QUICK else 1,
                        help="let only each STRIDE-th of all allocations fail, "
                             "but always each of ours (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=1800,
                        help="of each guest, in s (default: %(default)s)")
    options = parser.parse_args()
    qemu.check()
    arms.check_images([ARM])
    cases = [case for case in CASES if options.case in case[0]]
    if not cases:
        raise BenchError(f"no guest is called \"{options.case}\": there are "
                         f"{', '.join(name for name, _ in CASES)}")
    progress = Progress(len(cases))
    passed = failed = 0
    for name, arguments in cases:
        progress.next(f"each allocation fails once, {name}")
        only = options.only or (QUICK_ONLY.get(name, "") if QUICK else "")
        try:
            result = arms.boot(
                ARM, qemu.Machine(options.accel, 640, 2),
                python_guest.build("failinject.py"), 1,
                f"failinject-{name.replace(' ', '-')}",
                (*arguments, "--stride", str(options.stride),
                 *(("--only", only) if only else ())),
                (), options.timeout)
        except arms.GuestFailed as error:
            progress.done(f"FAIL: {error}")
            failed += 1
            continue
        progress.done(f"ok, {result['guest_seconds']:.0f} s")
        passed += len(result["operations"])
        report(result)
    record("failinject", passed, failed)
    print(f"{passed} passed, {failed} failed; consoles: "
          f"{shown(LOGS)}/failinject-*.log")
    return 1 if failed else 0


if __name__ == "__main__":
    main(failinject)
