# SPDX-License-Identifier: GPL-2.0
"""Draws each scenario: `python3 -m harness.plot_scenarios scale.json` writes
scale-*.png and .svg.

Against N or k where there are several, and otherwise the figures of both arms
beside each other.
"""

import json
import pathlib
import sys
import textwrap

from matplotlib import pyplot

from harness.plot import STYLE, finish, write
from harness.plot_samples import over_time, retained, sizes
from harness.stats import error_bar

# Of the depths, one point each; the colour is the arm's.
DEPTHS = "vDP*"
# Figures of this size and below are noise, or nothing at all.
LEAST = 1e-4
# Of bars, in inches, and how many letters a title has room for.
PANEL, ROW, TITLE_WIDTH = 2.4, 3, 30


def draw_points(axes, points, style, label, marker=None):
    """`points` are pairs of a place and a spread; a marker of their own means
    that they are beside the arm's line, and no line joins them."""
    points = [(x, spread) for x, spread in points
              if spread and spread["median"] > LEAST]
    if not points:
        return False
    below, above = zip(*(error_bar(spread) for _, spread in points))
    axes.errorbar([x for x, _ in points],
                  [spread["median"] for _, spread in points],
                  yerr=(below, above), capsize=3, label=label, linewidth=1.8,
                  linestyle="none" if marker else "-", color=style["color"],
                  markerfacecolor="none" if marker else style["color"],
                  marker=marker or style["marker"], markersize=6)
    return True


def spread_of(found, case, arm, metric):
    size = found["summary"].get(case)
    return size["arms"].get(arm, {}).get(metric) if size else None


def lines_of(found):
    """The labels of the cases by line, as (N, label)."""
    lines = {}
    for label, case in found["cases"].items():
        if label in found["summary"]:
            lines.setdefault(case["line"], []).append((case["n"], label))
    return lines


def against_n(figure, found):
    axes = figure.subplots()
    metric, *others = found["plotted"]
    name = found["metrics"][metric]["label"]
    lines = lines_of(found)
    for arm, style in STYLE.items():
        for i, (line, cases) in enumerate(lines.items()):
            draw_points(axes, [(n, spread_of(found, label, arm, metric))
                               for n, label in cases], style,
                        f"{style['label']}, {line if len(lines) > 1 else name}",
                        DEPTHS[(i - 1) % len(DEPTHS)] if i else None)
        for other in others:
            draw_points(axes, [(n, spread_of(found, label, arm, other))
                               for n, label in lines.get("flat", [])], style,
                        f"{style['label']}, {found['metrics'][other]['label']}",
                        "_")
    sizes = sorted({n for cases in lines.values() for n, _ in cases})
    finish(axes, sizes, found["title"], found["metrics"][metric]["unit"])


def against_k(figure, found):
    axes = figure.subplots()
    case = next(iter(found["summary"]))
    ks = {int(metric.removeprefix("busy")): metric for metric in found["metrics"]
          if metric.startswith("busy")}
    measured = [k for k in ks if k and any(
        spread_of(found, case, arm, ks[k]) for arm in STYLE)]
    for arm, style in STYLE.items():
        draw_points(axes, [(k, spread_of(found, case, arm, ks[k]))
                           for k in measured], style, style["label"])
        idle = spread_of(found, case, arm, ks[0])
        if idle:
            axes.axhline(idle["median"], color=style["color"], linewidth=0.8,
                         linestyle=":")
    finish(axes, measured, f"drop_caches 2, {case}",
           "ms (dotted: no object in any group)",
           "k: groups that have an object")


def bar_panel(axes, found, case, metric):
    described = found["metrics"][metric]
    for arm, style in STYLE.items():
        spread = spread_of(found, case, arm, metric)
        if not spread:
            continue
        below, above = error_bar(spread)
        axes.bar(style["label"], spread["median"], width=0.6,
                 color=style["color"], yerr=([below], [above]), capsize=4)
    axes.set_title(textwrap.fill(described["label"].removeprefix("- "), TITLE_WIDTH), fontsize=9)
    axes.set_ylabel(described["unit"], fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def bars(figure, found):
    """A panel for each figure, as their units and sizes differ; a row of them for each case."""
    cases = list(found["summary"])
    rows = figure.subplots(len(cases), len(found["plotted"]), squeeze=False)
    for case, row in zip(cases, rows):
        for axes, metric in zip(row, found["plotted"]):
            bar_panel(axes, found, case, metric)
        if len(cases) > 1:
            row[0].set_ylabel(f"{case}\n{row[0].get_ylabel()}", fontsize=9)
    figure.suptitle(found["title"] + ("" if len(cases) > 1 else f": {cases[0]}"), fontsize=11)


KINDS = {"lines": (against_n, (7, 5.5)), "k": (against_k, (7, 5.5)),
         "bars": (bars, None), "samples": (over_time, (11, 11)),
         "sizes": (sizes, (7, 18)), "retained": (retained, (7, 12))}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: harness.plot_scenarios BENCH.json")
    path = pathlib.Path(sys.argv[1])
    report = json.loads(path.read_text())
    for name, found in report["scenarios"].items():
        if not found["summary"]:
            continue
        found["results"] = [result for result in report["results"]
                            if result["from"] == name]
        draw, size = KINDS[found["plot"]]
        figure = pyplot.figure(figsize=size or (
            1 + PANEL * len(found["plotted"]), 1 + ROW * len(found["summary"])))
        draw(figure, found)
        write(figure, report["machine"], path.with_name(f"{path.stem}-{name}.json"))
        pyplot.close(figure)


if __name__ == "__main__":
    main()
