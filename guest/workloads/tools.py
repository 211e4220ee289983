#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows that the tools for users work: makes
cgroups with objects, runs the tools, and prints what they say."""

import json
import os
import subprocess
import sys

from guest import init
from guest.init import CGROUPS

OBJECTS = 3


def fill(group):
    """Leaves the dentries of names that are not there, charged to the group."""
    os.mkdir(group)
    child = os.fork()
    if not child:
        init.write(f"{group}/cgroup.procs", "0")
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


def work(arguments):
    init.mount_groups()
    for number in range(int(arguments[1])):
        fill(f"{CGROUPS}/g{number}")
    return {
        "cgroup": "v2", "objects": OBJECTS,
        "maps": json.loads(run("memcg_shrinker_maps.py", "--json")),
        "table": run("memcg_shrinker_maps.py", "--sort", "memory").splitlines(),
        "shrinkers": run("memcg_shrinker.py").splitlines(),
    }


init.main(work)
