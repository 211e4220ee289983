# SPDX-License-Identifier: GPL-2.0
"""How all plots look."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import ticker  # the backend comes first

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
    # Unlike tight_layout(), it leaves room for a title of the whole figure.
    figure.set_layout_engine("constrained", rect=(0, 0.04, 1, 0.96))
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
