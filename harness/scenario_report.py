# SPDX-License-Identifier: GPL-2.0
"""Turns the results of a bench with scenarios into JSON and tables."""

from harness.common import QUICK
from harness.goals import factor
from harness.kernels import ARMS
from harness.report import cell, describe_host, goal_table, join, markdown, number
from harness.stats import Table


def table_of(scenario, results):
    source = scenario.source or scenario.name
    table = Table([result for result in results if result["from"] == source],
                  scenario.metrics)
    # Not as they took turns.
    table.arms.sort(key=list(ARMS).index)
    return table


def scenario_table(table):
    """Every metric of every case, one to a row."""
    compare = [arm for arm in table.arms if arm != "stock"
               and "stock" in table.arms]
    only = table.sizes[0] if len(table.sizes) == 1 else ""
    rows = [[only, *table.arms, *(f"stock / {arm}" for arm in compare)]]
    for case in table.sizes:
        for metric, (label, unit, _) in table.metrics.items():
            cells = [cell(table.spread(arm, case, metric),
                          lambda value, unit=unit: number(value, unit))
                     for arm in table.arms]
            if set(cells) == {"-"}:
                continue
            rows.append([f"{'' if only else f'{case}: '}{label}{unit and ', '}{unit}",
                         *cells, *(cell(table.ratio("stock", arm, case, metric), factor)
                                   for arm in compare)])
    return markdown(rows)


def doubts(result, scenarios):
    """What would make the figures of a guest mean something else."""
    if result["clock"]["step_ns"] > 100000:
        yield f"the guest's clock steps {result['clock']['step_ns']} ns"
    for scenario in scenarios:
        if (scenario.source or scenario.name) == result["from"]:
            yield from scenario.doubts(result)


def summarize(table):
    """Spreads and ratios of all metrics, by case."""
    return {case: {
        "arms": {arm: {metric: table.spread(arm, case, metric)
                       for metric in table.metrics}
                 for arm in table.arms if table.has(arm, case)},
        "stock_over_rust": {metric: table.ratio("stock", "rust", case, metric)
                            for metric in table.metrics}} for case in table.sizes}


def build(measured, machine, options):
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
    return {"machine": machine, "quick": QUICK, "scenarios": found,
            "skipped": measured.skipped, "failed": measured.failed,
            "doubts": [*measured.doubts(), *(f"{result['arm']}, {result['case']}, round "
                       f"{result['round']}: {doubt}" for result in results
                       for doubt in doubts(result, options.scenarios))],
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
