# SPDX-License-Identifier: GPL-2.0
"""Processes that use memory, and the disks of the guests in which it gets short."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import time

from guest import init
from guest.groups import MIB, wait, was_told
from guest.init import PAGE

LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
# Where data goes that nobody reads again, and it takes all at once; a slower one, and swap.
DISK = "/dev/vda"
SLOW_DISK = "/dev/vdb"
SWAP = "/dev/vdc"
CHUNKS = 100


def add_lru_option(parser):
    parser.add_argument("--lru", choices=("classic", "mglru"), default="classic")


def use_lru(name):
    """Switches to one of the two."""
    init.write(LRU_GEN, "y" if name == "mglru" else "n")


def zram(size):
    """Swap in memory."""
    init.write("/sys/block/zram0/disksize", str(size))
    return "/dev/zram0"


@contextlib.contextmanager
def zram_swap(size):
    """That is swapped off in the end."""
    device = zram(size)
    init.make_swap(device)
    yield device
    init.swapoff(device)
    init.write("/sys/block/zram0/reset", "1")


def available():
    return os.sysconf("SC_AVPHYS_PAGES") * PAGE


def lost(groups, function):
    """What each of the groups lost while `function` ran."""
    before = [group.usage() for group in groups]
    function()
    return [max(0, old - group.usage()) for old, group in zip(before, groups)]


class Count:
    """A number that a child counts up, and others read meanwhile."""

    def __init__(self):
        self.shared = mmap.mmap(-1, PAGE)

    def read(self):
        return int.from_bytes(self.shared[:8], "little")

    def add(self, number=1):
        self.shared[:8] = (self.read() + number).to_bytes(8, "little")


def write_stream(_hears, size, disk=DISK):
    """Writes `size` bytes, all over the disk."""
    data = bytes(MIB)
    disk = os.open(disk, os.O_WRONLY)
    end = os.lseek(disk, 0, os.SEEK_END) // MIB * MIB
    for at in range(0, size, MIB):
        os.pwrite(disk, data, at % end)


def read_part(_hears, first, size, paged=False):
    """Leaves `size` bytes of the disk, from `first`, in the page cache; if it is to be `paged`, a
    page to a folio, as what reads small parts of files does."""
    with open(DISK, "rb", buffering=0) as disk:
        if paged:
            os.posix_fadvise(disk.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for at in range(first, first + size, MIB):
            os.pread(disk.fileno(), MIB, at)


def touch(area, first, size):
    view = (ctypes.c_char * size).from_buffer(area, first)
    ctypes.memset(view, 1, size)
    del view


def fill(area, first, size):
    """As touch() does, with pages that are not one byte all over: zram keeps those in no memory
    at all."""
    pages = os.urandom(PAGE // 3).ljust(PAGE, b"\0") * (MIB // PAGE)
    for at in range(first, first + size, MIB):
        area[at:at + MIB] = pages


def eat(hears, size, pause, locked=False):
    """Takes `size` bytes in CHUNKS chunks, and keeps them until told."""
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    chunk = size // CHUNKS // PAGE * PAGE
    start = time.monotonic()
    for i in range(CHUNKS):
        touch(area, i * chunk, chunk)
        time.sleep(pause)
    if locked:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        init.checked(init.LIBC.mlock(ctypes.c_void_p(address),
                                     ctypes.c_size_t(size)), "mlock")
    eaten = time.monotonic() - start
    if hears is not None:
        wait(hears)
    return {"eaten": eaten}


def burst(_hears, size):
    """Faults in so much memory; how long that took, and each fault."""
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(area))
    times, memset, now = [], ctypes.memset, time.perf_counter_ns
    start = time.monotonic()
    for at in range(first, first + size, PAGE):
        before = now()
        memset(at, 1, 64)
        times.append(now() - before)
    took = time.monotonic() - start
    times.sort()
    return {"burst": took * 1e6, **{f"p{name}": times[int(len(times) * share)] / 1e3
                                    for name, share in (("50", .5), ("99", .99), ("999", .999))},
            "worst": times[-1] / 1e3}


def pin(hears, size, first=0):
    """Keeps `size` bytes of the page cache in pipes: reclaim finds these pages like any
    others, and can't have them."""
    disk = os.open(DISK, os.O_RDONLY)
    os.lseek(disk, first, os.SEEK_SET)
    for _ in range(0, size, MIB):
        _, into = os.pipe()
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, MIB)
        room = MIB
        while room:
            room -= os.splice(disk, into, room)
    wait(hears)


def use(hears, size, used, keeps=False):
    """Takes `size` bytes, and reads them again and again until told; or keeps them. Counts the
    pages that are read, and one when it has all."""
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    fill(area, 0, size)
    used.add()
    if keeps:
        wait(hears)
        return
    while True:
        for at in range(0, size, MIB):
            used.add(len(area[at:at + MIB:PAGE]))
            if was_told(hears):
                return
