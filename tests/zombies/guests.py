# SPDX-License-Identifier: GPL-2.0
"""A guest in which workloads/zombies.py runs: its disks, how it is started, and its dump."""

import pathlib
import re
import time

from harness import arms, disk_image, monitor, python_guest, qemu
from harness.common import LOGS, OUT, ROOT, BenchError, shown

MEMORY = 1024
CPUS = 2
SWAP = 64 << 20
TIMEOUT = 900
# Between two looks at what the guest has printed, in seconds.
POLL = 1.0
# The last CPU is isolated: nobody takes back what it has charged ahead.
KERNEL = ("root=/dev/vda", "rootfstype=ext2", "ro", "init=/init", "isolcpus=domain,1",
          "psi=1")
DUMP_MARK = "MM_RECLAIM_DUMP"
TOOLS = ROOT / "tools/cgroup"


def drgn_files():
    """drgn and its libraries: where each is there, and where it is here."""
    folder = python_guest.told_by("import drgn; print(drgn.__path__[0])")
    paths = [*folder.rglob("*.py"), *folder.parent.glob("_drgn*.so"),
             *folder.parent.glob("_drgn_util/*.py")]
    found = {path: path for path in paths}
    binaries = [path for path in paths if path.suffix == ".so"]
    found.update((path, path) for path in python_guest.libraries(binaries))
    return found


def disks(kernel):
    """The root, with the kernel's debug information; swap; and one to write to."""
    files = {**python_guest.contents("zombies.py"), **drgn_files()}
    for name in ("memcg_common.py", "memcg_zombies.py"):
        files[pathlib.Path("/tools", name)] = TOOLS / name
    files.update((pathlib.Path("/tools/zombies") / path.name, path)
                 for path in (TOOLS / "zombies").glob("*.py"))
    files[pathlib.Path("/vmlinux")] = kernel.vmlinux
    OUT.mkdir(parents=True, exist_ok=True)
    images = [OUT / f"zombies-{name}.img" for name in ("root", "swap", "disk")]
    root, swap, disk = images
    stage = OUT / "zombies-stage"
    disk_image.stage(stage, files)
    disk_image.file_system("ext2", root, stage)
    disk_image.empty(swap, SWAP)
    disk_image.stage(stage, {})
    disk_image.file_system("ext2", disk, stage)
    return tuple(f"file={image},format=raw,cache=unsafe,snapshot=on" for image in images)


def wait_for(mark, guest, log, seconds):
    """Whether the guest printed it, before it ended or took longer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        console = qemu.console(log)
        if f"\n{mark}" in console:
            return True
        if guest.poll() is not None or arms.EXIT in console:
            return False
        time.sleep(POLL)
    return False


def dump(control, path):
    """Writes the guest's memory as an ELF file, with what the kernel says of itself. Debian
    12's drgn translates no addresses for that, so QEMU has to."""
    path.unlink(missing_ok=True)
    monitor.ask(control, "dump-guest-memory", 120, paging=True, protocol=f"file:{path}")


def log_name(arm, version):
    return f"zombies-{arm.name}-{version}"


def run(arm, n, version, core=None):
    """What the guest says of itself. It is dumped to `core`. `version` is that of cgroups,
    or disabled."""
    log = LOGS / f"{log_name(arm, version)}.log"
    machine = qemu.Machine("tcg", MEMORY, CPUS, disks=disks(arm.kernel))
    arguments = " ".join(("console=ttyS0 panic=-1 oops=panic no_timer_check", *KERNEL,
                          "cgroup_disable=memory" if version == "disabled" else "",
                          f"-- -n {n} --json {version}"))
    control = OUT / "zombies.sock"
    control.unlink(missing_ok=True)
    start = time.monotonic()
    with qemu.started(machine, arm.kernel, None, arguments, log, "-device", "vmcoreinfo",
                      *monitor.arguments(control)) as guest:
        ready = wait_for(DUMP_MARK, guest, log, TIMEOUT)
        seen = time.monotonic()
        if ready and core:
            dump(control, core)
        took = time.monotonic() - seen
    control.unlink(missing_ok=True)
    ended = qemu.Ended(time.monotonic() - start, not ready, 0, qemu.console(log), arm.kernel)
    why = arms.complaint(ended) or (None if ready else arms.problem(ended))
    if why:
        raise arms.GuestFailed(why, log, ended.console)
    result = arms.parse(ended.console)
    # Where there are no memory cgroups, nothing tells the implementations apart.
    if not result or (version != "disabled" and
                      result["implementation"] != arm.kernel.implementation):
        raise BenchError(f"the guest printed no result of {arm.name}, see {shown(log)}")
    # By the guest's clock, which was printed before; it may stop when the guest idles.
    before, lost = map(float, re.search(f"^{DUMP_MARK} (\\S+) (\\S+)", ended.console,
                                        re.MULTILINE).groups())
    result["dumped_at"] = [before, before + POLL + took, lost]
    return result
