# SPDX-License-Identifier: GPL-2.0
"""Runs the host's C compiler: for the guest's program and for QEMU's plugin."""

import os
import shutil
import subprocess

from harness.common import LOGS, BenchError, shown, tail


def find_compiler():
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        if shutil.which(name.split()[0]):
            return name.split()
    raise BenchError("no C compiler found: run 'make deps'")


def build(what, output, sources, flags, log):
    """The sentence that an error begins with starts with `what`."""
    for folder in (output.parent, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    command = [*find_compiler(), *flags, "-O2", "-Wall", "-Wextra",
               "-o", str(output), *map(str, sources)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    log = LOGS / log
    log.write_text(" ".join(command) + "\n" + result.stdout + result.stderr)
    if result.returncode:
        raise BenchError(f"{what} does not build, see {shown(log)}\n"
                         + tail(log.read_text()))
