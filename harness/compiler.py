# SPDX-License-Identifier: GPL-2.0
"""Runs the host's C compiler: for the guest's program and for QEMU's plugin."""

import os
import shutil

from harness import tools
from harness.common import BenchError


def find_compiler():
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        if shutil.which(name.split()[0]):
            return name.split()
    raise BenchError("no C compiler found: run 'make deps'")


def build(what, output, sources, flags, log):
    """The sentence that an error begins with starts with `what`."""
    output.parent.mkdir(parents=True, exist_ok=True)
    tools.logged([*find_compiler(), *flags, "-O2", "-Wall", "-Wextra", "-o", output, *sources],
                 what, log)
