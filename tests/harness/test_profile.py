# SPDX-License-Identifier: GPL-2.0
"""What bench-profile runs."""

import pytest

from bench.profile import workloads


def test_names_are_unique():
    names = [operation.name for operation in workloads.OPERATIONS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("workload", workloads.WORKLOADS, ids=str)
def test_operations_that_others_refer_to(workload):
    for operation in workload.operations:
        rule, other, *_ = operation.rule.split()
        assert rule == "any" or int(other) < len(workload.operations)
    assert all(any(rule.startswith((f"around {number}", f"after {number}")) for rule in
                   (operation.rule for operation in workload.operations))
               for number, operation in enumerate(workload.operations)
               if operation.title is None)
