# SPDX-License-Identifier: GPL-2.0
"""Builds an initramfs in which this machine's Python runs a program of ours.

The bench's program in C needs nothing; these need an interpreter, its modules
and the libraries of both.
"""

import functools
import pathlib
import re

from harness import tools
from harness.common import BUILD, ROOT, BenchError, shown
from harness.initramfs import write_archive

# Not the first in PATH, which may be one that is not installed like a package.
PYTHON = pathlib.Path("/usr/bin/python3")
GUEST = ROOT / "guest"
PROGRAMS = GUEST / "workloads"
TOOLS = (ROOT / "tools/cgroup/memcg_common.py",
         ROOT / "tools/cgroup/memcg_shrinker_maps.py",
         ROOT / "tools/cgroup/memcg_reclaim.py",
         ROOT / "tools/cgroup/shrinker_map_cost.py",
         BUILD / "linux/tools/cgroup/memcg_shrinker.py")
# Of the modules, what nothing here can want.
LEFT_OUT = {"__pycache__", "dist-packages", "ensurepip", "idlelib", "lib2to3",
            "pydoc_data", "test", "tests", "tkinter", "turtledemo"}


def told_by(code):
    """A path that the guests' Python prints."""
    return pathlib.Path(tools.run([PYTHON, "-c", code], "the guest's Python").strip())


def modules():
    stdlib = told_by("import sysconfig; print(sysconfig.get_path('stdlib'))")
    for path in sorted(stdlib.rglob("*")):
        if path.suffix in (".py", ".so") and not LEFT_OUT & set(path.parts):
            yield path


def libraries(binaries):
    """What the loader would find for them, and the loader itself."""
    found = set()
    for line in tools.run(["ldd", *binaries], "the guest's libraries").splitlines():
        match = re.search(r"(/\S+) \(0x", line)
        if match:
            found.add(pathlib.Path(match[1]))
    return sorted(found)


def contents(program, commands=()):
    """What a guest must have to run `program` as its first process, and these
    commands of this machine: where it is there, and where it is here."""
    files = {path: path for path in (PYTHON, *commands, *modules())}
    binaries = [path for path in files if path.suffix != ".py"]
    files.update((path, path) for path in libraries(binaries))
    files[pathlib.Path("/init")] = PROGRAMS / program
    # What the programs import.
    files.update((pathlib.Path("/guest") / path.relative_to(GUEST), path)
                 for path in GUEST.rglob("*.py") if PROGRAMS not in path.parents)
    return files


@functools.cache
def build(program):
    """Returns the path of the archive. `program` is the first process."""
    for path in (PYTHON, *TOOLS):
        if not path.is_file():
            raise BenchError(f"{shown(path)} is missing: run 'make deps tree'")
    files = contents(program)
    files.update((pathlib.Path("/tools") / path.name, path) for path in TOOLS)
    return write_archive(f"{pathlib.Path(program).stem}.cpio.gz",
                         {place: source.read_bytes() for place, source in files.items()})
