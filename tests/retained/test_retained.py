# SPDX-License-Identifier: GPL-2.0
"""Files that are used at random, in each way, while their page cache goes to a pool that is too
small and comes back, on a kernel with all of its checks on: what was written must be there, and
all counters as before. And what make boots checks on ext4, on XFS, which also writes without
waiting.

DURATION is in seconds, for all guests that use files at random together.
"""

import os
import random

from bench import retain
from harness import arms, disk_image, kernels, python_guest, qemu
from harness.common import QUICK
from harness.report import listed

# Beside the duration: to boot, to end a round of disturbances, and to look at all that is there.
SPARE = 900
MEMORY = 512
# File system, and the kernel of that name; and how.
CASES = {
    "ext4, cgroup v2, MGLRU": ("ext4", ("--lru", "mglru")),
    "ext4, cgroup v1, classic LRU": ("ext4", ("--v1",)),
    "XFS, cgroup v2, classic LRU": ("xfs", ()),
    "XFS, cgroup v1, MGLRU": ("xfs", ("--v1", "--lru", "mglru")),
}
CHECKS = "single checks, XFS"


def add_options(parser):
    parser.add_argument("--duration", type=int, metavar="SECONDS",
                        default=int(os.environ.get("DURATION") or (30 if QUICK else 240)),
                        help="default: %(default)s, or DURATION")
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("SEED") or random.randrange(1, 1 << 31)),
                        help="default: a new one each time, or SEED")
    parser.add_argument("--check", metavar="CHECK", default="all",
                        help=f"of {CHECKS!r}; default: %(default)s")


def cases(_options):
    if QUICK:
        return dict(list(CASES.items())[:1])
    return {**CASES, CHECKS: ("xfs", ())}


def test_guest(case, step, options, request):
    kind, how = case
    arm = kernels.alone(kind)
    step.uses(arm)
    step.log = arms.log_name("retained", request.node.callspec.id)
    step.text = f"SEED={options.seed}"
    disks = (disk_image.NULL, disk_image.for_files(kind, retain.DISK_SIZE))
    if request.node.callspec.id == CHECKS:
        result = arms.boot(arm, qemu.Machine("tcg", 1024, 2, disks=disks),
                           python_guest.build("retain_checks.py"), 3, step.log,
                           ("--file-system", kind, options.check), timeout=retain.CHECKS_TIMEOUT)
        step.said = f"ok, {len(result['passed'])} of them"
        step.lines += tuple(f"not {name}: {why}" for name, why in result["skipped"].items())
        return
    duration = options.duration // sum(CHECKS not in item.name for item in request.session.items)
    print(f", {duration} s, {step.text}", end="", flush=True)
    result = arms.boot(
        arm, qemu.Machine("tcg", MEMORY, 2, disks=disks), python_guest.build("retain_files.py"),
        3, step.log, (*how, "--file-system", kind, "--seed", str(options.seed),
                      "--seconds", str(duration)), timeout=2 * duration + SPARE)
    step.said = f"ok, {result['guest_seconds']:.0f} s"
    step.lines += (f"operations: {listed(result['counts'])}",
                   f"pages: {listed(result['pages'])}",
                   f"no caches, compaction, splits, no pool and no memory: each "
                   f"{result['disturbances']} times")
