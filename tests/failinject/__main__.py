# SPDX-License-Identifier: GPL-2.0
"""Lets each allocation of an operation fail once, in guests whose kernel looks
for whatever that may break, and for lost memory."""

import argparse

from harness import arms, kernels, python_guest, qemu, results, selection
from harness.common import LOGS, QUICK, main, shown
from harness.progress import Progress

# A cache that SLUB checks has no sheaves, in which kmemleak may find a pointer to an
# object long after that was allocated.
ARM = kernels.alone(*kernels.used_by("failinject"),
                    "mm_reclaim=verify kmemleak=on slab_debug=FZP")
CASES = (("cgroup v2", ()), ("cgroup v1", ("--v1",)))
QUICK_STRIDE = 8
# Of each guest, in seconds.
TIMEOUT = 1800
# What is only there on cgroup v1.
QUICK_ONLY = {"cgroup v1": "write"}


def listed(counts):
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())
                     ) or "none"


def described(operation):
    every, ours = operation["every"], operation["ours"]
    line = f"{sum(every.values())} allocations ({listed(every)}), " if every else ""
    return (f"{line}{sum(ours.values())} of ours ({listed(ours)}), "
            f"{operation['seconds']} s")


def failinject():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="QUICK=1 makes the stride larger, and only "
        "writes knobs on cgroup v1.")
    selection.add_option(parser, "guests")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="operations whose name contains this, such as "
                             "\"mkdir\"")
    parser.add_argument("--stride", type=int, default=QUICK_STRIDE if QUICK else 1,
                        help="let only each STRIDE-th of all allocations fail, "
                             "but always each of ours (default: %(default)s)")
    options = parser.parse_args()
    qemu.check()
    arms.check_images([ARM])
    cases = selection.chosen(options, CASES, lambda case: case[0])
    progress = Progress("failinject", [name for name, _ in cases])
    found = results.Run("failinject", [ARM.kernel])
    for name, arguments in cases:
        progress.next(name)
        only = options.only or (QUICK_ONLY.get(name, "") if QUICK else "")
        log = f"failinject-{name.replace(' ', '-')}"
        try:
            result = arms.boot(
                ARM, qemu.Machine("tcg", 640, 2),
                python_guest.build("failinject.py"), 1, log,
                (*arguments, "--stride", str(options.stride),
                 *(("--only", only) if only else ())),
                (), TIMEOUT)
        except arms.GuestFailed as error:
            progress.done(f"FAIL: {error}", counts=False)
            found.check(name, error, log=log)
            continue
        progress.done(f"ok, {result['guest_seconds']:.0f} s")
        for operation in result["operations"]:
            found.check(f"{name}: {operation['name']}", None, described(operation),
                        operation["seconds"], log)
            print(f"    {operation['name']}: {described(operation)}")
    return found.conclude(f"consoles: {shown(LOGS)}/failinject-*.log")


if __name__ == "__main__":
    main(failinject)
