# SPDX-License-Identifier: GPL-2.0
"""What tools/cgroup/shrinker_map_cost.py says of hosts that are known."""

import ast
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

from tests.tools import host_fixture as host
from tests.tools import runner

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/cgroup/shrinker_map_cost.py"
KIB = 1024


def run(root, *options):
    result = runner.run(TOOL, "--root", root, *options)
    assert "Traceback" not in result.stderr
    return result


def ask(root):
    result = run(root, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def both(value):
    return value["low"], value["high"]


def sure(value):
    return *both(value), value["how"]


def test_v1_counts_dying_groups(tmp_path):
    found = ask(host.v1(tmp_path, groups=9, dying=3))
    assert found["cgroup"] == "v1"
    assert sure(found["live_cgroups"]) == (10, 10, "counted")
    assert sure(found["cgroups"]) == (13, 13, "read")


def test_v2_counts_only_groups_with_memory(tmp_path):
    found = ask(host.v2(tmp_path, groups=9, without=5))
    assert found["cgroup"] == "v2"
    assert both(found["live_cgroups"]) == (10, 10)
    # /proc/cgroups has all.
    assert sure(found["cgroups"]) == (10, 15, "counted")


def test_v2_counts_groups_that_have_memory_for_io(tmp_path):
    found = ask(host.v2(tmp_path, groups=4, without=0, hidden=3))
    assert both(found["live_cgroups"]) == (8, 8)


def test_v2_takes_the_counts_of_the_kernel(tmp_path):
    found = ask(host.v2(tmp_path, stat="nr_subsys_memory 100\nnr_dying_subsys_memory 20\n"))
    assert sure(found["live_cgroups"]) == (100, 100, "read")
    assert sure(found["cgroups"]) == (120, 120, "read")


def test_v2_dying_groups_are_a_range(tmp_path):
    found = ask(host.v2(tmp_path, groups=9, without=0, stat="nr_dying_descendants 30\n"))
    assert both(found["cgroups"]) == (10, 40)


def test_v2_without_proc_cgroups(tmp_path):
    root = host.v2(tmp_path)
    (root / "proc/cgroups").unlink()
    assert both(ask(root)["live_cgroups"]) == (10, 10)


def test_hybrid_counts_the_hierarchy_with_memory(tmp_path):
    found = ask(host.hybrid(tmp_path, groups=9))
    assert found["cgroup"] == "v1"
    assert both(found["cgroups"]) == (10, 10)


@pytest.mark.parametrize("make, files", [
    (host.v1, {}), (host.v2, {"/sys/fs/cgroup/cgroup.type": "domain\n"})])
def test_a_part_of_the_cgroups_is_said(tmp_path, make, files):
    root = host.write(make(tmp_path), files)
    if make is host.v1:
        (root / "sys/fs/cgroup/memory/release_agent").unlink()
    found = ask(root)
    assert found["cgroups"]["how"] == "guessed"
    assert any("part of the cgroups" in note for note in found["notes"])


def test_super_blocks_of_all_namespaces(tmp_path):
    root = host.v1(tmp_path, mounts=2)
    for pid, namespace, first in ((2, 1, 40), (7, 9, 41), (8, 9, 80)):
        host.write(root, {f"/proc/{pid}/mountinfo": host.mountinfo(*host.tmpfs(2, first))})
        (root / f"proc/{pid}/ns").mkdir()
        os.symlink(f"mnt:[{namespace}]", root / f"proc/{pid}/ns/mnt")
    # 8 is in the namespace of 7, whose mounts are known. Devices: 0:21, 0:22, 8:1,
    # 0:30, and 0:40 to 0:42.
    found = ask(root)
    assert both(found["super_blocks"]) == (7, 7)
    # One shrinker that has no super block; numbers up to 42, and a device.
    assert both(found["ids"]) == (8, 42 + 1 + 6)


def test_mounts_of_others_without_root(tmp_path):
    root = host.v1(tmp_path)
    mounts = host.mountinfo(*host.tmpfs(3))
    host.write(root, {"/proc/7/mountinfo": mounts, "/proc/7/ns": None,
                      "/proc/8/mountinfo": None, "/proc/8/ns": None, "/proc/9": None})
    found = ask(root)
    assert both(found["super_blocks"]) == (7, 7)
    assert found["super_blocks"]["source"].startswith("1 or more")
    # 9 is gone.
    assert any("of 1 processes" in note for note in found["notes"])


def test_bind_mounts_are_one_super_block(tmp_path):
    root = host.v1(tmp_path)
    before = both(ask(root)["super_blocks"])
    with open(root / "proc/self/mountinfo", "a", encoding="ascii") as file:
        file.write("99 1 8:1 /var /srv/my\\040folder rw - ext4 /dev/sda1 rw\n")
    assert both(ask(root)["super_blocks"]) == before


def test_a_part_that_is_mounted_first_is_left_alone(tmp_path):
    root = host.v1(tmp_path, groups=9, dying=0)
    part = host.V1.replace(" / /sys/fs/cgroup/memory", " /g1 /part")
    host.write(root, {"/proc/self/mountinfo": host.mountinfo(part, host.V1),
                      "/part/tasks": ""})
    assert both(ask(root)["cgroups"]) == (10, 10)


def test_lines_that_end_early(tmp_path):
    root = host.v1(tmp_path)
    line = host.tmpfs(1)[0].split()
    cut = [" ".join(line[:words]) for words in range(len(line))]
    host.write(root, {"/proc/self/mountinfo": host.mountinfo(*cut, host.V1)})
    assert both(ask(root)["super_blocks"]) == (4, 4)


def test_ids_of_debugfs(tmp_path):
    root = host.v1(tmp_path)
    names = ["sb-tmpfs-3", "sb-proc-4", "mm-shadow-1", "thp-deferred_split-2",
             "kfree-rcu-0", "xfs-buf:sda1-99"]
    host.write(root, {f"/sys/kernel/debug/shrinker/{name}/count": "" for name in names})
    # 100 at a time, of which two had no id.
    assert sure(ask(root)["ids"]) == (4, 98, "read")


def test_formula_and_rounding(tmp_path):
    """130 ids at least: 3 units of 1024 bytes, 24 + 24 bytes in kmalloc-64."""
    root = host.v1(tmp_path, groups=98, dying=1, mounts=125, nodes="0-1", memory_nodes="0-1")
    found = ask(root)
    assert found["ids"]["low"] == 130
    assert found["formula_bytes"]["low"] == 3 * 1032 * 100 * 2
    assert found["c_bytes"]["low"] == (3 * 1024 + 64) * 100 * 2


def test_many_nodes(tmp_path):
    one = ask(host.v1(tmp_path / "one"))
    found = ask(host.v1(tmp_path / "many", nodes="0-7,16-23", memory_nodes="0,3"))
    assert both(found["nodes"]) == (16, 16)
    assert both(found["nodes_with_memory"]) == (2, 2)
    assert found["c_bytes"]["low"] == 16 * one["c_bytes"]["low"]
    # A bitmap for each, and the root's units only where there is memory.
    assert found["mm_reclaim_bytes"]["low"] - one["mm_reclaim_bytes"]["low"] == \
        15 * 8320 + 544


def test_without_numa(tmp_path):
    root = host.v1(tmp_path)
    for name in ("possible", "has_memory"):
        (root / "sys/devices/system/node" / name).unlink()
    (root / "sys/devices/system/node").rmdir()
    assert sure(ask(root)["nodes"]) == (1, 1, "read")


@pytest.mark.parametrize("text", ["", "4-2", "x", "0-99999", "-1", "0--1", "9" * 5000])
def test_nodes_that_mean_nothing(tmp_path, text):
    assert sure(ask(host.v1(tmp_path, nodes=text))["nodes"]) == (1, 1, "guessed")


def test_mm_reclaim_by_hand(tmp_path):
    """5 ids at least: one unit. 9 groups and the root."""
    found = ask(host.v1(tmp_path, groups=9))
    assert found["ids"]["low"] == 5
    assert found["ids"]["high"] <= 64
    least = 528 + 16 + int(5 * 16.25) + 8320
    assert found["mm_reclaim_bytes"]["low"] == least
    most = 528 + 16 + int(found["ids"]["high"] * 16.25) + 8320 + 9 * (547 + 64 + 16)
    assert found["mm_reclaim_bytes"]["high"] == most
    assert found["mm_reclaim_usual_bytes"] == most


def test_most_ids_are_limited_by_the_slabs(tmp_path):
    root = host.v1(tmp_path, groups=9, dying=0)
    with open(root / "proc/self/mountinfo", "a", encoding="ascii") as file:
        file.write("99 1 0:9000 / /srv rw - tmpfs tmpfs rw\n")
    assert ask(root)["ids"]["high"] > 9000
    host.write(root, {"/proc/slabinfo": host.slabinfo(39, 48)})
    found = ask(root)
    # 39 objects: not more than 3 units for each of 10 groups.
    assert found["ids"]["high"] == 3 * 64
    assert found["c_limit_bytes"] == 39 * 1032
    assert found["slabs"]["kmalloc-1k"]["bytes"] == 48 * KIB


def test_slabs_of_random_caches_are_added(tmp_path):
    text = host.slabinfo(10, 16)
    for i in range(3):
        text += host.KMALLOC.replace("-1k", f"-rnd-0{i}-1k").format(active=5, total=16) + "\n"
    # Charged memory is not theirs.
    text += host.KMALLOC.replace("-1k", "-cg-1k").format(active=1000, total=1008) + "\n"
    root = host.write(host.v1(tmp_path), {"/proc/slabinfo": text})
    assert ask(root)["c_limit_bytes"] == 25 * 1032


def test_too_few_slab_objects_are_said(tmp_path):
    found = ask(host.write(host.v1(tmp_path, groups=99),
                           {"/proc/slabinfo": host.slabinfo(50, 64)}))
    assert found["ids"]["how"] == "guessed"
    assert any("another way" in note for note in found["notes"])


def test_unreadable_slabinfo(tmp_path):
    found = ask(host.write(host.v1(tmp_path), {"/proc/slabinfo": None}))
    assert found["slabs"] is None
    assert found["c_limit_bytes"] is None
    assert any("/proc/slabinfo: Is a directory" in note for note in found["notes"])


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path):
    root = host.v1(tmp_path)
    os.mkfifo(root / "proc/slabinfo")
    ask(root)


@pytest.mark.parametrize("release, layout, size", [
    ("6.7.0", "units", 1024 + 32), ("7.3.4-custom", "units", 1024 + 32),
    ("6.6.9", "blocks", 1024), ("5.13.0", "blocks", 1024), ("5.12.0", "bits", 32),
    ("4.19.1", "bits", 32), ("4.18.0", "none", 0), ("odd", "units", 1024 + 32)])
def test_layouts_of_kernels(tmp_path, release, layout, size):
    found = ask(host.v1(tmp_path, groups=9, dying=0, release=release))
    assert found["layout"] == layout
    assert both(found["c_bytes"]) == (10 * size, 10 * size)


STATS = """nr_free_pages 1000
shrinker_id_alloc 340
shrinker_id_free 40
shrinker_table_bytes_alloc 900
shrinker_table_bytes_free 400
shrinker_unit_alloc 12
shrinker_unit_free 3
"""


def test_mm_reclaim_has_true_numbers(tmp_path):
    found = ask(host.write(host.v1(tmp_path, groups=9, dying=0),
                           {"/proc/vmstat": STATS}))
    assert found["implementation"] == "rust"
    assert sure(found["ids"]) == (300, 300, "read")
    assert sure(found["mm_reclaim_bytes"]) == (5252, 5252, "read")
    assert both(found["formula_bytes"]) == (5 * 1032 * 10, 5 * 1032 * 10)
    assert found["c_limit_bytes"] is None


def test_mm_reclaim_that_counts_nothing(tmp_path):
    root = host.v1(tmp_path)
    assert ask(root)["implementation"] == "c"
    host.write(root, {"/sys/kernel/mm/mm_reclaim/implementation": "rust\n"})
    found = ask(root)
    assert found["implementation"] == "rust"
    assert found["mm_reclaim_bytes"]["how"] == "guessed"


def test_nothing_tells_the_implementation(tmp_path):
    root = host.v1(tmp_path)
    shutil.rmtree(root / "sys/kernel/mm")
    found = ask(root)
    assert found["implementation"] == "unknown"
    assert any("/sys/kernel/mm" in note for note in found["notes"])


def test_disabled_controller(tmp_path):
    root = host.write(host.v1(tmp_path), {"/proc/cgroups": host.proc_cgroups(1, 0, 0)})
    assert ask(root)["disabled"]
    assert "disabled" in run(root).stdout


@pytest.mark.parametrize("make, change, message", [
    (host.v1, {"/proc/self/mountinfo": ""}, "mountinfo"),
    (host.v1, {"/proc/self/mountinfo": host.mountinfo()}, "mounted nowhere"),
    (host.v2, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"}, "memory controller")])
def test_no_estimate(tmp_path, make, change, message):
    result = run(host.write(make(tmp_path), change))
    assert result.returncode == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_an_empty_folder(tmp_path):
    assert run(tmp_path).returncode == 1


def test_wrong_options(tmp_path):
    assert run(tmp_path / "missing").returncode == 2
    assert run(tmp_path, "--nonsense").returncode == 2
    assert run(tmp_path, "--json", "--prometheus").returncode == 2


def test_text_has_the_numbers(tmp_path):
    root = host.v1(tmp_path, groups=98, dying=1, mounts=125)
    host.write(root, {"/proc/slabinfo": host.slabinfo(400, 512)})
    text = run(root).stdout
    assert "ceil(ids / 64) x 1032 B x memory cgroups x possible nodes = 302.3 KiB" in text
    assert "C takes here" in text
    assert "mm_reclaim would take" in text
    assert "How sure" in text


def test_metrics_have_the_numbers(tmp_path):
    root = host.v1(tmp_path, groups=9, dying=3)
    found, lines = ask(root), run(root, "--prometheus").stdout.splitlines()
    for name, value in (("c", found["c_bytes"]), ("mm_reclaim", found["mm_reclaim_bytes"])):
        for end in ("low", "high"):
            assert (f'shrinker_maps_bytes{{implementation="{name}",bound="{end}"}} '
                    f"{value[end]}") in lines
    assert 'shrinker_maps_cgroups{bound="high"} 13' in lines
    assert lines.count("# TYPE shrinker_maps_bytes gauge") == 1


def test_no_metrics_of_a_disabled_controller(tmp_path):
    root = host.write(host.v1(tmp_path), {"/proc/cgroups": host.proc_cgroups(1, 0, 0)})
    result = run(root, "--prometheus")
    assert (result.returncode, result.stdout) == (0, "")


def test_a_reader_that_goes_away(tmp_path):
    root = host.v1(tmp_path)
    with subprocess.Popen([sys.executable, TOOL, "--root", root], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as tool:
        tool.stdout.close()
        assert tool.stderr.read() == b""
        assert tool.wait(60) == 0


def test_this_host():
    assert run("/").returncode in (0, 1)


def test_python_3_6():
    """The syntax; hosts of which this is asked may have nothing newer."""
    ast.parse(TOOL.read_text(encoding="ascii"), feature_version=(3, 6))


def mutated(data, chance):
    """What nobody would expect in such a file."""
    data = bytearray(data)
    kind = chance.randrange(6)
    if kind == 0:
        return bytes(data[:chance.randrange(len(data) + 1)])
    if kind == 1:
        return chance.randbytes(chance.randrange(200))
    if kind == 2:
        return bytes(data).replace(b" ", b"\n")
    if kind == 3:
        return bytes(data).replace(b"0", str(chance.choice(
            [-1, 0, 1 << 63, 10 ** 30])).encode())
    for _ in range(1 + len(data) // 20):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data) if kind == 4 else bytes(data) * 3


def random_host(root, seed):
    chance = random.Random(seed)
    make = chance.choice([host.v1, host.v2, host.hybrid])
    make(root)
    host.write(root, {"/proc/slabinfo": host.slabinfo(50, 64)})
    if chance.randrange(2):
        host.write(root, {"/sys/kernel/debug/shrinker/sb-tmpfs-7/count": "",
                          "/proc/vmstat": STATS})
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for path in chance.sample(files, chance.randrange(1, 6)):
        if chance.randrange(8):
            path.write_bytes(mutated(path.read_bytes(), chance))
        else:
            path.unlink()
            chance.choice([path.mkdir, lambda path=path: os.symlink(path, path),
                           lambda: None])()
    return root


@pytest.mark.parametrize("seed", range(60))
def test_odd_input(tmp_path, seed):
    root = random_host(tmp_path, seed)
    for options in ((), ("--json",)):
        result = run(root, *options)
        assert result.returncode in (0, 1)
        assert bool(result.stderr) == bool(result.returncode)
        if options and not result.returncode:
            json.loads(result.stdout)
