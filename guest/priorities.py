# SPDX-License-Identifier: GPL-2.0
"""Groups with priorities, and processes that use memory in them."""

import os
import time

from guest import init
from guest.groups import MIB, Group, check, wait_until
from guest.memory import Count, use

KNOB = "memory.global_shrink_priority"
EFFECTIVE = f"{KNOB}.effective"
DEFAULT = "default"
# The priority that has: DEF_PRIORITY
WORST = 12


def prioritize(group, value):
    """Writes its value, if it is to have one."""
    if value != DEFAULT:
        group.write(KNOB, value)


def parent_group(name, parent=None):
    """A group that has others below it."""
    group = Group(name, parent=parent)
    # Of cgroup v2.
    if os.path.exists(f"{group.path}/cgroup.subtree_control"):
        group.write("cgroup.subtree_control", "+memory")
    return group


def effective(group):
    return int(group.read(EFFECTIVE))


def counter(group, name):
    """Of a group and those below it; 0 on stock."""
    return counter_at(group.path, name)


def counter_at(path, name):
    found = init.fields(f"{path}/memory.stat")
    return found.get(f"total_gsp_{name}", found.get(f"gsp_{name}", 0))


class User:
    """A process that uses memory, alone in its group."""

    def __init__(self, group, size, keeps=False):
        self.group, self.size = group, size
        self.count = Count()
        self.process = group.start_inside(use, size, self.count, keeps)

    def wait(self):
        """Until it has all of its memory."""
        wait_until(lambda: self.count.read() or self.process.ended(),
                   f"{self.group.path} does not get {self.size // MIB} MiB")
        check(not self.process.ended(), f"the process in {self.group.path} ended")

    def end(self):
        check(not self.process.ended(), f"the process in {self.group.path} ended")
        self.process.result()


def started(name, size, value=DEFAULT, keeps=False, parent=None):
    """A group with that value, and its user."""
    group = Group(name, parent=parent)
    prioritize(group, value)
    return User(group, size, keeps)


def watch(users, seconds, step=0.25):
    """How many pages each of them reads in a second, and what it has over time."""
    start = time.monotonic()
    before = [user.count.read() for user in users]
    samples = []
    while (now := time.monotonic() - start) < seconds:
        samples.append((round(now, 3), *(user.group.usage() for user in users)))
        time.sleep(step)
    read = [user.count.read() - count for user, count in zip(users, before)]
    elapsed = time.monotonic() - start
    return [pages / elapsed for pages in read], samples
