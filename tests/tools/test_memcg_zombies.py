# SPDX-License-Identifier: GPL-2.0
"""Tests what memcg_zombies.py prints, and how it fails, without a kernel: tests/zombies has
kernels."""

import json
import os
import pathlib
import subprocess

import pytest

from tests.zombies import checks
from tools.cgroup.zombies import found, memory, report
from tools.cgroup.zombies.found import Age, Group, Hold, Holder, Scan

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/cgroup/memcg_zombies.py"
PYTHON = "/usr/bin/python3"


def group(path="/a", references=1, own=0, holds=(), **more):
    made = Group(0xffff0000, path, False, False, 77, 5, 9, 1, 100, "offline", references, own,
                 age=more.pop("age", Age(3.0, 60.0, "made then, or later")),
                 memory={"mem_cgroup": 2048}, per_cpu={"memcg_vmstats_percpu": 4864},
                 holds=list(holds))
    for key, value in more.items():
        setattr(made, key, value)
    return made


def scan(*groups, **more):
    return Scan("7.3.4", True, "c", 4, 1, "v2", len(groups), list(groups), [], **more)


HELD = Hold(found.INOTIFY, 1, "inotify group", [Holder("", 12, "agent", 7)])


@pytest.mark.parametrize("references, own, holds, reasons, unexplained", [
    (1, 0, [HELD], ["inotify"], 0),
    (3, 0, [HELD], ["inotify", "unexplained"], 2),
    (3, 2, [HELD], ["inotify", "offlining"], 0),
    (0, 0, [HELD], ["inotify"], -1),
    (2, 0, [HELD, Hold(found.SWAP, 1, "")], ["swap", "inotify"], 0)])
def test_references_are_compared(references, own, holds, reasons, unexplained):
    made = group(references=references, own=own, holds=holds)
    assert made.reasons == reasons
    assert made.unexplained == unexplained


def test_summary_counts_those_with_one_reason():
    both = group("/b", 2, holds=[HELD, Hold(found.SOCKET, 1, "socket")])
    rows = report.summary(scan(group(holds=[HELD]), both))
    assert rows["inotify"] == {"groups": 2, "only": 1, "bytes": 2 * 6912, "only_bytes": 6912}
    assert rows["socket"]["only"] == 0


def test_table():
    text = report.as_table(scan(group("/x/\x1b[2J\n", holds=[HELD]),
                                group("/y", 4, holds=[HELD], path_in_use=True)))
    assert "\x1b" not in text
    assert "/x/\\x1b[2J\\x0a" in text
    assert "inotify: inotify group; agent[12] fd 7" in text
    assert "/y (path in use again)" in text
    assert "unexplained: 3 of 4 references" in text
    assert "agent[12] 2" in text
    # References, and the state of statistics where the kernel has one.
    assert "freed" not in text
    assert "freed" in report.as_table(scan(group(holds=[HELD], stats_state="freed")))


def test_table_top():
    text = report.as_table(scan(*(group(f"/g{i}", holds=[HELD]) for i in range(5))), 2)
    assert "/g1" in text and "/g2" not in text
    assert "... and 3 more" in text
    assert "5 removed memory cgroups" in text


def test_nothing_is_dying():
    assert "0 removed memory cgroups" in report.as_table(scan())
    assert checks.metrics(report.as_prometheus(scan(), True), 0) is None


@pytest.mark.parametrize("least, most, text", [
    (3.0, 3.0, "3s"), (0.0, 60.0, "<=60s"), (3.0, 7200.0, "3s-2h"), (5.0, None, ">=5s"),
    (0.0, None, "?"), (0.0, 0.4, "0s")])
def test_ages(least, most, text):
    assert report.age(group(age=Age(least, most, ""))) == text


def test_json_is_whole():
    made = json.loads(report.as_json(scan(group("/ü\"\\", holds=[HELD]))))
    one = made["groups"][0]
    assert one["path"] == "/ü\"\\"
    assert one["holds"][0]["holders"] == [{"what": "", "pid": 12, "comm": "agent", "fd": 7}]
    assert made["total"]["per_cpu_bytes"] == one["per_cpu_bytes"] == 4864


def test_prometheus_escapes_labels():
    text = report.as_prometheus(scan(group('/a"b\\c\nd', holds=[HELD])), True)
    assert 'path="/a\\"b\\\\c\\nd"' in text
    assert checks.metrics(text, 1) is None


def test_prometheus_is_bounded():
    few, many = (report.as_prometheus(scan(*(group(f"/g{i}", holds=[HELD])
                                             for i in range(n)))) for n in (1, 500))
    assert len(few.splitlines()) == len(many.splitlines())
    assert checks.metrics(many, 500) is None
    all_of_them = report.as_prometheus(scan(*(group(f"/g{i}") for i in range(500))), True)
    assert len(all_of_them.splitlines()) > 500


@pytest.mark.parametrize("text", [
    "memcg_zombies 1", "# HELP memcg_zombies x\n# TYPE memcg_zombies gauge\nmemcg_zombies{ 1",
    "# HELP memcg_zombies x\nmemcg_zombies 1", "# TYPE memcg_zombies gauge\nmemcg_zombies 1",
    '# HELP memcg_zombies x\n# TYPE memcg_zombies gauge\nmemcg_zombies{a="b"c"} 1',
    "# HELP memcg_zombies x\n# TYPE memcg_zombies gauge\nmemcg_zombies 2"])
def test_the_check_of_metrics_can_fail(text):
    assert checks.metrics(text, 1)


@pytest.mark.parametrize("size, slab", [
    (1, 8), (8, 8), (9, 16), (56, 64), (65, 96), (97, 128), (129, 192), (193, 256),
    (1152, 2048), (8192, 8192), (8193, 12288)])
def test_slab_sizes(size, slab):
    assert memory.slab_size(size) == slab


def test_every_reason_has_a_text():
    names = {value for name, value in vars(found).items()
             if name.isupper() and isinstance(value, str)}
    assert names == set(found.REASONS)


# ---- the program

def run(*options, python=PYTHON, **more):
    done = subprocess.run([python, TOOL, *options], capture_output=True, text=True, check=False,
                          timeout=60, **more)
    assert "Traceback" not in done.stderr
    return done


def has_drgn():
    return not subprocess.run([PYTHON, "-c", "import drgn"], capture_output=True,
                              check=False).returncode


needs_drgn = pytest.mark.skipif(not has_drgn(), reason="drgn is not installed")


def test_without_drgn(tmp_path):
    (tmp_path / "drgn.py").write_text("raise ImportError\n", encoding="ascii")
    done = run(env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "python3-drgn" in done.stderr


@needs_drgn
@pytest.mark.parametrize("options", [
    ("--nonsense",), ("--json", "--prometheus"), ("--top", "-1"), ("--reason", "love")])
def test_wrong_options(options):
    assert run(*options).returncode == 2


@needs_drgn
def test_help_has_all_reasons():
    text = run("--help").stdout
    assert all(f"  {reason} " in text for reason in found.REASONS)


@needs_drgn
def test_a_dump_that_is_missing(tmp_path):
    done = run("--core", tmp_path / "core")
    assert done.returncode == 1
    assert "does not exist" in done.stderr


@needs_drgn
def test_a_dump_that_is_none(tmp_path):
    (tmp_path / "core").write_text("no ELF file", encoding="ascii")
    assert run("--core", tmp_path / "core").returncode == 1
