# SPDX-License-Identifier: GPL-2.0
"""Shows that what a program started ends with it, when it is interrupted."""

import signal
import time

import pytest

from harness import tools


def test_interrupt(tmp_path, monkeypatch):
    """Also what looks after itself, as make does until its children are done."""
    file = tmp_path / "ticks"
    ticks = f"trap 'sleep 0.2; exit' TERM; while :; do echo >>{file}; sleep 0.02; done"
    monkeypatch.setattr(tools, "PATIENCE", 5)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        tools.status(["sh", "-c", f"(trap '' TERM; {ticks.replace('exit', ':')}) & {ticks}"])
    size = file.stat().st_size
    assert size
    time.sleep(0.3)
    assert file.stat().st_size == size


def test_status():
    assert tools.status(["sh", "-c", "exit 3"]) == 3
