#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows that the tools for users work: makes
cgroups with objects, runs the tools, and prints what they say."""

import ctypes
import json
import os
import subprocess
import sys

CGROUPS = "/sys/fs/cgroup"
OBJECTS = 3
RB_AUTOBOOT = 0x01234567
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(kind, where):
    os.makedirs(where, exist_ok=True)
    if LIBC.mount(kind.encode(), where.encode(), kind.encode(), 0, None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), where)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def fill(group):
    """Leaves the dentries of names that are not there, charged to the group."""
    os.mkdir(group)
    child = os.fork()
    if not child:
        write(f"{group}/cgroup.procs", "0")
        for number in range(OBJECTS):
            os.path.exists(f"{group}/none{number}")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise OSError(f"cannot fill {group}")


def run(tool, *options):
    result = subprocess.run([sys.executable, f"/tools/{tool}", *options],
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise OSError(f"{tool} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def work(count):
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("cgroup2", CGROUPS)
    mount("debugfs", "/sys/kernel/debug")
    write(f"{CGROUPS}/cgroup.subtree_control", "+memory")
    for number in range(count):
        fill(f"{CGROUPS}/g{number}")

    maps = "/sys/kernel/debug/mm_reclaim/maps"
    return {
        "n": count, "cgroup": "v2", "objects": OBJECTS,
        "implementation": "rust" if os.path.exists(maps) else "c",
        "maps": json.loads(run("memcg_shrinker_maps.py", "--json")),
        "table": run("memcg_shrinker_maps.py", "--sort", "memory").splitlines(),
        "shrinkers": run("memcg_shrinker.py").splitlines(),
    }


def main():
    try:
        # What follows "--" on the kernel's command line.
        result = work(int(sys.argv[sys.argv.index("-n") + 1]))
        print("# MM_RECLAIM_JSON " + json.dumps(result))
        print("MM_RECLAIM_EXIT code 0", flush=True)
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(f"MM_RECLAIM_EXIT error {error!r}", flush=True)
    # The serial port is slower than the reset.
    os.sync()
    LIBC.usleep(100000)
    LIBC.reboot(RB_AUTOBOOT)


main()
