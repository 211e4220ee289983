# SPDX-License-Identifier: GPL-2.0
"""Builds the guest's only program, and an initramfs that has nothing else.

The archive is written here rather than by cpio(1), because a device node in it
would need root.
"""

import gzip
import os
import stat

from harness import compiler
from harness.common import BUILD, OUT, SELFTEST, BenchError, shown


def find_kselftest():
    """The folder with kselftest.h, in the kernel source that was built."""
    places = [BUILD / "linux"]
    places += sorted(BUILD.glob("x86_64-*/source"))
    for place in places:
        folder = place / "tools/testing/selftests"
        if (folder / "kselftest.h").is_file():
            return folder
    raise BenchError("no kernel source in build/linux: run 'make tree'")


def build_program():
    """Compiles the selftest statically: the guest has no libraries."""
    # Of this process alone: other guests may be starting at the same time.
    program = OUT / f"memcg_shrinker_bench.{os.getpid()}"
    sources = sorted(SELFTEST.glob("*.c"))
    if not sources:
        raise BenchError(f"no sources in {shown(SELFTEST)}")
    compiler.build("the guest's program", program, sources,
                   ["-static", "-D_GNU_SOURCE=", f"-I{find_kselftest()}"],
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


def write_archive(filename, members):
    """Writes (name, mode, data, device) tuples, and returns the path."""
    path = OUT / filename
    new = OUT / f"{filename}.{os.getpid()}"
    with open(new, "wb") as raw, \
         gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0,
                       compresslevel=1) as archive:
        for inode, (name, mode, data, rdev) in enumerate(
                [*members, ("TRAILER!!!", 0, b"", (0, 0))], 1):
            archive.write(entry(inode, name, mode, data, rdev))
    # A guest of another process that has begun to read the old one goes on.
    os.replace(new, path)
    return path


def build_initramfs():
    """Returns the path of the archive."""
    program = build_program()
    members = [(name, stat.S_IFDIR | 0o755, b"", (0, 0))
               for name in ("dev", "proc", "sys", "tmp")]
    # The kernel opens it for the first process before anything is mounted.
    members.append(("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)))
    members.append(("init", stat.S_IFREG | 0o755, program.read_bytes(), (0, 0)))
    program.unlink()
    return write_archive("initramfs.cpio.gz", members)
