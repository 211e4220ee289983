#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest that shows what priorities between cgroups do: runs one of
WORKLOADS, and prints what it measured. guest/workloads/priority_checks.py checks them.

The disks are those of guest/memory.py.
"""

import os
import time

from guest import init
from guest.groups import MIB, Group, Process, check, memory, part, was_told
from guest.init import CGROUPS
from guest.jobs import compile_files, working_set
from guest.memory import DISK, SWAP, add_lru_option, read_part, use_lru, zram
from guest.priorities import (
    DEFAULT, KNOB, User, counter, effective, parent_group, prioritize, started, watch)

MCL_CURRENT, MCL_FUTURE = 1, 2
PRESSURE = "/proc/pressure/memory"


def kept(samples, at, size):
    """The least share of its memory that a user had."""
    return min(sample[at] for sample in samples) / size


def numbers(users, options):
    """Lets them go on for a while, then measures. Returns their rates, and samples."""
    for user in users:
        user.wait()
    _, before = watch(users, options.settle)
    rates, samples = watch(users, options.seconds)
    found = {f"rate{i}": [rate] for i, rate in enumerate(rates)}
    found.update((f"kept{i}", [kept(samples, i + 1, user.size)])
                 for i, user in enumerate(users))
    for i, user in enumerate(users):
        found[f"skipped{i}"] = [counter(user.group, "skipped")]
        found[f"override{i}"] = [counter(user.group, "override")]
    for user in users:
        user.end()
    last = before[-1][0] if before else 0
    return found, before + [(round(last + at, 3), *rest) for at, *rest in samples]


def readers(options):
    """Two that read so much of memory each: 850 MB of 1 GB in the series of 2019."""
    users = [started(name, part(options.part), value)
             for name, value in (("first", options.first), ("second", options.second))]
    found, samples = numbers(users, options)
    return found, {"samples": samples}


def pair(options):
    """A group that shall keep its memory, busy or not, beside one that wants more than there
    is left: as in the BPF series of 2026."""
    holder = Group("holder")
    size = part(50)
    if options.low:
        holder.write("memory.low", str(size * 9 // 8))
    prioritize(holder, options.first)
    users = [User(holder, size, keeps=options.idle)]
    users[0].wait()
    users.append(started("other", part(75)))
    found, samples = numbers(users, options)
    return found, {"samples": samples}


def pods(options):
    """As Kubernetes has them: a slice and a class with nothing set, and pods; beside other
    services."""
    top = parent_group("kubepods")
    kind = parent_group("burstable", top)
    prioritize(top, options.slice)
    pod = started("pod", part(50), options.first, parent=kind)
    other = started("other", part(75), parent=kind)
    found = {"effective": [effective(pod.group)]} if os.path.exists(
        f"{pod.group.path}/{KNOB}") else {}
    pod.wait()
    churning = Process(None, churn, (kind.path,))
    numbered, samples = numbers([pod, other], options)
    found["churned"] = [churning.result()["count"]]
    return {**found, **numbered}, {"samples": samples}


def churn(hears, path):
    """Makes and removes pods with values, and moves itself between them, until told."""
    count = 0
    while not was_told(hears, 0.1):
        for name, value in (("a", "4"), ("b", DEFAULT)):
            os.mkdir(f"{path}/{name}")
            if os.path.exists(f"{path}/{name}/{KNOB}"):
                init.write(f"{path}/{name}/{KNOB}", value)
            init.write(f"{path}/{name}/cgroup.procs", "0")
        init.write(f"{CGROUPS}/cgroup.procs", "0")
        for name in "ab":
            init.retry(lambda name=name: os.rmdir(f"{path}/{name}"))
        count += 1
    return {"count": count}


def answer(_hears, size, asked, answers, others):
    """Reads pages of what it has for each request, until there are no more: the last one has
    closed the other end, and nobody else has it."""
    for pipe in others:
        os.close(pipe)
    use_some = working_set(size)
    os.write(answers, b".")
    while os.read(asked, 1):
        use_some()
        os.write(answers, b".")


def stream(hears, first):
    """Reads file after file, none twice, faster and faster, until told."""
    count = 0
    while not was_told(hears, max(0, 0.05 - count / 20000)):
        read_part(None, first + count * MIB, MIB)
        count += 1
    return {"count": count}


def counts():
    found = init.fields("/proc/vmstat")
    pressure = dict(line.split(" ", 1) for line in init.read(PRESSURE).splitlines()) \
        if os.path.exists(PRESSURE) else {}
    return {
        "allocstall": sum(value for name, value in found.items()
                          if name.startswith("allocstall_")),
        "pgscan_direct": found.get("pgscan_direct", 0),
        **{f"psi_{kind}": int(text.split("total=")[1]) for kind, text in pressure.items()}}


def server(options):
    """Answers requests from memory, beside a stream of reads that grows and a build."""
    asks, asked = os.pipe(), os.pipe()
    size = part(45)
    group = Group("server")
    prioritize(group, options.first)
    serves = group.start_inside(answer, size, asks[0], asked[1], (asks[1], asked[0]))
    os.close(asks[0])
    os.close(asked[1])
    os.read(asked[0], 1)

    load = Group("load")
    loads = [load.start(stream, 1 << 33), *(load.start(compile_files, part(22), i + 1)
                                            for i in range(2))]
    time.sleep(options.settle)
    before, times = counts(), []
    start = time.monotonic()
    while (now := time.monotonic()) - start < options.seconds:
        os.write(asks[1], b".")
        check(os.read(asked[0], 1), "the server ended")
        times.append(time.monotonic() - now)
    elapsed = time.monotonic() - start
    found = {name: [number - before[name]] for name, number in counts().items()}
    size_kept = group.usage() / size
    files = sum(each.result()["count"] for each in loads[1:])
    streamed = loads[0].result()["count"]
    os.close(asks[1])
    serves.result()
    times.sort()
    return {**found, "answers": [len(times) / elapsed], "p50": [times[len(times) // 2] * 1e6],
            "p99": [times[len(times) * 99 // 100] * 1e6], "kept": [size_kept],
            "files": [files], "streamed": [streamed]}, {}


def rest(options):
    """Everybody has the same value, and wants more than there is: with swap for it."""
    users = [started(f"g{i}", part(35), options.first) for i in range(4)]
    found, _ = numbers(users, options)
    return found, {}


def neighbours(options):
    """Nobody has a value, and reclaim protects whom it always did."""
    size = part(20)
    holders = [Group(name) for name in ("min", "low", "neither")]
    for group, name in zip(holders, ("memory.min", "memory.low")):
        group.write(name, str(size * 9 // 8))
    users = [User(group, size, keeps=True) for group in holders]
    for user in users:
        user.wait()
    users.append(started("other", part(66)))
    found, samples = numbers(users, options)
    events = [init.fields(f"{user.group.path}/memory.events") for user in users]
    return {**found, **{name: [sum(each[name] for each in events)] for name in events[0]}}, {
        "samples": samples}


WORKLOADS = {function.__name__: function
             for function in (readers, pair, pods, server, rest, neighbours)}


def parse(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    add_lru_option(parser)
    parser.add_argument("--swap", choices=("disk", "zram"), default="disk")
    for name in ("--first", "--second", "--slice"):
        # On the kernel's command line a blank would end it.
        parser.add_argument(name, default=DEFAULT, type=lambda text: text.replace(",", " "))
    parser.add_argument("--part", type=int, default=83, metavar="PERCENT")
    parser.add_argument("--low", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--settle", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("workload", choices=WORKLOADS)
    return parser.parse_args(arguments)


def work(arguments):
    options = parse(arguments)
    init.mount_groups(options.v1)
    use_lru(options.lru)
    init.make_swap(SWAP if options.swap == "disk" else zram(2 * memory()))
    # Values are of no use to stock, which has none.
    probe = Group("probe")
    if not os.path.exists(f"{probe.path}/{KNOB}"):
        options.first = options.second = options.slice = DEFAULT
    probe.remove()
    # What is measured is how others wait, not this process, which nothing can spare.
    init.checked(init.LIBC.mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall")
    # The last one to close it would take its page cache along.
    with open(DISK, "rb", buffering=0):
        found, more = WORKLOADS[options.workload](options)
    return {"series": found, **more}


init.main(work)
