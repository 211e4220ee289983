# SPDX-License-Identifier: GPL-2.0
"""Shows that the table of kernels is sound, and that one that is not is refused."""

import pytest

from harness import kernels
from harness.common import BenchError
from tests.sanitize.sanitizers import SANITIZERS

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
