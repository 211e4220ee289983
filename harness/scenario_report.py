# SPDX-License-Identifier: GPL-2.0
"""Turns the results of a bench with scenarios into JSON and tables."""

from harness.kernels import ARMS
from harness.goals import factor
from harness.report import (
    coarse_clock, describe_host, goal_table, join, markdown, metric_row, summarize)
from harness.stats import Table


def table_of(scenario, results):
    source = scenario.source or scenario.name
    table = Table([result for result in results if result["from"] == source],
                  scenario.metrics, "case")
    # Not as they took turns.
    table.arms.sort(key=list(ARMS).index)
    return table


def ratio_cell(ratio):
    if not ratio:
        return "-"
    text = factor(ratio["median"])
    low, high = factor(ratio["min"]), factor(ratio["max"])
    return text if low == high else f"{text} ({low} to {high})"


def scenario_table(table):
    """Every metric of every case, one to a row."""
    compare = [arm for arm in table.arms if arm != "stock"
               and "stock" in table.arms]
    only = table.sizes[0] if len(table.sizes) == 1 else ""
    rows = [[only, *table.arms, *(f"stock / {arm}" for arm in compare)]]
    for case in table.sizes:
        for metric in table.metrics:
            row = metric_row(table, case, metric)
            if all(text == "-" for text in row[1:]):
                continue
            if not only:
                row[0] = f"{case}: {row[0]}"
            row += [ratio_cell(table.ratio("stock", arm, case, metric))
                    for arm in compare]
            rows.append(row)
    return markdown(rows)


def doubts_of(result):
    if not result["series"].get("emptied", [1])[0] and result["from"] in (
            "idle", "busy", "hot", "pressure", "largest"):
        yield "something may have been left to reclaim"
    yield from coarse_clock(result)
    if result["series"].get("not_dropped", [0])[0]:
        yield (f"{result['series']['not_dropped'][0]} groups had objects left "
               "after the drops")


def all_goals(report):
    return [goal for found in report["scenarios"].values()
            for goal in found["goals"]]


def build(measured, machine, options, scenarios):
    """The content of the JSON file. Goals are those of the cases that were
    chosen, measured or not."""
    found, results = {}, measured.results
    for scenario in options.scenarios:
        table = table_of(scenario, results)
        source = scenario.source or scenario.name
        cases = [case for name, case in options.cases if name == source]
        found[scenario.name] = {
            "title": scenario.title, "about": scenario.about,
            "metrics": {metric: {"label": label, "unit": unit}
                        for metric, (label, unit, _)
                        in scenario.metrics.items()},
            "cases": {case.label: {"n": case.n, "line": case.line,
                                   "memory_mib": case.memory}
                      for case in cases},
            "plot": scenario.plot, "plotted": scenario.plotted,
            "goals": scenario.goals(table, cases) if cases else [],
            "summary": summarize(table),
        }
    return {"machine": machine, "quick": options.quick, "scenarios": found,
            "skipped": measured.skipped, "failed": measured.failed,
            "doubts": [*measured.doubts(), *(f"{result['arm']}, {result['case']}, round "
                       f"{result['round']}: {doubt}" for result in results
                       for doubt in doubts_of(result))],
            "results": results}


def text(report, scenarios, notes):
    """What the terminal shows."""
    parts = [describe_host(report["machine"]), notes]
    if report["quick"]:
        parts.append("This is the short form (QUICK=1): its sizes are too "
                     "small for most of the goals that are about times.")
    for name, found in report["scenarios"].items():
        table = table_of(scenarios[name], report["results"])
        parts.append(f"## {found['title']} ({name})\n\n{found['about']}")
        if table.sizes:
            parts.append(scenario_table(table))
        if found["goals"]:
            parts.append(goal_table(found["goals"]))
    return join(parts, report)
