# SPDX-License-Identifier: GPL-2.0
"""How a tool of tools/cgroup is run here."""

import subprocess
import sys


def run(tool, *options):
    return subprocess.run([sys.executable, tool, *options], capture_output=True, text=True,
                          check=False, timeout=60)


def said(tool, *options):
    """What it says, if it succeeds."""
    result = run(tool, *options)
    assert not result.returncode, result.stderr
    return result.stdout
