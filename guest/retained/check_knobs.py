# SPDX-License-Identifier: GPL-2.0
"""Checks of memory.retain and memory.retain_pool."""

import errno
import os

from guest import init
from guest.groups import Group, Process, check, drop_caches, expect_refused, wait_until
from guest.init import CGROUPS
from guest.retained.files import make_file, read_file
from guest.retained.pool import KNOB, LIMIT, POOL, SIZE, counter, make_pool, set_limit, takes_pool

# A user that owns nothing yet.
NOBODY = 65534


def knob(_options):
    """Good and bad input."""
    group = Group("g")
    path = f"{group.path}/{KNOB}"
    check(group.read(KNOB) == "0", "a group begins with a setting")
    for text, shown in (("1", "1"), ("deny", "deny"), (" 1 ", "1"), ("0", "0"), ("1", "1")):
        group.write(KNOB, text)
        check(group.read(KNOB) == shown, f"{text!r} reads as {group.read(KNOB)!r}")
    for text in ("", "x", "2", "-1", "1 1", "den", "denyy", "DENY", "0x1", "4294967297"):
        expect_refused(path, f"{text}\n", errno.EINVAL)
    check(group.read(KNOB) == "1", "bad input changes the setting")
    for name in (KNOB, POOL):
        check(not os.path.exists(f"{CGROUPS}/{name}"), f"the root has {name}")


def one_pool(_options):
    """There is one; it may be another one afterwards."""
    first, second = Group("first"), Group("second")
    path = f"{first.path}/{POOL}"
    for text in ("", "x", "2", "-1", "1 1"):
        expect_refused(path, f"{text}\n", errno.EINVAL)
    check(first.read(POOL) == "0", "a group begins as the pool")
    first.write(POOL, "0")
    first.write(POOL, "1")
    first.write(POOL, "1")
    expect_refused(f"{second.path}/{POOL}", "1", errno.EBUSY)
    second.write(POOL, "0")
    check((first.read(POOL), second.read(POOL)) == ("1", "0"), "a refused pool changes it")
    first.write(POOL, "0")
    second.write(POOL, "1")
    check((first.read(POOL), second.read(POOL)) == ("0", "1"), "the pool does not change")
    second.remove()
    wait_until(lambda: takes_pool(first), "a removed pool stays the pool")


def delegated(_options):
    """A container that owns its groups asks for itself, but what is above holds, and it can't
    make a pool."""
    top = Group("top")
    if os.path.exists(f"{top.path}/cgroup.subtree_control"):
        top.write("cgroup.subtree_control", "+memory")
    given = Group("given", parent=top)
    for name in (*os.listdir(given.path), ""):
        os.chown(f"{given.path}/{name}", NOBODY, NOBODY)
    found = Process(None, helps_itself, (given.path,)).result()
    check(found == {**found, KNOB: 0, POOL: errno.EPERM}, f"it is answered with {found}")
    check(given.read(KNOB) == "1" and given.read(POOL) == "0",
          "what was written, or refused, does not show")

    make_pool()
    path = make_file("file", SIZE)
    set_limit(given, LIMIT)
    for setting, keeps in (("deny", False), ("0", True)):
        top.write(KNOB, setting)
        before = counter(given, "kept")
        drop_caches()
        given.run(read_file, path)
        check((counter(given, "kept") > before) == keeps,
              f"below {setting!r}, {counter(given, 'kept') - before} pages are retained")


def helps_itself(_hears, path):
    os.setuid(NOBODY)
    found = {}
    for name in (KNOB, POOL):
        try:
            init.write(f"{path}/{name}", "1")
            found[name] = 0
        except OSError as error:
            found[name] = error.errno
    return found


def reset(options):
    """A group that keeps the controller only for another one has no setting, and is no pool."""
    if options.v1:
        return
    init.write(f"{CGROUPS}/cgroup.subtree_control", "+io")
    top = Group("top")
    top.write("cgroup.subtree_control", "+io +memory")
    group = Group("g", parent=top)
    group.write(KNOB, "1")
    group.write(POOL, "1")
    top.write("cgroup.subtree_control", "-memory")
    top.write("cgroup.subtree_control", "+memory")
    check((group.read(KNOB), group.read(POOL)) == ("0", "0"),
          "a group that has the controller again begins with what it had")
    make_pool()


CHECKS = (knob, one_pool, delegated, reset)
