# SPDX-License-Identifier: GPL-2.0
"""Shows that the result of a guest is found, and nothing that is none is taken for one."""

import pytest

from harness import arms, kernels, qemu

BEFORE = "[    1.000000] Run /init\n# something else\n"
AFTER = "MM_RECLAIM_EXIT code 0\n[    9.000000] reboot: Restarting system\n"
KERNEL = kernels.Kernel("rust", "", (), "Rust")
LINE = arms.RESULT + '{"a": [1.5], "b": "[ 2.000000] c"}\n'
RESULT = {"a": [1.5], "b": "[ 2.000000] c"}
PLAIN = arms.RESULT + '{"a": [1.5], "b": "c"}\n'
MESSAGE = "[   28.732589] clocksource: Watchdog hpet read timed out.\n"


def test_line():
    assert arms.parse(BEFORE + LINE + AFTER) == RESULT


@pytest.mark.parametrize("at", range(len(arms.RESULT), len(PLAIN)))
def test_message_within(at):
    said = PLAIN[:at] + MESSAGE + MESSAGE + PLAIN[at:]
    assert arms.parse(BEFORE + said + AFTER) == {"a": [1.5], "b": "c"}


@pytest.mark.parametrize("said", (
    "", arms.RESULT, PLAIN[:-3] + "\n", PLAIN[:-3] + MESSAGE, PLAIN[:-3] + "x\n" + PLAIN[-3:],
    PLAIN.replace("1.5", "1.5]")))
def test_none(said):
    assert arms.parse(BEFORE + said + AFTER) is None


@pytest.mark.parametrize("said, why", (
    ("", "the guest did not end within 7 s"),
    ("[    7.1] Kernel panic - not syncing: NMI: Not continuing\n",
     "the guest did not end within 7 s"),
    ("[    1.1] BUG: sleeping\n[    7.1] Kernel panic - not syncing: NMI: Not continuing\n",
     'the guest\'s kernel says "[    1.1] BUG: sleeping"')))
def test_hang(said, why):
    assert arms.trouble(qemu.Ended(7, True, 0, BEFORE + said, KERNEL)) == why


def test_panic_that_was_not_asked_for():
    said = f"{BEFORE}[    1.1] Kernel panic - not syncing: NMI: Not continuing\n"
    assert "NMI" in arms.trouble(qemu.Ended(7, False, 0, said, KERNEL))


def test_stacks_are_shown():
    asked = "".join(f"[    7.1]  call_{number}+0x1/0x2\n" for number in range(30))
    text = str(arms.GuestFailed("it hangs", arms.LOGS / "log", (
        f"{BEFORE}[    1.1] BUG: sleeping\n[    1.1]  first+0x1/0x2\n" + 50 * "[    2.0] x\n" +
        f"[    7.1] Kernel panic - not syncing: NMI: Not continuing\n{asked}")))
    for word in ("BUG: sleeping", "first+0x1", "NMI", "call_0+", "call_29+"):
        assert word in text


def test_places():
    asked = """\
[    7.1] Kernel panic - not syncing: NMI: Not continuing
[    7.1] CPU: 0 UID: 0 PID: 41 Comm: two words Not tainted 7.3.4 #3 PREEMPTLAZY
[    7.1]  <NMI>
[    7.1]  panic+0x1/0x2
[    7.1] RIP: 0010:inner+0x3a/0xe0
[    7.1]  </NMI>
[    7.1]  ? left_over+0x1/0x2
[    7.1]  outer.cold+0x384/0x4f0
[    7.1] RIP: 0033:0x44f857
[    7.1] NMI backtrace for cpu 1
[    7.1] CPU: 1 UID: 0 PID: 0 Comm: swapper/1 Tainted: G      D             7.3.4
[    7.1] RIP: 0010:halt+0xb/0x10
[    7.1]  <IRQ>
[    7.1]  handler+0xb/0x10
[    7.1]  </IRQ>
[    7.1] RIP: 0010:interrupted+0xb/0x10
[    7.1] NMI backtrace for cpu 2
[    7.1] CPU: 2 UID: 0 PID: 7 Comm: user Not tainted 7.3.4 #3 PREEMPTLAZY
[    7.1] RIP: 0033:0x44f857
[    7.1] NMI backtrace for cpu 0
[    7.1] CPU: 0 UID: 0 PID: 41 Comm: two words Not tainted 7.3.4 #3 PREEMPTLAZY
[    7.1] RIP: 0010:inner+0x3a/0xe0
[    7.1]  outer.cold+0x384/0x4f0
[    7.1] task:waits           state:D stack:0     pid:8     tgid:8
[    7.1] Call Trace:
[    7.1]  schedule+0x1/0x2
"""
    assert arms.trouble(qemu.Ended(7, True, 0, BEFORE + asked, KERNEL)) == (
        "the guest did not end within 7 s: CPU 0 (two words): inner < outer.cold; "
        "CPU 1 (swapper/1): halt < handler < interrupted; CPU 2 (user): user space")
