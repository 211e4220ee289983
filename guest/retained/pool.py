# SPDX-License-Identifier: GPL-2.0
"""Pools, groups that are retained from, and what is known of them."""

import errno
import os

from guest import init
from guest.groups import MIB, Group, check
from guest.init import PAGE
from guest.retained.counters import file_stat
from guest.retained.files import make_file, read_file

KNOB, POOL = "memory.retain", "memory.retain_pool"
# As published.
LIMIT = 20 * MIB
# Of a file: several times what the group with the limit may have.
SIZE = 4 * LIMIT


class Skipped(Exception):
    """What is to be checked does not exist here."""


def mib(size):
    return f"{size // MIB} MiB"


def pages(size):
    return size // PAGE


def set_limit(group, size):
    """In bytes; None is none."""
    for name, nothing in (("memory.max", "max"), ("memory.limit_in_bytes", "-1")):
        if os.path.exists(f"{group.path}/{name}"):
            group.write(name, nothing if size is None else size)


def make_pool(size=None, name="pool", parent=None):
    group = Group(name, parent=parent)
    set_limit(group, size)
    group.write(POOL, "1")
    return group


def takes_pool(group):
    try:
        group.write(POOL, "1")
    except OSError as error:
        check(error.errno == errno.EBUSY, f"it is refused with {error}")
        return False
    return True


def limited(name="limited", setting="1", size=LIMIT, parent=None):
    """A group with a limit, and its setting."""
    group = Group(name, parent=parent)
    set_limit(group, size)
    if setting:
        group.write(KNOB, setting)
    return group


def retained(size=SIZE, cap=None, name="file"):
    """A pool, a group, and a file most of which that one had to leave to the pool."""
    pool, group = make_pool(cap), limited()
    path = make_file(name, size)
    group.run(read_file, path)
    check(counter(group, "kept") > pages(min(size, cap or size)) // 2,
          f"of {pages(size)} pages {counter(group, 'kept')} are retained")
    return pool, group, path


def counter(group, name):
    """Of a group and those below it, in pages; 0 on stock."""
    found = init.fields(f"{group.path}/memory.stat")
    return found.get(f"total_retain_{name}", found.get(f"retain_{name}", 0))


def peak(group):
    """The most that it was charged for, in bytes."""
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        if os.path.exists(f"{group.path}/{name}"):
            return int(group.read(name))
    raise FileNotFoundError(group.path)


def events(group):
    return [line for line in group.read("memory.stat").splitlines() if "retain" in line]


def expect_conserved(pool):
    """What came to a pool was used, was freed, or is there, to the page: if nothing was cut off."""
    came, used, freed = (counter(pool, name) for name in ("kept", "hit", "evicted"))
    left = pooled(pool)
    check(came == used + freed + left,
          f"{came} pages came, {used} were used and {freed} freed, and {left} are left")


def pooled(pool):
    """Pages that are in it."""
    return pages(file_stat(pool.path)["file"])


def expect_hits(users, had):
    """Whoever uses what a pool had is charged, but for some that another CPU had in hands."""
    used = sum(counter(user, "hit") for user in users)
    check(used > had * 15 // 16, f"of {had} pages {used} are charged to who uses them")
