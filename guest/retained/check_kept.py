# SPDX-License-Identifier: GPL-2.0
"""Checks of what is retained, and what is not."""

import os
import re

from guest import init
from guest.groups import MIB, TRACING, Group, check, memory, mount_tracing
from guest.memory import available, eat, zram_swap
from guest.retained.files import (
    DISK, FILES, bytes_read, content, make_file, mount_files, read_file, set_read_ahead)
from guest.retained.pool import (
    LIMIT, POOL, SIZE, Skipped, counter, events, expect_conserved, expect_hits, limited, make_pool,
    mib, pages, peak, pooled, retained, set_limit)


def twice(_options):
    """The second time nothing is read from the disk; the limit holds, and so does the cap."""
    pool, group, path = retained(cap=2 * SIZE)
    before = bytes_read()
    group.run(read_file, path)
    check(bytes_read() == before, f"{bytes_read() - before} bytes are read again; {events(group)}")
    check(counter(group, "hit") > pages(SIZE) // 2, f"only {counter(group, 'hit')} pages hit")
    check(counter(pool, "hit") == counter(group, "hit"), "the pool counts others")
    check(peak(group) <= LIMIT, f"the group had {peak(group)} bytes")
    check(peak(pool) <= 2 * SIZE, f"the pool had {mib(peak(pool))}")
    expect_conserved(pool)
    refaults = init.fields(f"{group.path}/memory.stat")["workingset_refault_file"]
    check(not refaults, f"what was not read again counts as {refaults} refaults")


def shared(_options):
    """Another group reads what the first one had to give up, and is charged for it."""
    pool, group, path = retained()
    had, in_pool = group.usage(), pooled(pool)
    other = Group("other")
    before = bytes_read()
    other.run(read_file, path)
    check(bytes_read() == before,
          f"{bytes_read() - before} bytes are read again; {events(group)}, and {events(other)}")
    expect_hits([other], in_pool)
    check(group.usage() <= had, "who had it is charged")
    expect_conserved(pool)


def not_asked(_options):
    """Not where nobody asked for it, nor where it is denied."""
    make_pool()
    for setting in (None, "0", "deny"):
        group = limited(f"g{setting}", setting)
        path = make_file("file", SIZE)
        group.run(read_file, path)
        before = bytes_read()
        group.run(read_file, path)
        check(bytes_read() - before > SIZE // 2, f"with {setting}, it is retained")
        kept = counter(group, "kept")
        check(not kept, f"with {setting}, {kept} pages are kept")


def other_files(_options):
    """Files of a tmpfs, and block devices, are not retained."""
    pool, group = make_pool(), limited()
    os.makedirs("/shm", exist_ok=True)
    init.mount("tmpfs", "/shm")
    with zram_swap(memory()):
        with group.inside(), open("/shm/file", "wb", buffering=0) as file:
            for at in range(0, 2 * LIMIT, MIB):
                file.write(content(at))
        swapped = init.fields("/proc/vmstat")["pswpout"]
        check(swapped > pages(LIMIT) // 2, f"only {swapped} pages of the tmpfs are reclaimed")
        init.umount("/shm")
    before = init.fields("/proc/vmstat")["pgsteal_direct"]
    with group.inside(), open("/dev/vda", "rb", buffering=0) as disk:
        for at in range(0, 4 * LIMIT, MIB):
            os.pread(disk.fileno(), MIB, at)
    taken = init.fields("/proc/vmstat")["pgsteal_direct"] - before
    check(taken > pages(LIMIT), f"only {taken} pages of the device are reclaimed")
    check(not counter(group, "kept"), f"{counter(group, 'kept')} pages are kept")
    check(not pool.usage(), f"the pool has {pool.usage()} bytes")


def high(options):
    """Also what memory.high takes, and the group's processes are not held up for long."""
    if options.v1:
        raise Skipped("cgroup v1 has no memory.high")
    pool, group = make_pool(), limited(size=None)
    group.write("memory.high", LIMIT)
    path = make_file("file", SIZE)
    for _ in range(2):
        before = bytes_read()
        group.run(read_file, path)
    check(bytes_read() == before, f"{bytes_read() - before} bytes are read again")
    check(peak(group) < 2 * LIMIT, f"the group had {mib(peak(group))} of {mib(LIMIT)}")
    expect_conserved(pool)


def inside_limit(options):
    """A pool that the same limit holds is of no use: nothing is retained, nobody is killed."""
    top = Group("top")
    if not options.v1:
        top.write("cgroup.subtree_control", "+memory")
    make_pool(parent=top)
    group = limited(size=None, parent=top)
    set_limit(top, LIMIT)
    path = make_file("file", SIZE)
    group.run(read_file, path)
    if not options.v1:
        set_limit(top, None)
        top.write("memory.high", LIMIT)
        group.run(read_file, path)
        check(top.usage() < 2 * LIMIT, f"{mib(top.usage())} are charged, of {mib(LIMIT)}")
    check(not counter(group, "kept"), f"{counter(group, 'kept')} pages are kept")


def limited_pool(options):
    """A pool below a group that is full gives way to what comes, and one that throttles others
    stays below that."""
    if options.v1:
        raise Skipped("cgroup v1 has neither memory.high nor what cgroup v2 does of a full parent")
    top = Group("top")
    top.write("cgroup.subtree_control", "+memory")
    pool, group = make_pool(parent=top), limited()
    for name, above in (("memory.max", top), ("memory.high", top), ("memory.high", pool)):
        above.write(name, 2 * LIMIT)
        # One without a debt: see no_use().
        pool.write(POOL, "0")
        pool.write(POOL, "1")
        # The pool is full after the first one, and in debt after the second one.
        for at, size in enumerate((3 * LIMIT, 2 * LIMIT)):
            before = counter(group, "kept")
            group.run(read_file, make_file(f"{above.path.strip('/').replace('/', '-')}{at}", size))
            check(counter(group, "kept") - before > pages(LIMIT) // 2,
                  f"{name} of {above.path}: {counter(group, 'kept') - before} pages are kept "
                  f"of file {at}; {events(group)}")
        check(pool.usage() <= 2 * LIMIT, f"{name} of {above.path}: it has {mib(pool.usage())}")
        above.write(name, "max")


def no_use(_options):
    """A pool of which nothing was used takes a sample, and all again when something is."""
    # Else what is read ahead is evicted, and so retained, before it is read for the first time.
    read_ahead = set_read_ahead()
    pool, group = make_pool(2 * LIMIT), limited()
    # It goes through the pool, and then as much again, of which it takes a sample.
    group.run(read_file, make_file("first", 2 * SIZE))
    path, found = make_file("other", SIZE), []
    for _ in range(2):
        before = [counter(group, name) for name in ("kept", "refused_unused")]
        group.run(read_file, path)
        found.append([counter(group, name) - count for name, count in
                      zip(("kept", "refused_unused"), before)])
    (kept, refused), (again, refused_again) = found
    check(pages(SIZE) // 32 < kept < pages(SIZE) // 8 and refused > pages(SIZE) // 2,
          f"of {pages(SIZE)} pages {kept} are kept, and {refused} refused; {events(group)}")
    check(counter(pool, "hit") > kept // 4, f"of {kept} pages, {counter(pool, 'hit')} are used")
    check(again > 4 * kept and refused_again < refused // 2,
          f"after that {again} are kept, and {refused_again} refused; {events(group)}")
    expect_conserved(pool)
    set_read_ahead(size=read_ahead)


def below_pool(options):
    """What the pool's own limit evicts is free, also from groups below it."""
    pool = make_pool(2 * LIMIT)
    if not options.v1:
        pool.write("cgroup.subtree_control", "+memory")
    group = limited(parent=pool)
    path = make_file("file", SIZE)
    group.run(read_file, path)
    check(not counter(group, "kept"), f"{counter(group, 'kept')} pages are kept")


def journaled(options):
    """Nor files whose data go through the journal."""
    if options.file_system != "ext4":
        raise Skipped("XFS has no such journal")
    init.umount(FILES)
    mount_files("ext4", DISK, "data=journal")
    pool, group = make_pool(), limited()
    group.run(read_file, make_file("file", SIZE))
    check(not counter(group, "kept"), f"{counter(group, 'kept')} pages are kept")
    check(not pool.usage(), f"the pool has {pool.usage()} bytes")


def traced(_options):
    """Tracepoints say what is counted."""
    mount_tracing()
    init.write(f"{TRACING}/buffer_size_kb", "8192")
    names = ("mm_vmscan_memcg_retain", "mm_vmscan_memcg_retain_hit",
             "mm_vmscan_memcg_retain_evict")
    for name in names:
        init.write(f"{TRACING}/events/vmscan/{name}/enable", "1")
    pool, group, path = retained()
    Group("other").run(read_file, path)
    group.run(read_file, make_file("another", memory() // 2 // MIB * MIB))
    Group("hungry").run(eat, available() + pool.usage() // 2, 0)
    for name in names:
        init.write(f"{TRACING}/events/vmscan/{name}/enable", "0")
    found = dict.fromkeys(names, 0)
    for line in init.read(f"{TRACING}/trace").splitlines():
        if event := re.search(r": (mm_vmscan_memcg_retain\w*): (.*)", line):
            fields = dict(word.split("=") for word in event[2].split())
            found[event[1]] += (int(fields["kept"]) if "kept" in fields else
                                1 << int(fields["order"]) if "order" in fields else
                                int(fields["nr_reclaimed"]))
    init.write(f"{TRACING}/trace", "")
    says = [counter(pool, name) for name in ("kept", "hit", "evicted")]
    check(list(found.values()) == says and all(says), f"they say {found}, and memory.stat {says}")


CHECKS = (twice, shared, no_use, not_asked, other_files, high, inside_limit, limited_pool,
          below_pool, journaled, traced)
