# SPDX-License-Identifier: GPL-2.0
"""The first processes of guests."""

import os

import pytest

from harness.common import ROOT

WORKLOADS = sorted(path for path in (ROOT / "guest" / "workloads").glob("*.py")
                   if path.name != "__init__.py")


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_kernel_can_execute_it(path):
    """From a disk, it does with the mode and by the first line that the file has here."""
    assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/python3\n")
    assert os.access(path, os.X_OK)
