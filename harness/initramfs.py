# SPDX-License-Identifier: GPL-2.0
"""Builds the guest's only program, and an initramfs that has nothing else.

The archive is written here rather than by cpio(1), because a device node in it
would need root.
"""

import gzip
import os
import pathlib
import stat

from harness import compiler
from harness.common import BUILD, OUT, SELFTEST, BenchError, shown

ROOT = pathlib.Path("/")
FOLDERS = [ROOT / name for name in ("dev", "proc", "sys", "tmp")]
# The kernel opens the first for the first process before anything is mounted, and Python
# does not start without random numbers.
NODES = (("/dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)),
         ("/dev/urandom", stat.S_IFCHR | 0o444, b"", (1, 9)))
# It has kselftest.h.
KSELFTEST = BUILD / "linux/tools/testing/selftests"


def build_program():
    """Compiles the selftest statically: the guest has no libraries."""
    # Of this process alone: other guests may be starting at the same time.
    program = OUT / f"memcg_shrinker_bench.{os.getpid()}"
    if not KSELFTEST.is_dir():
        raise BenchError(f"there is no {shown(KSELFTEST)}: run 'make tree'")
    compiler.build("the guest's program", program, sorted(SELFTEST.glob("*.c")),
                   ["-static", "-D_GNU_SOURCE=", f"-I{KSELFTEST}"],
                   "build.log")
    return program


def entry(inode, name, mode, data=b"", rdev=(0, 0)):
    """One member of a newc archive, padded as the format asks."""
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1],
              len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    head += b"\0" * (-len(head) % 4)
    return head + data + b"\0" * (-len(data) % 4)


def write_archive(filename, files):
    """Writes files, all of which can be executed, by their places; what they are in, and what
    everybody needs. Returns the path of the archive."""
    OUT.mkdir(parents=True, exist_ok=True)
    path, new = OUT / filename, OUT / f"{filename}.{os.getpid()}"
    folders = {*FOLDERS, *(folder for place in files for folder in place.parents)}
    members = [*((place, stat.S_IFDIR | 0o755, b"", (0, 0))
                 for place in sorted(folders - {ROOT})), *NODES,
               *((place, stat.S_IFREG | 0o755, data, (0, 0))
                 for place, data in sorted(files.items()))]
    with open(new, "wb") as raw, \
         gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0,
                       compresslevel=1) as archive:
        for inode, (place, mode, data, rdev) in enumerate(
                [*members, ("/TRAILER!!!", 0, b"", (0, 0))], 1):
            archive.write(entry(inode, str(place)[1:], mode, data, rdev))
    # A guest of another process that has begun to read the old one goes on.
    os.replace(new, path)
    return path


def build_initramfs():
    """Returns the path of the archive."""
    program = build_program()
    data = program.read_bytes()
    program.unlink()
    return write_archive("initramfs.cpio.gz", {pathlib.Path("/init"): data})
