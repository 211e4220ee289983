# SPDX-License-Identifier: GPL-2.0
"""Shows that what a bench found gets into docs/figures/ as it is shown there."""

import json
import subprocess

import pytest

from harness import figures, tier, tiers
from harness.common import ROOT, BenchError

MACHINE = {"command": "make bench-it", "cpu": "a CPU", "cores": 2, "accel": "tcg",
           "qemu": "QEMU emulator version 7.2.22 (Debian 1)", "kernel": "7.3.4",
           "clock": "tsc", "rounds": 3}
TABLE = {"columns": ["", "stock", "stock / rust"],
         "rows": [["a \"b\" [c], ms", [12.5, 9.0, 1000], None]]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", tmp_path)

    def write(**changed):
        path = tmp_path / "run.of"
        path.write_text(json.dumps({
            "revision": "0123456789ab", "date": "2026-11-23 00:02 UTC", "uncommitted": [],
            "failed": [], "checks": [{"name": "goal"}], "machine": MACHINE,
            "tables": {"one": TABLE}, **changed}))
        return path
    return write


@pytest.mark.parametrize("variables, options", [
    ((), []), (("FROM=run.json",), ["--from", "run.json"]),
    (("FROM=run.json", "INTO=name"), ["--from", "run.json", "--as", "name"])])
def test_make(variables, options):
    """make has variables of its own, such as AS."""
    said = subprocess.run(["make", "--no-print-directory", "-n", "docs-figures", *variables],
                          cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert said.split() == ["python3", "-m", "harness.figures", *options]


def test_a_new_file_and_the_one_of_the_same_command(run):
    figures.take(run(), "name", {})
    runs = figures.load_all()
    assert "12.5 (9.0 to 1000)" in "".join(runs["name"].lines("one"))
    assert "QEMU 7.2.22 under TCG" in runs["name"].machine
    figures.take(run(date="2027-01-01 00:00 UTC"), None, runs)
    assert figures.load_all()["name"].date == "2027-01-01"


@pytest.mark.parametrize("changed", [
    {}, {"uncommitted": ["a"]}, {"failed": ["a guest"]}, {"checks": []}])
def test_what_is_refused(run, changed):
    with pytest.raises(BenchError):
        figures.take(run(**changed), "name" if changed else None, {})


def test_times_of_ci(tmp_path, monkeypatch):
    step = tiers.Step("lint")
    monkeypatch.setattr(tier.revision, "uncommitted_code", lambda: [])
    monkeypatch.setattr(figures, "FIGURES", tmp_path)
    times = tmp_path / "ci" / "times.json"
    times.parent.mkdir()
    tier.write_times(times, [step], {step: tier.Outcome(7, 0, 90, 60)}, False)
    figures.take(times, None, {})
    assert "| lint |     1.5 |" in "".join(figures.load_all()["times"].lines("steps"))
    tier.write_times(times, [step], {step: tier.Outcome(7, 1, 90, 60)}, False)
    assert not times.exists()


def test_letter(run, tmp_path):
    """Tables of the cover letter are those of docs/, as plain text."""
    figures.take(run(), "name", {})
    spec = {"gains": {"title": "what", "heads": ["C", "C / Rust"],
                      "columns": ["stock", "stock / rust"], "rows": [
                          {"label": "a long name " * 6, "from": "name one",
                           "row": TABLE["rows"][0][0]}]}}
    path = tmp_path / "letter"
    path.write_text("Subject\n\nfigures: quoted gains\nEnd\n")
    lines = list(figures.letter(path, figures.load_all(), spec))
    assert lines[:2] == ["Subject", ""] and lines[-1] == "End"
    assert lines[2].split() == ["what", "C", "C", "/", "Rust"]
    assert lines[-2].split()[-3:] == ["12.5", "ms", "-"]
    assert all(len(line) <= figures.LETTER_WIDTH for line in lines)
    path.write_text("figures: quoted losses\n")
    with pytest.raises(BenchError):
        list(figures.letter(path, figures.load_all(), spec))
