#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that counts how often tmpfs sets the root's
shrinker bits while files get huge pages beyond their end."""

import os

from guest import init
from guest.groups import counted

FILES = 4
BYTES = 16 << 20
FUNCTION = "set_shrinker_bits_root"


def allocate(path):
    """Leaves a file that is empty, and all of its memory beyond its end."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    init.fallocate(file, init.KEEP_SIZE, 0, BYTES, path)
    os.close(file)


def work(_arguments):
    init.mount_groups()
    init.mount("tmpfs", "/huge", "huge=always")
    calls = []
    with counted(FUNCTION, calls):
        for number in range(FILES):
            allocate(f"/huge/{number}")
    return {"files": FILES, "calls": calls[0],
            "huge_kib": init.fields("/proc/meminfo")["ShmemHugePages:"]}


init.main(work)
