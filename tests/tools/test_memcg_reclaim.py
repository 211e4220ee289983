# SPDX-License-Identifier: GPL-2.0
"""What memcg_reclaim.py says of copies of cgroup file systems."""

import json
import os
import subprocess
import sys

import pytest

from harness.common import ROOT
from tests.tools import runner

TOOL = ROOT / "tools/cgroup/memcg_reclaim.py"
PAGE = os.sysconf("SC_PAGE_SIZE")
STAT = {"anon": 4096, "dying_memcgs": 0, "drained_bytes": 0, "gsp_skipped": 0, "gsp_override": 0,
        **{f"retain_{name}": 0 for name in (
            "kept", "hit", "evicted", "refused_cap", "refused_watermark", "refused_busy",
            "refused_slab", "refused_unused")}}


def make(root, path, priority="default", effective=12, retain="0", pool="0", stat=None, v1=False):
    """A cgroup; of the root there is no value."""
    place = root / path
    place.mkdir(parents=True, exist_ok=True)
    lines = {**STAT, **(stat or {})}
    if v1:
        # There a cgroup alone comes first, but of removed ones.
        lines = {**lines, **{name: 0 for name in lines if name.startswith(("gsp", "retain"))},
                 **{f"total_{name}": number for name, number in lines.items()
                    if name.startswith(("gsp", "retain"))}}
    (place / "memory.stat").write_text(
        "".join(f"{name} {number}\n" for name, number in lines.items()))
    for name, text in (("global_shrink_priority", priority),
                       ("global_shrink_priority.effective", effective),
                       ("retain", retain), ("retain_pool", pool)):
        (place / f"memory.{name}").write_text(f"{text}\n")


@pytest.fixture(params=[False, True], ids=["v2", "v1"])
def root(tmp_path, request):
    v1 = request.param
    (tmp_path / "memory.stat").write_text("anon 1\n")
    make(tmp_path, "idle", v1=v1)
    make(tmp_path, "database", "6 active", 6, stat={"gsp_skipped": 12, "gsp_override": 3}, v1=v1)
    make(tmp_path, "database/child", effective=6, v1=v1)
    make(tmp_path, "containers", retain="1", v1=v1, stat={
        "retain_kept": (3 << 20) // PAGE, "retain_hit": (2 << 20) // PAGE,
        "retain_refused_cap": (1 << 20) // PAGE, "retain_refused_busy": (1 << 20) // PAGE,
        "dying_memcgs": 2})
    make(tmp_path, "pool", pool="1", v1=v1)
    return tmp_path


def run(root, *options):
    return runner.run(TOOL, "--cgroup-root", root, *options)


def said(root, *options):
    return runner.said(TOOL, "--cgroup-root", root, *options)


def test_table(root):
    head, *rows, _ = said(root).splitlines()
    assert head.split() == ["priority", "effective", "skipped", "override", "retain", "kept",
                            "hit", "evicted", "refused", "dying", "cgroup"]
    assert [row.split() for row in rows] == [
        ["default", "12", "0", "0", "1", "3.0", "2.0", "0", "2.0", "2", "/containers"],
        ["6", "active", "6", "12", "3", "0", "0", "0", "0", "0", "0", "/database"],
        ["default", "12", "0", "0", "pool", "0", "0", "0", "0", "0", "/pool"]]


def test_json(root):
    found = {each["path"]: each for each in json.loads(said(root, "--all", "--json"))}
    assert set(found) == {"/idle", "/database", "/database/child", "/containers", "/pool"}
    assert found["/database"]["priority"] == "6 active"
    assert found["/database/child"]["effective"] == "6"
    assert found["/containers"]["retain_kept"] == (3 << 20) // PAGE


def samples(text):
    """Of metrics, each of which is described once, before its samples, which are together."""
    found, described, current = {}, set(), None
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "#":
            what, name, about = rest.split(" ", 2)
            assert about
            if what == "HELP":
                assert name not in described
                described.add(name)
                current = name
            else:
                assert (what, name) == ("TYPE", current) and about in ("gauge", "counter")
                assert (about == "counter") == name.endswith("_total")
            continue
        key, number = line.rsplit(" ", 1)
        assert key.split("{")[0] == current and key not in found
        found[key] = int(number)
    return found


def test_metrics(root):
    for name in ('a"b', "a\\b", ".hidden", "hidden", "ta\tb", b"\xff".decode(
            "utf-8", "surrogateescape")):
        make(root, name, "4", 4)
    found = samples(said(root, "--prometheus"))
    effective = {key.removeprefix("memcg_global_shrink_priority_effective"): number
                 for key, number in found.items() if "effective" in key}
    assert effective == {
        '{cgroup="/database"}': 6, '{cgroup="/containers"}': 12, '{cgroup="/pool"}': 12,
        '{cgroup="/a\\"b"}': 4, '{cgroup="/a\\\\b"}': 4, '{cgroup="/.hidden"}': 4,
        '{cgroup="/hidden"}': 4, '{cgroup="/ta\tb"}': 4, '{cgroup="/\\\\xff"}': 4}
    assert found['memcg_gsp_skipped_total{cgroup="/database"}'] == 12
    assert found['memcg_retain_pages_total{cgroup="/containers",event="hit"}'] == \
        (2 << 20) // PAGE
    assert found['memcg_dying_memcgs{cgroup="/containers"}'] == 2


def test_nothing_for_a_terminal(root):
    make(root, "red\x1b[31m", "4", 4)
    assert "/red\\x1b[31m" in said(root) and "\x1b" not in said(root)


def test_little_is_not_nothing(tmp_path):
    make(tmp_path, "c", retain="deny", stat={"retain_kept": 100})
    assert said(tmp_path).splitlines()[1].split()[4:6] == ["deny", "0.4"]


def test_gone_meanwhile(root):
    (root / "database/memory.stat").unlink()
    (root / "containers/memory.retain").unlink()
    assert [each["path"] for each in json.loads(said(root, "--json"))] == ["/pool"]


def test_nothing_is_set(tmp_path):
    make(tmp_path, "idle")
    assert len(said(tmp_path).splitlines()) == 2
    assert json.loads(said(tmp_path, "--json")) == []
    assert said(tmp_path, "--prometheus").strip() == ""


def test_without_the_option(tmp_path):
    (tmp_path / "memory.stat").write_text("anon 1\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert "CONFIG_MEMCG_SHRINKER_RUST" in result.stderr
    result = run(tmp_path / "missing")
    assert result.returncode == 1 and "no directory" in result.stderr


def test_reader_that_has_seen_enough(root):
    shell = f"{sys.executable} {TOOL} --cgroup-root {root} --prometheus | head -1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True,
                            text=True, check=False)
    assert not result.returncode and not result.stderr


def test_forms_exclude_each_other(root):
    assert run(root, "--json", "--prometheus").returncode == 2
