# SPDX-License-Identifier: GPL-2.0
"""Counts the instructions of a guest's operations, and what they miss in caches, with count.c,
a plugin of QEMU's: where it is to count, what it found, and whether that can be right."""

import pathlib
import subprocess

from bench.profile.workloads import HOT, LEAST_FOR_SIBLING, SIBLINGS
from harness import compiler, qemu
from harness.common import OUT, BenchError, shown

FOLDER = OUT / "profile"
USAGE = "points= and out= are needed"
# Of loads and stores, as count.c has them.
MISSES = ("l1", "l2", "l3", "lost", "taken", "shared")
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
    sources = sorted(pathlib.Path(__file__).parent.glob("*.c"))
    compiler.build("the plugin for QEMU", plugin, sources,
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


def argument(plugin, points, out, caches):
    """For qemu.Machine."""
    # QEMU's options take a comma as the end unless there are two.
    return ",".join(str(part).replace(",", ",,") for part in
                    (plugin, f"points={points}", f"out={out}",
                     *(("caches=on",) if caches else ())))


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
        kind, number, *fields = line.split()
        content = found[operations[int(number)].name]
        if kind == "shared":
            content["shared_lines"] = int(fields[0])
        else:
            add(content["functions"], kind, *symbols.at(int(fields[0], 16)),
                [int(field) for field in fields[1:]])
    return found


def add(functions, kind, name, begins, counts):
    """What a block of code counted, to what its function did."""
    function = functions.setdefault(name, {"instructions": 0, "calls": 0, "atomics": 0})
    if kind == "missed":
        for key, count in zip(MISSES, counts, strict=True):
            function[key] = function.get(key, 0) + count
    else:
        insns, atomics, times = counts
        function["instructions"] += insns * times
        function["atomics"] += atomics * times
        function["calls"] += times if begins else 0


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
