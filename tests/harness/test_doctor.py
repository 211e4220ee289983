# SPDX-License-Identifier: GPL-2.0
"""What make doctor finds, by what tools say and configurations."""

import gzip

import pytest

from harness import doctor
from harness.common import BenchError


@pytest.fixture
def says(monkeypatch):
    """Has a command say something, and others fail."""
    answers = {}
    monkeypatch.setattr(doctor, "output", lambda *command, **_: answers.get(str(command[0])))
    return answers


@pytest.mark.parametrize("said, is_good", [
    ("rustc 1.85.0 (abc 2025-01-01)", True), ("rustc 1.100.0", True), ("rustc 1.84.1", False),
    ("nothing of use", False), (None, False)])
def test_tool(says, said, is_good):
    says["rustc"] = said
    found = doctor.examine_tool("rustc", ("rustc", "--version"), "1.85.0", "install it")
    assert found.is_good == is_good
    assert ("install it" in str(found)) != is_good


def test_library_source(says, tmp_path):
    def is_good(given=None):
        return [found.is_good for found in doctor.examine_library("rustc", given)]

    # Without a rustc nothing is known of it.
    assert is_good() == []
    says["rustc"] = f"{tmp_path}\n"
    assert is_good() == [False]
    source = tmp_path / "lib/rustlib/src/rust/library/core/src"
    source.mkdir(parents=True)
    (source / "lib.rs").write_text("")
    assert is_good() == is_good(source.parents[1]) == [True]
    assert is_good(tmp_path) == [False]


@pytest.mark.parametrize("llvm, expected", [
    ("1", "clang"), ("-19", "clang-19"), ("/opt/llvm/bin/", "/opt/llvm/bin/clang")])
def test_llvm_tool(llvm, expected):
    assert doctor.llvm_tool("clang", llvm) == expected


def test_lost(capsys):
    before = {"DEBUG_INFO_BTF": "y"}
    doctor.say_what_is_lost(before, before)
    assert not capsys.readouterr().out
    doctor.say_what_is_lost(before, {})
    assert "pahole" in capsys.readouterr().out


@pytest.fixture
def toolchain(monkeypatch, tmp_path):
    script = tmp_path / "scripts/toolchain"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho LLVM=-19 CC=clang-19 RUSTC=/usr/bin/rustc\n")
    script.chmod(0o755)
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    return script


@pytest.mark.usefixtures("toolchain")
def test_variables():
    head = "# Linux/arm64 7.3.4 Kernel Configuration\n"
    assert doctor.make_variables(head) == {
        "ARCH": "arm64", "LLVM": "-19", "CC": "clang-19", "RUSTC": "/usr/bin/rustc"}
    assert doctor.make_variables(f"{head}CONFIG_CC_IS_GCC=y\n") == {
        "ARCH": "arm64", "RUSTC": "/usr/bin/rustc"}


def test_without_tools(toolchain):
    toolchain.write_text("#!/bin/sh\necho no clang-19 >&2\nexit 1\n")
    with pytest.raises(BenchError, match="no clang-19"):
        doctor.make_variables("")


def test_configuration(tmp_path):
    plain, packed = tmp_path / "config", tmp_path / "config.gz"
    plain.write_text("CONFIG_A=y\n")
    packed.write_bytes(gzip.compress(b"CONFIG_B=y\n"))
    assert doctor.read_configuration(str(plain)) == ("CONFIG_A=y\n", str(plain))
    assert doctor.read_configuration(str(packed)) == ("CONFIG_B=y\n", str(packed))
    with pytest.raises(BenchError, match="there is no"):
        doctor.read_configuration(str(tmp_path / "missing"))
    packed.write_bytes(b"no archive")
    with pytest.raises(BenchError, match="can't be read"):
        doctor.read_configuration(str(packed))


RUST = """\
config RUST
    bool "Rust support"
    depends on HAVE_RUST
    depends on !MODVERSIONS || GENDWARFKSYMS
"""
OPTION = """\
config MEMCG_SHRINKER_RUST
    bool "this"
    depends on MEMCG && RUST && 64BIT
"""


@pytest.fixture
def tree(monkeypatch, tmp_path):
    """Kconfig files, and a make that takes what depends on nothing else."""
    monkeypatch.setattr(doctor, "TREE", tmp_path)
    for symbol, text in (("RUST", RUST), ("MEMCG_SHRINKER_RUST", OPTION)):
        path = tmp_path / doctor.ENTRIES[symbol]
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def make(folder, _variables, target):
        assert target == "olddefconfig"
        path = f"{folder}/.config"
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if "CONFIG_MODVERSIONS=y" in lines:
            lines.remove("CONFIG_RUST=y")
            lines.remove("CONFIG_MEMCG_SHRINKER_RUST=y")
        elif "CONFIG_MEMCG=y" not in lines:
            lines.remove("CONFIG_MEMCG_SHRINKER_RUST=y")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        return 0, ""

    monkeypatch.setattr(doctor, "make", make)


def bad(text):
    return [finding.what for finding in doctor.examine_options(text, {}) if not finding.is_good]


@pytest.mark.usefixtures("tree")
def test_options():
    given = "CONFIG_RUST_IS_AVAILABLE=y\nCONFIG_HAVE_RUST=y\nCONFIG_64BIT=y\n"
    assert not bad(given + "CONFIG_MEMCG=y")
    assert bad(given) == ["CONFIG_MEMCG_SHRINKER_RUST=n", "depends on MEMCG"]
    assert bad(given + "CONFIG_MEMCG=y\nCONFIG_MODVERSIONS=y") == [
        "CONFIG_RUST=n", "depends on !MODVERSIONS || GENDWARFKSYMS",
        "CONFIG_MEMCG_SHRINKER_RUST=n"]


def test_each_dependency_has_a_mend():
    """Of the kernel that is here: what is new there is not passed over."""
    if not (doctor.TREE / "init/Kconfig").is_file():
        pytest.skip("there is no kernel source")
    for symbol, entry in doctor.ENTRIES.items():
        text = (doctor.TREE / entry).read_text(encoding="utf-8")
        for clause in doctor.kconfig.dependencies(text, symbol):
            known = [each for each in clause.symbols() if each in doctor.MENDS]
            assert known or clause.text == "RUST", clause.text
