# SPDX-License-Identifier: GPL-2.0
"""What runs in the guests of `make bench-profile`, and which of its operations count."""

import dataclasses
from collections.abc import Callable

from bench import containers, retain
from guest.containers import NONE, STATES
from guest.groups import MIB
from guest.init import PAGE
from harness.common import QUICK
from harness.scenario import LRUS


@dataclasses.dataclass(frozen=True)
class Operation:
    """A function, and which of its calls count; see count.c."""
    name: str
    title: str | None       # None: others refer to it; empty: it is in a table of its own
    entry: str              # or several names, of which the kernel's first one counts
    rule: str


@dataclasses.dataclass(frozen=True)
class Workload:
    """What runs in one guest, and what of it counts. At least 3 groups: a single object may
    come from elsewhere."""
    scenario: str
    operations: tuple
    # The least and most that each operation has to count, from its own result.
    expected: Callable
    arguments: tuple = ()
    # How often each was done, of those that are not one call of their entry.
    times: Callable = lambda result, found: {}
    groups: tuple = (100, 20)  # and if it is to be quick
    memory: Callable = lambda n: 1024  # in MiB, for so many groups
    cpus: int = 1
    nodes: int = 1
    kernel: tuple = ()      # parameters of its own
    icount: int | None = None  # see qemu.Machine
    caches: bool = True  # whether it is about what these miss, too
    # A program of guest/workloads/, if it is none of the selftest's scenarios, with its disks.
    program: str = ""
    disks: Callable = tuple
    timeout: int = 300      # in s
    ours: bool = False      # nothing that stock has
    floor: bool = False     # without any shrinker maps, too
    name: str = ""          # of the guest; as the scenario unless told

    def __str__(self):
        return self.name or self.scenario


def expected_hot(result):
    repeats = len(result["series"]["drop"])
    drops = result["series"]["drops"][0] * repeats
    # In the first round of each repeat a group may still have the dentry of
    # home that it looked up to go there. At the end a look-up of debugfs may be
    # the first object of home.
    came = (drops - repeats, drops + 1)
    writes = 2 * drops // result["n"]
    return {"access": came, "set_shrinker_bit": came, "drop": (writes, writes)}


def expected_turnover(result):
    n, mounts = result["n"], result["series"]["detached"][0]
    # There is one more that all others are in.
    return {"create": (n + 1, n + 1),
            # Each but the last opens the next one's file, and that one home's.
            "first": (n, n),
            # Each is joined twice, and home once in between and once more at
            # either end.
            "join": (3 * n + 2, 3 * n + 2),
            "detach": (mounts, mounts), "shutdown": (mounts, mounts)}


# Pages of tools/testing/selftests/mm_reclaim/files.c.
FIRST_WRITES = 256


def expected_files(result):
    pages = result["series"]["pages"][0]
    # The first time, the pages come. Who starts and reports writes to a tmpfs.
    written = pages + FIRST_WRITES
    return {"write": (written, written + 64), "read": (pages, pages), "copy": (pages, pages)}


def expected_objects(result):
    n, rounds, writes = result["n"], result["count"], result["series"]["writes"][0]
    each = n * rounds
    # bench_empty() leaves a few objects, and a CPU without memory of its node uses another one's:
    # then one is not the first. A program that is started looks for its name.
    most = each * 19 // 20
    return {"come": (most, each + 1), "second": (each, each + 1), "other": (most, each),
            "goes": (each, each), "again": (each, each), "bit_set": (each, each),
            "bit_clear": (most, each), "far": (each // 4, each),
            "one": (writes, writes), "all": (writes, writes), "reclaim": (writes, writes)}


def expected_life(result):
    n = result["n"]
    # There is one more that all others are in, and the root; and a tmpfs that all are mounted in.
    return {"online": (n + 1, n + 2), "enter": (n, n), "populate": (n, n), "stat": (n, n),
            "mount": (n + 1, n + 1), "unmount": (n, n), "freed": (n, n), "remove": (n, n),
            "offline": (n, n)}


# What every process does; with Rust, statistics are reached by another pointer.
MEMORY = (
    Operation("fault", "a page fault: handle_mm_fault()", "handle_mm_fault", "any 0 0 0"),
    Operation("charge", "a folio is charged: __mem_cgroup_charge()", "__mem_cgroup_charge",
              "any 0 0 0"),
    Operation("state", "a state is counted: lruvec_stat_mod_folio()",
              "lruvec_stat_mod_folio", "any 0 0 0"),
    Operation("event", "an event is counted: count_memcg_events()", "count_memcg_events",
              "any 0 0 0"),
)
# In life.c, where many are freed.
UNCHARGE = Operation("uncharge", "a batch of a memcg's folios is uncharged: uncharge_batch()",
                     "uncharge_batch", "any 0 0 0")
# They look up paths, add objects and drop caches elsewhere, too. Only in hot.c's
# rounds a look-up by access(2) brings the first object of each group but perhaps
# one, and then two writes drop what came; only in turnover.c's an open(2) brings
# a group's first list.
HOT = Workload("hot", (
    Operation("access", "the first object of a group comes: the whole access(2)",
              "__x64_sys_access", "around 1 0 0"),
    Operation("set_shrinker_bit", "- of it set_shrinker_bit()",
              "set_shrinker_bit", "inside 0 0 0"),
    Operation("drop", "two objects of each group are dropped, per group: two "
              "writes to drop_caches", "drop_caches_sysctl_handler",
              "after 0 {most} 2"),
    *MEMORY,
), expected_hot, ("--count", "{groups}"),
    lambda result, found: {"drop": found["drop"]["counted"] // 2 * result["n"]})
TURNOVER = Workload("turnover", (
    Operation("create", "a group is created: cgroup_mkdir()", "cgroup_mkdir",
              "any 0 0 0"),
    Operation("first", "the first object that a group ever has: open(2) of the "
              "cgroup.procs to go to", "__x64_sys_openat", "around 2 0 0"),
    Operation("lists", "- of it the lists and their units: "
              "__memcg_list_lru_alloc_node()",
              "__memcg_list_lru_alloc_node __memcg_list_lru_alloc", "inside 1 0 0"),
    Operation("join", "a process joins a group: cgroup_procs_write()",
              "cgroup_procs_write", "any 0 0 0"),
    Operation("detach", "a tmpfs is unmounted with MNT_DETACH: umount2(2)",
              "__x64_sys_umount", "any 0 0 0"),
    Operation("shutdown", "- after it, before user space goes on: the super "
              "block", "deactivate_locked_super", "any 0 0 0"),
), expected_turnover)
# Pages that are in the page cache.
FILES = Workload("files", (
    Operation("write", "a page of a file is written: generic_perform_write()",
              "generic_perform_write", "any 0 0 0"),
    Operation("read", "a page of a file is read: filemap_read()", "filemap_read", "any 0 0 0"),
    Operation("copy", "a page of a file is copied at a fault: filemap_fault()",
              "filemap_fault", "any 0 0 0"),
    Operation("map", "pages of a file are mapped around a fault: filemap_map_pages()",
              "filemap_map_pages", "any 0 0 0"),
), expected_files)
# Two CPUs of one node take turns, and one of the other node comes after them. Its system calls
# tell which object it is: nothing else makes these.
OBJECTS = Workload("objects", (
    Operation("come", "the first object of a group comes, on two CPUs in turn: access(2)",
              "__x64_sys_access", "around 1 0 0"),
    Operation("bit", "- of it, and where others come first: set_shrinker_bit()", "set_shrinker_bit",
              "any 0 0 0"),
    Operation("second", "a second one comes, on the other CPU: readlink(2)",
              "__x64_sys_readlink", "any 0 0 0"),
    Operation("other", "one of another file system comes: readlinkat(2)",
              "__x64_sys_readlinkat", "around 1 0 0"),
    Operation("goes", "and goes: statx(2)", "__x64_sys_statx", "any 0 0 0"),
    Operation("again", "and comes again, before a walk: faccessat2(2)", "__x64_sys_faccessat2",
              "around 1 0 0"),
    Operation("bit_set", "set_shrinker_bit() of one that comes again: its bit is set",
              "set_shrinker_bit", "inside 5 0 0"),
    Operation("bit_clear", "set_shrinker_bit() of one of another file system: its bit is clear",
              "set_shrinker_bit", "inside 3 0 0"),
    Operation("far", "one comes on another node: statfs(2)", "__x64_sys_statfs", "around 1 0 0"),
    Operation("one", "drop_caches, of all groups one has an object: writev(2)",
              "__x64_sys_writev", "any 0 0 0"),
    Operation("all", "drop_caches, all groups have an object: pwritev(2)",
              "__x64_sys_pwritev", "any 0 0 0"),
    Operation("reclaim", "memory.reclaim of a small group: memory_reclaim()", "memory_reclaim",
              "any 0 0 0"),
), expected_objects, groups=(600, 100), cpus=4, nodes=2)
LIFE = Workload("life", (
    Operation("online", "a group goes online: mem_cgroup_css_online()",
              "mem_cgroup_css_online", "any 0 0 0"),
    Operation("enter", "the first process moves into a new group: cgroup_procs_write()",
              "cgroup_procs_write", "any 0 0 0"),
    Operation("populate", "a page is allocated and charged: madvise(2) of many",
              "__x64_sys_madvise", "any 0 0 0"),
    Operation("stat", "memory.stat is read: memory_stat_show()", "memory_stat_show",
              "any 0 0 0"),
    Operation("mount", "a tmpfs is mounted: mount(2)", "__x64_sys_mount", "around 5 0 0"),
    Operation("fill", None, "shmem_fill_super", "any 0 0 0"),
    Operation("unmount", "a tmpfs is unmounted: umount2(2)", "__x64_sys_umount", "any 0 0 0"),
    Operation("freed", "- after it, before user space goes on: its super block",
              "deactivate_locked_super", "any 0 0 0"),
    Operation("remove", "a group is removed: cgroup_rmdir()", "cgroup_rmdir", "any 0 0 0"),
    Operation("offline", "- after it, a work item: mem_cgroup_css_offline()",
              "mem_cgroup_css_offline", "any 0 0 0"),
    UNCHARGE,
), expected_life,
    times=lambda result, found: {"populate": result["series"]["populated"][0]})
# What an empty group takes, and some more.
GROUP_KIB = 24
# A slow machine, on which time is as deterministic as instructions.
ICOUNT = 4
# With caches, whose content depends on what else runs and when. On a faster machine there is
# more between two ticks of the timer, but the longer it takes to wait for something.
CACHES_ICOUNT = 3
# Walks of processes that reclaim from their parent, and then of kswapd. That there is
# a second CPU is what lets one lose the race for the position.
SIBLINGS = Workload("siblings", (
    Operation("iterate", "empty groups are passed over",
              "mem_cgroup_iter_charged mem_cgroup_iter", "any 0 0 0"),
), lambda result: {}, groups=(65000, 5000), memory=lambda n: 512 + n * GROUP_KIB // 1024, cpus=2,
    icount=ICOUNT, caches=False)
# Page cache that outlives limits, where nothing is gained: what one reads is evicted by his limit,
# and read once. Of two files, which begin with a truncation each, only the second one is looked at.
def once(lru, is_on):
    """With a pool that has been of no use, or without."""
    name = f"once-{lru}-{retain.ON if is_on else retain.OFF}"
    return Workload("once", (
        Operation(f"{name}-begins", None, "ext4_truncate", "any 0 0 0"),
        Operation(f"{name}-read", "", "ext4_file_read_iter", "after 0 2 100000"),
        *((Operation(f"{name}-pool", "", "memcg_retain_balance", "after 0 2 100000"),)
          if is_on else ())),
        # A MiB at a time, and the end of the file.
        lambda result: {f"{name}-begins": (2, 2),
                        f"{name}-read": (retain.ONCE + 1, retain.ONCE + 1)},
        ("--lru", lru, "--size", str(retain.ONCE), *(("--retain",) if is_on else ())),
        lambda result, found: dict.fromkeys(found, retain.ONCE * MIB // PAGE),
        memory=lambda n: retain.ONCE_MEMORY, cpus=2, program="retain.py", disks=retain.disks,
        caches=False, timeout=900, ours=is_on, name=name)


ONCE = tuple(once(lru, is_on) for lru, _ in LRUS for is_on in (False, True))
# Reclaim of the whole machine, by kswapd and whoever needs memory, beside containers. It counts
# after a sync(2); there is one more when caches are dropped before, and at the end.
def containers_of(lru, state, reads):
    name, memory = f"containers-{lru}-{state}-{reads}", 512 if QUICK else 2048
    return Workload("reclaim", (
        Operation(f"{name}-syncs", None, "__x64_sys_sync", "any 0 0 0"),
        Operation(f"{name}-reclaim", "", "shrink_node", "after 0 2 1000000")),
        lambda result: {f"{name}-syncs": (3, 3)},
        ("--lru", lru, "--states", state, "--reads", reads, "--memory", str(memory)),
        lambda result, found: {
            f"{name}-reclaim": result["series"][f"{state}_{reads}_taken"][0] / MIB},
        groups=(0, 0) if state == NONE else (1000, 50),
        memory=lambda n: memory, cpus=2, program="containers.py", disks=containers.disks,
        caches=False, timeout=1500, name=name)


CONTAINERS = tuple(containers_of(lru, state, reads) for lru, _ in LRUS
                   for state in STATES for reads in containers.READS)
# Containers that start on a machine with many nodes: a group, and ten mounts and a file in each of
# them, made from inside it. These are the system calls that this takes.
START_CALLS = ("mkdir", "openat", "write", "close", "mount")
START_MOUNTS = 10


def start_operation(nodes, call):
    """Its name."""
    return f"start-{nodes}-{call}"


def start_on(nodes):
    return Workload("start", tuple(
        Operation(start_operation(nodes, call), "", f"__x64_sys_{call}", "any 0 0 0")
        for call in START_CALLS),
        # The guest itself needs some file systems.
        lambda result: {start_operation(nodes, "mount"): (
            result["n"] * START_MOUNTS, result["n"] * START_MOUNTS + 10)},
        times=lambda result, found: dict.fromkeys(found, result["n"] * START_MOUNTS),
        groups=(1000, 50), memory=lambda n: 2048 + n * nodes // 3,
        kernel=(f"numa=fake={nodes}",), caches=False, timeout=900, floor=True,
        name=f"start-{nodes}")


START = {nodes: start_on(nodes) for nodes in (16, 32)}
# What passing over one takes, at the least.
LEAST_FOR_SIBLING = 10
COMPARED = (HOT, OBJECTS, TURNOVER, LIFE, FILES)
WORKLOADS = (*COMPARED, SIBLINGS, *START.values(), *ONCE, *CONTAINERS)
# Those whose instructions and misses are compared.
OPERATIONS = tuple(operation for workload in COMPARED for operation in workload.operations)
