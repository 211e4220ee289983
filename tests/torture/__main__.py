# SPDX-License-Identifier: GPL-2.0
"""Tortures a kernel with all of its checks on, and the oracle: everything at
once, at random, and at the end nothing may be left.

DURATION is in seconds, for all guests together; on a slow host it takes up to five
times as long, until each kind of step was done. The same SEED does the same things in the
same order in each process, but not at the same time, and but for what is tried again
because it was not done yet.
"""

import argparse
import os
import random

from guest.torturer import MOST_DURATIONS, steps_of
from harness import arms, kernels, python_guest, qemu, results, selection
from harness.common import LOGS, main, shown
from harness.progress import Progress

# Beside the duration: to boot, to clean up, and to settle.
SPARE = 600
# Processes in each guest.
TORTURERS = 4
CASES = (("cgroup v2", ()), ("cgroup v1", ("--v1",)))
# What the kernel must have counted, or else this has tortured nobody.
NEEDED = {"v2": ("installs", "growths", "bits_visited", "bits_spurious"),
          "v1": ("installs", "growths", "bits_visited", "bits_spurious",
                 "excess_passes")}


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", type=int, metavar="SECONDS",
                        default=int(os.environ.get("DURATION") or 180),
                        help="default: %(default)s, or DURATION")
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("SEED") or
                                    random.randrange(1 << 31)),
                        help="default: a new one each time, or SEED")
    selection.add_option(parser, "guests")
    parser.add_argument("--variant", default="debug",
                        choices=kernels.used_by("torture"),
                        help="default: %(default)s")
    parser.add_argument("--args", default="", metavar="TEXT",
                        help="more for the kernel's command line")
    parser.add_argument("--leaks", action="store_true",
                        help="look for lost memory, where there is kmemleak")
    options = parser.parse_args()
    if options.leaks and "kmemleak" not in kernels.KERNELS[options.variant].looks:
        parser.error(f"--leaks: the kernel {options.variant} has no kmemleak")
    return options


def listed(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())
                     ) or "none"


def report(result):
    print(f"    steps: {listed(result['done'])}\n"
          f"    refused: {listed(result['refused'])}\n"
          f"    counted: {listed(result['counted'])}\n"
          f"    out-of-memory kills: {result['oom_kills']}, of steps: "
          f"{listed(result['killed'])}\n"
          f"    at the beginning and at the end: {listed(result['balance'])}",
          flush=True)


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


def torture():
    options = parse_options()
    qemu.check()
    leaks = options.leaks
    kernel = kernels.KERNELS[options.variant]
    arm = kernels.alone(kernel.name, " ".join(filter(None, (
        "mm_reclaim=verify" if kernel.language == "Rust" else "",
        "kmemleak=on" if leaks else "", options.args))))
    arms.check_images([arm])
    machine = qemu.Machine("tcg", 512, 2)
    cases = selection.chosen(options, CASES, lambda case: case[0])
    duration = options.duration // len(cases)
    progress = Progress("torture", [f"{name}, {duration} s" for name, _ in cases])
    found = results.Run("torture", [kernel])
    for name, arguments in cases:
        progress.next(f"{name}, {duration} s, SEED={options.seed}")
        log = f"torture-{name.replace(' ', '-')}"
        try:
            result = arms.boot(
                arm, machine, python_guest.build("torture.py"), TORTURERS, log,
                (*arguments, *(["--leaks"] if leaks else ()), "--seed",
                 str(options.seed), "--duration", str(duration)), (),
                duration * MOST_DURATIONS + SPARE)
        except arms.GuestFailed as error:
            progress.done(f"FAIL: {error}", counts=False)
            found.check(name, error, log=log)
            continue
        wrong = did_too_little(result)
        seconds = progress.done(f"FAIL: {wrong}" if wrong else
                                f"ok, {result['guest_seconds']:.0f} s")
        found.check(name, wrong, f"SEED={options.seed}", seconds, log)
        report(result)
    return found.conclude(f"consoles: {shown(LOGS)}/torture-*.log")


if __name__ == "__main__":
    main(torture)
