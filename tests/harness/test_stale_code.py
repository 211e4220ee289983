# SPDX-License-Identifier: GPL-2.0
"""Shows that a guest is started again for QEMU's stale code, and for no more."""

import dataclasses

import pytest

from harness import qemu, splats, stale_code


@dataclasses.dataclass
class Ended:
    """As far as it is looked at."""
    console: str


OOPS = ("[    3.1] Oops: int3: 0000 [#1] SMP\n"
        "[    3.1] CPU: 1 UID: 0 PID: 71 Comm: test Not tainted\n"
        "[    3.1] RIP: 0010:__schedule+0x1a1/0x9c0\n"
        "[    3.1] Code: 00 0f 1f {before} <{at}> 00 48 8b 05 00\n"
        "[    3.1] Kernel panic - not syncing: Fatal exception\n")
GONE = OOPS.format(before="44", at="0f")
THERE = OOPS.format(before="cc", at="cc")
ASKED = "[    7.1] Kernel panic - not syncing: NMI: Not continuing\n"
TCG, KVM = (qemu.Machine(accel, 512, 2) for accel in ("tcg", "kvm"))
OLD, NEW = (7, 2, 22), (8, 1, 0)

# The machine, QEMU's release, the console, and whether the guest is to be started again.
CASES = {
    "a breakpoint that is gone": (TCG, OLD, GONE, True),
    "the release before the one that mended it": (TCG, (8, 0, 5), GONE, True),
    "the release that mended it": (TCG, NEW, GONE, False),
    "KVM": (KVM, OLD, GONE, False),
    "a breakpoint that is in memory": (TCG, OLD, THERE, False),
    "one whose code is not known": (TCG, OLD, GONE.replace("Code", "No"), False),
    "a guest that hangs behind it":
        (TCG, OLD, GONE.replace("Kernel panic", "  tail+0x1/0x2") + ASKED, True),
    "a guest that hangs before it says its code":
        (TCG, OLD, GONE.partition("[    3.1] Code")[0] + ASKED + GONE, False),
    "a guest that hangs": (TCG, OLD, ASKED, False),
    "a complaint before it": (TCG, OLD, "BUG: KASAN: use\n" + GONE, False),
    "a warning before it":
        (TCG, OLD, "WARNING: CPU: 0 at mm/vmscan.c\n" + GONE, False),
    "another Oops": (TCG, OLD, GONE.replace("int3:", "0002"), False),
    "no Oops": (TCG, OLD, "all is well\n", False),
}


@pytest.mark.parametrize("case", CASES)
def test_was_run(case):
    machine, release, console, again = CASES[case]
    ended = Ended(console)
    assert stale_code.was_run(machine, ended, splats.first(console), release) == again
