# SPDX-License-Identifier: GPL-2.0
"""What cgroups and the machine count of page cache."""

from guest import init
from guest.groups import drop_caches
from guest.init import CGROUPS, PAGE

# In memory.stat of cgroup v2, and of v1.
ON_V1 = {"file": "total_cache", "file_mapped": "total_mapped_file", "file_dirty": "total_dirty",
         "file_writeback": "total_writeback", "unevictable": "total_unevictable"}
# What the root counts as the machine does.
MACHINE = {"nr_file_pages": "file", "nr_dirty": "file_dirty", "nr_writeback": "file_writeback"}


def file_stat(path):
    """Of a group and those below it, in bytes, by the names of cgroup v2."""
    found = init.fields(f"{path}/memory.stat")
    return {**found, **{name: found[on_v1] for name, on_v1 in ON_V1.items() if on_v1 in found}}


def of_files(path):
    """What there is of files, where it is anything. No counter of huge folios is on v1."""
    stat = file_stat(path)
    return {name: stat[name] for name in (*ON_V1, "file_thp") if stat.get(name)}


def unaccounted():
    """What the machine counts, less what all cgroups together do, in bytes."""
    drop_caches()
    init.write("/proc/sys/vm/stat_refresh", "1")
    machine, root = init.fields("/proc/vmstat"), file_stat(CGROUPS)
    return {name: machine[name] * PAGE - root[ours] for name, ours in MACHINE.items()}

