# SPDX-License-Identifier: GPL-2.0
"""Lets each allocation of an operation fail once, in guests whose kernel looks
for whatever that may break, and for lost memory."""

from harness import arms, kernels, python_guest, qemu
from harness.common import QUICK
from harness.report import listed

# A cache that SLUB checks has no sheaves, in which kmemleak may find a pointer to an
# object long after that was allocated.
ARM = kernels.alone(*kernels.used_by("failinject"),
                    "mm_reclaim=verify kmemleak=on slab_debug=FZP")
CASES = {"cgroup v2": (), "cgroup v1": ("--v1",)}
QUICK_STRIDE = 8
# Of each guest, in seconds.
TIMEOUT = 1800
# What is only there on cgroup v1.
QUICK_ONLY = {"cgroup v1": "write"}


def described(operation):
    every, ours = operation["every"], operation["ours"]
    line = f"{sum(every.values())} allocations ({listed(every)}), " if every else ""
    return (f"{line}{sum(ours.values())} of ours ({listed(ours)}), "
            f"{operation['seconds']} s")


def add_options(parser):
    parser.epilog = "QUICK=1 makes the stride larger, and only writes knobs on cgroup v1."
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="operations whose name contains this, such as \"mkdir\"")
    parser.add_argument("--stride", type=int, default=QUICK_STRIDE if QUICK else 1,
                        help="let only each STRIDE-th of all allocations fail, "
                             "but always each of ours (default: %(default)s)")


def cases(_options):
    return {name: name for name in CASES}


def test_guest(case, step, options):
    step.uses(ARM)
    step.log = arms.log_name("failinject", case)
    only = options.only or (QUICK_ONLY.get(case, "") if QUICK else "")
    result = arms.boot(
        ARM, qemu.Machine("tcg", 640, 2), python_guest.build("failinject.py"), 1, step.log,
        (*CASES[case], "--stride", str(options.stride), *(("--only", only) if only else ())),
        timeout=TIMEOUT)
    step.said = f"ok, {result['guest_seconds']:.0f} s"
    for operation in result["operations"]:
        step.check(f"{case}: {operation['name']}", None, described(operation),
                   operation["seconds"])
        step.lines.append(f"{operation['name']}: {described(operation)}")
