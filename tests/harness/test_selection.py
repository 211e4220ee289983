# SPDX-License-Identifier: GPL-2.0
"""Shows that -k selects what it says."""

import types

import pytest

from harness.common import BenchError
from harness.selection import chosen, expression


@pytest.mark.parametrize("text, name, matches", [
    ("", "anything", True),
    ("v1", "cgroup V1", True),
    ("v1 and not mglru", "v1", True),
    ("v1 and not mglru", "v1, MGLRU", False),
    ("a or b and c", "a", True),
    ("(a or b) and c", "a", False),
    ("'no memory'", "has no memory left", True),
    ("not (a or 'b c')", "b, c", True),
    ("and_a or nothing", "NOTHING", True),
    ("not not a", "a", True),
])
def test_matches(text, name, matches):
    assert expression(text)(name) == matches


@pytest.mark.parametrize("text", ["and", "a b", "(a", "not", "a or", "'a", "a)", "a (b)",
                                  "(a) (b)", "()", "a or ()"])
def test_no_expression(text):
    with pytest.raises(BenchError):
        expression(text)


def test_nothing_is_chosen():
    with pytest.raises(BenchError):
        chosen(types.SimpleNamespace(select="c"), ["a", "b"])
