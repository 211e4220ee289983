# SPDX-License-Identifier: GPL-2.0
"""Shows that what was kept is found again, and only for the same code."""

import pathlib

import pytest

from harness import arms, kept, measuring, revision


def test_again(tmp_path):
    kept.Kept(tmp_path / "a.json", "key", fresh=False).keep("one", 1)
    assert kept.Kept(tmp_path / "a.json", "key", fresh=False).get("one") == 1


def test_fresh(tmp_path):
    kept.Kept(tmp_path / "a.json", fresh=False).keep("one", 1)
    assert kept.Kept(tmp_path / "a.json", fresh=True).get("one") is None


def test_another_key(tmp_path):
    kept.Kept(tmp_path / "a.json", "key", fresh=False).keep("one", 1)
    assert kept.Kept(tmp_path / "a.json", "other", fresh=False).get("one") is None


def test_other_code(tmp_path, monkeypatch):
    kept.Kept(tmp_path / "a.json", fresh=False).keep("one", 1)
    monkeypatch.setattr(revision, "code", lambda: "other")
    assert kept.Kept(tmp_path / "a.json", fresh=False).get("one") is None


def test_not_a_file_of_ours(tmp_path):
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    assert kept.Kept(tmp_path / "a.json", fresh=False).get("one") is None


class Guests:
    """Three, of which one may do something else."""

    def __init__(self, third=None):
        self.third, self.booted = third, []

    def boot(self, number):
        self.booted.append(number)
        if number == 3 and self.third:
            raise self.third
        return {"guest_seconds": 1.0, "n": number}

    def measure(self):
        return measuring.measure("test", [
            measuring.Guest(str(number), lambda number=number: self.boot(number), {})
            for number in (1, 2, 3)], ())


def test_goes_on_after_an_interruption():
    with pytest.raises(KeyboardInterrupt):
        Guests(KeyboardInterrupt()).measure()
    again = Guests()
    measured = again.measure()
    assert again.booted == [3]
    assert [result["n"] for result in measured.results] == [1, 2, 3]
    assert list(measured.doubts())


def test_goes_on_after_a_failed_guest():
    failed = Guests(arms.GuestFailed("bad", pathlib.Path("log"), ""))
    assert failed.measure().failed
    again = Guests()
    assert not again.measure().failed
    assert again.booted == [3]


def test_begins_anew_when_all_is_there():
    Guests().measure()
    again = Guests()
    assert not list(again.measure().doubts())
    assert again.booted == [1, 2, 3]
