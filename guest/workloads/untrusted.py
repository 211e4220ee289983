#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows what a container can do to others: it
mounts, creates and destroys in its own cgroup and mount namespace, and a
neighbour's reclaim and the kernel's memory are measured."""

import contextlib
import errno
import os
import re
import time

from guest import init
from guest.groups import MIB, Group, check, stat, wait, was_told
from guest.init import CGROUPS, DEBUGFS, STATS

CLONE_NEWNS = 0x20000
MS_REC_PRIVATE = 0x4000 | 1 << 18
MNT_DETACH = 2
PLACE = "/tmp/untrusted"
# Ids that share a unit.
CLASS = 64
# Of the neighbour.
DENTRIES = 3000
RECLAIMED = "1M"
# Where the neighbour is, and where the container.
NEIGHBOUR_CPU, CONTAINER_CPU = 0, 1
# Per mount and node: a unit of the root for 64 of them, and its place in a table.
ROOT_BYTES = 10
SLACK = 64 << 10
# For a container that is to be killed, and where it says that it is ready.
ROOM = 2 * MIB
MADE = "/tmp/made"


# ---- what the kernel keeps

def slab_bytes(pattern):
    """Whole slabs of the caches whose names match."""
    total = 0
    for line in init.read("/proc/slabinfo").splitlines()[2:]:
        name, *numbers = line.replace(":", " ").split()
        if re.fullmatch(pattern, name):
            # <active> <all> <size> <in a slab> <pages> ... slabdata <a> <all>
            total += int(numbers[4]) * int(numbers[-2]) * os.sysconf("SC_PAGESIZE")
    return total


def maps_bytes():
    """What the maps of all groups take: exact in Rust, whole slabs in C, where a
    unit of 520 bytes is in kmalloc-1k."""
    if os.path.exists(STATS):
        return stat("bytes")
    return slab_bytes(r"kmalloc(-rnd-\d+)?-1k")


def root_bytes():
    """What the map of the root takes, which nobody pays for."""
    if not os.path.exists(STATS):
        return 0
    with open(f"{DEBUGFS}/map", "r+", encoding="ascii") as file:
        file.write(f"{os.stat(CGROUPS).st_ino}\n")
        file.flush()
        return sum(int(size) for size in re.findall(r" bytes=(\d+)", file.read()))


def sample(container=None):
    """Bytes; those of the container are what is charged to it."""
    info = init.fields("/proc/meminfo")
    # First: what a grace period frees in between is in neither then.
    charged = init.fields(f"{container.path}/memory.stat") if container else {}
    return {"maps": maps_bytes(), "root": root_bytes(),
            "kernel": (info["Slab:"] + info["Percpu:"]) * 1024,
            "charged": charged.get("kernel", 0),
            "charged_kernel": charged.get("slab", 0) + charged.get("percpu", 0),
            "charged_slabs": charged.get("slab_unreclaimable", 0)}


def dying():
    """Groups that were removed, and are kept by something."""
    return init.fields(f"{CGROUPS}/cgroup.stat")["nr_dying_descendants"]


def settle():
    """Until what is freed after a grace period, or by a work item, is free."""
    last, same = None, 0
    for _ in range(120):
        for name in ("shrinker_unit", "kmalloc-1k"):
            with contextlib.suppress(OSError):
                init.write(f"/sys/kernel/slab/{name}/shrink", "1")
        now = maps_bytes()
        same = same + 1 if now == last and not dying() else 0
        if same == 4:
            return
        last = now
        time.sleep(0.25)


# ---- the container

class Container:
    """A group with a limit, whose processes make groups below it."""

    def __init__(self, limit):
        self.group = Group("container")
        self.group.write("memory.max", limit)
        self.group.write("cgroup.subtree_control", "+memory")
        # Groups with children have no processes of their own.
        self.init = Group("init", parent=self.group)

    def start(self, function, *arguments):
        return self.init.start(function, self, *arguments)

    def remove(self):
        self.init.remove()
        self.group.remove()


def enter(group):
    group.write("cgroup.procs", "0")


def own_namespace():
    init.checked(init.LIBC.unshare(CLONE_NEWNS), "unshare")
    init.checked(init.LIBC.mount(None, b"/", None, MS_REC_PRIVATE, None),
                 "make / private")
    # What is mounted and created there goes with the process.
    init.mount("tmpfs", PLACE)
    os.sched_setaffinity(0, {CONTAINER_CPU})


def unmount(where):
    init.checked(init.LIBC.umount2(where.encode(), MNT_DETACH), where)


def touch_file(path):
    with open(path, "w", encoding="ascii"):
        pass


def churn(hears, container, mounts):
    """Mounts, creates and destroys as fast as it can, until it is told."""
    own_namespace()
    places = [f"{PLACE}/{number}" for number in range(mounts)]
    count = 0
    while not was_told(hears):
        group = Group(f"churn{count}", parent=container.group)
        enter(group)
        for place in places:
            init.mount("tmpfs", place)
            for number in range(4):
                touch_file(f"{place}/{number}")
        for place in places:
            unmount(place)
        enter(container.init)
        group.remove()
        count += 1
    return {"churned": count}


def hoard(hears, container, mounts, groups):
    """Has many mounts and groups, and a file of each mount looked up in each
    group, until it is told."""
    own_namespace()
    places = make_mounts(mounts)
    made = make_groups(container, groups)
    look_up(container, made, places[::CLASS])
    wait(hears)
    destroy(made, places)
    return {"churned": 0}


def make_mounts(number):
    places = [f"{PLACE}/{at}" for at in range(number)]
    for place in places:
        init.mount("tmpfs", place)
    return places


def make_groups(container, number):
    return [Group(f"g{at}", parent=container.group) for at in range(number)]


def look_up(container, groups, places):
    """In each group, a name in each of the places. It is not there, so that the
    object that is charged is gone at once."""
    for group in groups:
        enter(group)
        for place in places:
            os.path.exists(f"{place}/none")
    enter(container.init)


def destroy(groups, places):
    for place in places:
        unmount(place)
    for group in groups:
        group.remove()


# ---- the neighbour

def measured(function, *arguments):
    start = time.monotonic_ns()
    function(*arguments)
    return time.monotonic_ns() - start


def look_for(path, prefix, number):
    for at in range(number):
        os.path.exists(f"{path}/{prefix}{at}")


def reclaim_all(group):
    """It fails where there is less than was asked for, or what was freed waits
    for a grace period."""
    try:
        group.write("memory.reclaim", RECLAIMED)
    except OSError as error:
        if error.errno != errno.EAGAIN:
            raise


def reclaim(_hears, group, repeats):
    """memory.reclaim of a group that has a few thousand dentries."""
    os.sched_setaffinity(0, {NEIGHBOUR_CPU})
    took = []
    for number in range(repeats):
        look_for(group.path, f"none{number}.", DENTRIES)
        before = reclaimable(group)
        took.append(measured(reclaim_all, group))
        # They are freed after a grace period.
        for _ in range(100):
            left = reclaimable(group)
            if left < before // 2:
                break
            time.sleep(0.05)
        check(left < before // 2, f"reclaim left {left} bytes of {before}")
    return {"took": took}


def reclaimable(group):
    return init.fields(f"{group.path}/memory.stat")["slab_reclaimable"]


def to_reclaim(group):
    """All that could make room for something else; there is no swap."""
    stat_of = init.fields(f"{group.path}/memory.stat")
    return stat_of["file"] + stat_of["slab_reclaimable"]


def drop(_hears, _group, repeats):
    os.sched_setaffinity(0, {NEIGHBOUR_CPU})
    init.write("/proc/sys/vm/drop_caches", "2")
    return {"took": [measured(init.write, "/proc/sys/vm/drop_caches", "2")
                     for _ in range(repeats * 2)]}


def come_and_go(_hears, group, repeats):
    """A group, and a mount, of the neighbour's own."""
    os.sched_setaffinity(0, {NEIGHBOUR_CPU})
    place = "/tmp/neighbour"

    def once(number):
        made = Group(f"new{number}", parent=group)
        init.mount("tmpfs", place)
        unmount(place)
        made.remove()

    return {"took": [measured(once, number) for number in range(repeats * 4)]}


PROBES = {"reclaim": reclaim, "drop": drop, "come_and_go": come_and_go}


def probe(neighbour, repeats, when, series):
    for name, function in PROBES.items():
        series[f"{name}_{when}"] = neighbour.run(function, neighbour,
                                                 repeats)["took"]


def beside(options):
    """What the neighbour's reclaim takes before, while and after a container
    does its worst."""
    series = {}
    for number in range(options.n):
        Group(f"bystander{number}")
    neighbour, container = Group("neighbour"), Container(options.limit)
    settle()
    base = sample()
    # The first time takes longer.
    probe(neighbour, 1, "warm", {})
    probe(neighbour, options.repeats, "idle", series)

    attack, arguments = ((churn, (8,)) if options.attack == "churn" else
                         (hoard, (options.mounts, options.groups)))
    running = container.start(attack, *arguments)
    if attack is hoard:
        # It says nothing before it ends: wait until no more comes.
        settle()
    else:
        time.sleep(2)
    check(not running.ended(), "the container has ended too early")
    peak = sample(container.group)
    probe(neighbour, options.repeats, "attacked", series)
    check(not running.ended(), "the container has ended too early")
    series["churned"] = [running.result()["churned"]]
    settle()
    after = sample(container.group)
    probe(neighbour, options.repeats, "after", series)
    return {**series, **growth("peak", base, peak),
            **growth("after", base, after)}


# ---- who pays

def growth(name, before, after):
    found = {f"{key}_{name}": [after[key] - before[key]] for key in after}
    unpaid = found[f"kernel_{name}"][0] - found[f"charged_kernel_{name}"][0]
    return {**found, f"unpaid_{name}": [unpaid]}


def worst(_hears, container, options):
    """Many ids, many groups, and as many units for each as there can be."""
    group = container.group
    own_namespace()
    samples = {"base": sample(group)}
    start = time.monotonic()
    places = make_mounts(options.mounts)
    samples["mounted"] = sample(group)
    mounted = time.monotonic() - start
    made = make_groups(container, options.groups)
    samples["made"] = sample(group)
    start = time.monotonic()
    # One of those that share a unit is enough.
    look_up(container, made, places[::CLASS])
    looked = time.monotonic() - start
    samples["looked"] = sample(group)
    destroy(made, places)
    return {"samples": samples, "mounted": mounted, "looked": looked}


def nodes():
    return len([name for name in os.listdir("/sys/devices/system/node")
                if re.fullmatch(r"node\d+", name)])


def bound_by_mounts(mounts):
    """What a mount may add that nobody pays for, in bytes for so many."""
    return mounts * ROOT_BYTES * nodes() + SLACK


def check_bound(samples, mounts):
    """The bound that Documentation/mm/mm_reclaim.rst states."""
    maps = {name: each["maps"] for name, each in samples.items()}
    by_mounts = samples["mounted"]["root"] - samples["base"]["root"]
    check(by_mounts > 0, "the root's map can't be read")
    bound = bound_by_mounts(mounts)
    check(by_mounts <= bound, f"{mounts} mounts made maps grow by {by_mounts} "
          f"bytes that nobody pays for: at most {bound} are documented")
    check(maps["made"] - maps["mounted"] <= SLACK,
          "making groups makes maps grow")
    by_look_ups = maps["looked"] - maps["made"]
    # Charges are in pages, which a group needs for other things, too; not this.
    paid = samples["looked"]["charged_slabs"] - samples["made"]["charged_slabs"]
    check(by_look_ups <= paid + SLACK, f"the maps grew by {by_look_ups} bytes, "
          f"but only {paid} were charged to the container that caused it")


def pay(options):
    """What one container makes the kernel keep, and who pays for it."""
    for number in range(options.n):
        Group(f"bystander{number}")
    container = Container(options.limit)
    settle()
    base = sample(container.group)
    found = container.start(worst, options).result()
    samples = found["samples"]
    settle()
    after = sample(container.group)
    dropped = measured(init.write, "/proc/sys/vm/drop_caches", "2")
    container.remove()
    settle()
    gone = sample()
    series = {"mounted": [found["mounted"]], "looked": [found["looked"]],
              "drop": [dropped], "dying": [dying()],
              **growth("mounted", samples["base"], samples["mounted"]),
              **growth("made", samples["mounted"], samples["made"]),
              **growth("looked", samples["made"], samples["looked"]),
              **growth("all", samples["base"], samples["looked"]),
              **growth("after", base, after)}
    if os.path.exists(STATS):
        check_bound(samples, options.mounts)
        left = gone["maps"] - base["maps"]
        bound = bound_by_mounts(options.mounts)
        check(left <= bound, f"{left} bytes of maps are left of a container that "
              f"is gone: at most {bound} are documented")
    return series


def until_killed(_hears, container, options):
    """As `worst`, and at the limit when it comes to the names."""
    own_namespace()
    places = make_mounts(options.mounts)
    made = make_groups(container, options.groups)
    init.write(MADE, f"maps {maps_bytes()}\nreclaimable "
                      f"{to_reclaim(container.group)}\n")
    container.group.write("memory.max", container.group.usage() + ROOM)
    look_up(container, made, places[::CLASS])


def limit(options):
    """A container that is at its limit gets no more maps."""
    container = Container(options.limit)
    settle()
    base = maps_bytes()
    running = container.start(until_killed, options)
    killed = running.is_killed()
    made = init.fields(MADE)
    grown = maps_bytes() - made["maps"]
    for number in range(options.groups):
        os.rmdir(f"{container.group.path}/g{number}")
    container.remove()
    settle()
    left = maps_bytes() - base
    if os.path.exists(STATS):
        check(killed and init.oom_kills(), f"{options.groups} groups have units for "
              f"{options.mounts} mounts, which take {grown} bytes, though there "
              f"is room for {ROOM} only: nobody was charged")
        room = ROOM + made["reclaimable"]
        check(grown <= room, f"maps grew by {grown} bytes in a container with room "
              f"for {ROOM}, and {made['reclaimable']} bytes to reclaim")
        check(left <= bound_by_mounts(options.mounts),
              f"{left} bytes of maps are left of a container that was killed")
    return {"killed": [int(killed)], "grown": [grown], "left": [left]}


WORKLOADS = {function.__name__: function for function in (beside, pay, limit)}


def parse(arguments):
    parser = init.parser()
    parser.add_argument("--attack", choices=("churn", "hoard"), default="churn")
    parser.add_argument("--mounts", type=int, default=64)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", default="256M")
    parser.add_argument("workload", choices=WORKLOADS)
    return parser.parse_args(arguments)


def work(arguments):
    options = parse(arguments)
    init.mount_groups()
    series = WORKLOADS[options.workload](options)
    check(not init.oom_kills() or options.workload == "limit",
          "a process was killed: memory is too short")
    return {"series": series}


init.main(work)
