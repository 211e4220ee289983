# SPDX-License-Identifier: GPL-2.0
"""Checks of what a pool gives back, and when."""

import ctypes
import errno
import mmap
import os
import time

from guest import init
from guest.groups import MIB, Group, check, drop_caches, expect_refused, memory, wait, wait_until
from guest.init import LIBC, PAGE
from guest.memory import available, eat, zram_swap
from guest.retained.counters import file_stat
from guest.retained.files import bytes_read, make_file, read_file, read_on, set_read_ahead
from guest.retained.pool import (
    LIMIT, POOL, SIZE, counter, events, expect_conserved, limited, make_pool, mib, pages, peak,
    pooled, retained, set_limit, takes_pool)


def capped(_options):
    """A pool that is full loses its oldest for those that come, and is never above its cap."""
    pool, group, path = retained(size=8 * LIMIT, cap=2 * LIMIT)
    for _ in range(3):
        group.run(read_file, path)
    check(peak(pool) <= 2 * LIMIT, f"the pool had {mib(peak(pool))}")
    check(pool.usage() > LIMIT, f"the pool has {mib(pool.usage())} of {mib(2 * LIMIT)}")
    check(counter(group, "refused_cap") + counter(pool, "evicted"),
          "nothing was refused, nor evicted")
    expect_conserved(pool)


def goes_first(_options):
    """Whoever needs memory gets that of the pool, and no other group loses any."""
    # Else the group gives up some of what is read ahead before it is read.
    read_ahead, size = set_read_ahead(), memory() // 2 // MIB * MIB
    other = Group("other")
    other.run(read_file, make_file("kept", memory() // 16 // MIB * MIB))
    pool, group, path = retained(size=size)
    had, before = other.usage(), pool.usage()
    hungry = Group("hungry")
    hungry.run(eat, available() + before * 5 // 8, 0)
    check(pool.usage() < before // 2,
          f"the pool has {mib(pool.usage())}, and had {mib(before)}")
    expect_conserved(pool)
    check(other.usage() > had * 31 // 32, f"others have {mib(other.usage())}, and had {mib(had)}")
    # What is read from the disk again was in no working set. The end of the file is what the group
    # had itself until now.
    again = bytes_read()
    group.run(read_file, path, 0, size // 2)
    check(bytes_read() > again, "nothing is read again of what was given back")
    refaults = init.fields(f"{group.path}/memory.stat")["workingset_refault_file"]
    check(not refaults, f"what the pool gave back counts as {refaults} refaults")
    set_read_ahead(size=read_ahead)


def used_goes_first(_options):
    """Also what was used in the pool, by somebody who isn't charged, so that it got active."""
    size = memory() // 2 // MIB * MIB
    other = Group("other")
    other.run(read_file, make_file("kept", memory() // 16 // MIB * MIB))
    pool, _group, path = retained(size=size)
    for _ in range(3):
        pool.run(read_file, path)
    had, before = other.usage(), pool.usage()
    hungry = Group("hungry")
    hungry.run(eat, available() + before * 3 // 4, 0)
    check(pool.usage() < before // 2,
          f"the pool has {mib(pool.usage())}, and had {mib(before)}; {events(pool)}")
    check(other.usage() > had * 31 // 32, f"others have {mib(other.usage())}, and had {mib(had)}")


def watermark(_options):
    """Nothing is retained while memory is short."""
    pool, group = make_pool(), limited()
    hungry = Group("hungry")
    path = make_file("file", SIZE)
    # Less than is to be free, and more than kswapd frees, when the group is at its limit.
    size = available() - LIMIT - memory() // 40
    process = hungry.start(eat, size, 0)
    process.wait_until(lambda: hungry.usage() >= size - MIB)
    group.run(read_file, path)
    check(counter(group, "refused_watermark"),
          f"it is retained while memory is short; {events(group)}, {mib(available())} are left")
    check(pool.usage() < SIZE // 2, f"the pool has {mib(pool.usage())}")
    process.result()


def drops(_options):
    """drop_caches, memory.reclaim, a limit that gets lower, and the file of a node, unless that is
    asked for anonymous memory."""
    pool, group, path = retained()
    drop_caches()
    check(pool.usage() < MIB, f"the pool has {mib(pool.usage())} after drop_caches")
    group.run(read_file, path)
    if os.path.exists(f"{pool.path}/memory.reclaim"):
        before, evicted = pool.usage(), counter(pool, "evicted")
        pool.write("memory.reclaim", LIMIT)
        check(pool.usage() <= before - LIMIT * 7 // 8, "memory.reclaim takes nothing")
        check(counter(pool, "evicted") - evicted >= pages(LIMIT * 7 // 8),
              f"{counter(pool, 'evicted') - evicted} pages are counted as evicted")
    if os.path.exists(NODE):
        before = pool.usage()
        reclaim_node(f"{LIMIT} swappiness=max")
        check(pool.usage() == before, "the pool gives page cache for anonymous memory")
        reclaim_node(LIMIT)
        check(pool.usage() <= before - LIMIT * 7 // 8, f"the file of a node takes nothing: "
              f"{mib(pool.usage())} of {mib(before)}")
    set_limit(pool, MIB)
    check(pool.usage() <= MIB, f"the pool has {mib(pool.usage())} of {mib(MIB)}")


NODE = "/sys/devices/system/node/node0/reclaim"


def reclaim_node(how):
    """There may be less than was asked for."""
    try:
        init.write(NODE, str(how))
    except OSError as error:
        check(error.errno == errno.EAGAIN, f"{NODE}: {error}")


def swapped(_options):
    """The pool makes room for what swapoff brings back."""
    size = memory() // 3 // MIB * MIB
    holder = Group("holder")
    process = holder.start(eat, size, 0)
    process.wait_until(lambda: holder.usage() >= size)
    with zram_swap(memory()):
        set_limit(holder, size // 8)
        set_limit(holder, None)
        pool, _group, _path = retained(size=memory())
        evicted = counter(pool, "evicted")
        # Only the pool can make room for what comes back.
        check(available() < size // 2 < pool.usage(),
              f"{mib(available())} are free, and the pool has {mib(pool.usage())}")
    check(holder.usage() >= size, f"{mib(holder.usage())} of {mib(size)} are back")
    check(counter(pool, "evicted") > evicted, "nothing was evicted for it")
    process.result()
    expect_conserved(pool)


def emptied(_options):
    """What is freed by hand is free, and not in the pool."""
    _pool, group, _path = retained()
    before = counter(group, "kept")
    if os.path.exists(f"{group.path}/memory.force_empty"):
        group.write("memory.force_empty", "0")
    else:
        group.write("memory.reclaim", group.usage() // 2)
    check(group.usage() < LIMIT * 3 // 4, f"it has {mib(group.usage())}")
    check(counter(group, "kept") == before, f"{counter(group, 'kept') - before} pages are kept")


def ended(_options):
    """A pool that is none any more is empty, and so is one that is removed."""
    pool, _group, path = retained()
    pool.write(POOL, "0")
    check(pool.usage() < MIB, f"what was the pool has {mib(pool.usage())}")
    pool.write(POOL, "1")
    other = limited("other")
    other.run(read_file, path)
    check(pool.usage() > LIMIT, f"the pool has {mib(pool.usage())}")
    before = cached()
    pool.remove()
    wait_until(lambda: cached() < before - LIMIT, "a removed pool keeps its page cache")
    make_pool(name="next")


def ended_in_use(_options):
    """A pool with something in it that can't be freed says so, and is none any more."""
    pool, _group, path = retained()
    process = pool.start(locks, path)
    # The rest is charged to the first group.
    process.wait_until(lambda: file_stat(pool.path)["unevictable"] > SIZE // 2)
    expect_refused(f"{pool.path}/{POOL}", "0", errno.EAGAIN)
    check(pool.read(POOL) == "0", "it is the pool still")
    # And again, until it is empty; it ends as a pool does, and no refault comes of it.
    expect_refused(f"{pool.path}/{POOL}", "0", errno.EAGAIN)
    process.result()
    pool.write(POOL, "0")
    check(not pooled(pool), f"what was the pool has {mib(pool.usage())}")
    reader, before = Group("reader"), bytes_read()
    reader.run(read_file, path)
    check(bytes_read() - before > SIZE // 2, "nothing of it is read again")
    refaults = init.fields(f"{reader.path}/memory.stat")["workingset_refault_file"]
    check(not refaults, f"what was in the pool counts as {refaults} refaults")


def locks(hears, path):
    # To be written, or Python has no address of it; shared, or mlock(2) would copy it.
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as area:
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        init.checked(LIBC.mlock(ctypes.c_void_p(start), ctypes.c_size_t(SIZE)), path)
        wait(hears)
        init.checked(LIBC.munlock(ctypes.c_void_p(start), ctypes.c_size_t(SIZE)), path)


def cached():
    """Bytes of the page cache."""
    return init.fields("/proc/vmstat")["nr_file_pages"] * PAGE


def ends_meanwhile(_options):
    """Pools come and go while groups retain, and nothing of them is left."""
    paths = [make_file(f"file{i}", SIZE) for i in range(2)]
    groups = [limited(f"g{i}") for i in range(2)]
    processes = [group.start(read_on, path) for group, path in zip(groups, paths)]
    count, until = 0, time.monotonic() + 10
    while count < 6 or time.monotonic() < until:
        pool = Group(f"pool{count}")
        wait_until(lambda pool=pool: takes_pool(pool), "a removed pool stays the pool")
        time.sleep(0.3)
        if count % 2:
            pool.write(POOL, "0")
            left = file_stat(pool.path)["file"]
            check(not left, f"what was the pool has {mib(left)} while others retain")
        pool.remove()
        count += 1
    for process in processes:
        process.result()
    for group in groups:
        check(counter(group, "kept"), "nothing is retained meanwhile")


CHECKS = (capped, goes_first, used_goes_first, watermark, drops, swapped, emptied, ended,
          ended_in_use, ends_meanwhile)
