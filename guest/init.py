# SPDX-License-Identifier: GPL-2.0
"""What the first process of a guest that is a Python program has to do."""

import argparse
import ctypes
import errno
import fcntl
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
RB_AUTOBOOT = 0x01234567
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PAGE = mmap.PAGESIZE
CGROUPS = "/sys/fs/cgroup"
DEBUGFS = "/sys/kernel/debug/mm_reclaim"
STATS = f"{DEBUGFS}/stats"


class Failed(Exception):
    """A check of what must be."""


def checked(ret, what):
    """For calls of LIBC."""
    if ret < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return ret


# How fallocate(2) changes a file.
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16


def fallocate(file, how, start, size, path):
    checked(LIBC.fallocate(file, how, ctypes.c_long(start), ctypes.c_long(size)), path)


def mount(kind, where, data=None):
    os.makedirs(where, exist_ok=True)
    checked(LIBC.mount(kind.encode(), where.encode(), kind.encode(), 0,
                       data and data.encode()), where)


def umount(where):
    checked(LIBC.umount2(where.encode(), 0), where)


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def take_away(places):
    """What was mounted, and where."""
    for place in places:
        umount(place)
        os.rmdir(place)


def retry(function):
    """Calls what may be busy for a moment: a process is about to leave it."""
    for _ in range(500):
        try:
            return function()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        time.sleep(0.02)
    return function()


def make_swap(device):
    """Writes what mkswap would, and uses it."""
    header = bytearray(PAGE)
    with open(device, "r+b", buffering=0) as disk:
        pages = disk.seek(0, os.SEEK_END) // PAGE
        # Version 1, the last page, no bad ones.
        header[1024:1036] = b"".join(number.to_bytes(4, "little")
                                     for number in (1, pages - 1, 0))
        header[-10:] = b"SWAPSPACE2"
        disk.seek(0)
        disk.write(header)
        os.fsync(disk.fileno())
    swapon(device)


def swapon(device):
    checked(LIBC.swapon(device.encode(), 0), device)


def swapoff(device):
    checked(LIBC.swapoff(device.encode()), device)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def fields(path, separator=None):
    """A file with a name and a number on each line, as a dictionary."""
    pairs = (line.split(separator)[:2] for line in read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs
            if len(pair) == 2 and pair[1].lstrip("-").isdigit()}


def run_tool(name, *options, user=None):
    """One of /tools: its status, what it says, and its errors."""
    result = subprocess.run([sys.executable, f"/tools/{name}", *options], user=user,
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def told_by(name, *options):
    """What a tool says, which must succeed."""
    status, text, errors = run_tool(name, *options)
    if status:
        raise Failed(f"{name} ended with {status}: {errors}")
    return text


def mount_groups(is_v1=False):
    if is_v1:
        mount("cgroup", CGROUPS, "memory")
    else:
        mount("cgroup2", CGROUPS)
        write(f"{CGROUPS}/cgroup.subtree_control", "+memory")


def cgroup_version():
    """The one that is mounted."""
    return "v2" if os.path.exists(f"{CGROUPS}/cgroup.controllers") else "v1"


def clock():
    """What time is told by, and how fine it is."""
    times = [time.monotonic_ns() for _ in range(1000)]
    # All may be within one tick, until the kernel has found something better.
    while times[-1] == times[0]:
        times.append(time.monotonic_ns())
    step = min(after - before for before, after in zip(times, times[1:]) if after != before)
    source = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return {"source": read(source).strip(), "step_ns": step}


def oom_kills():
    return fields("/proc/vmstat").get("oom_kill", 0)


def parser():
    """Of what each program of this kind is given."""
    found = argparse.ArgumentParser()
    found.add_argument("-n", type=int)
    found.add_argument("--json", action="store_true")
    return found


def main(work):
    """Mounts what everything needs, prints what `work` returns for the
    arguments after "--" on the kernel's command line, with what each result
    has, and ends the guest."""
    try:
        # The kernel does that itself, but not in an initramfs.
        if not os.path.ismount("/dev"):
            mount("devtmpfs", "/dev")
        mount("proc", "/proc")
        mount("sysfs", "/sys")
        mount("debugfs", "/sys/kernel/debug")
        arguments = sys.argv[sys.argv.index("-n"):]
        result = {"n": int(arguments[1]),
                  "implementation": "rust" if os.path.exists(STATS) else "c"}
        result.update(work(arguments))
        result.update(cgroup=cgroup_version(), kernel=os.uname().release, clock=clock(),
                      oom_kills=oom_kills())
        print("# MM_RECLAIM_JSON " + json.dumps(result))
        print("MM_RECLAIM_EXIT code 0", flush=True)
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(f"MM_RECLAIM_EXIT error {error!r}", flush=True)
    os.sync()
    # The reset does not wait for what the serial port still has to send.
    LIBC.tcdrain(sys.stdout.fileno())
    LIBC.reboot(RB_AUTOBOOT)
