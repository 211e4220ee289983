# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of the hot paths, by function, in each kernel.

The load of the host and the layout of the code, which alone move times under TCG
by a tenth, hardly change these counts.
"""

import argparse

from bench.profile import counting, report, workloads
from harness import arms, measuring, python_guest, qemu, results, selection, session
from harness.common import LOGS, QUICK, BenchError, main, shown
from harness.kernels import KERNELS
from harness.report import text as report_text
from harness.symbols import Symbols

KNOWN = ("stock", "rust", "inline")
# What the goals are about.
COMPARED = ("stock", "rust")
# Any number: one of four CPUs would measure it for longer than all that is counted takes.
KERNEL = ("lpj=1000000",)


def parse_options():
    # Not every machine has a rustc for it.
    default = [name for name in KNOWN
               if name != "inline" or KERNELS[name].image.is_file()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", default=",".join(default),
                        help="default: %(default)s; inline, too, once 'make "
                             "kernel VARIANT=inline' built it")
    selection.add_option(parser, "workloads")
    options = parser.parse_args()
    options.workloads = selection.chosen(options, workloads.WORKLOADS)
    options.arms = session.choose_arms(parser, options.arms, KNOWN)
    # Only TCG has plugins.
    options.accel = "tcg"
    return options


def count(workload, arm, plugin, initrd, groups):
    """One guest's result, with what was counted in it."""
    symbols = Symbols(arm.kernel.vmlinux)
    name = f"{arm.name}-{workload}"
    points = counting.FOLDER / f"{name}.points"
    out = counting.FOLDER / f"{name}.counts"
    counting.write_points(symbols, points, groups, workload.operations)
    out.unlink(missing_ok=True)
    memory = workload.memory(groups)
    machine = qemu.Machine("tcg", memory, workload.cpus,
                           counting.argument(plugin, points, out),
                           disks=workload.disks(), threads="single", nodes=workload.nodes,
                           icount=workload.icount)
    # What is removed at the end is of no interest.
    arguments = (*(() if workload.program else ("--keep",)),
                 *(text.format(groups=groups) for text in workload.arguments),
                 workload.scenario)
    result = arms.boot(arm, machine, initrd, groups, f"profile-{name}", arguments, KERNEL,
                       timeout=workload.timeout + groups // 20)
    found = counting.read(out, symbols, workload.operations)
    why = counting.check(workload, result, found)
    if why:
        raise BenchError(f"{name}: {why}; see {shown(out)}")
    counting.per_operation(workload, result, found)
    result["profile"] = found
    return result


def guest_of(plugin, initrd, arm, workload):
    if workload.program:
        initrd = python_guest.build(workload.program)
    groups = workload.groups[QUICK]
    return measuring.Guest(f"{arm.name}, {workload}, {groups} groups",
                           lambda: count(workload, arm, plugin, initrd, groups), {})


def bench():
    options = parse_options()
    guard, initrd, accel = session.begin(options, "profile-*")
    plugin = counting.build_plugin()
    found = results.Run("profile", [arm.kernel for arm in options.arms])
    measured = measuring.measure("profile", [
        guest_of(plugin, initrd, arm, workload)
        for arm in options.arms for workload in options.workloads
        if not workload.ours or arm.kernel.implementation != "c"], options.arms)
    if measured.failed:
        raise BenchError("\n".join(measured.failed))
    machine = session.describe("profile", accel, measured.results[0], options.arms, 1)
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
