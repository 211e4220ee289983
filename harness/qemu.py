# SPDX-License-Identifier: GPL-2.0
"""Runs one guest in QEMU until it ends, with a time limit."""

import contextlib
import ctypes
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import monitor
from harness.common import BenchError
from harness.kernels import Kernel

QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
# For a guest that hangs: an NMI from outside makes it panic, and tell what each CPU does and
# which tasks wait uninterruptibly.
TELL_ON_NMI = "unknown_nmi_panic panic_sys_info=all_bt,blocked_tasks"
# In s, for each answer of the monitor, and then until the guest has told.
TELL = 20


@dataclasses.dataclass
class Machine:
    """What all the guests of one run have in common."""
    accel: str
    memory: int  # in MiB
    cpus: int
    plugin: str = ""  # of TCG: its file and arguments
    disks: tuple = ()  # what -drive says of them, in the order of their names
    nodes: int = 1  # of NUMA, each with as many CPUs and as much memory
    threads: str = "multi"  # of TCG: one for each CPU, or single
    # Each instruction takes 2 to the power of this, in ns of the guest's time; then
    # TCG has one thread. None: as long as it takes.
    icount: int | None = None


@dataclasses.dataclass
class Ended:
    """How a guest ended."""
    seconds: float
    timed_out: bool
    status: int
    console: str
    kernel: Kernel


def check():
    if not shutil.which(QEMU):
        raise BenchError(f"{QEMU} is not installed: run 'make deps'")


def version():
    result = subprocess.run([QEMU, "--version"], capture_output=True, text=True,
                            check=False)
    return result.stdout.splitlines()[0] if result.stdout else "unknown"


@functools.cache
def release():
    """The version as numbers, such as (7, 2, 22)."""
    match = re.search(r"version (\d+)\.(\d+)(?:\.(\d+))?", version())
    if not match:
        raise BenchError(f"which QEMU is this? \"{version()}\"")
    return tuple(int(number or 0) for number in match.groups())


@functools.cache
def firmware():
    """qboot starts a kernel at once; without it QEMU's default does, later."""
    result = subprocess.run([QEMU, "-L", "help"], capture_output=True, text=True,
                            check=False)
    for folder in result.stdout.split():
        if (pathlib.Path(folder) / "qboot.rom").exists():
            return ["-bios", "qboot.rom"]
    return []


def topology(machine):
    """CPUs, memory, and where they are if there are several nodes: no socket has CPUs of two."""
    found = ["-m", str(machine.memory), "-smp", str(machine.cpus)]
    if machine.nodes == 1:
        return found
    found[-1] += f",sockets={machine.nodes}"
    cpus, memory = machine.cpus // machine.nodes, machine.memory // machine.nodes
    for node in range(machine.nodes):
        found += ["-object", f"memory-backend-ram,id=m{node},size={memory}M", "-numa",
                  f"node,nodeid={node},memdev=m{node},"
                  f"cpus={node * cpus}-{(node + 1) * cpus - 1}"]
    return found


def command(machine, image, initrd, append):
    """`initrd` is None if the root file system is on a disk."""
    if machine.accel == "kvm":
        accel = ["-accel", "kvm", "-cpu", "host"]
    else:
        accel = ["-accel", f"tcg,thread={machine.threads}"]
    if machine.icount is not None:
        # Nothing happens while all CPUs are idle, so time can jump then.
        accel += ["-icount", f"shift={machine.icount},sleep=off"]
    return [QEMU, "-M", "q35", "-nodefaults", *accel, *firmware(),
            *topology(machine),
            "-kernel", str(image), *(["-initrd", str(initrd)] if initrd else []),
            "-append", append,
            "-display", "none", "-monitor", "none", "-serial", "stdio",
            "-no-reboot", *(["-plugin", machine.plugin] if machine.plugin else []),
            *(argument for disk in machine.disks
              for argument in ("-drive", f"if=virtio,{disk}"))]


def die_with_parent():
    """Even a SIGKILL of the harness must not leave a guest running."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def started(machine, kernel, initrd, append, log, *more):
    """Boots a guest whose console goes to the file `log`, and ends it with the block. `more`
    are arguments of QEMU."""
    log.parent.mkdir(parents=True, exist_ok=True)
    args = [*command(machine, kernel.image, initrd, append), *more]
    with open(log, "wb") as output:
        output.write((" ".join(args) + "\n").encode())
        output.flush()
        guest = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT,
                                 # There are no threads here.
                                 preexec_fn=die_with_parent)  # noqa: PLW1509
        try:
            yield guest
        finally:
            if guest.poll() is None:
                guest.kill()
            guest.wait()


def console(log):
    return log.read_bytes().decode(errors="replace").replace("\r", "")


def run(machine, kernel, initrd, append, timeout, log):
    """A guest, until it ends. One that does not in time is asked what it does."""
    start, timed_out = time.monotonic(), False
    with tempfile.TemporaryDirectory(prefix="qmp") as folder:
        control = pathlib.Path(folder) / "socket"
        with started(machine, kernel, initrd, f"{TELL_ON_NMI} {append}", log,
                     *monitor.arguments(control)) as guest:
            try:
                guest.wait(timeout)
            except subprocess.TimeoutExpired:
                timed_out = True
            seconds = time.monotonic() - start
            if timed_out:
                # It may have ended by now, or say nothing.
                with contextlib.suppress(OSError, BenchError, subprocess.TimeoutExpired):
                    monitor.ask(control, "inject-nmi", TELL)
                    guest.wait(TELL)
    return Ended(seconds, timed_out, guest.returncode, console(log), kernel)


def choose_accel(wanted, probe):
    """KVM only if `probe` boots under it: /dev/kvm may open and yet not work."""
    if wanted != "auto":
        return wanted
    if os.access("/dev/kvm", os.R_OK | os.W_OK) and probe("kvm"):
        return "kvm"
    return "tcg"
