# SPDX-License-Identifier: GPL-2.0
"""Runs other programs, such as those that read object files."""

import os
import subprocess

from harness.common import LOGS, BenchError, shown, tail

# As scripts/deps installs them.
LLVM = os.environ.get("LLVM", "-19")


def run(command, what, text=None, **more):
    """What the command prints; `what` is what an error says it was for."""
    command = [str(part) for part in command]
    try:
        result = subprocess.run(command, input=text, capture_output=True,
                                text=True, check=False, **more)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is not installed: run 'make deps'") from None
    if result.returncode:
        raise BenchError(f"{what}: {command[0]} failed: {result.stderr.strip()}")
    return result.stdout


def logged(command, what, log, **more):
    """Its output goes to a log, the end of which an error shows."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log, command = LOGS / log, [str(part) for part in command]
    with open(log, "w", encoding="utf-8") as file:
        print(*command, file=file, flush=True)
        failed = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.STDOUT, check=False, **more).returncode
    if failed:
        raise BenchError(f"{what} does not build, see {shown(log)}\n"
                         + tail(log.read_text(errors="replace")))


def nm(path, what):
    """The symbols of a file, with Rust's names as they are in the source."""
    return run(["llvm-nm" + LLVM, "--demangle", path], what)


def objdump(path, *options):
    return run(["llvm-objdump" + LLVM, *options, path], path)


def demangle(names):
    """A dictionary from each name to the one in the source."""
    names = sorted(names)
    lines = run(["llvm-cxxfilt" + LLVM], "demangling", "\n".join(names) + "\n")
    return dict(zip(names, lines.splitlines()))
