# SPDX-License-Identifier: GPL-2.0
"""Shows that what matters in the log of a step is found, and not only its end."""

import pytest

from harness import tier

LOG = ["    CC      lib/error-inject.o", "[1/2] bench: FAIL: a splat", "    | it",
       "    other", "ERROR: modpost: x", "    9 passed, 10 failed", "0 failed"]


@pytest.mark.parametrize("log, said", [
    (LOG, [LOG[1], LOG[2], LOG[4], LOG[5]]), (["a"], ["a"])])
def test_reasons(log, said):
    assert tier.reasons(log) == said
