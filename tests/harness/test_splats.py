# SPDX-License-Identifier: GPL-2.0
"""Shows that what is shown of a guest that failed has the stack of its first splat."""

from harness import splats

BEFORE = "[    1.0] Run /init\n"
STALL = ("[   22.7] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n"
         "[   22.8] rcu:\t1-...0: (1 GPs behind) idle=1be4/1/0x4000000000000000\n")
AFTER = "".join(f"[   30.0] line {number}\n" for number in range(40))


def test_stack():
    shown = splats.behind(BEFORE + STALL + AFTER).splitlines()
    assert shown[:2] == STALL.splitlines()
    assert len(shown) == 25


def test_none():
    assert splats.behind(BEFORE + AFTER) == BEFORE + AFTER
