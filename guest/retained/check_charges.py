# SPDX-License-Identifier: GPL-2.0
"""Checks of what stays charged, and who pays for what is used again."""

import mmap
import os

from guest import init
from guest.groups import MIB, Group, check, drop_caches, wait
from guest.init import PAGE
from guest.memory import Count, touch
from guest.retained.counters import file_stat
from guest.retained.files import (
    FILES, bytes_read, content, look_at, make_file, read_file, read_mapped, write_content)
from guest.retained.model import write_nowait
from guest.retained.pool import (
    LIMIT, SIZE, Skipped, counter, events, expect_conserved, expect_hits, limited, make_pool, mib,
    pages, peak, pooled, retained, set_limit)

# Inodes of so many files are more than LIMIT allows.
SMALL_FILES = 18000
SMALL = 4 * PAGE
# In pages, with inodes in a quarter of LIMIT: one of XFS takes 5 KiB with lockdep and KASAN.
LEAST_KEPT = pages(LIMIT) // 2


def make_small_files(count):
    for at in range(count):
        with open(f"{FILES}/{at}", "wb", buffering=0) as file:
            file.write(content(at * SMALL, size=SMALL))
    os.sync()
    drop_caches()


def read_small_files(_hears, count):
    for at in range(count):
        with open(f"{FILES}/{at}", "rb", buffering=0) as file:
            check(file.read(2 * SMALL) == content(at * SMALL, size=SMALL), f"file {at} is another")


def small_files(_options):
    """A group can read any number of files: their inodes, which it pays for, can't go before their
    page cache, and so not all of that is kept."""
    make_small_files(SMALL_FILES)
    _pool, group = make_pool(), limited()
    for _ in range(2):
        group.run(read_small_files, SMALL_FILES)
    check(counter(group, "kept") > LEAST_KEPT,
          f"only {counter(group, 'kept')} pages are kept; {events(group)}")
    check(counter(group, "refused_slab"), f"nothing is refused; {events(group)}")
    check(peak(group) <= LIMIT, f"the group had {peak(group)} bytes")


def less_allowed(_options):
    """A limit that gets lower than what inodes of the pool's page cache need can be kept."""
    count, small = SMALL_FILES // 2, 6 * MIB
    make_small_files(count)
    pool, group = make_pool(), limited(size=4 * LIMIT)
    group.run(read_file, make_file("file", SIZE))
    group.run(read_small_files, count)
    group.run(read_file, make_file("other", SIZE))
    check(counter(group, "kept") > count, f"only {counter(group, 'kept')} pages are kept")
    before = counter(pool, "evicted")
    set_limit(group, small)
    check(group.usage() <= small, f"the group has {mib(group.usage())} of {mib(small)}")
    check(counter(pool, "evicted") > before, "nothing was evicted for it")
    group.run(read_small_files, count)
    check(group.usage() <= small, f"the group has {mib(group.usage())} of {mib(small)}")


def without_fs(options):
    """Who holds locks of a file system while it is charged, and so can't free inodes, gets room
    below a limit that these exceed."""
    if options.v1:
        raise Skipped("cgroup v1 has no limit below what a group has")
    count, small = SMALL_FILES // 2, 6 * MIB
    path = make_file("file", LIMIT)
    make_small_files(count)
    pool, group = make_pool(), limited(size=4 * LIMIT)
    group.run(read_small_files, count)
    found = init.fields(f"{group.path}/memory.stat")["slab_reclaimable"]
    check(found > 2 * small, f"inodes take only {mib(found)}; {events(group)}")
    is_ready = Count()
    # The inodes of XFS must not fail: nobody waits for them to get room. Who reads does, if the
    # group has no page cache left that could go.
    charged = group.start(makes_inodes, path, is_ready, options.file_system == "xfs")
    charged.wait_until(is_ready.read)
    before = counter(pool, "evicted")
    # Who must not wait leaves reclaim to the next one who is charged.
    limit = os.open(f"{group.path}/memory.max", os.O_WRONLY | os.O_NONBLOCK)
    os.write(limit, str(small).encode())
    os.close(limit)
    charged.result()
    check(group.usage() <= small, f"the group has {mib(group.usage())} of {mib(small)}")
    check(counter(pool, "evicted") > before, "nothing was evicted for it")


def makes_inodes(hears, path, is_ready, reads_first):
    """Has inodes charged, as ext4 does, and page cache, as XFS does, and nothing between that could
    free inodes itself: no dentry, no open file."""
    names = [f"{FILES}/new{at}" for at in range(512)]
    room = bytearray(MIB)
    with open(path, "rb", buffering=0) as file:
        check(not any(os.path.exists(name) for name in names), "a file is there already")
        is_ready.add()
        wait(hears)
        while reads_first and file.readinto(room):
            pass
        file.seek(0)
        for name in names:
            os.mknod(name)
        check(file.readinto(room) == MIB, f"{path} is shorter")
    check(room == content(0), f"{path} has something else")


def unpaid(_options):
    """Who can't be charged does not get around its limit with what is in the pool."""
    pool, _group, path = retained()
    full = limited("full", setting=None)
    found = full.run(maps_beside, path, LIMIT - 4 * MIB, pool.path)["mapped"]
    check(found <= MIB, f"{mib(found)} of the pool are mapped; {events(pool)}")


def unpaid_together(_options):
    """Nor two that map the same at the same time, each of whom has it in hands."""
    pool, _group, path = retained()
    full = limited("full", setting=None)
    both = [full.start(maps_beside, path, LIMIT // 2 - 4 * MIB, pool.path) for _ in range(2)]
    found = max(each.result(900)["mapped"] for each in both)
    check(not found, f"{mib(found)} of the pool are mapped; {events(pool)}")


def unpaid_in_pipe(_options):
    """Nor if somebody has it in a pipe: who maps it reads it from the disk then."""
    pool, _group, path = retained()
    had, is_full = pooled(pool), Count()
    holder = pool.start(fills_pipe, path, is_full)
    holder.wait_until(is_full.read)
    other, before = Group("other"), bytes_read()
    other.run(read_mapped, path)
    again = bytes_read() - before
    check(again >= PIPE, f"{again} bytes are read again, and {PIPE} are in a pipe")
    hits = counter(other, "hit")
    check(hits > had // 2 and pages(other.usage()) >= hits + pages(PIPE),
          f"of {hits} pages and {PIPE} bytes {pages(other.usage())} are charged to who maps them")
    expect_conserved(pool)
    holder.result()


# What a pipe takes by default.
PIPE = 16 * PAGE


def fills_pipe(hears, path, is_full):
    _end, pipe = os.pipe()
    with open(path, "rb", buffering=0) as file:
        check(os.splice(file.fileno(), pipe, PIPE) == PIPE, "the pipe takes less")
    is_full.add()
    wait(hears)


def maps_beside(_hears, path, size, pool):
    # With the multi-gen LRU, stock kills who maps a file beside so little room, without any pool.
    # Who can't be killed faults again.
    init.write("/proc/self/oom_score_adj", "-1000")
    area = takes(size)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages_of:
        look_at(pages_of, path)
        found = file_stat(pool)["file_mapped"]
        area.close()
        return {"mapped": found}


def unpaid_writes(_options):
    """Nor by writing to it, also where one must not wait."""
    pool, _group, path = retained()
    full = limited("full", setting=None)
    found = full.run(writes_beside, path, LIMIT - 2 * MIB, pool.path)["dirty"]
    check(found <= MIB, f"{mib(found)} of the pool are dirty; {events(pool)}")


def takes(size):
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    touch(area, 0, size)
    return area


def writes_beside(_hears, path, size, pool):
    area = takes(size)
    with open(path, "r+b", buffering=0) as file:
        for at in range(0, SIZE // 4, PAGE):
            write_nowait(file.fileno(), content(at, 1, PAGE), at)
    found = file_stat(pool)["file_dirty"]
    area.close()
    return {"dirty": found}


def at_once(_options):
    """Who reads much at once is not killed for want of memory, as what it holds meanwhile can't be
    reclaimed: large folios, in which it was written."""
    pool, group = make_pool(), limited(size=2 * SIZE)
    path = f"{FILES}/file"
    group.run(writes_and_syncs, path)
    set_limit(group, LIMIT)
    had = pooled(pool)
    check(had > pages(SIZE) // 2, f"the pool has {had} pages; {events(group)}")
    reader = limited("reader", setting=None)
    reader.run(reads_at_once, path, LIMIT * 5 // 8)
    check(counter(reader, "hit") > had // 2,
          f"of {had} pages {counter(reader, 'hit')} are charged to who reads them")
    check(peak(reader) <= LIMIT, f"the reader had {peak(reader)} bytes")


def writes_and_syncs(_hears, path):
    with open(path, "wb", buffering=0) as file:
        write_content(file, SIZE)
        os.fsync(file.fileno())


def reads_at_once(_hears, path, size):
    """So much with each call, to where there is no memory yet."""
    with open(path, "rb", buffering=0) as file:
        for at in range(0, SIZE, size):
            with mmap.mmap(-1, size) as area:
                found = file.readinto(area)
                check(found == min(size, SIZE - at), f"{found} bytes of {path} are read at {at}")
                check(area[:MIB] == content(at)[:found], f"{path} has something else at {at}")


def not_active(_options):
    """What comes from the pool is as young as if it had been read, also after the pool was
    emptied, which leaves it without old generations."""
    pool, group, path = retained()
    set_limit(pool, MIB)
    set_limit(pool, None)
    group.run(read_file, path)
    had, other = pooled(pool), Group("other")
    check(had > pages(SIZE) // 2, f"the pool has {had} pages; {events(group)}")
    other.run(read_file, path)
    active = init.fields(f"{other.path}/memory.stat")["active_file"]
    check(active < MIB, f"{mib(active)} of what was read once are active")
    expect_hits((other,), had)


CHECKS = (small_files, less_allowed, without_fs, unpaid, unpaid_together, unpaid_in_pipe,
          unpaid_writes, at_once, not_active)
