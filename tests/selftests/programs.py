# SPDX-License-Identifier: GPL-2.0
"""Builds the kernel's selftests from build/linux, statically."""

import os
import shutil

from harness import tools
from harness.common import BUILD, BenchError

TREE = BUILD / "linux"
SOURCE = TREE / "tools/testing/selftests"
FOLDER = BUILD / "selftests"
# Of mm, only what is run here: others need libraries.
MM = ("khugepaged", "split_huge_page_test", "droppable", "mrelease_test",
      "write_to_hugetlbfs")
SCRIPTS = {"cgroup": ("test_stress.sh", "with_stress.sh"),
           "mm": ("hugetlb_reparenting_test.sh",)}


def make(log, *arguments):
    """Beside the source: headers made in it would stop the kernels' builds."""
    # Of a make that this is called by.
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    tools.logged(["make", f"-j{os.cpu_count()}", "ARCH=x86_64", *arguments],
                 "the kernel's selftest", log, env=env)


def build():
    """Returns the folder with a folder of programs for each part."""
    if not SOURCE.is_dir():
        raise BenchError("no kernel source in build/linux: run 'make tree'")
    FOLDER.mkdir(parents=True, exist_ok=True)
    make("selftests-headers.log", "-C", TREE, f"O={FOLDER}/headers", "headers")
    for part, targets in (("cgroup", ()),
                          ("mm", [FOLDER / "mm" / name for name in MM])):
        out = FOLDER / part
        out.mkdir(exist_ok=True)
        make(f"selftests-{part}.log", "-C", SOURCE / part, f"OUTPUT={out}",
             f"KHDR_INCLUDES=-isystem {FOLDER}/headers/usr/include",
             "LDFLAGS=-static", *targets)
        for name in SCRIPTS[part]:
            shutil.copy(SOURCE / part / name, out / name)
    return FOLDER
