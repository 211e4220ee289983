# SPDX-License-Identifier: GPL-2.0
"""What memcg_shrinker_maps.py says of copies of debugfs and of a cgroup file system."""

import json

import pytest

from harness.common import ROOT
from tests.tools import runner

TOOL = ROOT / "tools/cgroup/memcg_shrinker_maps.py"
# Of cgroups that were removed.
GONE = (9_000_000_001, 9_000_000_002)


def line(inode, node, units, ids, size, deferred=0):
    """Of the file of maps."""
    return (f"cgroup={inode} node={node} units={units} ids={ids} bytes={size} "
            f"deferred={deferred}\n")


@pytest.fixture(name="host")
def of_both(tmp_path):
    """The cgroup "busy" has maps on two nodes, "other" on one, and two were removed."""
    groups, debugfs = tmp_path / "cgroup", tmp_path / "debug"
    inodes = {}
    for name in ("busy", "o\tther", "idle"):
        (groups / name).mkdir(parents=True)
        inodes[name] = (groups / name).stat().st_ino
    (debugfs / "mm_reclaim").mkdir(parents=True)
    (debugfs / "mm_reclaim/maps").write_text(
        line(inodes["busy"], 0, "0,3", "5,200", 1200, 7) +
        line(inodes["busy"], 1, "0", "5", 600) + line(inodes["o\tther"], 0, "0", "", 600) +
        line(GONE[0], 0, "0", "1", 600) + line(GONE[1], 0, "0", "1", 600))
    shrinker = debugfs / "shrinker/sb-tmpfs-5"
    shrinker.mkdir(parents=True)
    (shrinker / "count").write_text(f"{inodes['busy']} 10 2\n{GONE[0]} 1 0\n")
    # It goes away while its files are read.
    (debugfs / "shrinker/sb-gone-6").symlink_to("nowhere")
    return groups, debugfs


def arguments(host, *options):
    groups, debugfs = host
    return TOOL, "--cgroup-root", groups, "--debugfs", debugfs, *options


def run(host, *options):
    return runner.run(*arguments(host, *options))


def said(host, *options):
    return runner.said(*arguments(host, *options))


def test_table(host):
    head, *rows, last = said(host).splitlines()
    assert head.split() == ["objects", "map_bytes", "units", "deferred", "bits", "cgroup"]
    assert rows[0].split() == ["12", "1800", "3", "7", "2", "/busy"]
    # A name must not move the cursor.
    assert any(row.endswith("  /o\\x09ther") for row in rows)
    assert last.split() == ["13", "3600", "6", "7", "4", "cgroups"]


def test_json(host):
    found = {each["path"]: each for each in json.loads(said(host, "--json"))
             if each["path"]}
    assert found["/busy"]["shrinkers"] == [5, 200]
    assert found["/busy"]["bits"] == 2
    assert found["/busy"]["map_bytes"] == 1800


def test_sorted(host):
    paths = [each["path"] for each in json.loads(said(host, "--json", "--sort", "memory",
                                                      "--top", "1"))]
    assert paths == ["/busy"]


def test_prometheus(host):
    """Removed cgroups have one sample together."""
    lines = said(host, "--prometheus").splitlines()
    assert 'memcg_shrinker_map_bytes{cgroup="/busy"} 1800' in lines
    assert 'memcg_shrinker_map_bytes{cgroup="(removed)"} 1200' in lines
    assert 'memcg_shrinker_objects{cgroup="(removed)"} 1' in lines
    assert lines.count("# TYPE memcg_shrinker_bits gauge") == 1


def test_without_objects(host):
    assert "objects" not in said(host, "--no-objects").splitlines()[0]
    assert "objects" not in said(host, "--no-objects", "--json")
    assert "memcg_shrinker_objects" not in said(host, "--no-objects", "--prometheus")


@pytest.fixture(name="without_debugfs")
def without(host):
    """The root and "busy" have a child each that is among what they show."""
    groups, debugfs = host
    (debugfs / "mm_reclaim").rename(debugfs / "elsewhere")
    child = groups / "busy/child"
    child.mkdir()
    for where, size in ((groups, 3100), (groups / "busy", 2500), (child, 700),
                        (groups / "o\tther", 600), (groups / "idle", 0)):
        (where / "memory.stat").write_text(f"anon 4096\nshrinker_maps {size}\n")
    # The controller is off there.
    (groups / "idle/more").mkdir()
    return host


def test_without_debugfs(without_debugfs):
    head, *rows, last = said(without_debugfs, "--no-objects").splitlines()
    assert head.split() == ["map_bytes", "cgroup"]
    assert [row.split() for row in rows] == [
        ["1800", "/busy"], ["700", "/busy/child"], ["600", "/o\\x09ther"]]
    assert last.split() == ["3100", "3", "cgroups"]
    found = json.loads(said(without_debugfs, "--no-objects", "--json"))
    assert found[0].keys() == {"cgroup", "path", "map_bytes"}
    assert "memcg_shrinker_bits" not in said(without_debugfs, "--no-objects", "--prometheus")


def test_root_with_a_slash(without_debugfs):
    groups, debugfs = without_debugfs
    assert said((f"{groups}/", debugfs), "--no-objects") == said(without_debugfs, "--no-objects")


def test_memory_stat_has_the_tables_too(without_debugfs):
    """So it says more than debugfs; of what is gone it says nothing."""
    debugfs = without_debugfs[1]
    (debugfs / "elsewhere").rename(debugfs / "mm_reclaim")
    (without_debugfs[0] / "busy/memory.stat").write_text("shrinker_maps 2580\n")
    found = {each["path"]: each for each in json.loads(said(without_debugfs, "--json"))}
    assert found["/busy"]["map_bytes"] == 1880 and found["/busy"]["units"] == 3
    assert found[None]["map_bytes"] == 600


def test_neither_debugfs_nor_memory_stat(without_debugfs):
    groups, _ = without_debugfs
    for path in groups.rglob("memory.stat"):
        path.write_text("anon 4096\n")
    (groups / "memory.stat").unlink()
    result = run(without_debugfs, "--no-objects")
    assert result.returncode == 1 and "shrinker_maps" in result.stderr and not result.stdout


@pytest.mark.parametrize("gone, says", [
    ("mm_reclaim", "CONFIG_MEMCG_SHRINKER_RUST"), ("shrinker", "--no-objects")])
def test_what_is_missing(host, gone, says):
    (host[1] / gone).rename(host[1] / "elsewhere")
    result = run(host)
    assert result.returncode == 1 and says in result.stderr and not result.stdout


@pytest.mark.parametrize("options", [("--json", "--prometheus"), ("--top", "-1")])
def test_wrong_options(host, options):
    assert run(host, *options).returncode == 2
