# SPDX-License-Identifier: GPL-2.0
"""Cgroups and processes in them, for guests that are Python programs, and what
these ask of the machine."""

import contextlib
import json
import os
import select
import time
import traceback
from typing import ClassVar

from guest import init
from guest.init import CGROUPS, PAGE, STATS, Failed

MIB = 1 << 20
TRACING = "/sys/kernel/tracing"


def check(condition, text):
    if not condition:
        raise Failed(text)


# ---- the machine

def memory():
    """The bytes of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * PAGE


def part(percent):
    """Of the machine's memory, in bytes."""
    return memory() * percent // 100 // MIB * MIB


def stats(*names):
    """Counters of ours, read at one time; 0 where there are none."""
    try:
        found = init.fields(STATS)
    except FileNotFoundError:
        found = {}
    return tuple(found.get(name, 0) for name in names)


def stat(name):
    """A counter of ours, or 0 where there is none."""
    return stats(name)[0]


def drop_caches():
    os.sync()
    init.write("/proc/sys/vm/drop_caches", "3")


def mount_tracing():
    if not os.path.exists(f"{TRACING}/events"):
        init.mount("tracefs", TRACING)


@contextlib.contextmanager
def counted(symbol, found):
    """Appends to `found` how often the kernel's function is called meanwhile."""
    mount_tracing()
    event = f"{TRACING}/events/mm_reclaim/visits/enable"
    init.write(f"{TRACING}/kprobe_events", f"p:mm_reclaim/visits {symbol}\n")
    init.write(event, "1")
    try:
        yield
        # <event> <hits> <missed>
        for line in init.read(f"{TRACING}/kprobe_profile").splitlines():
            name, hits, missed = line.split()
            if name == "visits":
                check(not int(missed), f"{missed} calls of {symbol} were missed")
                found.append(int(hits))
    finally:
        init.write(event, "0")
        init.write(f"{TRACING}/kprobe_events", "\n")


def expect_refused(path, text, number):
    """Writes what a file must not take; which error it must give."""
    try:
        init.write(path, text)
    except OSError as error:
        check(error.errno == number, f"{path}: {text!r} gives {error}")
    else:
        raise Failed(f"{path} takes {text!r}")


# How often, ten times a second, something is looked at that must come.
PATIENCE = 1200


def wait_until(condition, what, details=lambda: "", patience=PATIENCE):
    """Fails with `what`, and the details then, if it does not come true."""
    for _ in range(patience):
        if condition():
            return
        time.sleep(0.1)
    raise Failed(what + details())


def settled(read):
    """What `read` returns once it has been the same for a second."""
    found, same = read(), 0
    for _ in range(PATIENCE):
        time.sleep(0.1)
        before, found = found, read()
        same = same + 1 if found == before else 0
        if same == 10:
            return found
    raise Failed(f"does not settle: {before}, then {found}")


# ---- groups and processes

class Group:
    """A cgroup, with processes that run in it."""

    # Those that this process has made and not removed, each behind its parent.
    made: ClassVar[list] = []

    def __init__(self, name, soft=None, parent=None):
        self.path = f"{parent.path if parent else CGROUPS}/{name}"
        os.mkdir(self.path)
        self.made.append(self)
        if soft is not None:
            self.limit(soft)

    def write(self, name, value):
        init.write(f"{self.path}/{name}", str(value))

    def read(self, name):
        return init.read(f"{self.path}/{name}").strip()

    def limit(self, soft):
        self.write("memory.soft_limit_in_bytes", soft)

    def usage(self):
        """In bytes."""
        for name in ("memory.usage_in_bytes", "memory.current"):
            if os.path.exists(f"{self.path}/{name}"):
                return int(self.read(name))
        raise FileNotFoundError(self.path)

    def start(self, function, *arguments):
        return Process(self, function, arguments)

    def start_inside(self, function, *arguments):
        """As start(), with a process that is forked in the group: what it shares with this
        one until it writes to it is charged there, and not above."""
        with self.inside():
            return Process(None, function, arguments)

    def run(self, function, *arguments):
        return self.start(function, *arguments).result()

    @contextlib.contextmanager
    def inside(self):
        """Has this process in it meanwhile."""
        self.write("cgroup.procs", "0")
        try:
            yield
        finally:
            init.write(f"{CGROUPS}/cgroup.procs", "0")

    def remove(self):
        # A process that was waited for may still be about to leave it.
        init.retry(lambda: os.rmdir(self.path))
        self.made.remove(self)


class Process:
    """A child in a group, if it is given one, which ends when it is told to and says
    something."""

    # Those that this process has started and not waited for.
    started: ClassVar[list] = []

    def __init__(self, group, function, arguments):
        self.said, says = os.pipe()
        hears, self.tells = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(says)
            os.close(hears)
            self.started.append(self)
            return
        status = 1
        try:
            os.close(self.said)
            # Nobody but the parent must have the end of a pipe by which one is told.
            for process in (self, *self.started):
                process.tell()
            self.started.clear()
            if group:
                group.write("cgroup.procs", "0")
            before = os.times()
            start = time.monotonic()
            found = function(hears, *arguments) or {}
            found["elapsed"] = time.monotonic() - start
            after = os.times()
            found["system"] = after.system - before.system
            os.write(says, json.dumps(found).encode())
            status = 0
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        os._exit(status)

    def status(self, name):
        """A size in /proc/PID/status, in bytes; 0 if the process is gone."""
        with contextlib.suppress(OSError):
            for line in init.read(f"/proc/{self.pid}/status").splitlines():
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * 1024
        return 0

    def ended(self):
        """Whether it said what it has to say."""
        return bool(select.select([self.said], [], [], 0)[0])

    def tell(self):
        """Lets a process that waits go on; a second call has no effect."""
        if self.tells is not None:
            os.close(self.tells)
            self.tells = None

    def wait_until(self, condition):
        while not condition():
            check(not self.ended(), "a process ended too early")
            time.sleep(0.05)

    def result(self, patience=None):
        self.tell()
        check(select.select([self.said], [], [], patience)[0], "a process does not end")
        with os.fdopen(self.said, "rb") as pipe:
            found = pipe.read()
        status = self.reap()
        check(not status and found,
              f"a process ended with status {status:#x}, see above")
        return json.loads(found)

    def is_killed(self):
        """Waits until it has ended; whether a signal did that."""
        return os.WIFSIGNALED(self.reap())

    def reap(self):
        """Waits until it has ended, and returns its status."""
        self.started.remove(self)
        return os.waitpid(self.pid, 0)[1]


def end_all():
    """Ends the processes that were started here."""
    for process in Process.started[:]:
        process.result()


def remove_all():
    """Ends them, and removes the groups that were made."""
    end_all()
    for group in Group.made[::-1]:
        group.remove()


def wait(hears):
    os.read(hears, 1)


def was_told(hears, patience=0):
    """Whether the process shall end; waits for that so many seconds."""
    return bool(select.select([hears], [], [], patience)[0])
