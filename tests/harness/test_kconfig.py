# SPDX-License-Identifier: GPL-2.0
"""What an option lacks, by Kconfig entries and configurations."""

import pytest

from harness import kconfig
from harness.common import BenchError

ENTRY = """\
config OTHER
    bool "another one"
    depends on NEVER

config RUST
    bool "Rust support"
    depends on HAVE_RUST
    depends on !MODVERSIONS || GENDWARFKSYMS
    depends on !DEBUG_INFO_BTF || (PAHOLE_HAS_LANG_EXCLUDE && !LTO)
    depends on MEMCG && 64BIT
    depends on !KASAN_SW_TAGS || \\
    RUSTC_VERSION >= 109600
    select SOMETHING if MODVERSIONS
    help
    Text.

config LAST
    bool
    depends on NEVER
"""
GIVEN = {"HAVE_RUST": "y", "MEMCG": "y", "64BIT": "y", "RUSTC_VERSION": "109500"}


def lacks(**more):
    clauses = kconfig.dependencies(ENTRY, "RUST")
    return [clause.text for clause in kconfig.lacking(clauses, {**GIVEN, **more})]


@pytest.mark.parametrize("more, expected", [
    ({}, []),
    ({"HAVE_RUST": "n"}, ["HAVE_RUST"]),
    ({"MEMCG": "n"}, ["MEMCG"]),
    ({"MODVERSIONS": "y"}, ["!MODVERSIONS || GENDWARFKSYMS"]),
    ({"MODVERSIONS": "y", "GENDWARFKSYMS": "y"}, []),
    ({"DEBUG_INFO_BTF": "y", "PAHOLE_HAS_LANG_EXCLUDE": "y"}, []),
    ({"DEBUG_INFO_BTF": "y", "PAHOLE_HAS_LANG_EXCLUDE": "y", "LTO": "y"},
     ["!DEBUG_INFO_BTF || (PAHOLE_HAS_LANG_EXCLUDE && !LTO)"]),
    ({"KASAN_SW_TAGS": "y"}, ["!KASAN_SW_TAGS || RUSTC_VERSION >= 109600"]),
    ({"KASAN_SW_TAGS": "y", "RUSTC_VERSION": "109600"}, []),
    ({"KASAN_SW_TAGS": "y", "RUSTC_VERSION": "90000"},
     ["!KASAN_SW_TAGS || RUSTC_VERSION >= 109600"]),
])
def test_lacking(more, expected):
    assert lacks(**more) == expected


def test_modules_are_less_than_built_in():
    clause, = kconfig.Parser("MEMCG = y").clauses()
    assert [clause.level({"MEMCG": value}) for value in "nmy"] == [0, 0, 2]
    clause, = kconfig.Parser("MEMCG").clauses()
    assert [clause.level({"MEMCG": value}) for value in "nmy"] == [0, 1, 2]


@pytest.mark.parametrize("text, values, holds", [
    ("A || B && C", {"A": "y"}, True),
    ("A && B || C", {"C": "y"}, True),
    ("!A && B", {"B": "y"}, True),
    ("!(A && B)", {"A": "y"}, True),
    ("A if B", {}, True),
    ("A if B", {"B": "y"}, False),
    ("A if B", {"A": "y", "B": "y"}, True),
    ("V >= 100", {}, False),
    ("V >= 100", {"V": "99"}, False),
    ("V < 0x65", {"V": "100"}, True),
    ("V = 0x10", {"V": "16"}, True),
    ("V != 16", {"V": "16"}, False),
    ('X = ""', {}, True),
    ('X = "a b"', {"X": "a b"}, True),
])
def test_levels(text, values, holds):
    clauses = kconfig.Parser(text).clauses()
    assert all(clause.level(values) for clause in clauses) == holds


def test_symbols():
    clause, = kconfig.Parser("!DEBUG_INFO_BTF || (PAHOLE && X = \"text\" && V >= 12)").clauses()
    assert clause.symbols() == ["DEBUG_INFO_BTF", "PAHOLE", "X", "V"]


def test_configuration():
    text = '# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C="a b"\nCONFIG_D=12\n'
    assert kconfig.values(text) == {"B": "y", "C": "a b", "D": "12"}


@pytest.mark.parametrize("text", [
    "A &&", "(A", "A ^ B", "A B", "", "&& A", "A =", "A = &&", "A = )", "A if"])
def test_bad_expression(text):
    with pytest.raises(BenchError):
        kconfig.Parser(text).clauses()


def test_unknown_option():
    with pytest.raises(BenchError):
        kconfig.dependencies(ENTRY, "MISSING")
