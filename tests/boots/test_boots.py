# SPDX-License-Identifier: GPL-2.0
"""Boots the kernel in the ways in which it must work, each with a workload."""

import dataclasses
import functools
import re
from collections.abc import Callable

import pytest

from bench import priority, retain, softlimit
from bench.scale import IDLE_CALLS
from harness import arms, initramfs, kernels, python_guest, qemu
from harness.common import LOGS, QUICK, Unexpected, expect
from harness.stats import calls

N = 100
IDLE = ("--keep", "idle")
WITHOUT_MEMORY = "v2-without-memory"
# Takes longest to build.
DEBUG = "debug"
EXT4 = "ext4"

# Asks for another one than the default.
MODE = "mm_reclaim="
SAYS = re.compile(r"mm_reclaim: version (\d+), memory cgroup reclaim: (.*)")

build_once = functools.cache(initramfs.build_initramfs)


@dataclasses.dataclass(frozen=True)
class Boot:
    """A kernel, its arguments, and what its result must show."""
    name: str
    variant: str = "rust"
    kernel: tuple = ()
    workload: tuple = ()
    memory: int = 1024
    cgroup: str = "v2"
    # Of guest/workloads, in Python; else the one in C.
    program: str = ""
    disks: Callable = tuple
    timeout: int = None
    # Whether QUICK=1 leaves it out: it takes minutes, or is the same with another LRU.
    is_long: bool = False
    # A kernel that does the same first, and with whose result this one's is
    # compared.
    against: str = ""
    # Expects of its result what must be so.
    check: Callable = lambda result: None


def says(boot):
    """What a kernel of ours must say that it runs."""
    implementation = "none" if boot.cgroup == WITHOUT_MEMORY else "rust"
    asked = [text.removeprefix(MODE) for text in boot.kernel if text.startswith(MODE)]
    return f"{implementation}, mode {asked[0] if asked else 'maps'}"


def saw_groups(result):
    lines = result["debugfs"]["memcg_lines"]
    expect(lines >= N, f"the debugfs files show objects of {lines} groups, not of {N}")


def saw_maps(result):
    seen = result["debugfs"]
    expect(seen["map_lines"] >= N and seen["ids"] >= N,
           f"the debugfs files show {seen['map_lines']} maps and {seen['ids']} ids, not {N} or "
           "more")
    saw_groups(result)


def saw_no_groups(result):
    """Without kmem accounting every object is the root's."""
    seen = result["debugfs"]
    expect(not seen["memcg_lines"] and seen["objects_before"],
           f"the debugfs files show {seen['objects_before']} objects, and those of "
           f"{seen['memcg_lines']} groups: nokmem had no effect")


def on_four_nodes(result):
    expect(result["nodes"] == "0-3", f"the guest has the NUMA nodes {result['nodes'] or 'none'}")
    called_few(result, 4)


def all_calls(result):
    total = calls(result, "do_shrink_slab")
    expect(total is not None, "the calls of do_shrink_slab could not be counted")
    return total


def called_all(result):
    total = all_calls(result)
    expect(total >= N * N, f"only {total} calls: not every shrinker for every group")


def called_few(result, nodes=1):
    """With nothing in the groups, drop_caches calls the shrinkers that know
    nothing of them, however many groups there are. The C implementation calls one
    for each group that ever had an object."""
    total, most = all_calls(result), IDLE_CALLS * nodes
    expect(result["series"]["emptied"][0], "the groups could not be emptied")
    expect(total <= most, f"{total} calls when idle, not {most} or less: the maps don't follow "
           "the objects")


def called_for_each(result):
    """That called_few() tells the two implementations apart."""
    total = all_calls(result)
    expect(total >= N, f"{total} calls in C, not {N} or more")
    with pytest.raises(Unexpected):
        called_few(result)


# In bytes.
UNIT = 528
PAIRS = {"ids": "shrinker_id", "units": "shrinker_unit", "table_bytes": "shrinker_table_bytes"}


def counts_agree(result):
    """Of /proc/vmstat, debugfs and the tracepoints."""
    events = result["vmstat"]
    for name, event in PAIRS.items():
        there = events[f"{event}_alloc"] - events[f"{event}_free"]
        expect(there == result["stats"][name], f"of {event} there are {there} in /proc/vmstat, "
               f"{result['stats'][name]} in debugfs")
    expect(f"- their units {result['stats']['units']} " in " ".join(result["summary"].split()),
           f"the summary says {result['summary']}")
    for name, lines in result["traced"].items():
        expect(lines, f"no line of {name} names the group that has got objects")


def tools_agree(result):
    """What the tools say of the groups, each of which was given objects."""
    by_path = {group["path"]: group for group in result["maps"]}
    for path in (f"/g{number}" for number in range(N)):
        group = by_path.get(path)
        expect(group and group["objects"] >= result["objects"] and group["shrinkers"] and
               group["map_bytes"], f"memcg_shrinker_maps.py says of {path}: {group}")
        expect(any(line.endswith(f" {path}") for line in result["table"]),
               f"the table of memcg_shrinker_maps.py lacks {path}")
        expect(any(line.endswith(path) for line in result["shrinkers"]),
               f"memcg_shrinker.py of the kernel lacks {path}")
    stat = {group["path"]: group["map_bytes"] for group in result["without_debugfs"]}
    for path, group in by_path.items():
        if group["units"] and path not in (None, "/"):
            tables = stat.get(path, 0) - group["units"] * UNIT
            expect(0 < tables < 200, f"memory.stat says that the maps of {path} take "
                   f"{stat.get(path)} bytes, and debugfs that it has {group['units']} units")
    counts_agree(result)
    found = [(group["path"], group["priority"], group["effective"])
             for group in result["settings"]]
    expect(found == [("/idle", "6 active", "12"), ("/spared", "6", "6")],
           f"memcg_reclaim.py says {found}")
    expect(result["sysfs"] == {"implementation": "rust\n", "mode": "maps\n",
                                "version": f"{result['version']}\n"},
           f"sysfs says {result['sysfs']}")


# Objects of 1 KiB that a group and its mount bring at most. With maps in Rust, which
# have none, it is one, as /proc/slabinfo says.
OTHERS = 2


def within(name, number, found):
    expect(found["low"] <= number <= found["high"], f"shrinker_map_cost.py estimates {name} as "
           f"{found['low']} to {found['high']}: there are {number}")


def units_agree(result):
    """The units that C has, against what the tool expects of ids and groups."""
    for found in result["costs"]:
        least, most = (-(-found["ids"][end] // 64) * found["cgroups"][end]
                       for end in ("low", "high"))
        # Others that were there before may be gone.
        within("objects in kmalloc-1k", result["objects"],
               {"low": least, "high": result["before"] + most + OTHERS * result["groups"]})


def costs_agree(result, stock):
    """Of both kernels what is read must be what is estimated, with debugfs and
    without, which only stock needs; and what stock's estimate says of this one must be so."""
    units_agree(stock)
    stats, costs = result["stats"], result["costs"] + stock["costs"]
    for found in costs:
        within("groups", result["groups"] + 1, found["cgroups"])
        within("ids", stats["ids"], found["ids"])
        within("bytes of maps", stats["bytes"], found["mm_reclaim_bytes"])
    seen = [found["implementation"] for found in costs]
    expect(seen == ["rust", "rust", "c", "c"], f"shrinker_map_cost.py takes the kernels for {seen}")
    expect(costs[0]["mm_reclaim_bytes"]["how"] == "read",
           "shrinker_map_cost.py does not read the totals")


def queued_once(result):
    """A file that is queued for splitting already needs no bits."""
    expect(result["huge_kib"] >= 2 * 2048 * result["files"],
           f"tmpfs has only {result['huge_kib']} KiB in huge pages")
    expect(result["calls"] == result["files"],
           f"bits were set {result['calls']} times for {result['files']} files")


def soft_limit(name, *workload, variant=DEBUG, memory=1280, **more):
    """With all that the kernel can check; the guest fails if a check does."""
    return Boot(f"soft limits: {name}", variant, workload=workload, memory=memory,
                cgroup="v1", program="soft_limit.py", disks=softlimit.disks, timeout=300, **more)


def checked(name, checks, v1=False, lru="classic", variant=DEBUG, **more):
    """The guest fails if one of its checks does."""
    return Boot(f"{name}, cgroup v{2 - v1}, {lru}", variant,
                workload=(*(("--v1",) if v1 else ()), "--lru", lru, *checks),
                cgroup="v1" if v1 else "v2", **more)


def priorities(name, *checks, **more):
    return checked(f"priorities: {name}", checks, memory=1280, program="priority_checks.py",
                   disks=priority.fast_disks, timeout=900, **more)


def retained(name, *checks, variant=EXT4, **more):
    return checked(f"retained page cache: {name}", checks, variant=variant, memory=1024,
                   program="retain_checks.py", disks=retain.fast_disks,
                   timeout=retain.CHECKS_TIMEOUT, **more)


def alike(_result, _stock):
    """The workload has checked it. How many pages are scanned on the way depends on how far
    kswapd runs ahead, and so on time: bench/softlimit.py compares that."""


def beside_trickle(name, *workload, **more):
    """The same on stock, where there are no soft limits."""
    return soft_limit(name, "--knob", "--no-swap", "--pause", "0", *workload, variant="rust",
                      memory=1024, against="stock", check=alike, **more)


BOOTS = (
    Boot("default"),
    Boot("groups with nothing in them", workload=IDLE, check=called_few),
    Boot("the same with C, for comparison", variant="stock", workload=IDLE,
         check=called_for_each),
    Boot("cgroup_disable=memory", kernel=("cgroup_disable=memory",),
         workload=("--any",), cgroup=WITHOUT_MEMORY),
    Boot("cgroup.memory=nokmem", kernel=("cgroup.memory=nokmem",),
         workload=("--shrinker-debug",), check=saw_no_groups),
    Boot("cgroup v1", workload=("--v1",), cgroup="v1"),
    Boot("debugfs", workload=("--shrinker-debug",), check=saw_maps),
    Boot("debugfs, cgroup_disable=memory",
         kernel=("cgroup_disable=memory",),
         workload=("--any", "--shrinker-debug"), cgroup=WITHOUT_MEMORY),
    Boot("tools/cgroup, run by Python", program="tools.py", check=tools_agree),
    Boot("shrinker_map_cost.py, and stock", against="stock", program="map_cost.py",
         check=costs_agree),
    Boot("tmpfs with huge pages", program="huge_tmpfs.py", check=queued_once),
    # On stock, too, what is charged as kmem on version 2 and uncharged on version 1, which
    # alone has a counter for it, has that one warn.
    Boot("removed groups, and the other version of cgroups", DEBUG,
         kernel=("cgroup.memory=nokmem",), workload=("remounted",),
         program="dying.py"),
    Boot("4 NUMA nodes", kernel=("numa=fake=4",), workload=IDLE,
         check=on_four_nodes),
    Boot("mm_reclaim=verify", variant="verify", kernel=("mm_reclaim=verify",)),
    Boot("mm_reclaim=verify, cgroup v1", variant="verify",
         kernel=("mm_reclaim=verify",), workload=("--v1",), cgroup="v1"),
    Boot("mm_reclaim=exhaustive", variant="verify",
         kernel=("mm_reclaim=exhaustive",), check=called_all),
    Boot("memcg_soft_limit=1, cgroup_disable=memory",
         kernel=("memcg_soft_limit=1", "cgroup_disable=memory"),
         workload=("--any",), cgroup=WITHOUT_MEMORY),
    Boot("memcg_soft_limit=1", kernel=("memcg_soft_limit=1",), workload=IDLE,
         check=called_few),
    soft_limit("files and the sysctl", "knob"),
    soft_limit("switched on late", "late"),
    soft_limit("only a parent is in excess", "parent", is_long=True),
    soft_limit("only a parent is in excess, MGLRU", "--lru", "mglru", "parent"),
    soft_limit("everybody is refused", "refused"),
    soft_limit("everybody is refused, MGLRU", "--lru", "mglru", "refused", is_long=True),
    soft_limit("memory that can't be reclaimed", "--knob", "unreclaimable"),
    soft_limit("memory that can't be reclaimed, MGLRU", "--knob", "--lru", "mglru",
               "unreclaimable", is_long=True),
    soft_limit("page cache that can't be reclaimed", "--knob", "--pinned", "unreclaimable",
               is_long=True),
    soft_limit("page cache that can't be reclaimed, MGLRU", "--knob", "--pinned", "--lru",
               "mglru", "unreclaimable"),
    beside_trickle("a trickle beside cold page cache", "trickles", is_long=True),
    beside_trickle("a trickle beside cold page cache, MGLRU", "--lru", "mglru", "trickles",
                   is_long=True),
    beside_trickle("a trickle, and no memory left", "rescue", is_long=True),
    beside_trickle("a trickle, and no memory left, MGLRU", "--lru", "mglru", "rescue"),
    soft_limit("groups come and go", "come_and_go", is_long=True),
    soft_limit("groups come and go, MGLRU", "--lru", "mglru", "come_and_go"),
    priorities("their files", "files"),
    priorities("their files", "files", v1=True, is_long=True),
    priorities("from whom reclaim takes", "taken", lru="mglru", is_long=True),
    priorities("from whom reclaim takes", "taken", v1=True, is_long=True),
    priorities("whom reclaim spares", "basic", variant="rust"),
    # Others would be passed over, if their pages were not noted.
    priorities("whom reclaim spares, mm_reclaim=verify", "basic", variant="verify",
               kernel=("mm_reclaim=verify",)),
    priorities("from whom reclaim takes", "taken", variant="rust", is_long=True),
    priorities("from whom reclaim takes", "taken", v1=True, lru="mglru", variant="rust",
               is_long=True),
    retained("its knobs", "knobs"),
    retained("its knobs", "knobs", v1=True, is_long=True),
    retained("all of it", "all", lru="mglru", is_long=True),
    retained("all of it", "all", v1=True, is_long=True),
    retained("the most important", "basic", variant="rust"),
    retained("what is kept", "kept", variant="rust", is_long=True),
    retained("what is given back", "given", variant="rust", is_long=True),
    retained("who is charged", "charges", variant="rust", is_long=True),
    retained("how its files are used", "files", variant="rust", is_long=True),
    retained("all of it", "all", v1=True, lru="mglru", variant="rust", is_long=True),
)


def add_options(parser):
    parser.add_argument("--part", choices=(DEBUG, "others"),
                        help="only those on the kernels debug and ext4, or all others")


def cases(options):
    return {boot.name: boot for boot in BOOTS
            if not (QUICK and boot.is_long) and
            (not options.part or (boot.variant in (DEBUG, EXT4)) == (options.part == DEBUG))}


def run(boot, variant, step):
    """Boots it on a kernel, and returns its result."""
    arm = kernels.alone(variant)
    step.uses(arm)
    step.log = arms.log_name("boot", boot.name, *([variant] if boot.against == variant else ()))
    machine = qemu.Machine("tcg", boot.memory, 2, disks=boot.disks())
    initrd = python_guest.build(boot.program) if boot.program else build_once()
    result = arms.boot(arm, machine, initrd, N, step.log, boot.workload, boot.kernel,
                       boot.timeout, boot.cgroup != WITHOUT_MEMORY)
    expect(result["cgroup"] == boot.cgroup,
           f"the workload ran on cgroup {result['cgroup']}")
    found = SAYS.findall(qemu.console(LOGS / f"{step.log}.log"))
    if arm.kernel.implementation == "c":
        expect(not found, f"a kernel in C says {found}")
        return result
    expect([what for _, what in found] == [says(boot)], f"the kernel says that it runs {found}")
    return {**result, "version": found[0][0]}


def test_boot(case, step):
    others = [run(case, case.against, step)] if case.against else []
    case.check(run(case, case.variant, step), *others)
