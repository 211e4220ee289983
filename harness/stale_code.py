# SPDX-License-Identifier: GPL-2.0
"""Whether a guest ended because of a fault of QEMU's, and not of its kernel.

QEMU before 8.1.0 may translate code while another CPU patches it, and then runs
a breakpoint again that is gone from memory. Its commit deba78709ae8 "accel/tcg:
Always lock pages before translation" mended that. The kernel stops with "Oops:
int3". It would too if it ran into a breakpoint that is there, such as the int3
that fills the space between functions: that is a fault of the kernel, and so is
whatever it complained about before.
"""

import re

from harness import qemu, splats

RETRIES = 3
FIXED_IN = (8, 1, 0)
OOPS = re.compile(r"Oops: int3: ")
# The bytes around the instruction pointer, which is in <> and behind the int3.
CODE = re.compile(r"\bCode: ((?:[0-9a-f]{2} )*)<[0-9a-f]{2}>")
INT3 = "cc"


def was_run(machine, ended, complaint, release=None):
    """Whether this is why the guest ended. `complaint` is the first that its kernel
    has, or None. It may hang in what it does then, such as if it held a lock of the console
    or of a run queue."""
    if machine.accel != "tcg" or (release or qemu.release()) >= FIXED_IN or \
       not complaint or not OOPS.search(complaint):
        return False
    # What it says when it is asked has the code of another place.
    console, _ = splats.asked(ended.console)
    code = CODE.search(console, console.index(complaint))
    return bool(code and code[1].split() and code[1].split()[-1] != INT3)
