#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that runs the kernel's selftests: those suites
that are named after --json. /dev/vdb is for swap."""

import contextlib
import os
import signal
import subprocess
import time

from guest import init
from guest.init import CGROUPS
from suites import SUITES

# test_core and test_hugetlb_memcg ask for the first two.
OPTIONS = "nsdelegate,memory_hugetlb_accounting,memory_recursiveprot"
SWAP = "/dev/vdb"
OUTPUT = "/run/output"


@contextlib.contextmanager
def settings(pairs):
    """As long as a suite runs."""
    before = [(path, init.read(path).strip()) for path, _ in pairs]
    for path, text in pairs:
        init.write(path, text)
    try:
        yield
    finally:
        for path, text in before:
            init.write(path, text)


def wait(process, seconds):
    """The status of the process, or None if it took longer. Whatever else ends
    is waited for as well: a group with a zombie in it would not go away."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == process.pid:
            return os.waitstatus_to_exitcode(status)
        if not pid:
            time.sleep(0.05)
    return None


def run(suite):
    # With the console's time stamps, it says which suite the kernel's words
    # belong to.
    init.write("/dev/kmsg", f"selftests: {suite.name}\n")
    start = time.monotonic()
    with settings(suite.settings), open(OUTPUT, "wb") as output:
        process = subprocess.Popen(
            suite.command, cwd=f"/selftests/{suite.folder}",
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True)
        status = wait(process, suite.timeout)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if status is None:
            wait(process, 10)
    with open(OUTPUT, encoding="utf-8", errors="replace") as file:
        text = file.read()
    # For whoever reads the log of a guest that does not get to its end.
    for line in text.splitlines():
        print(f"    > {line}", flush=True)
    return {"name": suite.name, "status": status, "output": text,
            "seconds": round(time.monotonic() - start, 1)}


def work(arguments):
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    init.mount("tmpfs", "/run")
    init.mount("cgroup2", CGROUPS, OPTIONS)
    init.make_swap(SWAP)
    # test_memcontrol talks to itself over it, where there is a network.
    if os.path.exists("/proc/net"):
        init.loopback_up()
    names = arguments[arguments.index("--json") + 1:]
    return {"suites": [run(SUITES[name]) for name in names]}


if __name__ == "__main__":
    init.main(work)
