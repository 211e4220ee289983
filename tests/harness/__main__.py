# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of the harness itself: they show that what judges finds what is wrong."""

import pathlib

from harness import pytest_check
from harness.common import main

if __name__ == "__main__":
    main(lambda: pytest_check.run("harness", __doc__, pathlib.Path(__file__).parent))
