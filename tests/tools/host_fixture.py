# SPDX-License-Identifier: GPL-2.0
"""Copies of /proc and /sys of small hosts, for the tests of shrinker_map_cost.py."""

KMALLOC = "kmalloc-1k {active} {total} 1024 16 4 : tunables 0 0 0 : slabdata 9 9 0"
SLABINFO = ("slabinfo - version: 2.1\n"
            "# name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>\n")
SYSTEM = [
    "22 1 0:21 / /proc rw - proc proc rw",
    "23 1 0:22 / /sys rw - sysfs sysfs rw",
    "24 1 8:1 / / rw - ext4 /dev/sda1 rw",
]
V1_CPU = "29 23 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
V1 = "30 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
V2 = "31 23 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
UNIFIED = "32 23 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"


def write(root, files):
    """Paths, and what is in them; None for a folder, which is no readable file."""
    for path, text in files.items():
        place = root / path.lstrip("/")
        if text is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return root


def mountinfo(*more):
    return "\n".join([*SYSTEM, *more]) + "\n"


def tmpfs(count, first=40):
    """Mounts of containers: so many super blocks, and their numbers."""
    return [f"{i} 1 0:{i} / /run/c{i} rw - tmpfs tmpfs rw"
            for i in range(first, first + count)]


def proc_cgroups(number, hierarchy=0, enabled=1):
    return ("#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
            f"cpu\t0\t3\t1\nmemory\t{hierarchy}\t{number}\t{enabled}\n")


def slabinfo(active, total):
    return SLABINFO + KMALLOC.format(active=active, total=total) + "\n"


def common(release="6.12.1", nodes="0", memory_nodes="0"):
    """What each host has."""
    return {
        "/proc/sys/kernel/osrelease": release + "\n",
        "/proc/2/comm": "kthreadd\n",
        "/proc/cmdline": "quiet\n",
        "/proc/vmstat": "nr_free_pages 1000\n",
        "/sys/kernel/mm/lru_gen/enabled": "0x0000\n",
        "/sys/devices/system/node/possible": nodes + "\n",
        "/sys/devices/system/node/has_memory": memory_nodes + "\n",
    }


def v1(root, groups=9, dying=3, mounts=0, **more):
    """Cgroup v1, in which /proc/cgroups counts those that are dying, too."""
    files = common(**more)
    files["/proc/self/mountinfo"] = mountinfo(V1, *tmpfs(mounts))
    files["/proc/cgroups"] = proc_cgroups(1 + groups + dying, hierarchy=4)
    files["/sys/fs/cgroup/memory/release_agent"] = ""
    for i in range(groups):
        files[f"/sys/fs/cgroup/memory/g{i}/tasks"] = ""
    return write(root, files)


def v2(root, groups=9, without=2, hidden=0, mounts=0, stat="", **more):
    """Cgroup v2; some cgroups are without the controller, or have it for I/O."""
    files = common(**more)
    files["/proc/self/mountinfo"] = mountinfo(V2, *tmpfs(mounts))
    files["/proc/cgroups"] = proc_cgroups(1 + groups + without + hidden)
    files["/sys/fs/cgroup/cgroup.controllers"] = "cpu io memory pids\n"
    files["/sys/fs/cgroup/cgroup.stat"] = f"nr_descendants {groups}\n{stat}"
    for i in range(groups):
        files[f"/sys/fs/cgroup/g{i}/cgroup.controllers"] = "memory pids\n"
    for i in range(without):
        files[f"/sys/fs/cgroup/without{i}/cgroup.controllers"] = "pids\n"
    for i in range(hidden):
        files[f"/sys/fs/cgroup/hidden{i}/cgroup.controllers"] = "io\n"
    return write(root, files)


def hybrid(root, groups=9):
    """The memory controller in v1, beside a cgroup v2 without it."""
    v1(root, groups, dying=0)
    files = {"/proc/self/mountinfo": mountinfo(UNIFIED, V1_CPU, V1),
             "/sys/fs/cgroup/cpu/tasks": "",
             "/sys/fs/cgroup/unified/cgroup.controllers": "\n"}
    files.update((f"/sys/fs/cgroup/unified/u{i}/cgroup.controllers", "\n")
                 for i in range(50))
    return write(root, files)
