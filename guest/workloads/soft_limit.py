#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows what soft limits do: makes cgroups,
runs one of WORKLOADS in them, and prints what it measured or checked.

/dev/vda and /dev/vdb, which is slower, are where data goes that nobody reads
again, /dev/vdc is for swap.
"""

import errno
import mmap
import os
import random
import time
import zlib

from guest import init
from guest.groups import (
    MIB, Group, check, counted, drop_caches, expect_refused, memory, part, settled, stat,
    stats, wait, wait_until, was_told)
from guest.init import CGROUPS, PAGE, Failed
from guest.jobs import compile_files, database, interactive
from guest.memory import (
    DISK, SLOW_DISK, SWAP, Count, add_lru_option, available, eat, lost, pin, read_part,
    touch, use, use_lru, write_stream)

KNOB = "/proc/sys/vm/memcg_soft_limit"
# What the eater leaves, as in the series.
LEFT = 400 * MIB
# Is called for each group that reclaim visits.
VISIT = "shrink_slab"
NO_LIMIT = "-1"
TRIES = 20
TICK = 1 / os.sysconf("SC_CLK_TCK")


# ---- the machine

def system_time():
    """Of all CPUs, in seconds: kswapd is part of it."""
    numbers = init.read("/proc/stat").splitlines()[0].split()[1:]
    return sum(int(numbers[i]) for i in (2, 5, 6)) * TICK


def reclaimed():
    """The bytes that reclaim has taken so far."""
    found = init.fields("/proc/vmstat")
    return PAGE * sum(found.get(f"pgsteal_{who}", 0) for who in
                      ("kswapd", "direct", "khugepaged", "proactive"))


# ---- what the processes do

def read_again(hears, size, total):
    """Reads `size` bytes of the disk again and again, `total` in all."""
    for _ in range(total // size):
        read_part(hears, 0, size)


def trickle(hears, first, pause, count):
    """Reads a page of the disk after the other, none twice, until told."""
    disk = os.open(DISK, os.O_RDONLY)
    os.posix_fadvise(disk, 0, 0, os.POSIX_FADV_RANDOM)
    while not was_told(hears, pause):
        data = os.pread(disk, PAGE, first + count.read() * PAGE)
        check(len(data) == PAGE, "the disk is at its end")
        count.add()


def eat_until_killed(_hears):
    """Takes more than is left, but no more than mmap() lets one have."""
    init.write("/proc/self/oom_score_adj", "1000")
    eat(None, memory(), 0)


def linger(hears):
    """Is killed if memory is still short after the one that took it all was."""
    init.write("/proc/self/oom_score_adj", "500")
    wait(hears)


def compute(_hears, size, first, rounds):
    """Memory that is used again and again, files, and work for the CPU."""
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    touch(area, 0, size // PAGE * PAGE)
    disk = os.open(DISK, os.O_RDONLY)
    numbers = random.Random(first)
    found = 0
    for _ in range(rounds):
        for i in range(256):
            at = numbers.randrange(size // MIB) * MIB
            data = os.pread(disk, MIB, first + i * MIB)
            found = zlib.crc32(area[at:at + 64 * PAGE], zlib.crc32(data, found))
    os.close(disk)


# ---- benchmarks

def beside_eater(options):
    """A stream of writes, or reads, beside one that eats nearly all memory."""
    total = memory()
    stream, eater = Group("stream", options.soft), Group("eater")
    samples, peak = [], 0
    before = system_time()
    start = time.monotonic()
    eats = eater.start(eat, total - LEFT, options.pause)
    if options.reads:
        streams = stream.start(read_again, total * 9 // 10 // MIB * MIB,
                               total * 8)
    else:
        streams = stream.start(write_stream, total * 2, SLOW_DISK)

    while not streams.ended():
        swapped = eats.status("VmSwap")
        peak = max(peak, swapped)
        samples.append((round(time.monotonic() - start, 3), stream.usage(),
                        eater.usage(), swapped))
        time.sleep(0.25)
    streamed = streams.result()
    swapped = eats.status("VmSwap")
    check(not eats.ended(), "the eater did not live as long as the other one")
    ate = eats.result()
    return {
        "swap": [swapped], "swap_peak": [max(peak, swapped)],
        "streamed": [streamed["elapsed"]], "ate": [ate["eaten"]],
        "system": [system_time() - before],
    }, {"samples": samples}


def among_empty(options):
    """The writer alone, and with empty groups beside it."""
    total = memory()
    writer = Group("writer", options.soft)

    def repeat():
        """Times, and in a run of its own, as a probe takes time, the groups that
        are visited while a GiB is reclaimed."""
        system, elapsed, visits = [], [], []
        for _ in range(options.repeats):
            drop_caches()
            before = system_time()
            elapsed.append(writer.run(write_stream, total * 2)["elapsed"])
            system.append(system_time() - before)
        drop_caches()
        before = reclaimed()
        with counted(VISIT, visits):
            writer.run(write_stream, total * 2)
        taken = reclaimed() - before
        check(taken, "nothing was reclaimed for the writer")
        return system, elapsed, [number * (1 << 30) / taken for number in visits]

    # The kernel learns how fast the disk is.
    writer.run(write_stream, total * 2)
    none_system, none, none_visits = repeat()
    for number in range(options.n):
        Group(f"empty{number}")
    some_system, some, some_visits = repeat()
    return {
        "none_system": none_system, "none": none, "some_system": some_system, "some": some,
        "none_visits": none_visits, "some_visits": some_visits,
    }, {}


# Who is to be spared, and who takes what he gets: how long until memory is short.
SPARED = {"interactive": interactive, "database": database}
SETTLED = 5


def refaults(group):
    """Pages that came back after they were reclaimed."""
    found = init.fields(f"{group.path}/memory.stat")
    return sum(found[f"workingset_refault_{kind}"] for kind in ("anon", "file"))


def spare(options):
    """A job with a working set that fits, beside one over its limit that takes all it gets."""
    spared, other = Group("spared"), Group("other", options.soft)
    state, used = Count(), Count()
    running = spared.start(SPARED[options.spared], part(45), state, options.requests)
    running.wait_until(state.read)
    if options.beside == "batch":
        others = [other.start(use, part(75), used)]
        others[0].wait_until(used.read)
    else:
        others = [other.start(compile_files, part(30), number + 1) for number in range(2)]
        time.sleep(SETTLED)
    before, used_before, start = refaults(spared), used.read(), time.monotonic()
    state.add()
    found = running.result()
    elapsed, used_after = time.monotonic() - start, used.read()
    came_back = refaults(spared) - before
    done = sum(each.result().get("count", 0) for each in others) or used_after - used_before
    return {"took": [found["took"]], "p99": [found["p99"]], "refaults": [came_back],
            "done": [done / elapsed]}, {}


def loads(options):
    """Two groups that compute, with more memory and files than fit."""
    total = memory()
    groups = [Group(f"load{i}", options.soft) for i in range(2)]
    before = system_time()
    running = [group.start(compute, total * 30 // 100 // MIB * MIB,
                           i * 512 * MIB, options.rounds)
               for i, group in enumerate(groups)]
    found = [process.result() for process in running]
    return {
        "elapsed": [max(each["elapsed"] for each in found)],
        "system": [system_time() - before],
        "swap": [init.fields("/proc/vmstat").get("pswpout", 0) * PAGE],
    }, {}


# ---- checks

def knob(_options):
    """The files, with good and bad input."""
    group = Group("g")
    other = f"{CGROUPS}/memory.soft_limit_in_bytes"
    unlimited = int(group.read("memory.soft_limit_in_bytes"))

    init.write(KNOB, "0")
    group.limit(MIB)
    check(int(group.read("memory.soft_limit_in_bytes")) == unlimited,
          "a limit is stored although soft limits are off")
    init.write(KNOB, "1")
    for text, value in (("0", 0), ("3M", 3 * MIB), ("1G", 1 << 30),
                        (NO_LIMIT, unlimited), (str(PAGE * 5 + 1), PAGE * 5)):
        group.limit(text)
        found = int(group.read("memory.soft_limit_in_bytes"))
        check(found == value, f"{text} reads as {found}")
    group.limit("7M")
    for text in ("x", "-2", "1X", "7M 8M"):
        expect_refused(f"{group.path}/memory.soft_limit_in_bytes", text, errno.EINVAL)
    check(int(group.read("memory.soft_limit_in_bytes")) == 7 * MIB,
          "bad input changes the limit")
    expect_refused(other, "5M", errno.EINVAL)
    for text in ("2", "yes", "-1"):
        expect_refused(KNOB, text, errno.EINVAL)
    check(init.read(KNOB).strip() == "1", "bad input changes the knob")

    init.write(KNOB, "0")
    check(int(group.read("memory.soft_limit_in_bytes")) == unlimited,
          "a limit is shown although soft limits are off")
    init.write(KNOB, "1")
    check(int(group.read("memory.soft_limit_in_bytes")) == 7 * MIB,
          "the limit is lost when soft limits are off for a while")
    group.remove()


def late(_options):
    """Who was in excess before soft limits were on is found."""
    init.write(KNOB, "1")
    group = Group("g", 0)
    init.write(KNOB, "0")
    eats = group.start(eat, 32 * MIB, 0)
    eats.wait_until(lambda: eats.status("VmRSS") >= 32 * MIB)
    init.write(KNOB, "1")
    check(stat("memcgs_in_excess") == 1, "the group in excess is not known")
    group.limit(NO_LIMIT)
    check(stat("memcgs_in_excess") == 0, "the group is still in excess")
    group.limit(MIB)
    check(stat("memcgs_in_excess") == 1, "the group is not in excess again")
    eats.result()
    group.remove()


def parent(options):
    """Only a parent is in excess, by what its children have."""
    part = memory() * 15 // 100 // MIB * MIB
    top, other = Group("top"), Group("other")
    children = [Group(f"child{i}", parent=top) for i in range(2)]
    hungry = Group("hungry")

    def fill():
        drop_caches()
        for i, group in enumerate((*children, other, other)):
            group.run(read_part, i * part, part)
        # Less than what top has too much.
        wanted = available() + part
        return lost((top, other), lambda: hungry.run(lambda _: eat(
            None, wanted, 0)))

    init.write(KNOB, "0")
    from_top, from_other = fill()
    check(from_other > from_top // 4,
          f"without soft limits, {from_other // MIB} MiB come from the other "
          f"group, and {from_top // MIB} from the one: this shows nothing")
    init.write(KNOB, "1")
    top.limit(0)
    from_top, from_other = fill()
    found = f"{from_top // MIB} MiB from the group in excess, and " \
            f"{from_other // MIB} from the other one"
    # The same bound as above tells the two apart. On an idle host nothing comes from
    # the other group, and 19 MiB on one that builds kernels meanwhile.
    check(from_top > part // 2 and from_other < from_top // 4, found)


def stale_group():
    """A group that is marked, with nothing charged to it any more."""
    for number in range(TRIES):
        group = Group(f"stale{number}")
        eats = group.start(eat, 200 * PAGE, 0)
        eats.wait_until(lambda group=group: group.usage() >= 100 * PAGE)
        group.limit(0)
        eats.result()
        for _ in range(TRIES):
            # With what each CPU keeps charged for the next time.
            group.write("memory.force_empty", "0")
            if not group.usage():
                return group
        # Now and then a page of kernel memory stays charged, with stock too.
        group.limit(NO_LIMIT)
        group.remove()
    raise Failed("something stays charged to each group")


def first_passes():
    """How many there were, and how many in vain. kswapd goes on for a moment after nobody wants
    memory any more, and counts a pass and its result one after the other."""
    return settled(lambda: stats("excess_passes", "excess_passes_in_vain"))


def refused(_options):
    """A mark that is left although the group has nothing any more: the walk
    refuses everybody."""
    init.write(KNOB, "1")
    group, writer = stale_group(), Group("writer")
    check(stat("memcgs_in_excess") == 1, "there is no such mark")
    before, kills = first_passes(), init.oom_kills()
    writer.run(write_stream, memory() * 2)
    passes, vain = (now - then for now, then in zip(first_passes(), before))
    check(passes > 0, "reclaim did not look for groups in excess")
    check(vain == passes, f"{vain} of {passes} first passes were in vain")
    check(init.oom_kills() == kills, "a process was killed")
    group.limit(NO_LIMIT)
    check(stat("memcgs_in_excess") == 0, "the mark stays")


def unreclaimable(options):
    """A group is in excess by memory that can't be reclaimed."""
    top = Group("top")
    locked, writer = Group("locked", 0, top), Group("writer", parent=top)
    part = memory() // 4 // MIB * MIB
    kills = init.oom_kills()
    eats = locked.start(pin, part) if options.pinned else \
        locked.start(eat, part, 0, True)
    eats.wait_until(lambda: locked.usage() >= part)
    writer.run(write_stream, memory() * 2)
    # Now it is the limit of a group that both are in.
    top.write("memory.limit_in_bytes", part + 64 * MIB)
    writer.run(write_stream, memory() // 2)
    check(not eats.ended(), "the group in excess has lost its process")
    eats.result()
    check(init.oom_kills() == kills, "a process was killed")


class Stuck:
    """A group in excess: it has pages that can't be reclaimed, and reads a few
    that can all the time."""

    def __init__(self, size, pause):
        group = Group("stuck", 0)
        self.pins = group.start(pin, size)
        self.pins.wait_until(lambda: group.usage() >= size)
        # Reclaim that fails leaves them inactive, where the next one finds them.
        try:
            init.write(f"{group.path}/memory.limit_in_bytes", str(size // 2))
        except OSError as error:
            check(error.errno == errno.EBUSY,
                  f"the limit can't be written: {error}")
        else:
            raise Failed("pages were reclaimed that are pinned")
        self.count = Count()
        # The disk is never read beyond this elsewhere.
        self.reads = group.start(trickle, memory() * 2, pause, self.count)
        self.begin()

    def numbers(self):
        """How many pages reclaim looked at, and how many it got but for the trickle, of which
        there are the more the further kswapd runs ahead."""
        counts = init.fields("/proc/vmstat")

        def total(counter):
            return sum(counts[f"{counter}_{kind}"] for kind in ("anon", "file"))

        return {"scanned": total("pgscan"), "freed": total("pgsteal") - self.count.read()}

    def begin(self):
        """Counts from here on."""
        self.before = self.numbers()

    def counted(self):
        """What was counted, as series."""
        return {name: [number - self.before[name]]
                for name, number in self.numbers().items()}

    def end(self):
        check(not self.pins.ended() and not self.reads.ended(),
              "the group in excess is gone")
        self.reads.result()
        self.pins.result()


def trickles(options):
    """A group with cold page cache beside one in excess that has a trickle."""
    part = memory() // 4 // MIB * MIB
    cold, hungry = Group("cold"), Group("hungry")
    stuck = Stuck(part, options.pause)
    cold.run(read_part, part, part)
    kills = init.oom_kills()
    stuck.begin()
    # Half of what is cold.
    wanted = available() + part // 2
    from_cold, = lost((cold,), lambda: hungry.run(lambda _: eat(None, wanted, 0)))
    counted = stuck.counted()
    check(init.oom_kills() == kills, "a process was killed")
    check(from_cold > part // 4,
          f"only {from_cold // MIB} of {part // MIB} MiB come from cold cache")
    stuck.end()
    return counted, {}


def rescue(options):
    """Somebody takes all memory beside a group in excess that has a trickle,
    and is killed."""
    stuck = Stuck(memory() // 4 // MIB * MIB, options.pause)
    for process in (stuck.pins, stuck.reads):
        init.write(f"/proc/{process.pid}/oom_score_adj", "-1000")
    # A kernel may look for another one before the first one's memory is free.
    second = Group("second").start(linger)
    hog, kills = Group("hog"), init.oom_kills()
    check(hog.start(eat_until_killed).is_killed(), "the eater was not killed")
    counted = stuck.counted()
    kills = init.oom_kills() - kills
    second.tell()
    check(kills == 1 + second.is_killed(), f"{kills} processes were killed")
    stuck.end()
    return counted, {}


def come_and_go(options):
    """Groups in excess are made and removed while memory is short, and their
    limits and the knob change."""
    init.write(KNOB, "1")
    before = stat("memcgs_in_excess")
    writer, top = Group("writer", 0), Group("top")
    running = [writer.start(write_stream, memory() * options.rounds)]

    def churn(hears, number):
        made = []
        count = 0
        numbers = random.Random(number)
        while not running[0].ended():
            group = Group(f"g{number}.{count}", numbers.choice((0, MIB, None)),
                          numbers.choice((top, top, *made[-1:])))
            group.run(lambda _: eat(None, 2 * MIB, 0))
            group.run(read_part, numbers.randrange(512) * MIB, 2 * MIB)
            made.append(group)
            count += 1
            if len(made) > 4:
                for group in reversed(made):
                    group.limit(numbers.choice((0, NO_LIMIT)))
                    group.remove()
                made = []
            if number == 0 and count % 8 == 0:
                init.write(KNOB, "0")
                init.write(KNOB, "1")
        for group in reversed(made):
            group.remove()
        return {"count": count}

    churning = [top.start(churn, i) for i in range(2)]
    counts = [each.result()["count"] for each in churning]
    running[0].result()
    check(min(counts) >= 10, f"only {counts} groups were made")
    # Its cache may be large still; no one else's is.
    writer.limit(NO_LIMIT)
    top.limit(NO_LIMIT)
    # A group that was removed goes offline a little later.
    wait_until(lambda: stat("memcgs_in_excess") == before, "groups are in excess, and none is left",
               lambda: f": {stat('memcgs_in_excess')}, and {before} before", patience=100)


WORKLOADS = {function.__name__: function for function in (
    beside_eater, among_empty, loads, spare, knob, late, parent, refused,
    unreclaimable, trickles, rescue, come_and_go)}


def parse(arguments):
    parser = init.parser()
    parser.add_argument("--v2", action="store_true")
    add_lru_option(parser)
    parser.add_argument("--soft", default=None)
    parser.add_argument("--reads", action="store_true")
    parser.add_argument("--spared", choices=SPARED, default="interactive")
    parser.add_argument("--beside", choices=("batch", "build"), default="batch")
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--no-swap", action="store_true")
    parser.add_argument("--knob", action="store_true", help="soft limits on, on a kernel of ours")
    parser.add_argument("--pause", type=float, default=0.03)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("workload", choices=WORKLOADS)
    return parser.parse_args(arguments)


def work(arguments):
    options = parse(arguments)
    # Everybody runs in a group of v1, or in the root.
    init.mount_groups(not options.v2)
    use_lru(options.lru)
    if options.knob and os.path.exists(KNOB):
        init.write(KNOB, "1")
    if not options.no_swap:
        init.make_swap(SWAP)
    # The last one to close it would take its page cache along.
    with open(DISK, "rb", buffering=0), open(SLOW_DISK, "rb", buffering=0):
        # Those that only check something return nothing.
        series, more = WORKLOADS[options.workload](options) or ({}, {})
    return {"series": series, "passes": stat("excess_passes"), **more}


init.main(work)
