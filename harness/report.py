# SPDX-License-Identifier: GPL-2.0
"""Turns the results of a run into report.json and a table.

The table is Markdown that reads well on a terminal, so that it can be copied
into a document. As a program: `python3 -m harness.report report.json` prints it again.
"""

import json
import pathlib
import statistics
import sys

from bench import published
from harness import goals
from harness.stats import METRICS, Table

NOTES = """\
Median (minimum to maximum) over the rounds; times in ms, memory in MiB above
the level before there were groups. Ratios are medians of the ratios within
each round. A time of drop_caches is that of one write(2); those of "later
calls", "all dropped" and "nothing left" are medians of the calls in one guest.
"All dropped" is after five drops, which leave one kernfs dentry in each group
that drop_caches never frees; "nothing left" is after that has been taken away
through the shrinkers' debugfs files."""


def number(value, unit):
    if unit == "":
        return f"{value:.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if unit == "MiB" else f"{value:.3g}"


def cell(spread, unit):
    if spread is None:
        return "-"
    text = number(spread["median"], unit)
    low, high = number(spread["min"], unit), number(spread["max"], unit)
    return text if low == high else f"{text} ({low} to {high})"


def markdown(rows):
    """A table whose columns line up; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(row):
        cells = [row[0].ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |"

    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return "\n".join([line(rows[0]), "| " + " | ".join(rule) + " |"]
                     + [line(row) for row in rows[1:]])


def metric_row(table, n, metric):
    """One metric in every arm, without the ratio."""
    label, unit, _ = table.metrics[metric]
    return ([f"{label}{f', {unit}' if unit else ''}"] +
            [cell(table.spread(arm, n, metric), unit) for arm in table.arms])


def size_table(table, n):
    """All the metrics of one N."""
    compare = table.has("rust", n) and table.has("stock", n)
    rows = [[f"N = {n}", *table.arms, *(["stock / rust"] if compare else [])]]
    for metric in table.metrics:
        row = metric_row(table, n, metric)
        if compare:
            ratio = table.ratio("stock", "rust", n, metric)
            row.append(goals.factor(ratio["median"]) if ratio else "-")
        rows.append(row)
    return markdown(rows)


def series_table(table):
    """The 2018 table, with ours at the largest N of each arm."""
    largest = {arm: max(n for n in table.sizes if table.has(arm, n))
               for arm in table.arms}
    rows = [["drop_caches 3, in ms", f"2018 before, N = {published.N}",
             f"2018 after, N = {published.N}",
             *(f"{arm}, N = {largest[arm]}" for arm in table.arms)]]
    medians = {arm: drops(table, arm, largest[arm]) for arm in table.arms}
    for i, (before, after) in enumerate(zip(published.BEFORE, published.AFTER)):
        rows.append([f"call {i + 1}", f"{before * 1e3:.0f}", f"{after * 1e3:.0f}",
                     *(number(medians[arm][i], "ms") for arm in table.arms)])
    return (markdown(rows) + f"\n\n2018: {published.SOURCE}; other hardware, "
            "and a clock that shows 10 ms.")


def drops(table, arm, n):
    """The median over the rounds, for each of the five calls."""
    rounds = [result["ns"]["drop3"] for result in table.by[arm, n].values()]
    return [statistics.median(call) / 1e6 for call in zip(*rounds)]


def goal_table(found):
    rows = [["Expected of rust", "found", "verdict", "decides"]]
    rows += [[goal["goal"], goal["found"], goal["verdict"],
              "yes" if goal.get("decides") else "no"] for goal in found]
    return markdown(rows)


def describe_host(machine):
    return (f"{machine['date']}, {machine['cpu']}, {machine['cores']} CPUs, "
            f"{machine['qemu']}, {machine['accel']}; Linux {machine['kernel']}, "
            f"clock {machine['clock']}, {machine['rounds']} rounds")


def describe(machine):
    return (f"{describe_host(machine)}; guests: {machine['guest_cpus']} CPUs, "
            f"{machine['guest_memory_mib']} MiB"
            + (", groups joined from home" if machine["from_home"] else ""))


def summary_table(table):
    """The two figures that matter most, against N."""
    rows = [["N", *(f"{arm}, ms" for arm in table.arms), "stock / rust",
             *(f"{arm}, MiB" for arm in table.arms), "stock / rust"]]
    for n in table.sizes:
        row = [str(n)]
        for metric, unit in (("idle2", "ms"), ("maps", "MiB")):
            row += [cell(table.spread(arm, n, metric), unit).split(" ")[0]
                    for arm in table.arms]
            ratio = table.ratio("stock", "rust", n, metric)
            row.append(goals.factor(ratio["median"]) if ratio else "-")
        rows.append(row)
    return ("Idle drop_caches 2, and memory for shrinker maps (kmalloc-1k and "
            "own caches):\n\n" + markdown(rows))


def doubts(table):
    """What would make the figures of an arm mean something else."""
    found = {}
    for (arm, n), rounds in sorted(table.by.items()):
        for i, result in sorted(rounds.items()):
            for doubt in doubts_of(result):
                found.setdefault((arm, n, doubt), []).append(str(i))
    return [f"{arm}, N = {n}, round {', '.join(rounds)}: {doubt}"
            for (arm, n, doubt), rounds in found.items()]


def doubts_of(result):
    """The same for one guest."""
    found = []
    arm, n = result["arm"], result["n"]
    total = METRICS["calls"][2](result)
    supers = METRICS["super_calls"][2](result)
    if total is None:
        why = next((probe["unavailable"] for probe in result["calls"]
                    if "unavailable" in probe), "probes were missed")
        found.append(f"calls of do_shrink_slab not counted: {why}")
    elif total < n:
        found.append(f"only {total} calls of do_shrink_slab, "
                     "but the root has more shrinkers")
    elif supers is not None and total < supers:
        found.append("do_shrink_slab is inlined somewhere: "
                     f"{total} calls, but {supers} of super_cache_count")
    elif arm == "exhaustive" and total < n * n:
        found.append(f"only {total} calls, so not every "
                     "shrinker was called for every group")
    hits = [probe["hits"] for probe in result["calls"] if "hits" in probe]
    if any(len(set(both)) > 1 for both in hits):
        found.append(f"the slab was not idle: two drops made "
                     f"{' and '.join(map(str, hits))} calls")
    if arm != "stock" and not METRICS["own"][2](result):
        found.append("no cache of our own in /proc/slabinfo, "
                     "so the memory of the maps is not known")
    return found + coarse_clock(result)


def coarse_clock(result):
    """The doubt about a guest whose clock is not good enough, if it isn't."""
    step = result["clock"]["step_ns"]
    return [f"the guest's clock steps {step} ns"] if step > 100000 else []


def summarize(table):
    """Spreads and ratios of everything, as report.json has them."""
    return {
        str(n): {
            "arms": {arm: {metric: table.spread(arm, n, metric)
                           for metric in table.metrics}
                     for arm in table.arms if table.has(arm, n)},
            "stock_over_rust": {metric: table.ratio("stock", "rust", n, metric)
                                for metric in table.metrics},
        } for n in table.sizes}


def build(measured, machine):
    """The content of report.json."""
    results = measured.results
    table = Table(results)
    summary = summarize(table)
    return {"machine": machine, "goals": goals.check(table),
            "doubts": [*measured.doubts(), *doubts(table)],
            "skipped": measured.skipped, "failed": measured.failed, "summary": summary,
            "published": {"source": published.SOURCE, "n": published.N,
                          "before_s": published.BEFORE,
                          "after_s": published.AFTER},
            "results": results}


def started_again(results):
    retries = sum(result["retries"] for result in results)
    if not retries:
        return []
    return [f"Started again: {retries} guests in which QEMU ran stale code "
            "(Oops: int3)"]


def text(report):
    """What the terminal shows."""
    table = Table(report["results"])
    parts = [describe(report["machine"]), NOTES]
    parts += [size_table(table, n) for n in table.sizes]
    parts += [summary_table(table), series_table(table),
              goal_table(report["goals"])]
    return join(parts, report)


def join(parts, report):
    """The parts of the text, and what must be known of the run."""
    notes = [f"Not run: {line}" for line in report["skipped"]]
    notes += [f"Failed: {line}" for line in report.get("failed", [])]
    notes += [f"In doubt: {line}" for line in report["doubts"]]
    notes += started_again(report["results"])
    if notes:
        parts = [*parts, "\n".join(notes)]
    return "\n\n".join(parts) + "\n"


def show(text):
    """The main function of a program that prints a report again."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name} REPORT.json")
    print(text(json.loads(pathlib.Path(sys.argv[1]).read_text())), end="")


if __name__ == "__main__":
    show(text)
