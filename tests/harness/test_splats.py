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


def test_stacks_without_registers():
    asked = ("[   60.1] Kernel panic - not syncing: NMI: Not continuing\n"
             "[   60.1] RIP: 0010:pv_native_safe_halt+0xb/0x10\n"
             "[   60.1] Code: 48 8b 3d 18 <c3> cc\n"
             "[   60.1] RSP: 0018:ffffffff81803e40 EFLAGS: 00000212\n"
             "[   60.1] R10: ffff88802dc1ad40 R11: 0000000155d527c0 R12: 0000000000000000\n"
             "[   60.1]  ? pv_native_safe_halt+0xb/0x10\n"
             "[   60.1]  default_idle+0x5/0x10\n"
             "[   60.2] task:init            state:D stack:0     pid:43\n"
             "[   60.2]  balance_dirty_pages+0x60e/0x920\n")
    assert splats.ASKED in splats.first(BEFORE + asked)
    assert splats.asked(BEFORE + asked) == (BEFORE, asked)
    assert splats.asked(BEFORE) == (BEFORE, "")
    assert splats.stacks(asked).splitlines() == [
        line for line in asked.splitlines() if line.split("] ")[1].strip().split()[0] in (
            "Kernel", "RIP:", "default_idle+0x5/0x10", "task:init",
            "balance_dirty_pages+0x60e/0x920")]
