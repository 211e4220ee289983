# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of a guest's operations with count.c, a plugin of
QEMU's: where it is to count, what it found, and whether that can be right."""

import dataclasses
import pathlib
import subprocess
from collections.abc import Callable

from bench import retain
from guest.groups import MIB
from guest.init import PAGE
from harness import compiler, qemu
from harness.common import OUT, BenchError, shown
from harness.scenario import LRUS

FOLDER = OUT / "profile"
USAGE = "points= and out= are needed"


@dataclasses.dataclass(frozen=True)
class Operation:
    """A function, and which of its calls count; see count.c."""
    name: str
    title: str
    entry: str              # or several names, of which the kernel's first one counts
    rule: str


@dataclasses.dataclass(frozen=True)
class Workload:
    """What runs in one guest, and what of it counts."""
    scenario: str
    operations: tuple
    # The least and most that each operation has to count, from its own result.
    expected: Callable
    arguments: tuple = ()
    # How often each was done, of those that are not one call of their entry.
    times: Callable = lambda result, found: {}
    memory: Callable = lambda n: 1024  # in MiB, for so many groups
    cpus: int = 1
    icount: int | None = None  # see qemu.Machine
    # A program of guest/workloads/, if it is none of the selftest's scenarios, with its disks.
    program: str = ""
    disks: Callable = tuple
    timeout: int = 300      # in s
    ours: bool = False      # nothing that stock has
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


# What every process does; with Rust, statistics are reached by another pointer.
MEMORY = (
    Operation("fault", "a page fault: handle_mm_fault()", "handle_mm_fault", "any 0 0 0"),
    Operation("charge", "a folio is charged: __mem_cgroup_charge()", "__mem_cgroup_charge",
              "any 0 0 0"),
    Operation("uncharge", "a batch of a memcg's folios is uncharged: uncharge_batch()",
              "uncharge_batch", "any 0 0 0"),
    Operation("state", "a state is counted: lruvec_stat_mod_folio()",
              "lruvec_stat_mod_folio", "any 0 0 0"),
    Operation("event", "an event is counted: count_memcg_events()", "count_memcg_events",
              "any 0 0 0"),
)
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
              "__memcg_list_lru_alloc()", "__memcg_list_lru_alloc",
              "inside 1 0 0"),
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
# What an empty group takes, and some more.
GROUP_KIB = 24
# A slow machine, on which time is as deterministic as instructions.
ICOUNT = 4
# Walks of processes that reclaim from their parent, and then of kswapd. That there is
# a second CPU is what lets one lose the race for the position.
SIBLINGS = Workload("siblings", (
    Operation("iterate", "empty groups are passed over",
              "mem_cgroup_iter_charged mem_cgroup_iter", "any 0 0 0"),
), lambda result: {}, memory=lambda n: 512 + n * GROUP_KIB // 1024, cpus=2, icount=ICOUNT)
# Page cache that outlives limits, where nothing is gained: what one reads is evicted by his limit,
# and read once. Of two files, which begin with a truncation each, only the second one is looked at.
def once(lru, is_on):
    """With a pool that has been of no use, or without."""
    name = f"once-{lru}-{retain.ON if is_on else retain.OFF}"
    return Workload("once", (
        Operation(f"{name}-begins", "", "ext4_truncate", "any 0 0 0"),
        Operation(f"{name}-read", "", "ext4_file_read_iter", "after 0 2 100000"),
        *((Operation(f"{name}-pool", "", "memcg_retain_balance", "after 0 2 100000"),)
          if is_on else ())),
        # A MiB at a time, and the end of the file.
        lambda result: {f"{name}-begins": (2, 2),
                        f"{name}-read": (retain.ONCE + 1, retain.ONCE + 1)},
        ("--lru", lru, "--size", str(retain.ONCE), *(("--retain",) if is_on else ())),
        lambda result, found: dict.fromkeys(found, retain.ONCE * MIB // PAGE),
        memory=lambda n: retain.ONCE_MEMORY, cpus=2, program="retain.py", disks=retain.disks,
        timeout=900, ours=is_on, name=name)


ONCE = tuple(once(lru, is_on) for lru, _ in LRUS for is_on in (False, True))
# What passing over one takes, at the least.
LEAST_FOR_SIBLING = 10
WORKLOADS = (HOT, TURNOVER, FILES, SIBLINGS, *ONCE)
# Those whose instructions are compared.
OPERATIONS = HOT.operations + TURNOVER.operations + FILES.operations
# Each is one of many entries; those in ranges are too many for names.
ENTRY_RANGES = ("irq_entries_start", "spurious_entries_start")
ENTRIES = ("asm_exc_", "asm_sysvec_")
SWITCH = "__switch_to_asm"
PREEMPT_COUNT = "__preempt_count"
# Which of them there are depends on the configuration.
SCHEDULER = ("schedule", "__cond_resched", "preempt_schedule",
             "preempt_schedule_thunk")
# What no operation calls, but what runs in between: if one of these was counted,
# an interrupt or another task was taken for a part of an operation.
OUTSIDE = (*ENTRY_RANGES, "entry_SYSCALL_64", "rcu_gp_kthread",
           "smpboot_thread_fn", "worker_thread")


def api(release):
    """The version of the plugin interface; see qemu_plugin.h."""
    return 1 if release < (9, 0) else 2 if release < (9, 1) else 3


def build_plugin():
    """Returns the path of a plugin that this QEMU can load."""
    plugin = FOLDER / "count.so"
    source = pathlib.Path(__file__).with_name("count.c")
    compiler.build("the plugin for QEMU", plugin, [source],
                   ["-shared", "-fPIC", "-fvisibility=hidden",
                    "-Wno-unused-parameter",
                    f"-DQEMU_PLUGIN_API={api(qemu.release())}"],
                   "build-plugin.log")
    # Without arguments it says what it needs, if QEMU gets as far as that.
    result = subprocess.run([qemu.QEMU, "-M", "none", "-display", "none",
                             "-plugin", str(plugin)], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=60,
                            check=False)
    if USAGE not in result.stderr:
        raise BenchError(
            f"{qemu.QEMU} ({qemu.version()}) cannot load {shown(plugin)}. That "
            "takes one that was configured with --enable-plugins, as Debian's "
            "is, and whose plugin interface qemu_plugin.h knows. It says "
            f"\"{(result.stderr + result.stdout).strip()}\"")
    return plugin


def write_points(symbols, path, groups, operations):
    lines = []
    for operation in operations:
        entry = symbols.first_of(*operation.entry.split())
        lines.append(f"operation {symbols.range(entry)[0]:x} "
                     f"{operation.rule.format(most=groups - 1)}")
    entries = symbols.starting_with(*ENTRIES)
    ranges = [(symbols.range(name)[0], symbols.range(name)[0] + 1)
              for name in entries]
    ranges += [symbols.range(name) for name in ENTRY_RANGES]
    lines += [f"interrupt {first:x} {end:x}" for first, end in ranges]
    first, end = symbols.range(SWITCH)
    lines.append(f"switch {first:x} {end:x}")
    lines.append(f"preempt {symbols.data(PREEMPT_COUNT):x}")
    lines += [f"scheduler {symbols.range(name)[0]:x}" for name in SCHEDULER
              if name in symbols.by_name]
    path.write_text("\n".join(lines) + "\n")


def argument(plugin, points, out):
    """For qemu.Machine."""
    # QEMU's options take a comma as the end unless there are two.
    return ",".join(str(part).replace(",", ",,") for part in
                    (plugin, f"points={points}", f"out={out}"))


def read(out, symbols, operations):
    """For each operation, how often it counted and what ran in it."""
    try:
        lines = out.read_text().splitlines()
    except OSError as error:
        raise BenchError(f"cannot read {shown(out)}: {error.strerror}") from None
    calls = [tuple(map(int, line.split()[1:])) for line in lines
             if line.startswith("operation ")]
    if len(calls) != len(operations):
        raise BenchError(f"{shown(out)} is incomplete")
    found = {operation.name: {"entered": entered, "counted": counted,
                              "sections": sections, "longest": longest,
                              "functions": {}}
             for operation, (entered, counted, sections, longest)
             in zip(operations, calls)}
    for line in lines[len(calls):]:
        _, number, address, insns, atomics, times = line.split()
        name, begins = symbols.at(int(address, 16))
        function = found[operations[int(number)].name]["functions"].setdefault(
            name, {"instructions": 0, "calls": 0, "atomics": 0})
        function["instructions"] += int(insns) * int(times)
        function["atomics"] += int(atomics) * int(times)
        function["calls"] += int(times) if begins else 0
    return found


def check(workload, result, found):
    """Says why the counts cannot be those of the workload, or nothing."""
    left = result["series"].get("not_dropped", [0])[0]
    if left:
        return f"{left} groups had objects left after the drops"
    bounds = workload.expected(result)
    for operation in workload.operations:
        content = found[operation.name]
        entered, counted = content["entered"], content["counted"]
        low, high = bounds.get(operation.name, (1, entered))
        if not entered:
            return (f"{operation.entry} was never entered where it counts: is "
                    "vmlinux that of the kernel which ran?")
        if not low <= counted <= high:
            return (f"{counted} calls of {operation.entry} counted, of "
                    f"{entered} that were followed, but the workload made "
                    + (f"{low}" if low == high else f"{low} to {high}"))
        for function in content["functions"]:
            if function.startswith(ENTRIES) or function in OUTSIDE:
                return f"{function} was counted as a part of {operation.entry}"
    if workload is HOT and (found["access"]["counted"] !=
                            found["set_shrinker_bit"]["counted"]):
        return "some access(2) brought more than one first object"
    if workload is SIBLINGS:
        executed = sum(function["instructions"] for function
                       in found["iterate"]["functions"].values())
        if executed < LEAST_FOR_SIBLING * result["n"]:
            return (f"{executed} instructions are too few for a walk over "
                    f"{result['n']} groups")
        if not found["iterate"]["sections"]:
            return ("no RCU section was seen: does the kernel change "
                    "__preempt_count in another way than count.c knows?")
    return None


def per_operation(workload, result, found):
    """All counts for one of the operations: one object, or one group's two."""
    times = workload.times(result, found)
    for name, content in found.items():
        content["operations"] = times.get(name, content["counted"])
        for function in content["functions"].values():
            for key in function:
                function[key] /= content["operations"]
