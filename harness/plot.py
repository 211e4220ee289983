# SPDX-License-Identifier: GPL-2.0
"""Draws time and memory against N: `python3 -m harness.plot report.json` writes PNG and SVG."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # the backend comes first

# Told apart without colour, too.
STYLE = {
    "stock": {"color": "#0072b2", "marker": "o", "label": "stock (C)"},
    "rust": {"color": "#d55e00", "marker": "s", "label": "rust"},
    "exhaustive": {"color": "#555555", "marker": "^",
                   "label": "exhaustive (no maps)"},
    "inline": {"color": "#009e73", "marker": "D", "label": "rust, inline"},
    "off": {"color": "#e69f00", "marker": "v", "label": "soft limits off"},
    "on": {"color": "#d55e00", "marker": "s", "label": "soft limits on"},
}


def points(report, arm, metric):
    """N, medians and error bars of what was measured and can be drawn."""
    found = []
    for n, size in report["summary"].items():
        spread = size["arms"].get(arm, {}).get(metric)
        if spread and spread["median"] > 0:
            found.append((int(n), spread["median"],
                          spread["median"] - max(spread["min"], 0),
                          spread["max"] - spread["median"]))
    return list(zip(*found))


def draw(axes, report, metric, faint=None):
    for arm, style in STYLE.items():
        found = points(report, arm, metric)
        if not found:
            continue
        sizes, medians, below, above = found
        axes.errorbar(sizes, medians, yerr=(below, above), capsize=3,
                      linewidth=1 if faint else 1.8, markersize=4 if faint else 6,
                      linestyle=":" if faint else "-", alpha=0.7 if faint else 1,
                      color=style["color"], marker=style["marker"],
                      label=None if faint else style["label"])
    if faint:
        # Last in the legend: error bars come after lines there.
        axes.errorbar([], [], yerr=[], color="#555555", linewidth=1,
                      linestyle=":", label=f"dotted: {faint}")


def guides(axes, report, metric):
    """What linear and quadratic growth look like, below the arms."""
    for arm, power in (("rust", 1), ("stock", 2)):
        found = points(report, arm, metric)
        if not found or len(found[0]) < 2:
            continue
        # Through the last point, which has the least noise.
        sizes, medians = found[0], found[1]
        line = [medians[-1] * (n / sizes[-1]) ** power * 0.6 for n in sizes]
        axes.plot(sizes, line, color="#999999", linewidth=0.8, linestyle="--")
        axes.annotate("N²" if power == 2 else "N", (sizes[-1], line[-1]),
                      xytext=(4, 0), textcoords="offset points", ha="left",
                      va="center", color="#777777", fontsize=9)


def finish(axes, sizes, title, unit,
           across="N: memory cgroups, each with a tmpfs"):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(across)
    axes.set_ylabel(unit)
    axes.set_xticks(sizes)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda n, _: f"{n:.0f}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axes.set_xlim(min(sizes) / 1.35, max(sizes) * 1.25)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    # Room for the legend, above lines that rise to the right.
    axes.set_ylim(top=axes.get_ylim()[1] * 5)
    axes.legend(loc="upper left", fontsize=9, frameon=False)


def write(figure, machine, path):
    """As PNG and SVG, with a line that says what was measured where."""
    figure.text(0.5, 0.01,
                f"Linux {machine['kernel']}, {machine['accel']} guest, "
                f"{machine['guest_cpus']} CPUs, {machine['date'][:10]}; median, "
                f"min and max of {machine['rounds']} rounds", ha="center",
                fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: harness.plot report.json")
    path = pathlib.Path(sys.argv[1])
    report = json.loads(path.read_text())
    sizes = [int(n) for n in report["summary"]]
    machine = report["machine"]

    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(11, 5))
    draw(time, report, "idle2")
    guides(time, report, "idle2")
    draw(time, report, "empty2", faint="nothing left at all")
    finish(time, sizes, "Time of an idle drop_caches (writing 2)", "ms")
    draw(memory, report, "maps")
    guides(memory, report, "maps")
    draw(memory, report, "sunreclaim", faint="all of SUnreclaim")
    finish(memory, sizes, "Memory for shrinker maps (kmalloc-1k and own caches)",
           "MiB above the level without groups")
    write(figure, machine, path)


if __name__ == "__main__":
    main()
