# SPDX-License-Identifier: GPL-2.0
"""The bench: boots each kernel in QEMU and compares what reclaim costs them.

Within each round every arm is measured at every N, each time in a guest of its
own, and the order of the arms is another one in each round.
"""

import argparse
import os

from harness import arms, measuring, qemu, report, results, selection, session
from harness.common import LOGS, QUICK, main, shown
from harness.kernels import ARMS
from harness.stats import METRICS

# What the goals are about.
COMPARED = ("stock", "rust")
# One drop_caches makes N * N calls in this arm.
BEARABLE = {"exhaustive": 1000}


def parse_options():
    sizes = "250,500" if QUICK else "250,500,1000,2000,4000"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", metavar="N[,N...]",
                        default=os.environ.get("N") or sizes,
                        help="groups and mounts (default: %(default)s; the "
                             "variables N and QUICK=1 change that)")
    parser.add_argument("--rounds", type=int, default=1 if QUICK else 5,
                        help="default: %(default)s")
    # What decides needs no second run of stock.
    parser.add_argument("--arms", default="stock,rust,exhaustive" if QUICK else
                        "stock,again,rust,exhaustive",
                        help="default: %(default)s")
    parser.add_argument("--memory", type=int, metavar="MIB",
                        help="of every guest (default: 2048, 4096 if an N is "
                             "above 2000)")
    parser.add_argument("--cpus", type=int, default=2,
                        help="of every guest (default: %(default)s)")
    parser.add_argument("--accel", choices=("auto", "kvm", "tcg"),
                        default="auto",
                        help="auto is KVM if a guest boots under it, else TCG")
    parser.add_argument("--budget", type=int, default=150, metavar="SECONDS",
                        help="an arm whose guest took longer is not run at a "
                             "larger N (default: %(default)s)")
    parser.add_argument("--from-home", action="store_true",
                        help="join each group from the first one, which leaves "
                             "no object in it that drop_caches cannot free")
    parser.add_argument("--exhaustive-max", type=int, metavar="N",
                        default=BEARABLE["exhaustive"],
                        help="largest N of the exhaustive arm (default: "
                             "%(default)s)")
    selection.add_option(parser, "sizes and arms")
    options = parser.parse_args()
    try:
        options.n = sorted({int(n) for n in options.n.replace(",", " ").split()})
    except ValueError:
        parser.error("--n takes numbers, separated by commas")
    if not options.n or options.n[0] < 1 or options.rounds < 1:
        parser.error("--n and --rounds start at 1")
    options.arms = session.choose_arms(parser, options.arms, ARMS)
    if options.memory is None:
        options.memory = 4096 if options.n[-1] > 2000 else 2048
    return options


def describe(options, machine, results):
    return {
        **session.describe(machine.accel, results[0], options.arms,
                           options.rounds),
        "guest_cpus": machine.cpus, "guest_memory_mib": machine.memory,
        "from_home": options.from_home,
    }


def plan(options):
    """Yields round, N and arm in the order in which they run."""
    for number in range(1, options.rounds + 1):
        for size, n in enumerate(options.n):
            for arm in session.rotated(options.arms, number + size - 1):
                yield number, n, arm


def why_not(arm, n, options, results):
    """Why this arm is not measured at this N, or None."""
    if arm.name == "exhaustive" and n > options.exhaustive_max:
        return (f"{arm.name} at N = {n}: it would make {n * n} calls in every "
                f"drop_caches (--exhaustive-max {options.exhaustive_max})")
    slow = min((result["n"] for result in results if result["arm"] == arm.name and
                result["guest_seconds"] > options.budget), default=n)
    if n > slow:
        return (f"{arm.name} at N = {n}: a guest with N = {slow} took "
                f"longer than {options.budget} s (--budget)")
    return None


def guest_of(options, machine, initrd, number, n, arm):
    return measuring.Guest(
        f"round {number}/{options.rounds}, N = {n}, {arm.name}",
        lambda: arms.boot(arm, machine, initrd, n, f"round{number}-n{n}-{arm.name}",
                          ["--from-home"] if options.from_home else []),
        {"round": number}, lambda results: why_not(arm, n, options, results),
        lambda result: f"{result['guest_seconds']:.1f} s, idle drop_caches "
                       f"{METRICS['idle2'][2](result):.3f} ms")


def bench():
    options = parse_options()
    guard, initrd, accel = session.begin(options, "round*")
    machine = qemu.Machine(accel, options.memory, options.cpus)
    print(f"{accel}, guests with {machine.cpus} CPUs and {machine.memory} MiB; "
          f"consoles: {shown(LOGS)}/", flush=True)

    found = results.Run("bench", [arm.kernel for arm in options.arms], "report")

    def save(measured):
        return found.save(report.build(
            measured, describe(options, machine, measured.results)))

    measured = measuring.measure("bench", [
        guest_of(options, machine, initrd, *step) for step in selection.chosen(
            options, list(plan(options)), lambda step: f"N = {step[1]}, {step[2].name}")],
        options.arms, save)
    content = save(measured)
    text = report.text(content)
    print("\n" + text)
    session.plot("plot", found.path)
    session.judge(found, content["goals"], options.arms, COMPARED, measured.failed)
    found.publish(content, text, [found.path.with_suffix(".svg")])
    guard.close()
    return session.status(found)


if __name__ == "__main__":
    main(bench)
