# SPDX-License-Identifier: GPL-2.0
"""No test of the harness leaves anything in build/."""

import pytest

from harness import common, kept, measuring, progress, results


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "OUT", tmp_path)
    monkeypatch.setattr(measuring, "OUT", tmp_path)
    monkeypatch.setattr(common, "RESULTS", tmp_path / "counts")
    monkeypatch.setattr(progress, "TIMES", tmp_path / "times.json")
    monkeypatch.setattr(kept, "FRESH", False)
