# SPDX-License-Identifier: GPL-2.0
"""What the programs that compare the arms have in common: one at a time, on a
machine that the report describes, with a plot at the end."""

import datetime
import fcntl
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys

from harness import (
    arms, goals, initramfs, qemu, results, revision)
from harness.common import LOGS, OUT, ROOT, BenchError, tail
from harness.kernels import ARMS


def cpu_model():
    found = re.search(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.processor() or "unknown CPU"


def command(tool):
    """What measures it again."""
    variables = [f"{name}={shlex.quote(os.environ[name])}" for name in ("QUICK", "N", "K")
                 if os.environ.get(name)]
    return " ".join([*variables, sys.argv[0], shlex.join(sys.argv[1:])] if sys.argv[1:] else
                    [*variables, "make", "-".join(dict.fromkeys(("bench", tool)))])


def describe(tool, accel, guest, choice, rounds):
    """`guest` is the result of any guest: the kernels differ by arm only."""
    return {
        "command": command(tool),
        "date": datetime.datetime.now(datetime.UTC)
                .strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_model(), "cores": os.cpu_count(), "accel": accel,
        "qemu": qemu.version(), "host_kernel": platform.release(),
        "kernel": guest["kernel"], "clock": guest["clock"]["source"],
        "rounds": rounds, "revision": revision.described(),
        "arms": {arm.name: arm.about for arm in choice},
    }


def choose_arms(parser, names, known):
    """Those of the known arms that were named, in the order of `known`."""
    wanted = names.split(",")
    unknown = set(wanted) - set(known)
    if unknown:
        parser.error(f"--arms: there is no {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(known)}")
    return [ARMS[name] for name in known if name in wanted]


def begin(options, logs):
    """Checks what is needed, and removes old logs. Returns a guard to close at
    the end, the initramfs, and the accelerator."""
    qemu.check()
    arms.check_images(options.arms)
    arms.check_configs(options.arms)
    guard = only_one()
    for old in LOGS.glob(logs):
        old.unlink()
    initrd = initramfs.build_initramfs()
    accel = qemu.choose_accel(
        options.accel, lambda accel: arms.probe(options.arms[0], initrd, accel))
    return guard, initrd, accel


def judge(found, expected, choice, compared, failed=()):
    """Makes checks of what decides whether the run fails. `compared` are the arms that
    the goals are about."""
    for goal in goals.deciding(expected, choice, compared):
        text = f"{goal['verdict']}, found: {goal['found']}"
        found.check(goal["goal"], None if goal["verdict"] == goals.MET else text, text)
    for text in failed:
        found.check(text, "not measured")
    if not found.checks:
        # Without a check it would look as if the run had not ended.
        found.skip("goals", "none of them decides")


def status(found):
    """Says what failed, and returns the exit status."""
    for check in found.checks:
        if check.verdict == results.FAILED:
            print(f"FAILED: {check.name}: {check.text}")
    met, missed = map(found.count, (results.PASSED, results.FAILED))
    if met or missed:
        print(f"{met} goals that decide are met, {missed} not; times are reported only")
    else:
        print("no goal was judged: none decides, or not all arms that they compare "
              "were measured")
    return 1 if missed else 0


def rotated(choice, turn):
    """The arms in another order each turn, so that none is always the first."""
    shift = turn % len(choice)
    return choice[shift:] + choice[:shift]


def plot(path):
    """matplotlib may be there for the system's Python only."""
    output = ""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if not os.access(python, os.X_OK):
            continue
        result = subprocess.run([python, "-m", "harness.plot_scenarios", str(path)],
                                capture_output=True, text=True, check=False, cwd=ROOT)
        if not result.returncode:
            return
        output = result.stderr
        if "No module named 'matplotlib'" not in output:
            break
    raise BenchError("no plot could be drawn; matplotlib comes with "
                     f"'make deps'\n{tail(output)}")


def only_one():
    """Two at once would disturb each other, and share the logs."""
    OUT.mkdir(parents=True, exist_ok=True)
    guard = open(OUT / ".lock", "w")
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BenchError("another bench is running in this folder") from None
    return guard
