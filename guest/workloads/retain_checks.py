#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that checks page cache which outlives limits: the files, what
is retained and taken back, and what others do with it meanwhile."""

import os
import time

from guest import init
from guest.groups import check
from guest.memory import add_lru_option, use_lru
from guest.retained import check_charges, check_files, check_given, check_kept, check_knobs
from guest.retained.files import add_file_system_option, mount_files
from guest.retained.leaks import expect_nothing_left, read_counters
from guest.retained.pool import Skipped

PARTS = {"kept": check_kept.CHECKS, "given": check_given.CHECKS,
         "charges": check_charges.CHECKS, "files": check_files.CHECKS}
ALL = sum(PARTS.values(), ())
# What takes seconds.
BASIC = (check_kept.twice, check_kept.shared, check_files.written, check_files.cut,
         check_given.ended)
GROUPS = {"knobs": check_knobs.CHECKS, "basic": BASIC, **PARTS, "all": ALL}
CHECKS = {each.__name__: each for each in (*check_knobs.CHECKS, *ALL)}


def run(check_one, options):
    """Leaves nothing of what it made, and all counters as they were. Returns why it was skipped."""
    before, killed = read_counters(), init.oom_kills()
    mount_files(options.file_system)
    try:
        check_one(options)
        reason = None
    except Skipped as skipped:
        reason = str(skipped)
    check(init.oom_kills() == killed, f"{init.oom_kills() - killed} processes were killed")
    expect_nothing_left(before)
    return reason


def stop_khugepaged():
    """On a slow machine it gets at files that are mapped, and what it copies leaves the pool
    without being counted."""
    path = f"{check_files.THP}/khugepaged/scan_sleep_millisecs"
    if os.path.exists(path):
        init.write(path, str(24 * 3600 * 1000))


def work(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    add_lru_option(parser)
    add_file_system_option(parser)
    parser.add_argument("checks", choices=(*GROUPS, *CHECKS))
    options = parser.parse_args(arguments)
    init.mount_groups(options.v1)
    use_lru(options.lru)
    stop_khugepaged()
    passed, skipped = {}, {}
    for check_one in GROUPS.get(options.checks) or (CHECKS[options.checks],):
        start = time.monotonic()
        print(f"# {check_one.__name__}", flush=True)
        if reason := run(check_one, options):
            skipped[check_one.__name__] = reason
        else:
            passed[check_one.__name__] = round(time.monotonic() - start, 1)
    return {"passed": passed, "skipped": skipped}


init.main(work)
