# SPDX-License-Identifier: GPL-2.0
"""Memory that nothing points to any more, as kmemleak finds it in a guest that
was started with kmemleak=on."""

import time

from guest import init
from guest.init import Failed

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# What kmemleak takes for leaked must be that old, in s.
YOUNG = 5


def check():
    """Scans twice, as what changes during a scan may look lost. Fails if kmemleak
    is off, or turned itself off for want of memory."""
    for _ in range(2):
        time.sleep(YOUNG)
        init.write(KMEMLEAK, "scan")
    found = init.read(KMEMLEAK)
    if found:
        print(found)
        raise Failed("kmemleak finds memory that was lost, see above")
