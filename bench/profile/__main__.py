# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of the hot paths, by function, in each kernel, and what their loads and
stores miss in a model of caches.

The load of the host and the layout of the code, which alone move times under TCG
by a tenth, hardly change these counts.
"""

import argparse

from bench.profile import counting, report, start, workloads
from harness import arms, measuring, python_guest, qemu, results, selection, session
from harness.common import LOGS, QUICK, BenchError, main, shown
from harness.kernels import KERNELS
from harness.report import text as report_text
from harness.scenario_bench import TWIN
from harness.symbols import Symbols

KNOWN = ("stock", TWIN, "rust", "inline", start.FLOOR)
# Not each machine has a rustc for the one, and the other is for one question.
IF_BUILT = ("inline", start.FLOOR)
# What the goals are about.
COMPARED = ("stock", "rust")
# Any number: one of four CPUs would measure it for longer than all that is counted takes.
KERNEL = ("lpj=1000000",)
# By default, with caches, and if it is to be quick.
ROUNDS = (3, 1)


def parse_options():
    # Instructions need no second run of stock; what misses are worth does.
    default = [name for name in KNOWN if not (
        QUICK if name == TWIN else name in IF_BUILT and not KERNELS[name].image.is_file())]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", default=",".join(default),
                        help="default: %(default)s; inline and floor, too, once 'make "
                             "kernel VARIANT=...' built them")
    parser.add_argument("--caches", action=argparse.BooleanOptionalAction, default=True,
                        help="without, only instructions are counted, which is faster")
    parser.add_argument("--rounds", type=int, default=ROUNDS[QUICK],
                        help="with caches (default: %(default)s)")
    selection.add_option(parser, "workloads")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds starts at 1")
    options.workloads = selection.chosen(options, workloads.WORKLOADS)
    options.arms = session.choose_arms(parser, options.arms, KNOWN)
    # Only TCG has plugins.
    options.accel = "tcg"
    return options


def count(workload, arm, plugin, initrd, name, caches):
    """One guest's result, with what was counted in it."""
    groups = workload.groups[QUICK]
    symbols = Symbols(arm.kernel.vmlinux)
    points = counting.FOLDER / f"{name}.points"
    out = counting.FOLDER / f"{name}.counts"
    counting.write_points(symbols, points, groups, workload.operations)
    out.unlink(missing_ok=True)
    memory = workload.memory(groups)
    machine = qemu.Machine("tcg", memory, workload.cpus,
                           counting.argument(plugin, points, out, caches),
                           disks=workload.disks(), threads="single", nodes=workload.nodes,
                           icount=workloads.CACHES_ICOUNT if caches else workload.icount)
    # What is removed at the end is of no interest.
    arguments = (*(() if workload.program else ("--keep",)),
                 *(text.format(groups=groups) for text in workload.arguments),
                 workload.scenario)
    # Most of the time is that of the caches.
    result = arms.boot(arm, machine, initrd, groups, f"profile-{name}", arguments,
                       (*KERNEL, *workload.kernel),
                       timeout=(workload.timeout + groups // 20) * (4 if caches else 1))
    found = counting.read(out, symbols, workload.operations)
    why = counting.check(workload, result, found)
    if why:
        raise BenchError(f"{name}: {why}; see {shown(out)}")
    counting.per_operation(workload, result, found)
    result["profile"] = found
    return result


def guest_of(plugin, initrd, number, arm, workload, caches):
    if workload.program:
        initrd = python_guest.build(workload.program)
    name = f"{arm.name}-{workload}-{number}"
    return measuring.Guest(
        f"round {number}, {arm.name}, {workload}, {workload.groups[QUICK]} groups",
        lambda: count(workload, arm, plugin, initrd, name, caches), {"round": number})


def plan(options):
    """Yields round, arm, workload, and whether with caches: without, one round does."""
    for number in range(1, options.rounds + 1):
        for turn, workload in enumerate(options.workloads):
            caches = options.caches and workload.caches
            for arm in session.rotated(options.arms, number + turn - 1):
                if workload.ours and arm.kernel.implementation == "c":
                    continue
                if arm.name == start.FLOOR and not workload.floor:
                    continue
                if caches or (number == 1 and arm.name != TWIN):
                    yield number, arm, workload, caches


def bench():
    options = parse_options()
    guard, initrd, accel = session.begin(options, "profile-*")
    plugin = counting.build_plugin()
    found = results.Run("profile", [arm.kernel for arm in options.arms])
    measured = measuring.measure("profile", [
        guest_of(plugin, initrd, *step) for step in plan(options)], options.arms)
    if measured.failed:
        raise BenchError("\n".join(measured.failed))
    machine = session.describe("profile", accel, measured.results[0], options.arms,
                               max(result["round"] for result in measured.results))
    machine.update(groups={str(workload): workload.groups[QUICK]
                           for workload in options.workloads if not workload.program})
    content = found.save(report.build(measured.results, machine))
    print("\n" + report_text(content))
    print(f"consoles: {shown(LOGS)}/profile-*.log")
    session.judge(found, content["goals"], options.arms, COMPARED)
    found.publish(content)
    guard.close()
    return session.status(found)


if __name__ == "__main__":
    main(bench)
