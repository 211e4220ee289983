# SPDX-License-Identifier: GPL-2.0
"""Checks that figures on both sides of 0 can be drawn."""

import pytest

from harness import stats


@pytest.mark.parametrize("spread, found", [
    ((1, 2, 4), (1, 2)), ((-1, 2, 4), (2, 2)), ((-3, -1, 1), (2, 2)), ((-3, -2, -1), (1, 1)),
])
def test_error_bar(spread, found):
    least, median, most = spread
    assert stats.error_bar({"min": least, "median": median, "max": most}) == found
