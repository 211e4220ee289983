# SPDX-License-Identifier: GPL-2.0
"""From the results of single guests to medians, ranges and ratios."""

import math
import re
import statistics

MIB = 1024 * 1024
OWN_CACHE = re.compile(r"shrinker_unit|mm_reclaim")
# Where the C implementation has its units; see the selftest's memory.c.
KMALLOC_1K = re.compile(r"kmalloc(-rnd-\d+)?-1k$")


def caches(memory, *patterns):
    """The bytes in the caches that match a pattern."""
    return sum(size for name, size in memory["caches"].items()
               if any(pattern.match(name) for pattern in patterns))


def growth(result, value):
    """From the level before any group existed to the end of the drops."""
    memory = result["memory"]
    return (value(memory["dropped"]) - value(memory["start"])) / MIB


def calls(result, symbol):
    """Calls in one idle write of 2, or None where they cannot be counted.

    A function may be in parts (do_shrink_slab.part.0): the sum of them. What else
    goes on in the guest only adds to a count: the smaller one is right.
    """
    counts = []
    for probe in result["calls"]:
        if probe["symbol"].split(".")[0] != symbol:
            continue
        if "unavailable" in probe or probe["missed"]:
            return None
        counts.append(min(probe["hits"]))
    return sum(counts) if counts else None


def no_caches(result):
    """Without /proc/slabinfo there is no figure, rather than a zero."""
    return not result["memory"]["start"]["caches"]


def ms(nanoseconds):
    return nanoseconds / 1e6


# name: (label, unit, function of one guest's result)
METRICS = {
    "idle2": ("drop_caches 2, all dropped", "ms",
              lambda r: ms(statistics.median(r["ns"]["drop2"]))),
    "empty2": ("drop_caches 2, nothing left at all", "ms",
               lambda r: ms(statistics.median(r["ns"]["empty2"]))
               if r["ns"]["empty2"] else None),
    "first3": ("drop_caches 3, first call", "ms",
               lambda r: ms(r["ns"]["drop3"][0])),
    "later3": ("drop_caches 3, later calls", "ms",
               lambda r: ms(statistics.median(r["ns"]["drop3"][1:]))),
    "create": ("create the groups", "ms", lambda r: ms(r["ns"]["create"])),
    "mount": ("join, mount, create a file", "ms",
              lambda r: ms(r["ns"]["mount"])),
    "mount_calls": ("- of it in mount(2)", "ms",
                    lambda r: ms(r["ns"]["mount_calls"])),
    "mount_max": ("- slowest mount(2)", "ms",
                  lambda r: ms(r["ns"]["mount_max"])),
    "unmount": ("unmount", "ms", lambda r: ms(r["ns"]["unmount"])),
    "remove": ("remove the groups", "ms", lambda r: ms(r["ns"]["remove"])),
    "drain": ("- until they are gone", "ms", lambda r: ms(r["ns"]["drain"])),
    "maps": ("kmalloc-1k and own caches", "MiB",
             lambda r: None if no_caches(r) else
             growth(r, lambda m: caches(m, KMALLOC_1K, OWN_CACHE))),
    "kmalloc1k": ("- of it kmalloc-1k", "MiB",
                  lambda r: None if no_caches(r) else
                  growth(r, lambda m: caches(m, KMALLOC_1K))),
    "own": ("- of it own caches", "MiB",
            lambda r: None if no_caches(r) else
            growth(r, lambda m: caches(m, OWN_CACHE))),
    "kmalloc": ("all kmalloc and own caches", "MiB",
                lambda r: None if no_caches(r) else
                growth(r, lambda m: sum(m["caches"].values()))),
    "sunreclaim": ("SUnreclaim", "MiB",
                   lambda r: growth(r, lambda m: m["sunreclaim"])),
    "slab": ("Slab", "MiB", lambda r: growth(r, lambda m: m["slab"])),
    "percpu": ("Percpu", "MiB", lambda r: growth(r, lambda m: m["percpu"])),
    "calls": ("do_shrink_slab calls, idle", "",
              lambda r: calls(r, "do_shrink_slab")),
    "super_calls": ("- of file systems", "",
                    lambda r: calls(r, "super_cache_count")),
}


def spread(values):
    """Median, minimum and maximum; None if a value is missing."""
    if not values or any(value is None for value in values):
        return None
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "values": values}


class Table:
    """All the results of one run, by arm, size (N, or `key`) and round."""

    def __init__(self, results, metrics=METRICS, key="n"):
        self.by = {}
        self.metrics = metrics
        for result in results:
            place = (result["arm"], result[key])
            self.by.setdefault(place, {})[result["round"]] = result
        # As they were measured: the smallest first.
        self.sizes = list(dict.fromkeys(n for _, n in self.by))
        self.arms = list(dict.fromkeys(arm for arm, _ in self.by))

    def has(self, arm, n):
        return (arm, n) in self.by

    def spread(self, arm, n, metric):
        rounds = self.by.get((arm, n), {})
        function = self.metrics[metric][2]
        return spread([function(rounds[i]) for i in sorted(rounds)])

    def ratio(self, over, under, n, metric):
        """over / under, paired within each round: the machine may change
        speed from one round to the next."""
        above = self.by.get((over, n), {})
        below = self.by.get((under, n), {})
        function = self.metrics[metric][2]
        ratios = []
        for i in sorted(above.keys() & below.keys()):
            one, other = function(above[i]), function(below[i])
            if one is None or other is None or other <= 0 or one <= 0:
                return None
            ratios.append(one / other)
        return spread(ratios)

    def noise(self, n, metric, arm="stock", twin="again"):
        """By how many times a metric differs within a round at most, where it is
        taken from two guests with the same kernel; None if it was not."""
        ratio = self.ratio(arm, twin, n, metric)
        return ratio and max(max(value, 1 / value) for value in ratio["values"])

    def exponent(self, arm, metric, low=1000):
        """The slope against N in a log-log plot, over the N from `low`."""
        points = []
        for n in self.sizes:
            found = self.spread(arm, n, metric) if n >= low else None
            if found and found["median"] > 0:
                points.append((math.log(n), math.log(found["median"])))
        if len(points) < 2:
            return None
        return statistics.linear_regression(*zip(*points)).slope
