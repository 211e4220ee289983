# SPDX-License-Identifier: GPL-2.0
"""Allocations of this guest that fail on purpose."""

import functools
import os

from guest import init

DEBUG = "/sys/kernel/debug"
SLAB = "/sys/kernel/slab"
# Debugging aids that turn themselves off if they get no memory.
SPARED = ("kmemleak", "debug_objects_cache")
# The crate, as it is part of the name of each of its functions.
CRATE = "10mm_reclaim"
# The last of its functions that have a name in C, which follow those.
LAST = "shrinker_verify"
FAR = 1 << 20
# Where a new slab gets the array that says who pays for its objects. Without it they
# are there all the same, and nobody pays.
PAYERS = "alloc_slab_obj_exts"
MAX_ORDER = 11
MAX_DEPTH = 32


def fault(kind, name, value):
    init.write(f"{DEBUG}/{kind}/{name}", str(value))


def set_up():
    """All slab caches and pages count, and failures are not printed."""
    for kind in ("failslab", "fail_page_alloc"):
        fault(kind, "ignore-gfp-wait", "N")
        fault(kind, "verbose", 0)
    fault("failslab", "times", -1)
    for name in os.listdir(SLAB):
        if not name.startswith(SPARED):
            init.write(f"{SLAB}/{name}/failslab", "1")
    fault("failslab", "cache-filter", "Y")
    fault("failslab", "stacktrace-depth", MAX_DEPTH)


@functools.cache
def symbols():
    """The kernel's functions, by address."""
    init.write("/proc/sys/kernel/kptr_restrict", "0")
    found = []
    for line in init.read("/proc/kallsyms").splitlines():
        address, kind, name = line.split()[:3]
        if kind in "tT":
            found.append((int(address, 16), name))
    return sorted(found)


def code(first, last):
    """From where to where the functions go of which these are the first and the
    last; they are given as what tells whether a name is theirs."""
    at = max(address for address, name in symbols() if last(name))
    # What the compiler takes for cold is with that of the whole kernel; the walk that
    # leaves RCU is, and does not allocate.
    start = min(address for address, name in symbols()
                if first(name) and address > at - FAR)
    end = min(address for address, _ in symbols() if address > at)
    if not start < end < start + FAR:
        raise OSError(f"the code is not in one place: {start:#x}, {end:#x}")
    return start, end


@functools.cache
def crate():
    return code(lambda name: CRATE in name, lambda name: name == LAST)


@functools.cache
def payers():
    return code(lambda name: name == PAYERS, lambda name: name == PAYERS)


def choose(ours):
    """Whether only the slab objects fail that the crate's functions ask for.

    A page that fails may just mean another attempt, so that only slab objects
    must lead to an error.
    """
    Injector.lasts = ours
    fault("fail_page_alloc", "min-order", MAX_ORDER if ours else 0)
    for name, (start, end) in (
            ("require", crate() if ours else (0, (1 << 64) - 1)),
            ("reject", payers() if ours else (0, 0))):
        fault("failslab", f"{name}-start", start)
        fault("failslab", f"{name}-end", end)


class Injector:
    """Makes the n-th allocation of this thread fail; all that follow, too, if
    `lasts`, as kvmalloc() and its like try twice.

    To be made before the thread joins a group, which would have to pay for the
    dentries of these files. They are closed when it ends.
    """
    lasts = False

    def __init__(self):
        self.file = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
        # Looked at only after the n-th allocation of this thread.
        self.rest = os.open(f"{DEBUG}/failslab/probability", os.O_WRONLY)

    def call(self, number, function):
        """Returns whether there was such an allocation, and the errno or 0."""
        found = 0
        os.pwrite(self.file, str(number).encode(), 0)
        if self.lasts:
            os.write(self.rest, b"100")
        try:
            function()
        except OSError as error:
            found = error.errno
        os.write(self.rest, b"0")
        left = int(os.pread(self.file, 16, 0))
        os.pwrite(self.file, b"0", 0)
        return not left, found
