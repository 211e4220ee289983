#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that checks priorities between cgroups: their files, and from
whom reclaim takes. The disks are those of guest/memory.py."""

import errno
import itertools
import mmap
import os
import time

from guest import init
from guest.groups import (
    MIB, TRACING, Group, Process, check, drop_caches, expect_refused, memory, mount_tracing,
    remove_all, stat, wait_until, was_told)
from guest.init import CGROUPS
from guest.memory import (
    DISK, SWAP, Count, add_lru_option, available, eat, lost, pin, read_part, touch, use,
    use_lru)
from guest.priorities import (
    DEFAULT, EFFECTIVE, KNOB, WORST, counter, effective, parent_group, prioritize)

CLONE_NEWNS, CLONE_NEWCGROUP, MS_REMOUNT = 0x00020000, 0x02000000, 32
OVERRIDE = f"{TRACING}/events/vmscan/mm_vmscan_memcg_priority_override"
NUMBERS = "memcgs_with_priority"
# A user that owns nothing yet.
NOBODY = 65534
# In seconds: longer than a group is active after a fault.
IDLE = 1.5
# In seconds: longer than reclaim takes for what a process wants.
ENDS = 120
# Bytes: less than kswapd keeps free.
STEP = 256 << 10


def part():
    """What each group has in the page cache, in bytes."""
    return memory() * 15 // 100 // MIB * MIB


def mib(sizes):
    return ", ".join(f"{size // MIB} MiB" for size in sizes)


# ---- files

def knob(_options):
    """Good and bad input."""
    group = Group("g")
    path = f"{group.path}/{KNOB}"
    check(group.read(KNOB) == DEFAULT and effective(group) == WORST, "a group begins with a value")
    for text, shown, number in (("0", "0", 0), ("12", "12", 12), (" 7 ", "7", 7),
                                ("6 active", "6 active", 6), ("3\tactive", "3 active", 3),
                                ("default", DEFAULT, WORST), ("5", "5", 5)):
        group.write(KNOB, text)
        check((group.read(KNOB), effective(group)) == (shown, number),
              f"{text!r} reads as {group.read(KNOB)!r}, and has {effective(group)}")
        check(stat(NUMBERS) == (shown != DEFAULT), f"{stat(NUMBERS)} groups have a value")
    for text in ("", "x", "-0", "-1", "13", "5 6", "5 idle", "active", "default active",
                 "5 active active", "0x5", "1.5", "4294967297"):
        expect_refused(path, f"{text}\n",
                       errno.ERANGE if text == "4294967297" else errno.EINVAL)
    check((group.read(KNOB), effective(group)) == ("5", 5), "bad input changes the value")
    expect_refused(f"{group.path}/{EFFECTIVE}", "5", errno.EINVAL)
    for name in (KNOB, EFFECTIVE):
        check(not os.path.exists(f"{CGROUPS}/{name}"), f"the root has {name}")


def hierarchy(_options):
    """What is unset is transparent, what is set bounds; also for groups that come later."""
    top = parent_group("top")
    middle = parent_group("middle", top)
    pod = Group("pod", parent=middle)

    def expect_all(*numbers):
        found = [effective(group) for group in (top, middle, pod)]
        check(found == list(numbers), f"found {found}, not {list(numbers)}")

    expect_all(12, 12, 12)
    prioritize(pod, "6")
    expect_all(12, 12, 6)
    prioritize(top, "10")
    expect_all(10, 10, 10)
    prioritize(middle, "3")
    expect_all(10, 10, 10)
    prioritize(top, "0")
    expect_all(0, 3, 6)
    later = Group("later", parent=middle)
    check(effective(later) == 3, f"a later one has {effective(later)}")
    middle.write(KNOB, DEFAULT)
    expect_all(0, 0, 6)
    top.write(KNOB, DEFAULT)
    expect_all(12, 12, 6)
    check(effective(later) == 12, "a later one keeps what it had")


def reset(options):
    """A group that keeps the controller only for another one has no value any more."""
    if options.v1:
        return
    init.write(f"{CGROUPS}/cgroup.subtree_control", "+io")
    top = parent_group("top")
    top.write("cgroup.subtree_control", "+io")
    group = Group("g", parent=top)
    prioritize(group, "6")
    top.write("cgroup.subtree_control", "-memory")
    check(not stat(NUMBERS), "a group without the controller has a value")
    top.write("cgroup.subtree_control", "+memory")
    check((group.read(KNOB), effective(group)) == (DEFAULT, WORST),
          f"a group that has the controller again begins with {group.read(KNOB)!r}")


def delegated(options):
    """A container that owns its groups, and makes others below them, can't write values: one
    that spares nothing neither, as it is for all that a key is on then."""
    for number in (DEFAULT, "12", "9"):
        top = parent_group("top")
        prioritize(top, number)
        given = parent_group("given", top)
        for name in (*os.listdir(given.path), ""):
            os.chown(f"{given.path}/{name}", NOBODY, NOBODY)
        for text, error in Process(None, helps_itself, (given.path,)).result()["errors"].items():
            check(error == errno.EPERM, f"below {number}, {text!r} is answered with {error}")
        check(stat(NUMBERS) == (number != DEFAULT), f"{stat(NUMBERS)} groups have a value")
        own = int(init.read(f"{given.path}/own/{EFFECTIVE}"))
        check(own == (WORST if number == DEFAULT else int(number)), f"it gets {own}")
        os.rmdir(f"{given.path}/own")
        remove_all()

    delegate = "/sys/kernel/cgroup/delegate"
    if os.path.exists(delegate):
        check(KNOB not in init.read(delegate).split(), "the file is delegated")
    # For whoever may write, what is above holds.
    top = parent_group("top")
    prioritize(top, "9")
    mine = Group("mine", parent=top)
    prioritize(mine, "0")
    check(effective(mine) == 9, f"it gets {effective(mine)}")
    if not options.v1:
        init.checked(init.LIBC.mount(b"cgroup2", CGROUPS.encode(), b"cgroup2", MS_REMOUNT,
                                     b"nsdelegate"), "remount")
        own = mine.run(in_namespace)
        check(own["refused"] == errno.EPERM, f"in a cgroup namespace: {own}")


def helps_itself(_hears, path):
    """Tries to set values in a group that it owns, and in one that it makes below that."""
    os.setuid(NOBODY)
    os.mkdir(f"{path}/own")
    found = {}
    for group, text in itertools.product((path, f"{path}/own"),
                                         ("0", "9", "9 active", "12", DEFAULT, "x")):
        try:
            init.write(f"{group}/{KNOB}", text)
            found[f"{text} in {group}"] = 0
        except OSError as error:
            found[f"{text} in {group}"] = error.errno
    return {"errors": found}


def in_namespace(_hears):
    """Tries to set the value of the group that is the root of a new cgroup namespace."""
    init.checked(init.LIBC.unshare(CLONE_NEWCGROUP | CLONE_NEWNS), "unshare")
    init.mount("cgroup2", "/tmp/inside")
    try:
        init.write(f"/tmp/inside/{KNOB}", "0")
    except OSError as error:
        return {"refused": error.errno}
    return {"refused": 0}


# ---- from whom reclaim takes

class Cold:
    """Groups with cold page cache, and a process that wants as much as one has."""

    def __init__(self, *values, parent=None):
        drop_caches()
        self.size = part()
        self.groups = [Group(f"cold{i}", parent=parent) for i in range(len(values))]
        for i, (group, value) in enumerate(zip(self.groups, values)):
            prioritize(group, value)
            group.run(read_part, i * self.size, self.size)

    def starve(self, parts=0.75):
        """What each of them lost to a process that wants so many parts more than there is, and
        whose own memory can't be taken instead."""
        hungry = Group("hungry")
        wanted = available() + int(self.size * parts)
        process = hungry.start(lambda _: eat(None, wanted, 0, True))
        found = lost(self.groups, lambda: process.result(ENDS))
        hungry.remove()
        return found

    def counters(self, name):
        return [counter(group, name) for group in self.groups]


def expect_spared(first, other, size):
    """The same bound tells the two apart where nobody has a value, see nobody(). Of what is
    wanted, 70 MiB may come from the initramfs, which is the root's, and can go to swap."""
    check(other > size // 4 and first < other // 4,
          f"{mib((first,))} come from the one with a value, {mib((other,))} from the other one")


def nobody(_options):
    """Nobody has a value: both lose, and nothing is counted."""
    cold = Cold(DEFAULT, DEFAULT)
    first, other = cold.starve()
    check(first > other // 4 and other > first // 4, f"both lose {mib((first, other))}")
    check(not any(cold.counters("skipped") + cold.counters("override")), "something is counted")


def by_value(_options):
    for value in ("0", "6"):
        cold = Cold(value, DEFAULT)
        expect_spared(*cold.starve(), cold.size)
        skipped = cold.counters("skipped")
        check(skipped[0] and not skipped[1], f"skipped: {skipped}")
        remove_all()


def by_kswapd(_options):
    """kswapd alone: with MGLRU it scans as with 6 at once, but does not pass values by."""
    # How far kswapd has to go differs: of a single try, an eighth may come from the first one.
    tries = 3
    first, other = map(sum, zip(*(taken_by_kswapd() for _ in range(tries))))
    # If kswapd begins with 6, a memcg with 9 is scanned as with 9, an eighth as much, and loses
    # more than that, as reclaim takes some at a time.
    check(other > tries * part() // 4 and first < other // 10,
          f"kswapd takes {mib((first,))} of the one with a value, {mib((other,))} of the other one")


def taken_by_kswapd():
    """What each of two loses when kswapd frees the half of a part, the first with a value."""
    cold = Cold("9", DEFAULT)
    hungry = Group("hungry")
    before = scanned()
    process = hungry.start(creep, available(), cold.size // 2)
    found = lost(cold.groups, lambda: process.result(ENDS))
    direct, kswapd = (now - then for now, then in zip(scanned(), before))
    check(direct < kswapd // 4, f"kswapd scans {kswapd} pages, and others {direct}")
    remove_all()
    return found


def creep(_hears, first, more):
    """Takes more than there is, so slowly that kswapd can free it."""
    area = mmap.mmap(-1, first + more, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    touch(area, 0, first)
    for at in range(first, first + more, STEP):
        touch(area, at, min(STEP, first + more - at))
        time.sleep(0.01)
    return {}


def scanned():
    """Pages, in direct reclaim and by kswapd."""
    found = init.fields("/proc/vmstat")
    return found["pgscan_direct"], found["pgscan_kswapd"]


def equals(_options):
    """Of those with the same value, none gives first each time."""
    cold = Cold("6", "6", "6", "6")
    taken = cold.starve(1)
    # If walks begin with the first one, the last one loses nothing.
    check(min(taken) > max(taken) // 8, f"four with 6 lost {mib(taken)}")


def nothing_else(_options):
    """What only those have who are spared is taken all the same: nobody is killed."""
    cold = Cold("0", "0")
    taken = cold.starve(1)
    check(sum(taken) > cold.size // 2, f"they lost {mib(taken)}")
    remove_all()

    group = Group("g")
    prioritize(group, "0")
    size = memory() * 5 // 8 // MIB * MIB
    held = Count()
    group.start(use, size, held, True)
    wait_until(held.read, "the first one gets no memory")
    mount_tracing()
    init.write(f"{OVERRIDE}/enable", "1")
    # There is swap for what it has, and nothing else that can be taken.
    Group("other").run(lambda _: eat(None, memory() // 2, 0, True))
    init.write(f"{OVERRIDE}/enable", "0")
    trace = init.read(f"{TRACING}/trace").splitlines()
    check(counter(group, "override"), f"no override is counted, {counter(group, 'skipped')} times "
          "skipped")
    seen = [line for line in trace if line.endswith(f"memcg_id={os.stat(group.path).st_ino}")]
    check(seen and "mm_vmscan_memcg_priority_override" in seen[0],
          f"the trace has {seen[:1]} of the override, and ends with {trace[-1:]}")
    check(any(line.split()[0].startswith("kswapd") for line in seen),
          f"kswapd gives up before values: of {len(seen)} lines {seen[:1]}")


def by_own_limit(options):
    """Limits of a group, and memory.high, take from it whatever its value."""
    names = ("memory.limit_in_bytes",) if options.v1 else ("memory.high", "memory.max")
    for name in names:
        group = Group("g")
        prioritize(group, "0")
        group.write(name, str(part() // 4))
        group.run(read_part, 0, part())
        check(group.usage() <= part() // 4 + 8 * MIB, f"{name}: it has {mib((group.usage(),))}")
        check(not counter(group, "skipped"), f"{name}: it was skipped")
        group.remove()


def by_own_file(options):
    """So do the files that ask for it."""
    cold = Cold("0")
    group, = cold.groups
    if options.v1:
        group.write("memory.force_empty", "0")
    else:
        group.write("memory.reclaim", str(cold.size // 2))
    check(group.usage() < cold.size * 3 // 4,
          f"{mib((group.usage(),))} of {mib((cold.size,))} stay")
    check(not counter(group, "skipped"), "it was skipped")


def by_root_file(options):
    """memory.reclaim of the root honours values."""
    if options.v1:
        return
    cold = Cold("6", DEFAULT)
    first, other = lost(cold.groups, lambda: init.write(f"{CGROUPS}/memory.reclaim",
                                                        str(cold.size * 3 // 4)))
    expect_spared(first, other, cold.size)


def by_drop_caches(_options):
    """Drops what everybody has."""
    cold = Cold("0")
    drop_caches()
    check(cold.groups[0].usage() < cold.size // 4, "it keeps its cache")


def only_active(_options):
    """With `active`, an idle group loses as others do, and one that faults does not."""
    cold = Cold(DEFAULT, DEFAULT)
    prioritize(cold.groups[0], "6 active")
    check(effective(cold.groups[0]) == 6, "a group does not begin as active")
    time.sleep(IDLE)
    check(effective(cold.groups[0]) == WORST, "an idle group counts as active")
    first, other = cold.starve()
    check(first > other // 4, f"an idle group loses {mib((first,))}, another one {mib((other,))}")
    remove_all()

    cold = Cold("6 active", DEFAULT)
    cold.groups[0].start(fault)
    time.sleep(IDLE)
    check(effective(cold.groups[0]) == 6, "a group that faults does not count as active")
    expect_spared(*cold.starve(), cold.size)


def fault(hears):
    """Has page faults until told."""
    while not was_told(hears, 0.02):
        eat(None, MIB, 0)


def counted(options):
    """Of a group, and of those that were below it."""
    top = parent_group("top")
    cold = Cold("6", DEFAULT, parent=top)
    cold.starve()
    skipped = cold.counters("skipped")
    check(skipped[0] and counter(top, "skipped") == sum(skipped),
          f"{skipped} in the groups, {counter(top, 'skipped')} above")
    if options.v1:
        check(not init.fields(f"{top.path}/memory.stat")["gsp_skipped"],
              "those below count as its own")
    for group in cold.groups:
        group.remove()
    check(counter(top, "skipped") == sum(skipped), "what a removed group had is lost")


def come_and_go(_options):
    """Groups get values, lose them and are removed while memory is short."""
    # Else a static key of the page fault path would be turned all the time while others take
    # faults, and emulators run stale code then.
    prioritize(Group("always"), "12 active")
    cold = Cold("3", DEFAULT)
    until = time.monotonic() + 10

    def churn(_hears, number):
        count = 0
        while time.monotonic() < until:
            top = parent_group(f"g{number}")
            prioritize(top, str(count % 13))
            below = Group("below", parent=top)
            prioritize(below, ("0", "6 active", "12")[count % 3])
            below.run(lambda _: eat(None, 2 * MIB, 0))
            top.write(KNOB, DEFAULT)
            below.remove()
            top.remove()
            count += 1
        return {"count": count}

    churning = [Process(None, churn, (i,)) for i in range(2)]
    while time.monotonic() < until:
        cold.starve()
        cold.groups[1].run(read_part, cold.size, cold.size)
    counts = [process.result()["count"] for process in churning]
    check(min(counts) > 5, f"only {counts} groups came and went")


# ---- beside other protection

def beside_soft_limit(options):
    """A group that exceeds its soft limit is spared by its value all the same."""
    if not options.v1:
        return
    init.write("/proc/sys/vm/memcg_soft_limit", "1")
    cold = Cold("6", DEFAULT)
    cold.groups[0].limit(0)
    expect_spared(*cold.starve(), cold.size)
    remove_all()
    # Without a value it comes first.
    cold = Cold(DEFAULT, DEFAULT, "6")
    cold.groups[0].limit(0)
    first, other, third = cold.starve()
    check(first > cold.size // 4 and max(other, third) < first // 4,
          f"they lost {mib((first, other, third))}")
    init.write("/proc/sys/vm/memcg_soft_limit", "0")


def beside_low(options):
    """memory.low holds as long as there is anything else, what a value spares included."""
    if options.v1:
        return
    cold = Cold("6", DEFAULT, DEFAULT)
    cold.groups[1].write("memory.low", "max")
    first, low, other = cold.starve()
    check(other > cold.size // 4 and max(first, low) < other // 4,
          f"they lost {mib((first, low, other))}")
    remove_all()

    # Whoever has both loses no later than one with memory.low alone.
    cold = Cold("0", DEFAULT)
    for group in cold.groups:
        group.write("memory.low", "max")
    both, low = cold.starve(1)
    check(both > low // 4, f"of two with memory.low, the one with a value loses {mib((both,))}, "
          f"the other one {mib((low,))}")
    remove_all()

    cold = Cold("0", DEFAULT)
    cold.groups[1].write("memory.low", "max")
    first, low = cold.starve(0.5)
    check(first > cold.size // 4 and low < first // 4,
          f"a value of 0 keeps all but {mib((first,))}, and memory.low all but {mib((low,))}")


def beside_min(options):
    """memory.min holds, whatever the value of the group or of another one."""
    if options.v1:
        return
    cold = Cold("0", DEFAULT)
    cold.groups[1].write("memory.min", "max")
    first, kept = cold.starve(0.5)
    check(first > cold.size // 4 and kept < 8 * MIB,
          f"a value of 0 keeps all but {mib((first,))}, and memory.min all but {mib((kept,))}")


def beside_pinned(_options):
    """What reclaim finds elsewhere, and can't have, does not keep it from those it spares."""
    cold = Cold("0")
    other = Group("other")
    other.start(pin, cold.size, cold.size)
    wait_until(lambda: other.usage() >= cold.size, "the other one gets no memory")
    taken, = cold.starve(0.5)
    check(taken > cold.size // 4, f"{mib((taken,))} come from the one with a value")
    check(cold.counters("override")[0], "no override is counted")


def ages_others(options):
    """Without MGLRU, kswapd leaves the active list of a memcg alone that is spared."""
    if options.lru != "classic":
        return
    group, other = Group("g"), Group("other")
    size = memory() // 4 // MIB * MIB
    used = Count()
    group.start(use, size, used)
    wait_until(used.read, "it gets no memory")
    # Reclaim finds that what it scans is in use, as there is nothing else.
    drop_caches()
    other.run(lambda _: eat(None, available() + size, 0))
    before = active(group)
    check(before > 16 * MIB, f"{mib((before,))} of {mib((size,))} are active")
    prioritize(group, "0")
    other.run(read_part, 0, 2 * memory())
    after = active(group)
    check(after > before * 7 // 8, f"of {mib((before,))} on its active list {mib((after,))} are "
          "left")


def active(group):
    return init.fields(f"{group.path}/memory.stat")["active_anon"]


def ends(_options):
    """Reclaim ends where a memcg with a value has nothing to give, and there is no swap: whoever
    asks for more is killed."""
    init.swapoff(SWAP)
    # What is there already is somebody else's.
    drop_caches()
    group, hungry = Group("g"), Group("hungry")
    prioritize(group, "6")
    group.start(pin, part(), part())
    wait_until(lambda: group.usage() >= part(), "it gets no memory")
    process = hungry.start(eat, memory(), 0)
    wait_until(process.ended, "reclaim does not end")
    check(process.is_killed(), "it gets more than there is")
    init.swapon(SWAP)


FILES = (knob, hierarchy, delegated, reset)
TAKEN = (nobody, by_value, by_kswapd, equals, nothing_else, by_own_limit, by_own_file, by_root_file,
         by_drop_caches, only_active, counted, come_and_go, beside_soft_limit, beside_low,
         beside_min, beside_pinned, ages_others, ends)
# What takes seconds.
BASIC = (by_value, by_own_limit, counted)
CHECKS = {check.__name__: check for check in (*FILES, *TAKEN)}
GROUPS = {"files": FILES, "taken": TAKEN, "basic": BASIC}
# How many processes the kernel kills in a check; it is none in others.
KILLS = {ends: 1}


def parse(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    add_lru_option(parser)
    parser.add_argument("checks", choices=(*GROUPS, *CHECKS))
    return parser.parse_args(arguments)


def run(check_one, options):
    """Leaves nothing of what it made, nor of its values."""
    before = init.oom_kills()
    check_one(options)
    remove_all()
    killed = init.oom_kills() - before
    check(killed == KILLS.get(check_one, 0), f"{killed} processes were killed")
    wait_until(lambda: not stat(NUMBERS), "removed groups have values")


def work(arguments):
    options = parse(arguments)
    init.mount_groups(options.v1)
    use_lru(options.lru)
    init.make_swap(SWAP)
    passed = {}
    with open(DISK, "rb", buffering=0):
        for check_one in GROUPS.get(options.checks) or (CHECKS[options.checks],):
            start = time.monotonic()
            print(f"# {check_one.__name__}", flush=True)
            run(check_one, options)
            passed[check_one.__name__] = round(time.monotonic() - start, 1)
    return {"passed": passed}


init.main(work)
