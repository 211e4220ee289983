# SPDX-License-Identifier: GPL-2.0
"""Runs the scenarios of a bench: every case in a guest of its own for each arm.

Within each round the arms change places from one case to the next. Guests that
fail are named in the report, and the others run all the same. The run fails in the
end if a guest did, or if a goal that decides is not met.
"""

import argparse
import dataclasses
import pathlib
import re
from collections.abc import Callable

from harness import (
    arms, measuring, page, python_guest, qemu, report, results, scenario_report, selection,
    session)
from harness.common import LOGS, OUT, QUICK, shown

MEMORY_MAX = 16384
# For QEMU itself, and so that the host need not swap.
SPARE = 768
# The first arm, stock, once more.
TWIN = "again"


# What reports say first, and benches may add to.
NOTES = """\
Median (minimum to maximum) over the rounds, each in a guest of its own. Ratios
are those within each round; above 1 is in favour of this project."""


@dataclasses.dataclass(frozen=True)
class Bench:
    """What a program of this kind has of its own."""
    name: str               # of its reports and logs
    about: str
    scenarios: dict         # by name
    arms: tuple             # that are compared
    others: tuple           # that there are, too
    notes: str              # below the line that describes the host
    program: str = ""       # of guest/workloads, in Python; else the one in C
    disks: Callable = tuple  # returns what the guests have
    rounds: tuple = (3, 1)  # by default, and if it is to be quick
    beside: tuple = ()      # arms that are measured, and need not be


def shown_by(bench, name):
    """The scenarios that have the guests of one."""
    return [scenario.name for scenario in bench.scenarios.values()
            if (scenario.source or scenario.name) == name]


def parse_options(bench):
    parser = argparse.ArgumentParser(
        description=bench.about, epilog="QUICK=1 chooses small sizes.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    selection.add_option(parser, "cases of scenarios")
    parser.add_argument("--rounds", type=int, default=bench.rounds[QUICK],
                        help="default: %(default)s")
    others = "".join(f"; there is {name}, too, once 'make kernel "
                     f"VARIANT={name}' built it" for name in bench.others)
    # What decides needs no second run of stock; what times are worth does.
    default = (bench.arms[0], *(() if QUICK else (TWIN,)), *bench.arms[1:],
               *bench.beside)
    parser.add_argument("--arms", default=",".join(default),
                        help=f"default: %(default)s{others}")
    parser.add_argument("--cpus", type=int, default=2,
                        help="of every guest (default: %(default)s)")
    parser.add_argument("--memory-max", type=int, metavar="MIB",
                        help="of a guest; what needs more is left out, where it "
                             "would else be a failure that the host has less "
                             f"(default: {MEMORY_MAX}, or what the host has)")
    parser.add_argument("--accel", choices=("auto", "kvm", "tcg"),
                        default="auto",
                        help="auto is KVM if a guest boots under it, else TCG")
    options = parser.parse_args()
    if options.rounds < 1 or options.cpus < 1:
        parser.error("--rounds and --cpus start at 1")
    options.arms = session.choose_arms(parser, options.arms,
                                       (*bench.arms, TWIN, *bench.beside, *bench.others))
    options.cases = selection.chosen(options, [
        (name, case) for name, scenario in bench.scenarios.items() if scenario.cases
        for case in scenario.cases(QUICK)],
        lambda step: f"{', '.join(shown_by(bench, step[0]))}, {step[1].label}")
    names = {name for name, _ in options.cases}
    options.scenarios = [scenario for scenario in bench.scenarios.values()
                         if (scenario.source or scenario.name) in names]
    return options


def host_memory():
    """What guests may take, in MiB."""
    info = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"^MemAvailable:\s+(\d+)", info, re.M)[1]) // 1024 - SPARE


def fit(case, arm, limit):
    """The memory of a guest for this case, or why there is none.

    All arms have the same memory, unless stock cannot run at all.
    """
    if case.memory <= limit:
        return case.memory, None
    least = arm.kernel.language != "C" and case.least
    if least and least <= limit:
        return limit, None
    return None, (f"{arm.name}, {case.label}: its guest needs "
                  f"{least or case.memory} MiB, "
                  f"and there are {limit}")


def plan(options):
    """Yields round, scenario, case and arm in the order in which they run."""
    for number in range(1, options.rounds + 1):
        for turn, (name, case) in enumerate(options.cases):
            for arm in session.rotated(options.arms, number + turn - 1):
                if arm.name not in case.left_out:
                    yield number, name, case, arm


def log_name(bench, number, name, case, arm):
    return arms.log_name(bench.name, f"round{number}", name, case.label, arm.name)


def guest_of(bench, options, accel, limit, initrd, disks, step):
    number, name, case, arm = step
    memory, why = fit(case, arm, limit)

    def boot():
        return arms.boot(
            arm, qemu.Machine(accel, memory, case.cpus or options.cpus, disks=disks), initrd,
            case.n, log_name(bench, number, name, case, arm), case.workload,
            case.kernel, case.timeout)

    return measuring.Guest(
        f"round {number}/{options.rounds}, {name}, {case.label}, {arm.name}", boot,
        {"round": number, "case": case.label, "memory_mib": memory, "from": name},
        why)


def run(bench):
    """The main function of such a program."""
    options = parse_options(bench)
    guard, initrd, accel = session.begin(options, f"{bench.name}-*")
    if bench.program:
        initrd = python_guest.build(bench.program)
    limit = min(options.memory_max or MEMORY_MAX, host_memory())
    print(f"{accel}, guests with {options.cpus} CPUs and at most {limit} MiB; "
          f"consoles: {shown(LOGS)}/", flush=True)

    found = results.Run(bench.name, [arm.kernel for arm in options.arms])
    disks = bench.disks()

    def save(measured):
        machine = session.describe(bench.name, accel, measured.results[0], options.arms,
                                   options.rounds)
        machine["guest_cpus"] = options.cpus
        return found.save(scenario_report.build(measured, machine, options, bench.notes))

    measured = measuring.measure(bench.name, [
        guest_of(bench, options, accel, limit, initrd, disks, step)
        for step in plan(options)], options.arms, save)
    content = save(measured)
    print("\n" + report.text(content))
    for old in OUT.glob(f"{bench.name}-*.[ps][nv]g"):
        old.unlink()
    session.plot(found.path)
    session.judge(found, page.goals_of(content), options.arms, bench.arms,
                  [*measured.failed, *(() if options.memory_max else measured.skipped)])
    found.publish(content, sorted(OUT.glob(f"{bench.name}-*.svg")))
    guard.close()
    return session.status(found)
