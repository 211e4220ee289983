# SPDX-License-Identifier: GPL-2.0
"""A guest in which workloads/selftests.py runs: its disks, and how it is started.

Its root is a file system on a disk, as on a real machine. In an initramfs, which
can't be reclaimed, test_kmem does not get its memory back.
"""

import pathlib

from harness import arms, disk_image, python_guest, qemu
from harness.common import OUT, QUICK
from tests.selftests import programs, suites

# What the suites that are scripts call.
COMMANDS = ("awk", "bash", "cat", "date", "grep", "head", "id", "mkdir", "mktemp",
            "mount", "rm", "rmdir", "sleep", "true", "umount")
# test_no_kmem_bypass swaps out a fifth of it against the clock, and khugepaged needs
# 1 GiB.
MEMORY = 1536
CPUS = 2
SWAP = 1 << 30
# khugepaged maps its memory where a program's heap may begin, if that is random.
ROOT = "ext2" if QUICK else "ext4"
KERNEL = ("root=/dev/vda", f"rootfstype={ROOT}", "rw", "init=/init", "norandmaps")
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


def prepare():
    """Builds the programs, and the disks. Returns the guests' machine."""
    built = programs.build()
    found = [disk_image.find(name) for name in COMMANDS]
    files = python_guest.contents("selftests.py", found)
    files[pathlib.Path("/suites.py")] = pathlib.Path(suites.__file__)
    for folder in sorted({suite.folder for suite in suites.SUITES.values()}):
        for path in sorted((built / folder).iterdir()):
            if path.is_file():
                files[pathlib.Path("/selftests") / folder / path.name] = path

    OUT.mkdir(parents=True, exist_ok=True)
    root, swap = OUT / "selftests.img", OUT / "selftests-swap.img"
    disk_image.stage(OUT / "selftests-root", files, [("etc/hosts", HOSTS)])
    disk_image.file_system(ROOT, root, OUT / "selftests-root")
    disk_image.empty(swap, SWAP)
    # All guests begin with the same disks.
    # With a thread for each CPU QEMU 7.2 would trip over its stale code (see
    # stale_code.py) in each run: test_stress turns cpusets on and off.
    return qemu.Machine("tcg", MEMORY, CPUS, threads="single", disks=tuple(
        f"file={path},format=raw,cache=unsafe,snapshot=on"
        for path in (root, swap)))


def run(arm, machine, suites, name):
    """The results of the suites in one guest, in their order, and the guest's."""
    result = arms.boot(
        arm, machine, None, 1, name, [suite.name for suite in suites], KERNEL,
        timeout=60 + sum(suite.timeout for suite in suites))
    return result["suites"], result
