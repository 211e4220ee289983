# SPDX-License-Identifier: GPL-2.0
"""Shows that what failed is counted, and said in each form of a report."""

import json
import xml.etree.ElementTree as ET

import pytest

from harness import progress, report, results


MACHINE = dict.fromkeys(("date", "cpu", "cores", "qemu", "accel", "kernel", "clock", "rounds"))


@pytest.fixture
def run():
    found = results.Run("test")
    found.check("good", log="guest")
    found.check("bad <one>", "broke\x00\nat & line 2")
    found.skip("left out", "no time")
    return found


def test_status(run, tmp_path):
    assert run.conclude() == 1
    assert (tmp_path / "counts/test").read_text() == "1 1\n"


def test_all_is_well():
    found = results.Run("test")
    found.check("good")
    assert found.conclude() == 0


def test_json(run, tmp_path):
    run.publish({"doubts": ["a doubt"]})
    content = json.loads((tmp_path / "test.json").read_text())
    assert content["schema"] == results.SCHEMA
    assert [check["verdict"] for check in content["checks"]] == [
        "passed", "failed", "skipped"]


def test_junit(run, tmp_path):
    run.publish()
    suite = ET.parse(tmp_path / "test.xml").find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "3", "1", "1")
    assert suite.find("testcase/failure").text == "broke\nat & line 2"


def test_page_has_what_failed_first(run, tmp_path):
    run.publish({"doubts": ["a doubt"], "results": [
        {"console": "log/a.log", "retries": 0}], "goals": [
        {"goal": "slow", "found": "2 times", "verdict": "missed", "decides": False},
        {"goal": "fast", "found": "1 times", "verdict": "met", "decides": False}],
        **{key: [] for key in ("skipped", "failed")}, "machine": MACHINE, **report.sections(
            ("Part", "it is", {"one": report.table(["a", "b"], [["cell", [2, 1, 3]]])}))})
    page = (tmp_path / "test.html").read_text()
    places = [page.index(text) for text in (
        "bad &lt;one&gt;", "a doubt", "<li>slow", "<td>cell</td>", "All checks",
        "href=\"log/a.log\"")]
    assert places == sorted(places)
    assert "fast" not in page


def test_time_left(capsys):
    progress.remember("test", "long", 600)
    shown = progress.Progress("test", ["round 1/2, long", "round 2/2, long"])
    shown.next("one")
    shown.done("ok")
    assert "20 min left] one: ok" in capsys.readouterr().out
