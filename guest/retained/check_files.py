# SPDX-License-Identifier: GPL-2.0
"""Checks of what else is done with a file of which the pool has a part."""

import contextlib
import errno
import glob
import mmap
import os

from guest import init
from guest.groups import MIB, Group, Process, check, drop_caches, wait_until
from guest.init import PAGE
from guest.retained.counters import file_stat
from guest.retained.files import (
    SPLIT, bytes_read, content, look_at, make_file, read_file, read_mapped)
from guest.retained.pool import (
    LIMIT, SIZE, Skipped, counter, expect_conserved, expect_hits, limited, make_pool, mib, pages,
    peak, pooled, retained)

THP = "/sys/kernel/mm/transparent_hugepage"
HUGE = 2 * MIB
# Since Linux 6.1; Python has no name for it yet.
MADV_COLLAPSE = 25


def mapped(_options):
    """Page faults find it, and who has them is charged."""
    pool, group, path = retained()
    had, before, other = pooled(pool), bytes_read(), Group("other")
    faults = other.run(read_mapped, path)["faults"]
    check(bytes_read() == before, f"{bytes_read() - before} bytes are read again")
    expect_hits([other], had)
    expect_conserved(pool)
    # As many at a time as where nothing is in a pool.
    plain = Group("plain").run(read_mapped, path)["faults"]
    check(faults < plain * 3 // 2, f"it takes {faults} faults to map what else takes {plain}")
    # And what a group has mapped is retained as what it reads.
    drop_caches()
    before = counter(group, "kept")
    group.run(read_mapped, path)
    check(counter(group, "kept") - before > pages(SIZE) // 2, "what is mapped is not retained")
    before = bytes_read()
    group.run(read_mapped, path)
    check(bytes_read() == before, f"{bytes_read() - before} bytes are read again")
    check(peak(group) <= LIMIT, f"the group had {peak(group)} bytes")
    check(pool.usage(), "the pool is empty")


def mapped_together(_options):
    """Several who map it at the same time, and have room, do not make each other read again."""
    pool, _group, path = retained()
    others, had, before = [Group(f"other{i}") for i in range(3)], pooled(pool), bytes_read()
    for process in [other.start(read_mapped, path) for other in others]:
        process.result()
    again = bytes_read() - before
    check(again < SIZE // 32, f"{mib(again)} of {mib(SIZE)} are read again")
    expect_hits(others, had)


def written(_options):
    """What is written to it gets to the disk, through write(2) and through a mapping; also what
    is read before it is there, if a process of the pool writes, which is not charged for it."""
    pool, group, path = retained()
    group.run(write_pages, path, 1)
    expect_version(path, 1)
    group.run(read_file, path, 1)
    group.run(write_mapped, path, 2)
    expect_version(path, 2)
    drop_caches()
    # Of small folios nothing but the flag says that they are dirty.
    group.run(read_in_pages, path, 2)
    part = 4 * MIB      # for which nobody begins to write back
    pool.run(write_pages, path, 3, part)
    group.run(read_file, path, 3, part)
    expect_version(path, 3, part)


def write_pages(_hears, path, version, size=SIZE):
    with open(path, "r+b", buffering=0) as file:
        for at in range(0, size, MIB):
            file.write(content(at, version))


def read_in_pages(_hears, path, version):
    """So that each folio is a page, where there are larger ones."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for at in range(0, SIZE, MIB):
            check(file.read(MIB) == content(at, version), f"{path} has something else at {at}")


def write_mapped(_hears, path, version):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as area:
        for at in range(0, len(area), PAGE):
            area[at:at + 16] = content(at, version, PAGE)[:16]


def expect_version(path, version, size=SIZE):
    """On the disk."""
    drop_caches()
    Process(None, read_file, (path, version, size)).result()


def cut(_options):
    """Truncated, and with a hole in it."""
    pool, group, path = retained()
    with open(path, "r+b", buffering=0) as file:
        init.fallocate(file.fileno(), init.PUNCH_HOLE | init.KEEP_SIZE, LIMIT, LIMIT, path)
        check(os.pread(file.fileno(), MIB, LIMIT) == bytes(MIB), "a hole has something in it")
        check(os.pread(file.fileno(), MIB, LIMIT - MIB) == content(LIMIT - MIB), "before it")
        check(os.pread(file.fileno(), MIB, 2 * LIMIT) == content(2 * LIMIT), "behind it")
        file.truncate(MIB)
        check(pool.usage() + group.usage() < 8 * MIB, f"the pool has {mib(pool.usage())} left")
        file.truncate(SIZE)
        check(os.pread(file.fileno(), MIB, 2 * LIMIT) == bytes(MIB), "what was cut off is back")
    os.unlink(path)
    wait_until(lambda: pool.usage() < MIB, "a removed file is in the pool")


def direct(_options):
    """O_DIRECT sees what was written, and what it writes is seen."""
    _pool, group, path = retained()
    buffer = mmap.mmap(-1, MIB)
    disk = os.open(path, os.O_RDWR | os.O_DIRECT)
    for at in range(0, SIZE, 4 * MIB):
        os.preadv(disk, [buffer], at)
        check(buffer[:] == content(at), f"O_DIRECT reads something else at {at}")
    for at in range(0, SIZE, MIB):
        buffer[:] = content(at, 1)
        os.pwritev(disk, [buffer], at)
    os.close(disk)
    group.run(read_file, path, 1)
    expect_version(path, 1)


def nowait(_options):
    """Those who must not wait get it, or are told to come again."""
    _pool, group, path = retained()

    def read(_hears, compares=True):
        buffer, found = bytearray(MIB), 0
        with open(path, "rb", buffering=0) as file:
            for at in range(0, SIZE, MIB):
                try:
                    size = os.preadv(file.fileno(), [buffer], at, os.RWF_NOWAIT)
                except BlockingIOError:
                    continue
                check(not compares or bytes(buffer[:size]) == content(at)[:size],
                      f"something else at {at}")
                found += size
        return {"found": found}

    # Who has room is charged for it.
    other, before = Group("other"), bytes_read()
    found = other.run(read)["found"]
    check(found > SIZE // 2, f"only {mib(found)} are found")
    check(bytes_read() == before, "it is read from the disk")
    # The rest is charged to the first group still.
    expect_hits([other], pages(found - LIMIT))
    # Who has none gets no more than there is room for.
    drop_caches()
    group.run(read_file, path)
    # Memory for other things would be had by giving up some of what is read.
    had, hits = group.usage(), counter(group, "hit")
    found = group.run(read, False)["found"]
    check(had // 2 < found <= LIMIT, f"at a limit of {mib(LIMIT)}, one gets {mib(found)} of it, "
          f"who has {mib(had)}")
    check(counter(group, "hit") - hits <= pages(LIMIT), "more is taken from the pool than fits")


def moved(_options):
    """Compaction, and splitting of large folios: they stay the pool's, and what they were."""
    pool, group, plain = make_pool(), limited(), Group("plain")
    path, other = (make_file(name, SIZE) for name in ("file", "other"))
    # So that there are gaps in memory between what the pool has.
    group.run(read_in_turn, ((group, path), (plain, other)))
    os.unlink(other)
    before, moves = file_stat(pool.path)["file"], moved_pages()
    check(before > SIZE // 2, f"the pool has {mib(before)} of {mib(SIZE)}")
    init.write("/proc/sys/vm/compact_memory", "1")
    found = moved_pages() - moves
    check(found > 0, "compaction moves nothing")
    splits = split_folios()
    init.write(SPLIT, f"{path},0x0,{pages(SIZE):#x},0")
    check(split_folios() > splits, "nothing is split")
    left = file_stat(pool.path)["file"]
    check(left == before, f"the pool has {left} bytes, and had {before}")
    before = bytes_read()
    group.run(read_file, path)
    check(bytes_read() == before, f"{bytes_read() - before} bytes are read again")
    expect_conserved(pool)


def read_in_turn(_hears, files):
    """Each as its group."""
    with contextlib.ExitStack() as stack:
        opened = [(group, stack.enter_context(open(path, "rb", buffering=0)))
                  for group, path in files]
        for at in range(0, SIZE, MIB):
            for group, file in opened:
                group.write("cgroup.procs", "0")
                check(file.read(MIB) == content(at), f"something else at {at}")


def moved_pages():
    return init.fields("/proc/vmstat")["pgmigrate_success"]


def split_folios():
    return sum(int(init.read(path)) for path in glob.glob(f"{THP}/hugepages-*/stats/split"))


def huge(options):
    """Folios as large as a page table, which have counters of their own."""
    if not os.path.exists(THP):
        raise Skipped("this kernel has none")
    pool, group = make_pool(), limited(size=2 * LIMIT)
    path = make_file("file", SIZE)
    group.run(map_huge, path)
    stats = {name: init.fields(f"{each.path}/memory.stat") for name, each in
             (("pool", pool), ("group", group))}
    name = "file_thp"
    # cgroup v1 has no counter of them.
    check(options.v1 or stats["pool"].get(name), f"the pool has no large folios, and the group "
          f"{stats['group'].get(name)} bytes of them")
    # Nor are they mapped at no cost to who asks for them to be made.
    found = limited("other").run(collapse, path, pool.path)
    check(found["refused"], "nothing of the pool is to be mapped by MADV_COLLAPSE")
    check(not found["mapped"], f"{mib(found['mapped'])} of the pool are mapped")
    os.unlink(path)
    wait_until(lambda: not init.fields(f"{pool.path}/memory.stat").get(name),
               "a removed file has large folios in the pool")


def collapse(_hears, path, pool):
    refused = 0
    with open(path, "rb") as file:
        area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        for at in range(0, len(area) - HUGE + 1, HUGE):
            try:
                area.madvise(MADV_COLLAPSE, at, HUGE)
            except OSError as error:
                refused += error.errno == errno.EAGAIN
        mapped = file_stat(pool)["file_mapped"]
        area.close()
    return {"refused": refused, "mapped": mapped}


def map_huge(_hears, path):
    with open(path, "rb") as file:
        area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        area.madvise(mmap.MADV_HUGEPAGE)
        look_at(area, path)
        area.close()


CHECKS = (mapped, mapped_together, written, cut, direct, nowait, moved, huge)
