# SPDX-License-Identifier: GPL-2.0
"""Shows that what pytest finds becomes the checks of a run."""

import json
import types

import pytest

from harness import common, pytest_check

TESTS = """
from harness.common import BenchError

def cases(options):
    return {"good": 1, "bad, and told": 2, "several": 3, "broken": 4, "stopped": 5}

def test_one(case, step):
    step.text = "it"
    if case == 2:
        raise BenchError("a reason")
    if case == 3:
        step.check("several: first")
        step.check("several: second", "wrong")
    if case == 5:
        raise KeyboardInterrupt
    assert case != 4
"""


@pytest.fixture
def judge(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    return lambda select: pytest_check.judge(
        "it", tmp_path, types.SimpleNamespace(select=select), "--rootdir", str(tmp_path))


def test_verdicts(judge, tmp_path, capsys):
    assert judge("not stopped") == 1
    found = json.loads((tmp_path / "it.json").read_text())["checks"]
    assert [(check["name"], check["verdict"]) for check in found] == [
        ("good", "passed"), ("bad, and told", "failed"), ("several: first", "passed"),
        ("several: second", "failed"), ("broken", "failed")]
    assert [found[0]["text"], found[1]["text"]] == ["it", "a reason"]
    assert found[4]["text"].startswith("assert 4 != 4\n")
    assert "assert case != 4" in found[4]["text"]
    shown = capsys.readouterr().out
    assert "[2/4" in shown and "bad, and told: FAIL: a reason\n" in shown
    assert "broken: FAIL: assert 4 != 4\n" in shown


def test_one_is_chosen(judge, tmp_path):
    assert judge("good") == 0
    assert len(json.loads((tmp_path / "it.json").read_text())["checks"]) == 1


def test_none_is_chosen(judge):
    with pytest.raises(common.BenchError):
        judge("nothing")


def test_nothing_is_there(judge, tmp_path):
    (tmp_path / "test_it.py").unlink()
    # Another name: modules are kept by theirs.
    (tmp_path / "test_none.py").write_text(TESTS.replace("return {", "return {} and {"),
                                           encoding="utf-8")
    assert judge("") == 1
    found = json.loads((tmp_path / "it.json").read_text())["checks"]
    assert found[-1]["text"] == "nothing was run"


def test_interrupted(judge, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        judge("")
    assert not (tmp_path / "it.json").exists()


def test_a_file_that_is_broken(judge, tmp_path):
    (tmp_path / "test_it.py").rename(tmp_path / "it.py")
    (tmp_path / "test_broken.py").write_text("import nothing_like_that\n", encoding="utf-8")
    assert judge("")
    assert json.loads((tmp_path / "it.json").read_text())["checks"][0]["verdict"] == "failed"
