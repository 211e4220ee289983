# SPDX-License-Identifier: GPL-2.0
"""Groups with priorities."""

import os

from guest import init
from guest.groups import Group

KNOB = "memory.global_shrink_priority"
EFFECTIVE = f"{KNOB}.effective"
DEFAULT = "default"


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
