# SPDX-License-Identifier: GPL-2.0
"""Runs kernels that look for faults of their own, each with the KUnit suites, the
torture test and a short bench and, for data races, guests in which objects come to
lists and go, and page cache outlives limits. Whatever they report fails, but for the
data races of stock code in tests/sanitize/races.toml. On a kernel with the C
implementation all races are stock's: they are only listed.
"""

import dataclasses
import os
import subprocess
import sys

import pytest

from bench import retain
from harness import arms, initramfs, kernels, kunit_guest, python_guest, qemu, races
from harness.common import LOGS, QUICK, RESULTS, ROOT, BenchError, shown
from harness.report import listed
from tests.sanitize import sanitizers

RUN_TEST = ROOT / "tests/run"
PARTS = ("kunit", "bench", "lists", "retained", "torture")
DEFAULT = kernels.used_by("sanitize")


def add_options(parser):
    parser.add_argument("--kernel", action="append", choices=sanitizers.LOOKING,
                        help="may be given again (default: "
                             f"{' and '.join(DEFAULT)})")
    parser.add_argument("--duration", type=int, metavar="SECONDS",
                        default=int(os.environ.get("DURATION") or
                                    (60 if QUICK else 300)),
                        help="of the torture test, for both versions of "
                             "cgroups (default: %(default)s, or DURATION)")
    parser.add_argument("--race-ms", type=int, default=500 if QUICK else 1500,
                        help="of each race of the suites (default: %(default)s)")
    parser.add_argument("--n", type=int, default=100 if QUICK else 500,
                        help="groups of the bench (default: %(default)s)")


def applies(part, kernel):
    """Whether a part can find anything in a kernel that nothing else does."""
    if part == "kunit":
        return kernel.language == "Rust"
    if part == "retained":
        # make retained is the same on kernels that look for other faults.
        return kernel.language == "Rust" and sanitizers.is_instrumented(kernel)
    # Their objects come and go in the torture test, too.
    return part != "lists" or sanitizers.is_instrumented(kernel)


def with_oracle(arm, part):
    """The suites turn it on and off themselves."""
    if arm.kernel.language == "C" or part == "kunit":
        return arm
    return dataclasses.replace(arm, args=f"{arm.args} mm_reclaim=verify")


def run_kunit(arm, options, name):
    passed = kunit_guest.run(
        arm, qemu.Machine("tcg", 1024, 2), initramfs.build_initramfs(), name,
        options.race_ms, 1200)
    sanitizers.check_alive(arm.kernel, name)
    return f"{len(passed)} cases"


def run_bench(arm, options, name):
    result = arms.boot(arm, qemu.Machine("tcg", 1536, 2), initramfs.build_initramfs(),
                       options.n, name, timeout=600)
    sanitizers.check_alive(arm.kernel, name)
    return f"{options.n} groups, {result['guest_seconds']:.0f} s"


def run_lists(arm, _options, name):
    seconds = 30 if QUICK else 120
    result = arms.boot(arm, qemu.Machine("tcg", 1024, 2),
                       python_guest.build("lists.py"), 2, name,
                       ("--duration", str(seconds)), timeout=seconds * 3 + 300)
    sanitizers.check_alive(arm.kernel, name)
    return (f"{seconds} s, {result['added']} objects came, {result['groups_gone']} "
            f"groups went, and all was reclaimed {result['shrunk']} times")


def run_retained(arm, _options, name):
    seconds = 30 if QUICK else 120
    result = arms.boot(arm, qemu.Machine("tcg", 768, 2, disks=retain.fast_disks()),
                       python_guest.build("retain_files.py"), 3, name,
                       ("--lru", "mglru", "--seconds", str(seconds)),
                       timeout=seconds * 4 + 600)
    sanitizers.check_alive(arm.kernel, name)
    return f"{seconds} s, pages: {listed(result['pages'])}"


def run_torture(arm, options, name):
    """The test is a program of its own, with its own progress and count."""
    counted = RESULTS / "torture"
    counted.unlink(missing_ok=True)
    for old in LOGS.glob("torture-*.log"):
        old.unlink()
    done = subprocess.run(
        [sys.executable, str(RUN_TEST), "torture", "-k", "", "--variant", arm.kernel.name,
         "--duration", str(options.duration),
         "--args", sanitizers.arm(arm.kernel.name).args,
         *(["--leaks"] if "kmemleak" in arm.kernel.looks else ())],
        capture_output=True, text=True, check=False)
    logs = [log.rename(LOGS / f"{name}-{log.name}")
            for log in sorted(LOGS.glob("torture-*.log"))]
    # Its cases count as one here.
    counted.unlink(missing_ok=True)
    if done.returncode:
        raise BenchError(f"{done.stdout}{done.stderr}, now "
                              f"{', '.join(map(shown, logs))}")
    for log in logs:
        sanitizers.check_alive(arm.kernel, log.stem)
    return f"{options.duration} s\n{done.stdout.rstrip()}"


RUN = {"kunit": run_kunit, "bench": run_bench, "lists": run_lists,
       "retained": run_retained, "torture": run_torture}


def reported(name, kernel):
    """The data races in the consoles of one part: their names, and the text of
    those that are not let pass."""
    passed, ours = {}, []
    for log in sorted(LOGS.glob(f"{name}*.log")):
        for report in races.split(log.read_text(errors="replace"))[0]:
            if races.is_known(report, kernel):
                passed[report.name] = passed.get(report.name, 0) + 1
            else:
                ours.append(f"{shown(log)}:\n{races.explained(report, kernel)}")
    return passed, ours


def cases(options):
    """The parts on each kernel."""
    return {f"{part} on {arm.name}": (part, arm)
            for arm in map(sanitizers.arm, options.kernel or DEFAULT)
            for part in PARTS if applies(part, arm.kernel)}


@pytest.fixture(scope="module", autouse=True)
def begin():
    races.known()
    for old in LOGS.glob("sanitize-*.log"):
        old.unlink()


def test_part(case, step, options):
    part, arm = case
    step.uses(arm)
    sanitizers.check_instrumented(arm.kernel)
    name = step.log = f"sanitize-{arm.name}-{part}"
    wrong = []
    try:
        step.said = RUN[part](with_oracle(arm, part), options, name)
    except BenchError as error:
        wrong = [str(error)]
    let_pass, ours = reported(name, arm.kernel)
    why = "of stock code" if races.is_stock(arm.kernel) else "let pass, as races.toml says"
    step.lines += [f"{why}: {count} {race}" for race, count in sorted(let_pass.items())]
    # The torture test has several.
    if not (LOGS / f"{name}.log").exists():
        step.log = None
    if wrong or ours:
        raise BenchError("\n".join([*(wrong or ["data races"]), *ours]))
