# SPDX-License-Identifier: GPL-2.0
"""Tests tools/ on the host: the programs for users on copies of other hosts' /proc and
/sys, and the selftest for the order of its files."""

import pathlib

from harness import pytest_check
from harness.common import main

if __name__ == "__main__":
    main(lambda: pytest_check.run("tools-check", __doc__, pathlib.Path(__file__).parent))
