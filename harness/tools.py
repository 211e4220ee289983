# SPDX-License-Identifier: GPL-2.0
"""Runs the tools that read object files."""

import os
import subprocess

from harness.common import BenchError

# As scripts/deps installs them.
LLVM = os.environ.get("LLVM", "-19")


def run(command, what, text=None):
    """What the command prints; `what` is what an error says it was for."""
    command = [str(part) for part in command]
    try:
        result = subprocess.run(command, input=text, capture_output=True,
                                text=True, check=False)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is not installed: run 'make deps'") from None
    if result.returncode:
        raise BenchError(f"{what}: {command[0]} failed: {result.stderr.strip()}")
    return result.stdout


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
