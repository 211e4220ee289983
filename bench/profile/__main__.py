# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of the hot paths, by function, in each kernel.

The load of the host and the layout of the code, which alone move times under TCG
by a tenth, hardly change these counts.
"""

import argparse
import json

from bench.profile import counting, report
from harness import arms, qemu, session
from harness.common import LOGS, OUT, QUICK, BenchError, Progress, main, shown
from harness.kernels import KERNELS
from harness.symbols import Symbols

KNOWN = ("stock", "rust", "inline")
# What the goals are about.
COMPARED = ("stock", "rust")


def parse_options():
    # Not every machine has a rustc for it.
    default = [name for name in KNOWN
               if name != "inline" or KERNELS[name].image.is_file()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", default=",".join(default),
                        help="default: %(default)s; inline, too, once 'make "
                             "kernel VARIANT=inline' built it")
    parser.add_argument("--groups", type=int, default=20 if QUICK else 100,
                        help="default: %(default)s")
    parser.add_argument("--siblings", type=int, default=5000 if QUICK else 65000,
                        help="empty groups that walks pass over (default: "
                             "%(default)s)")
    names = [workload.scenario for workload in counting.WORKLOADS]
    parser.add_argument("--workload", metavar="NAME[,NAME...]",
                        default=",".join(names), help="default: %(default)s")
    options = parser.parse_args()
    wanted = options.workload.split(",")
    if not set(wanted) <= set(names):
        parser.error(f"--workload: there are {', '.join(names)}")
    options.workloads = [workload for workload in counting.WORKLOADS
                         if workload.scenario in wanted]
    # A single object may come from elsewhere, see counting.WORKLOADS.
    if options.groups < 3:
        parser.error("--groups starts at 3")
    options.arms = session.choose_arms(parser, options.arms, KNOWN)
    # Only TCG has plugins.
    options.accel = "tcg"
    return options


def count(workload, arm, plugin, initrd, groups):
    """One guest's result, with what was counted in it."""
    symbols = Symbols(arm.kernel.vmlinux)
    name = f"{arm.name}-{workload.scenario}"
    points = counting.FOLDER / f"{name}.points"
    out = counting.FOLDER / f"{name}.counts"
    counting.write_points(symbols, points, groups, workload.operations)
    out.unlink(missing_ok=True)
    memory = workload.memory(groups)
    machine = qemu.Machine("tcg", memory, workload.cpus,
                           counting.argument(plugin, points, out),
                           threads="single", icount=workload.icount)
    # What is removed at the end is of no interest.
    arguments = ("--keep", *(text.format(groups=groups)
                             for text in workload.arguments), workload.scenario)
    result = arms.boot(arm, machine, initrd, groups, f"profile-{name}",
                       arguments, timeout=300 + groups // 20)
    found = counting.read(out, symbols, workload.operations)
    why = counting.check(workload, result, found)
    if why:
        raise BenchError(f"{name}: {why}; see {shown(out)}")
    counting.per_operation(workload, result, found)
    result["profile"] = found
    return result


def profile(arm, plugin, initrd, options):
    """The results of an arm's guests in one: what was counted in all of them."""
    first, *others = (count(workload, arm, plugin, initrd,
                            options.siblings if workload is counting.SIBLINGS
                            else options.groups)
                      for workload in options.workloads)
    for workload, other in zip(options.workloads[1:], others):
        first["profile"].update(other["profile"])
        first["series"].update((f"{workload.scenario}_{name}", values)
                               for name, values in other["series"].items())
        first["guest_seconds"] += other["guest_seconds"]
    return first


def bench():
    options = parse_options()
    guard, initrd, accel = session.begin(options, "profile-*")
    plugin = counting.build_plugin()
    results = []
    progress = Progress(len(options.arms))
    for arm in options.arms:
        progress.next(f"{arm.name}, {options.groups} groups, {options.siblings} "
                      "siblings")
        results.append(profile(arm, plugin, initrd, options))
        progress.done(f"{results[-1]['guest_seconds']:.1f} s")

    machine = session.describe(accel, results[0], options.arms, 1)
    machine.update(groups=options.groups, siblings=options.siblings)
    content = report.build(results, machine)
    path = OUT / "profile.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    text = report.text(content)
    path.with_suffix(".md").write_text(text)
    print("\n" + text)
    print(f"written: {shown(path)}, {shown(path.with_suffix('.md'))}; "
          f"consoles: {shown(LOGS)}/profile-*.log")
    status = session.conclude("profile", content["goals"], options.arms, COMPARED)
    guard.close()
    return status


if __name__ == "__main__":
    main(bench)
