# SPDX-License-Identifier: GPL-2.0
"""That nothing is left of page cache, nor of groups, when all is gone."""

import os

from guest import balance, init
from guest.groups import Group, drop_caches, end_all, remove_all, wait_until
from guest.retained.counters import of_files, unaccounted
from guest.retained.files import FILES


def read_counters():
    """What must be the same in the end."""
    return {**unaccounted(), "groups": balance.groups()}


def left():
    drop_caches()
    return {group.path: found for group in Group.made if (found := of_files(group.path))}


def expect_nothing_left(before):
    """Processes end, and the files are removed and their file system, whose own blocks somebody is
    charged for, is unmounted: no group has anything of files then. Groups are removed: counters
    are as before, and nothing holds a group."""
    end_all()
    for name in os.listdir(FILES):
        if name != "lost+found":
            os.unlink(f"{FILES}/{name}")
    init.umount(FILES)
    wait_until(lambda: not left(), "groups have something of files that are gone",
               lambda: f": {left()}", patience=100)
    remove_all()
    wait_until(lambda: read_counters() == before, "counters are not as they were",
               lambda: f": {read_counters()}, and {before} before", patience=600)
