# SPDX-License-Identifier: GPL-2.0
"""What a scenario of a bench is: guests, figures that are taken from their
results, and what is expected of these."""

import dataclasses
import statistics
from collections.abc import Callable

from harness.stats import MIB

# What --lru of a guest chooses, and its title.
LRUS = (("classic", "classic LRU"), ("mglru", "MGLRU"))
# A metric, by its name: what it is, in which unit, and where a result has it.
KILLS = {"oom_kills": ("processes killed", "", lambda r: r["oom_kills"])}


@dataclasses.dataclass(frozen=True)
class Case:
    """One guest: what runs in it, and what it needs."""
    label: str
    n: int
    workload: tuple
    memory: int             # in MiB, with any arm
    least: int = 0          # in MiB, with rust only; 0 is the same
    kernel: tuple = ()
    timeout: int = 300
    line: str = ""          # in a plot against N: which line it is on
    left_out: tuple = ()    # arms that would take too long
    cpus: int = 0           # that are possible; 0 is as many as others have


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A list of guests and what is to be read from their results."""
    name: str
    title: str
    about: str
    metrics: dict           # as stats.MEMORY
    goals: Callable         # of a Table and its cases
    cases: Callable = None  # of `quick`; None: those of the scenario `source`
    source: str = ""
    plot: str = "bars"      # the kind of plot, see plot_scenarios.py
    plotted: tuple = ()     # the metrics in it
    # Of a guest's result, what makes it doubtful.
    doubts: Callable = lambda result: ()


def series(name):
    """The values of a series in a guest's result, or None."""
    return lambda r: r["series"].get(name) or None


def median(name, convert):
    def value(result):
        values = series(name)(result)
        return convert(statistics.median(values)) if values else None
    return value


def plain(name):
    """The median, as it is."""
    return median(name, float)


def per(name, count, scale=1e3):
    """The median time for one of the operations, in us unless told."""
    def value(result):
        values, counted = series(name)(result), count(result)
        return statistics.median(values) / scale / counted if values else None
    return value


def one_of(name):
    return lambda r: r["series"][name][0]


def mib(name):
    return lambda r: one_of(name)(r) / MIB if name in r["series"] else None


def over(above, below):
    """A ratio of two series in one guest."""
    def value(result):
        one, other = series(above)(result), series(below)(result)
        if not one or not other:
            return None
        return statistics.median(one) / statistics.median(other)
    return value


def named(scenarios):
    return {scenario.name: scenario for scenario in scenarios}
