# SPDX-License-Identifier: GPL-2.0
"""Shows that a step of a release holds for as long as what it depends on is the same."""

import re

import pytest

from harness import figures, released, revision, tier
from harness.common import ROOT
from harness.tiers import RELEASE, Step

PASSED, FAILED = tier.Outcome(3, 0, 90), tier.Outcome(2, 1, 90)


@pytest.fixture(name="repository")
def two_commits(monkeypatch):
    """The function adds a change since the step was run."""
    files = {"old": {"rust/a.rs": "1", "tests/litmus/b": "1"}}
    files["HEAD"] = dict(files["old"])
    monkeypatch.setattr(revision, "commit", lambda: "old")
    monkeypatch.setattr(revision, "uncommitted_code", lambda: [])
    monkeypatch.setattr(revision, "files", lambda commit: files.get(commit, {}).items())
    return files["HEAD"].update


def keep(path, step, outcome):
    released.Released(path).keep(step, outcome, [step])
    later = released.Released(path)
    later.start = "HEAD"
    return later


@pytest.mark.parametrize("target, change, holds", [
    ("litmus", {}, True), ("litmus", {"rust/a.rs": "2"}, False),
    ("litmus", {"rust/c.rs": "1"}, False), ("litmus", {"tests/litmus/b": "2"}, False),
    ("litmus", {"tests/model/b": "2"}, True), ("litmus", {"harness/arms.py": "2"}, True),
    ("litmus", {"rust/mm_reclaim/map.rs": "1"}, False),
    ("ncheck", {"rust/mm_reclaim/map.rs": "1"}, True), ("ncheck", {"rust/a.rs": "2"}, False),
    ("boots", {"harness/arms.py": "2"}, False), ("bench-scale", {"harness/arms.py": "2"}, False),
    ("kunit", {"harness/arms.py": "2"}, True)])
def test_change(tmp_path, repository, target, change, holds):
    repository(change)
    kept = keep(tmp_path / "release.json", Step(target), PASSED)
    assert bool(kept.passed(Step(target))) == holds
    assert not kept.passed(Step("model"))


@pytest.mark.usefixtures("repository")
def test_failed_or_fresh(tmp_path):
    path, step = tmp_path / "release.json", Step("lint")
    assert not keep(path, step, FAILED).passed(step)
    assert keep(path, step, PASSED).passed(step)
    fresh = released.Released(path, fresh=True)
    fresh.start = "HEAD"
    assert not fresh.passed(step)


def test_lost_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(revision, "commit", lambda: "0000000")
    step = Step("lint")
    assert not keep(tmp_path / "release.json", step, PASSED).passed(step)


@pytest.mark.parametrize("change, keeps", [
    ("rust/a.rs", False), ("tests/litmus/b", False), ("tests/model/b", True)])
def test_changed_meanwhile(tmp_path, monkeypatch, repository, change, keeps):
    step = Step("litmus")
    kept = released.Released(tmp_path / "release.json")
    monkeypatch.setattr(revision, "uncommitted_code", lambda: [change])
    kept.keep(step, PASSED, [step])
    assert kept.path.exists() == keeps

    monkeypatch.setattr(revision, "uncommitted_code", lambda: [])
    monkeypatch.setattr(revision, "commit", lambda: "HEAD")
    kept = released.Released(tmp_path / "committed.json")
    kept.start = "old"
    repository({change: "2"})
    kept.keep(step, PASSED, [step])
    assert kept.path.exists() == keeps


@pytest.mark.usefixtures("repository")
def test_quoted(tmp_path):
    """In the order of the steps."""
    steps = [Step("lint"), Step("model")]
    kept = released.Released(tmp_path / "release.json")
    for step in reversed(steps):
        kept.keep(step, PASSED, steps)
    rows = figures.load(tmp_path / "release.json").table(released.TABLE)["rows"]
    assert [row[:4] for row in rows] == [["lint", "3", "0", "1.5"], ["model", "3", "0", "1.5"]]


@pytest.mark.parametrize("path, only", [
    ("tests/suites/a", {"suites"}), ("tests/torture/a", {"torture", "sanitize"}),
    ("tests/mutants/a.toml", {"model", "mutants"}), ("tests/mutants/debug.toml", set()),
    ("tests/kunit/a", released.TARGETS - released.BENCHES),
    ("rust/mm_reclaim/tests/a.rs", released.TARGETS - released.WITHOUT_CRATE - released.BENCHES),
    ("tests/run", released.TARGETS),
    (f"patches/{released.TEXTS[0].name}", {"htmldocs"}),
    ("patches/0011-mm-x.patch", released.TARGETS),
    ("bench/dying.py", {"bench-dying"}), ("bench/profile/a", {"bench-profile"}),
    ("bench/run", released.GUESTS), ("guest/workloads/zombies.py", {"zombies"}),
    ("guest/workloads/dying.py", {"bench-dying", "boots"})])
def test_owned(path, only):
    assert {step.target for step in RELEASE if released.depends(step, path)} == \
        only.union(released.ON_ALL)


def test_table():
    """What the table names is there."""
    for path, only in released.ONLY.items():
        assert (ROOT / path).exists()
        assert released.TARGETS.issuperset(only)
    assert released.TARGETS.issuperset(released.ON_ALL)


def used():
    """Programs of guests, and benches, that the modules of steps name."""
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        target = path.parent.name.replace("_", "-")
        if target in released.TARGETS:
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r'(?:build\(|program=)"(\w+\.py)"', text):
                yield target, f"guest/workloads/{name}"
            for names in re.findall(r"^from bench import (.*)$", text, re.MULTILINE):
                for name in names.split(", "):
                    yield target, f"bench/{name}.py"


@pytest.mark.parametrize("target, path", list(used()))
def test_used(target, path):
    assert (ROOT / path).is_file()
    assert released.depends(Step(target), path)
