# SPDX-License-Identifier: GPL-2.0
"""Turns the results of a bench with scenarios into JSON and tables."""

from harness.common import QUICK
from harness.kernels import ARMS
from harness.report import cell, goal_table, ratio, rounded, sections, table
from harness.stats import Table

SHORT = """\
This is the short form (QUICK=1): its sizes are too small for most of the goals that are
about times."""


def table_of(scenario, results):
    source = scenario.source or scenario.name
    found = Table([result for result in results if result["from"] == source],
                  scenario.metrics)
    # Not as they took turns.
    found.arms.sort(key=list(ARMS).index)
    return found


def scenario_table(found):
    """Every metric of every case, one to a row."""
    compare = [arm for arm in found.arms if arm != "stock" and "stock" in found.arms]
    only = found.sizes[0] if len(found.sizes) == 1 else ""
    rows = []
    for case in found.sizes:
        for metric, (label, unit, _) in found.metrics.items():
            cells = [cell(found.spread(arm, case, metric),
                          lambda value, unit=unit: rounded(value, unit))
                     for arm in found.arms]
            if any(each is not None for each in cells):
                rows.append([f"{'' if only else f'{case}: '}{label}{unit and ', '}{unit}",
                             *cells, *(cell(found.ratio("stock", arm, case, metric), ratio)
                                       for arm in compare)])
    return table([only, *found.arms, *(f"stock / {arm}" for arm in compare)], rows)


def doubts(result, scenarios):
    """What would make the figures of a guest mean something else."""
    if result["clock"]["step_ns"] > 100000:
        yield f"the guest's clock steps {result['clock']['step_ns']} ns"
    for scenario in scenarios:
        if (scenario.source or scenario.name) == result["from"]:
            yield from scenario.doubts(result)


def summarize(found):
    """Spreads and ratios of all metrics, by case."""
    return {case: {
        "arms": {arm: {metric: found.spread(arm, case, metric)
                       for metric in found.metrics}
                 for arm in found.arms if found.has(arm, case)},
        "stock_over_rust": {metric: found.ratio("stock", "rust", case, metric)
                            for metric in found.metrics}} for case in found.sizes}


def build(measured, machine, options, notes):
    """The content of the JSON file. Goals are those of the cases that were
    chosen, measured or not."""
    found, results, shown = {}, measured.results, [("", notes, {})]
    if QUICK:
        shown.append(("", SHORT, {}))
    for scenario in options.scenarios:
        figures = table_of(scenario, results)
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
            "goals": list(scenario.goals(figures, cases)) if cases else [],
            "summary": summarize(figures),
        }
        shown.append((f"{scenario.title} ({scenario.name})", scenario.about,
                      {scenario.name: scenario_table(figures), f"{scenario.name}-goals":
                       goal_table(found[scenario.name]["goals"])}))
    return {"machine": machine, "quick": QUICK, "scenarios": found, **sections(*shown),
            "skipped": measured.skipped, "failed": measured.failed,
            "doubts": [*measured.doubts(), *(f"{result['arm']}, {result['case']}, round "
                       f"{result['round']}: {doubt}" for result in results
                       for doubt in doubts(result, options.scenarios))],
            "results": results}
