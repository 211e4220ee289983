# SPDX-License-Identifier: GPL-2.0
"""A file that is used at random, in all ways that go through the page cache or around it, beside
a model of what must be in it."""

import array
import contextlib
import errno
import mmap
import os
import random

from guest import init
from guest.groups import check
from guest.init import KEEP_SIZE, PAGE, PUNCH_HOLE, ZERO_RANGE

# Bytes that an operation is for, at most.
MOST = 64 * PAGE
MUCH = 16 * MOST
# Of a page: from where on which version is there; 0 is a hole.
HOLE = ((0, 0),)


def stamp(page, version):
    """Of a page: where it is, and which version of it that is, all over."""
    return (page.to_bytes(4, "little") + version.to_bytes(4, "little")) * (PAGE // 8)


def overwritten(parts, start, end, version):
    """Those of a page, with another version from start to end."""
    behind = [(at, old) for at, old in parts if at > end]
    last = next(old for at, old in reversed(parts) if at <= end)
    return (*((at, old) for at, old in parts if at < start), (start, version),
            *(((end, last),) if end < PAGE else ()), *behind)


def write_nowait(file, data, at):
    """Without waiting, as far as that can be; the rest as usual."""
    done = 0
    try:
        done = os.pwritev(file, [data], at, os.RWF_NOWAIT)
    except OSError as error:
        check(error.errno in (errno.EAGAIN, errno.EOPNOTSUPP), f"RWF_NOWAIT fails: {error}")
    if done < len(data):
        os.pwrite(file, data[done:], at + done)


class FileModel:
    """One process has it: nobody else writes to the file."""

    def __init__(self, path, pages, seed):
        self.path, self.most = path, pages * PAGE
        self.random = random.Random(seed)
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self.direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.buffer = mmap.mmap(-1, MOST)
        self.version = 0
        # In bytes, and what each page has, up to the end of the last one.
        self.size, self.pages = 0, []
        self.counts = {}
        self.operations = (
            self.read, self.read, self.read, self.read_mapped, self.read_nowait, self.read_direct,
            self.write, self.write, self.write_nowait, self.write_mapped, self.write_direct,
            self.truncate, self.punch, self.zero, self.sync, self.forget, self.read_much)

    def step(self):
        """One of the operations."""
        operation = self.random.choice(self.operations)
        self.counts[operation.__name__] = self.counts.get(operation.__name__, 0) + 1
        operation()

    def close(self):
        """Looks at all of it once more, in memory and on the disk."""
        os.fsync(self.file)
        self.read_on(0, self.size)
        for start in range(0, self.size, MOST):
            self.read_disk(start, MOST)
        os.close(self.file)
        os.close(self.direct)

    # ---- where

    def part(self, end, whole=False):
        """Where something begins before that, and where it ends: half of them at the edges of
        pages."""
        start = self.random.randrange(end)
        length = self.random.randrange(MOST) + 1
        if whole or self.random.randrange(2):
            start -= start % PAGE
            length += -length % PAGE
        return start, min(start + length, start - start % PAGE + MOST)

    def inside(self):
        """A part of what there is, or None."""
        if not self.size:
            return None
        start, end = self.part(self.size)
        return start, min(end, self.size)

    def content(self, page):
        parts = self.pages[page]
        ends = [at for at, _ in parts[1:]] + [PAGE]
        return b"".join(stamp(page, version)[at:end] if version else bytes(end - at)
                        for (at, version), end in zip(parts, ends))

    def expected(self, start, end):
        first = start // PAGE
        found = b"".join(map(self.content, range(first, (end - 1) // PAGE + 1)))
        return found[start - first * PAGE:end - first * PAGE]

    def compare(self, how, start, found):
        expected = self.expected(start, start + len(found)) if found else b""
        if found == expected:
            return
        at = next(i for i, (one, other) in enumerate(zip(found, expected)) if one != other)
        check(False, f"{self.path}: byte {start + at} of {self.size}, {how} from {start} on, is "
              f"{found[at:at + 8].hex()}, not {expected[at:at + 8].hex()}; operations: "
              f"{self.counts}")

    def note(self, start, end, version):
        """What is there now."""
        self.size = max(self.size, end)
        self.pages.extend([HOLE] * (-(-self.size // PAGE) - len(self.pages)))
        for page in range(start // PAGE, (end - 1) // PAGE + 1):
            self.pages[page] = overwritten(self.pages[page], max(start - page * PAGE, 0),
                                           min(end - page * PAGE, PAGE), version)

    def change(self, start, end):
        """A new version of that, and what is in it."""
        self.version += 1
        self.note(start, end, self.version)
        return self.expected(start, end)

    # ---- operations

    def read(self):
        if part := self.inside():
            start, end = part
            self.compare("read", start, os.pread(self.file, end - start, start))

    def read_on(self, start, end):
        for at in range(start, min(end, self.size), MOST):
            found = os.pread(self.file, MOST, at)
            check(len(found) == min(MOST, self.size - at), f"{self.path} ends at "
                  f"{at + len(found)}, not at {self.size}")
            self.compare("read", at, found)

    def read_much(self):
        """One after the other, so that what comes next is read ahead."""
        if self.size:
            start = self.random.randrange(self.size)
            self.read_on(start, start + MUCH)

    def read_nowait(self):
        if part := self.inside():
            start, end = part
            data = bytearray(end - start)
            try:
                size = os.preadv(self.file, [data], start, os.RWF_NOWAIT)
            except BlockingIOError:
                return
            self.compare("read with RWF_NOWAIT", start, bytes(data[:size]))

    def read_disk(self, start, length):
        with memoryview(self.buffer)[:length] as view:
            size = os.preadv(self.direct, [view], start)
            self.compare("read with O_DIRECT", start, bytes(view[:size]))

    def read_direct(self):
        if self.size:
            start, end = self.part(self.size, whole=True)
            self.read_disk(start, end - start)

    def mapped(self, start, end, **how):
        """From the page on in which it begins."""
        first = start - start % PAGE
        return mmap.mmap(self.file, end - first, offset=first, **how), slice(start - first,
                                                                            end - first)

    def read_mapped(self):
        if part := self.inside():
            area, where = self.mapped(*part, prot=mmap.PROT_READ)
            with area:
                self.compare("mapped", part[0], area[where])

    def write_mapped(self):
        if part := self.inside():
            area, where = self.mapped(*part)
            with area:
                area[where] = self.change(*part)

    def write(self):
        start, end = self.part(self.most)
        os.pwrite(self.file, self.change(start, end), start)

    def write_nowait(self):
        start, end = self.part(self.most)
        write_nowait(self.file, self.change(start, end), start)

    def write_direct(self):
        start, end = self.part(self.most, whole=True)
        with memoryview(self.buffer)[:end - start] as view:
            view[:] = self.change(start, end)
            os.pwritev(self.direct, [view], start)

    def truncate(self):
        size = self.random.randrange(self.most)
        os.ftruncate(self.file, size)
        if size < self.size:
            self.size = size
            del self.pages[-(-size // PAGE):]
            if size % PAGE:
                self.pages[-1] = overwritten(self.pages[-1], size % PAGE, PAGE, 0)
        elif size > self.size:
            self.note(self.size, size, 0)

    def allocate(self, how):
        if part := self.inside():
            start, end = part
            init.fallocate(self.file, how | KEEP_SIZE, start, end - start, self.path)
            self.note(start, end, 0)

    def punch(self):
        self.allocate(PUNCH_HOLE)

    def zero(self):
        self.allocate(ZERO_RANGE)

    def sync(self):
        os.fdatasync(self.file)

    def forget(self):
        """Out of the page cache, as far as it is clean."""
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)


def says_where(word, page):
    """Whether each byte is that of the page's number, or of a hole."""
    return all(byte in (0, own) for byte, own in
               zip(word.to_bytes(4, "little"), page.to_bytes(4, "little")))


def visit(path, pages, chance):
    """Reads some of a file, or maps it, while another process changes it: all of it are holes, or
    say where that is, whatever version that is. Nothing is touched that was mapped, as the file
    may get shorter."""
    first = chance.randrange(pages)
    size = min(chance.randrange(MOST // PAGE) + 1, pages - first) * PAGE
    with open(path, "rb", buffering=0) as file:
        if chance.randrange(2):
            # Python wants to map no more than there is, which may be less a moment later.
            with contextlib.suppress(ValueError):
                length = min(first * PAGE + size, os.fstat(file.fileno()).st_size)
                mmap.mmap(file.fileno(), length, prot=mmap.PROT_READ,
                          flags=mmap.MAP_SHARED | mmap.MAP_POPULATE).close()
            return
        found = os.pread(file.fileno(), size, first * PAGE)
    for at in range(0, len(found), PAGE):
        page, part = first + at // PAGE, found[at:at + PAGE]
        words = set(array.array("I", part[:len(part) // 8 * 8])[::2])
        check(all(says_where(word, page) for word in words),
              f"{path}: page {page} says that it is {sorted(map(hex, words))}")
