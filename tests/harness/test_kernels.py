# SPDX-License-Identifier: GPL-2.0
"""Shows that the table of kernels is sound, and that one that is not is refused."""

import fnmatch
import re

import pytest

from harness import kernels
from harness.common import ROOT, BenchError
from tests.sanitize.sanitizers import RUST, SANITIZERS, touched

ROW = """
[kernel.one]
about = "it"
parts = ["stock"]
language = "C"
from = []
"""


def load(tmp_path, text):
    path = tmp_path / "kernels.toml"
    path.write_text(text + "[arm.one]\nabout = 'it'\n", encoding="utf-8")
    return kernels.load(path)


def test_a_row(tmp_path):
    found, arms = load(tmp_path, ROW)
    assert arms["one"].kernel is found["one"]
    assert found["one"].implementation == "c"


@pytest.mark.parametrize("old, new", [
    ('"C"', '"D"'), ('["stock"]', '["nothing"]'), ("from = []", 'from = ["two"]'),
    ("from = []", 'arch = ["z80"]'), ("from = []", 'patch = "none.patch"'),
    ("from = []", 'patch = "floor/maps.patch"\nuntouched = true'),
    ("about", "abuot"), ("[kernel.one]", "[kernel.two]"),
])
def test_a_wrong_row(tmp_path, old, new):
    with pytest.raises(BenchError):
        load(tmp_path, ROW.replace(old, new))


def test_what_looks_for_faults_is_known():
    assert {name for kernel in kernels.KERNELS.values() for name in kernel.looks} <= \
        set(SANITIZERS)


@pytest.mark.parametrize("use", ["selftests", "selftests QUICK"])
def test_stock_is_compared_with_rust(use):
    assert [kernels.KERNELS[name].language for name in kernels.used_by(use)] == [
        "C", "Rust"]


def watched_by_kcsan():
    """The patterns of its patch, as those of files."""
    text = (ROOT / "tests/sanitize/kcsan.patch").read_text(encoding="utf-8")
    words = re.search(r"KCSAN_WATCHED := ((?:.*\\\n)*.*)", text)[1].split()
    return [word.replace("%", "*") for word in words if word.endswith(".o")]


def test_what_the_series_touches_is_watched():
    patterns = watched_by_kcsan()
    assert not [name for name in (*touched(), *RUST)
                if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
