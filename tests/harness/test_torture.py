# SPDX-License-Identifier: GPL-2.0
"""Shows that a torture test in which something did not happen fails."""

import pytest

from guest.torturer import steps_of
from tests.torture.test_torture import NEEDED, did_too_little


def good(version):
    return {"cgroup": version, "implementation": "rust", "oom_kills": 1,
            "killed": {"brink": 1},
            "done": dict.fromkeys(steps_of(version, True), 1),
            "counted": dict.fromkeys(NEEDED[version], 1)}


def without(version):
    """One thing is missing in each."""
    yield {**good(version), "oom_kills": 0}
    yield {**good(version), "killed": {"memory": 1}}
    for kind in ("done", "counted"):
        for name in good(version)[kind]:
            yield {**good(version), kind: {**good(version)[kind], name: 0}}


@pytest.mark.parametrize("version", NEEDED)
def test_all_happened(version):
    assert not did_too_little(good(version))


@pytest.mark.parametrize("result", [result for version in NEEDED
                                    for result in without(version)])
def test_something_is_missing(result):
    assert did_too_little(result)
