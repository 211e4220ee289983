# SPDX-License-Identifier: GPL-2.0
"""Runs the scenarios of a bench: every case in a guest of its own for each arm.

Within each round the arms change places from one case to the next. Guests that
fail are named in the report, and the others run all the same. The run fails in the
end if a guest did, or if a goal that decides is not met.
"""

import argparse
import dataclasses
import json
import os
from collections.abc import Callable

from harness import arms, qemu, scenario_report, session
from harness.common import LOGS, OUT, QUICK, BenchError, Progress, shown
from harness.scenario import sources

MEMORY_MAX = 16384
# For QEMU itself, and so that the host need not swap.
SPARE = 768
# The first arm, stock, once more.
TWIN = "again"


@dataclasses.dataclass(frozen=True)
class Bench:
    """What a program of this kind has of its own."""
    name: str               # of its reports and logs
    about: str
    scenarios: dict         # by name
    arms: tuple             # that are compared
    others: tuple           # that there are, too
    notes: str              # below the line that describes the host
    initramfs: Callable = None  # returns the path of another one than usual
    disks: Callable = tuple  # returns what the guests have
    rounds: tuple = (3, 1)  # by default, and if it is to be quick


def parse_options(bench):
    parser = argparse.ArgumentParser(
        description=bench.about, epilog="QUICK=1 chooses small sizes.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", metavar="NAME[,NAME...]",
                        default=",".join(bench.scenarios),
                        help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=bench.rounds[QUICK],
                        help="default: %(default)s")
    others = "".join(f"; there is {name}, too, once 'make kernel "
                     f"VARIANT={name}' built it" for name in bench.others)
    # What decides needs no second run of stock; what times are worth does.
    default = bench.arms if QUICK else (bench.arms[0], TWIN, *bench.arms[1:])
    parser.add_argument("--arms", default=",".join(default),
                        help=f"default: %(default)s{others}")
    parser.add_argument("--case", metavar="TEXT", default="",
                        help="only cases whose label contains this, such as "
                             "\"2000\"")
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
    options.quick = QUICK
    if options.rounds < 1 or options.cpus < 1:
        parser.error("--rounds and --cpus start at 1")
    names = options.scenario.split(",")
    unknown = set(names) - bench.scenarios.keys()
    if unknown:
        parser.error(f"--scenario: there is no {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(bench.scenarios)}")
    options.scenarios = [scenario for name, scenario in bench.scenarios.items()
                         if name in names]
    options.arms = session.choose_arms(parser, options.arms,
                                       (*bench.arms, TWIN, *bench.others))
    options.cases = [(name, case) for name in sources(options.scenarios)
                     for case in bench.scenarios[name].cases(QUICK)
                     if options.case in case.label]
    if not options.cases:
        parser.error(f"--case: none of the labels contains \"{options.case}\"")
    return options


def host_memory():
    """What guests may take, in MiB."""
    with open("/proc/meminfo") as info:
        for line in info:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024 - SPARE
    raise BenchError("/proc/meminfo has no MemAvailable")


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
                yield number, name, case, arm


def log_name(bench, number, name, case, arm):
    label = "".join(c if c.isalnum() else "-" for c in case.label)
    return f"{bench.name}-round{number}-{name}-{label}-{arm.name}"


def measure(bench, options, accel, limit, initrd, save):
    disks = bench.disks()
    results, skipped, failed = [], [], []
    steps = list(plan(options))
    progress = Progress(len(steps))
    for number, name, case, arm in steps:
        what = f"round {number}/{options.rounds}, {name}, {case.label}, {arm.name}"
        memory, why = fit(case, arm, limit)
        if why:
            progress.skip(what)
            if why not in skipped:
                skipped.append(why)
            continue
        progress.next(what)
        try:
            result = arms.boot(
                arm, qemu.Machine(accel, memory, options.cpus, disks=disks),
                initrd, case.n, log_name(bench, number, name, case, arm),
                case.workload, case.kernel, case.timeout)
        except arms.GuestFailed as error:
            progress.done(f"FAILED: {error}")
            failed.append(f"{arm.name}, {case.label}, round {number}: "
                          f"{error.why}")
            continue
        progress.done(f"{result['guest_seconds']:.1f} s")
        result.update(round=number, case=case.label, memory_mib=memory)
        result["from"] = name
        results.append(result)
        # A long run that is interrupted has still measured something.
        save(results, skipped, failed)
    if not results:
        raise BenchError("nothing was measured" +
                         "".join(f"\n{line}" for line in skipped + failed))
    return save(results, skipped, failed)


def run(bench):
    """The main function of such a program."""
    options = parse_options(bench)
    guard, initrd, accel = session.begin(options, f"{bench.name}-*")
    if bench.initramfs:
        initrd = bench.initramfs()
    limit = min(options.memory_max or MEMORY_MAX, host_memory())
    print(f"{accel}, guests with {options.cpus} CPUs and at most {limit} MiB; "
          f"consoles: {shown(LOGS)}/", flush=True)

    path = OUT / f"{bench.name}.json"

    def save(results, skipped, failed):
        machine = session.describe(accel, results[0], options.arms,
                                   options.rounds)
        machine["guest_cpus"] = options.cpus
        content = scenario_report.build(results, machine, options,
                                        bench.scenarios, skipped, failed)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1) + "\n")
        os.replace(new, path)
        return content

    content = measure(bench, options, accel, limit, initrd, save)
    text = scenario_report.text(content, bench.scenarios, bench.notes)
    path.with_suffix(".md").write_text(text)
    print("\n" + text)
    for old in OUT.glob(f"{bench.name}-*.[ps][nv]g"):
        old.unlink()
    session.plot("plot_scenarios", path)
    print(f"written: {shown(path)}, {shown(path.with_suffix('.md'))}, "
          f"{shown(OUT)}/{bench.name}-*.png and .svg")
    status = session.conclude(
        bench.name, scenario_report.all_goals(content), options.arms, bench.arms,
        [*content["failed"],
         *(() if options.memory_max else content["skipped"])])
    guard.close()
    return status
