# SPDX-License-Identifier: GPL-2.0
"""The bench: boots each kernel in QEMU and compares what reclaim costs them.

Within each round every arm is measured at every N, each time in a guest of its
own, and the order of the arms is another one in each round.
"""

import argparse
import json
import os

from harness import arms, qemu, report, session
from harness.common import LOGS, OUT, QUICK, BenchError, Progress, main, shown
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
    options = parser.parse_args()
    try:
        options.n = sorted({int(n) for n in options.n.replace(",", " ").split()})
    except ValueError:
        parser.error("--n takes numbers, separated by commas")
    if not options.n or options.n[0] < 1 or options.rounds < 1:
        parser.error("--n and --rounds start at 1")
    options.arms = session.choose_arms(parser, options.arms, arms.ARMS)
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


def why_not(arm, n, options, slow):
    """Why this arm is not measured at this N, or None."""
    if arm.name == "exhaustive" and n > options.exhaustive_max:
        return (f"{arm.name} at N = {n}: it would make {n * n} calls in every "
                f"drop_caches (--exhaustive-max {options.exhaustive_max})")
    if n > slow.get(arm.name, n):
        return (f"{arm.name} at N = {n}: a guest with N = {slow[arm.name]} took "
                f"longer than {options.budget} s (--budget)")
    return None


def measure(options, machine, initrd):
    results, skipped, slow = [], [], {}
    steps = list(plan(options))
    progress = Progress(len(steps))
    for number, n, arm in steps:
        what = f"round {number}/{options.rounds}, N = {n}, {arm.name}"
        why = why_not(arm, n, options, slow)
        if why:
            progress.skip(what)
            if why not in skipped:
                skipped.append(why)
            continue
        progress.next(what)
        result = arms.boot(arm, machine, initrd, n,
                           f"round{number}-n{n}-{arm.name}",
                           ["--from-home"] if options.from_home else [])
        result["round"] = number
        results.append(result)
        progress.done(f"{result['guest_seconds']:.1f} s, idle drop_caches "
                      f"{METRICS['idle2'][2](result):.3f} ms")
        if result["guest_seconds"] > options.budget:
            slow[arm.name] = min(n, slow.get(arm.name, n))
    if not results:
        raise BenchError("nothing was measured")
    return results, skipped


def bench():
    options = parse_options()
    guard, initrd, accel = session.begin(options, "round*")
    machine = qemu.Machine(accel, options.memory, options.cpus)
    print(f"{accel}, guests with {machine.cpus} CPUs and {machine.memory} MiB; "
          f"consoles: {shown(LOGS)}/", flush=True)

    results, skipped = measure(options, machine, initrd)
    content = report.build(results, describe(options, machine, results), skipped)
    path = OUT / "report.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    text = report.text(content)
    (OUT / "report.md").write_text(text)
    print("\n" + text)
    session.plot("plot", path)
    print("written: " + ", ".join(
        shown(path.with_suffix(suffix)) for suffix in (".json", ".md", ".png", ".svg")))
    status = session.conclude("bench", content["goals"], options.arms, COMPARED)
    guard.close()
    return status


if __name__ == "__main__":
    main(bench)
