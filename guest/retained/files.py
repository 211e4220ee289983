# SPDX-License-Identifier: GPL-2.0
"""Files on a disk, in which each page says where it is, and which version of it that is."""

import ctypes
import math
import mmap
import os
import resource

from guest import init
from guest.groups import MIB, check, was_told
from guest.init import LIBC, PAGE

# Where a file system is mounted whose regular files ask for it, on a disk of its own.
FILES, DISK = "/mnt", "/dev/vdb"
MS_NOATIME = 1024
# The system call cachestat(2), for which the C library has no function.
CACHESTAT = 451
# In KiB; that of 2019. What disks have by default now, 8 MiB twice, is all that a group of 20 MB
# may have: it reads ahead what it then has to give up unread, or is even killed.
READ_AHEAD = 128
# Splits the large folios of a part of a file.
SPLIT = "/sys/kernel/debug/split_huge_pages"


def add_file_system_option(parser):
    parser.add_argument("--file-system", choices=("ext4", "xfs"), default="ext4")


def mount_files(kind, disk=DISK, *more):
    """So that nothing but files is read from the disk later: neither inodes, in order to write
    times of access, nor bitmaps, by a thread of ext4's."""
    os.makedirs(FILES, exist_ok=True)
    options = [*(["no_prefetch_block_bitmaps"] if kind == "ext4" else []), *more]
    init.checked(LIBC.mount(disk.encode(), FILES.encode(), kind.encode(), MS_NOATIME,
                            ",".join(options).encode()), FILES)


def set_read_ahead(disk=DISK, size=READ_AHEAD):
    """In KiB; returns what it was."""
    path = f"/sys/block/{os.path.basename(disk)}/queue/read_ahead_kb"
    before = int(init.read(path))
    init.write(path, str(size))
    return before


def bytes_read():
    """From the disk with the files."""
    device = os.stat(FILES).st_dev
    numbers = [str(os.major(device)), str(os.minor(device))]
    for line in init.read("/proc/diskstats").splitlines():
        words = line.split()
        if words[:2] == numbers:
            return int(words[5]) * 512
    raise FileNotFoundError(FILES)


def content(at, version=0, size=MIB):
    """Of a part of a file."""
    return b"".join((at + page).to_bytes(8, "little") + version.to_bytes(8, "little") +
                    bytes(PAGE - 16) for page in range(0, size, PAGE))


def write_content(file, size):
    for at in range(0, size, MIB):
        file.write(content(at))


def make_file(name, size):
    """Leaves it on the disk, and not in the page cache."""
    path = f"{FILES}/{name}"
    with open(path, "wb", buffering=0) as file:
        write_content(file, size)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def given_file(name, size):
    """So much of a file like that, which was on the disk before the guest began."""
    path = f"{FILES}/{name}"
    check(os.path.getsize(path) >= size, f"{path} has less than {size} bytes")
    os.truncate(path, size)
    os.sync()
    return path


def read_file(_hears, path, version=0, size=math.inf):
    """Reads it to its end, or so much of it, and checks what is in it."""
    at = 0
    with open(path, "rb", buffering=0) as file:
        while at < size and (part := file.read(MIB)):
            check(part == content(at, version)[:len(part)], f"{path} has something else at {at}")
            at += len(part)


def read_plainly(_hears, path):
    """As read_file(), without a look at what is in it."""
    buffer = bytearray(MIB)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


class Range(ctypes.Structure):
    """struct cachestat_range"""
    _fields_ = [("off", ctypes.c_uint64), ("len", ctypes.c_uint64)]


def cached_pages(path):
    """Of a file, in the page cache."""
    # nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted
    found = (ctypes.c_uint64 * 5)()
    with open(path, "rb") as file:
        init.checked(LIBC.syscall(CACHESTAT, file.fileno(), ctypes.byref(Range(0, 0)),
                                  ctypes.byref(found), 0), f"cachestat of {path}")
    return found[0]


def read_on(hears, path):
    """Again and again, until told."""
    while not was_told(hears):
        read_file(hears, path)


def look_at(area, path):
    for at in range(0, len(area), PAGE):
        check(area[at:at + 8] == at.to_bytes(8, "little"), f"{path} has something else at {at}")


def read_mapped(_hears, path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        look_at(area, path)
    return {"faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before}
