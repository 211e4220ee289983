# SPDX-License-Identifier: GPL-2.0
"""Jobs as hosts have them: some that others must not disturb, and some that take what they get."""

import mmap
import os
import random
import time
import zlib

from guest.groups import MIB, was_told
from guest.init import PAGE
from guest.memory import DISK, fill, touch

# Pages that a request is for.
REQUEST = 16


def answer_requests(state, requests, answer):
    """Once `state` is 2, which it says by 1 that it waits for. How long they took, in us."""
    state.add()
    while state.read() < 2:
        time.sleep(0.01)
    times = []
    for _ in range(requests):
        before = time.perf_counter_ns()
        answer()
        times.append((time.perf_counter_ns() - before) / 1e3)
    took = sum(times)
    times.sort()
    return {"took": took, "p99": times[len(times) * 99 // 100]}


def working_set(size):
    """Takes so much memory; returns what uses some pages of it, here and there."""
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    fill(area, 0, size)
    chosen = random.Random(1)

    def use_some():
        for _ in range(REQUEST):
            _ = area[chosen.randrange(size // PAGE) * PAGE]

    return use_some


def interactive(_hears, size, state, requests):
    """Has all of its working set in anonymous memory, and needs a bit of it now and then."""
    return answer_requests(state, requests, working_set(size))


def database(_hears, size, state, requests):
    """Reads pages of a file here and there, and relies on the page cache."""
    disk = os.open(DISK, os.O_RDONLY)
    os.posix_fadvise(disk, 0, 0, os.POSIX_FADV_RANDOM)
    for at in range(0, size, MIB):
        os.pread(disk, MIB, at)
    chosen = random.Random(1)

    def answer():
        for _ in range(REQUEST):
            os.pread(disk, PAGE, chosen.randrange(size // PAGE) * PAGE)

    return answer_requests(state, requests, answer)


def compile_files(hears, size, number):
    """As a build does: a process for each file, which takes memory, reads files, and works."""
    disk = os.open(DISK, os.O_RDONLY)
    at = number << 34
    count = 0
    while not was_told(hears):
        pid = os.fork()
        if not pid:
            area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            touch(area, 0, size)
            found = 0
            for i in range(8):
                found = zlib.crc32(os.pread(disk, MIB, at + i * MIB), found)
            os._exit(0)
        os.waitpid(pid, 0)
        at += 4 * MIB
        count += 1
    return {"count": count}
