# SPDX-License-Identifier: GPL-2.0
"""Tortures a kernel with all of its checks on, and the oracle: everything at
once, at random, and at the end nothing may be left.

DURATION is in seconds, for all guests together; on a slow host it takes up to five
times as long, until each kind of step was done. The same SEED does the same things in the
same order in each process, but not at the same time, and but for what is tried again
because it was not done yet.
"""

import os
import random

from guest.torturer import MOST_DURATIONS, steps_of
from harness import arms, disk_image, kernels, python_guest, qemu
from harness.common import BenchError
from harness.report import listed

# Beside the duration: to boot, to clean up, and to settle.
SPARE = 600
# Small, so that memory still runs out.
SWAP = 16 << 20
# Processes in each guest.
TORTURERS = 4
CASES = {"cgroup v2": (), "cgroup v1": ("--v1",)}
# What the kernel must have counted, or else this has tortured nobody.
NEEDED = {"v2": ("installs", "growths", "bits_visited", "bits_spurious"),
          "v1": ("installs", "growths", "bits_visited", "bits_spurious",
                 "excess_passes")}


def add_options(parser):
    parser.add_argument("--duration", type=int, metavar="SECONDS",
                        default=int(os.environ.get("DURATION") or 180),
                        help="default: %(default)s, or DURATION")
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("SEED") or
                                    random.randrange(1 << 31)),
                        help="default: a new one each time, or SEED")
    parser.add_argument("--variant", default="debug",
                        choices=kernels.used_by("torture"),
                        help="default: %(default)s")
    parser.add_argument("--args", default="", metavar="TEXT",
                        help="more for the kernel's command line")
    parser.add_argument("--leaks", action="store_true",
                        help="look for lost memory, where there is kmemleak")


def cases(options):
    kernel = kernels.KERNELS[options.variant]
    if options.leaks and "kmemleak" not in kernel.looks:
        raise BenchError(f"--leaks: the kernel {kernel.name} has no kmemleak")
    return {name: name for name in CASES}


def report(result):
    yield f"steps: {listed(result['done'])}"
    yield f"pages that went to swap: {result['swapped']}"
    yield f"refused: {listed(result['refused'])}"
    yield f"counted: {listed(result['counted'])}"
    yield (f"out-of-memory kills: {result['oom_kills']}, of steps: "
           f"{listed(result['killed'])}")
    yield f"at the beginning and at the end: {listed(result['balance'])}"


def missing(result):
    """What did not happen, and should have: each kind of step, with success, and
    a process that was killed because the machine had no memory left."""
    version, ours = result["cgroup"], result["implementation"] == "rust"
    yield from (f"step {name}" for name in steps_of(version, ours)
                if not result["done"].get(name))
    if not result["killed"].get("brink") or not result["oom_kills"]:
        yield "process that was killed for the machine's memory"
    yield from (name for name in NEEDED[version]
                if ours and not result["counted"].get(name))


def did_too_little(result):
    names = list(missing(result))
    return f"no {', no '.join(names)}: give it more time" if names else None


def test_guest(case, step, options, request):
    kernel = kernels.KERNELS[options.variant]
    arm = kernels.alone(kernel.name, " ".join(filter(None, (
        "mm_reclaim=verify" if kernel.language == "Rust" else "",
        "kmemleak=on" if options.leaks else "", options.args))))
    step.uses(arm)
    step.log = arms.log_name("torture", case)
    step.text = f"SEED={options.seed}"
    duration = options.duration // len(request.session.items)
    print(f", {duration} s, {step.text}", end="", flush=True)
    swap = disk_image.drive("swap-torture", SWAP)
    result = arms.boot(
        arm, qemu.Machine("tcg", 512, 2, disks=(swap,)), python_guest.build("torture.py"),
        TORTURERS, step.log,
        (*CASES[case], *(["--leaks"] if options.leaks else ()), "--seed", str(options.seed),
         "--duration", str(duration)), timeout=duration * MOST_DURATIONS + SPARE)
    step.said = f"ok, {result['guest_seconds']:.0f} s"
    step.lines += report(result)
    wrong = did_too_little(result)
    if wrong:
        raise BenchError(wrong)
