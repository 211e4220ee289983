# SPDX-License-Identifier: GPL-2.0
"""Draws memory use over time, as a guest sampled it: a panel for each arm and
case of one round."""

from harness.kernels import ARMS
from harness.stats import MIB

# What a sample has after its time.
LINES = (("the stream", "#0072b2", "-"), ("the eater", "#d55e00", "-"),
         ("the eater's swap", "#555555", "--"))
SIZES = (("the first one", "#0072b2", "-"), ("the second one", "#d55e00", "-"))
RETAINED = (("the group", "#0072b2", "-"), ("the pool", "#d55e00", "-"),
            ("free", "#555555", "--"))


def over_time(figure, found):
    by_arm(figure, found, LINES, ARMS)


def sizes(figure, found):
    """Of this project alone, as values are: what both have resident."""
    by_arm(figure, found, SIZES, {"rust": ARMS["rust"]})


def retained(figure, found):
    """Of this project alone, which has a pool."""
    by_arm(figure, found, RETAINED, {"rust": ARMS["rust"]})


def by_arm(figure, found, lines, shown):
    first = min(result["round"] for result in found["results"])
    results = {(result["case"], result["arm"]): result for result in found["results"]
               if result["round"] == first and result["arm"] in shown}
    with_case, with_arm = map(set, zip(*results))
    cases = [case for case in found["cases"] if case in with_case]
    arms = [arm for arm in shown if arm in with_arm]
    panels = figure.subplots(len(cases), len(arms), squeeze=False, sharex=True,
                             sharey=True)
    for row, case in zip(panels, cases):
        for axes, arm in zip(row, arms):
            samples = results.get((case, arm), {}).get("samples", [])
            for i, (label, color, line) in enumerate(lines, 1):
                axes.plot([sample[0] for sample in samples],
                          [sample[i] / MIB for sample in samples],
                          color=color, linestyle=line, linewidth=1.5,
                          label=label)
            axes.set_title(f"{case}: {ARMS[arm].about}", fontsize=9)
            axes.grid(True, color="#dddddd", linewidth=0.6)
            axes.tick_params(labelsize=8)
        row[0].set_ylabel("MiB", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("seconds", fontsize=9)
    panels[0][0].legend(fontsize=8, frameon=False)
    figure.suptitle(f"{found['title']}: memory of each over time (one round)",
                    fontsize=11)
