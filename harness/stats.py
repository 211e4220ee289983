# SPDX-License-Identifier: GPL-2.0
"""From the results of single guests to medians, ranges and ratios."""

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


def ms(nanoseconds):
    return nanoseconds / 1e6


def cached(*patterns):
    """Without /proc/slabinfo there is no figure, rather than a zero."""
    return lambda r: growth(r, lambda m: caches(m, *patterns)) \
        if r["memory"]["start"]["caches"] else None


# name: (label, unit, function of one guest's result)
MEMORY = {
    "maps": ("kmalloc-1k and own caches", "MiB", cached(KMALLOC_1K, OWN_CACHE)),
    "kmalloc1k": ("- of it kmalloc-1k", "MiB", cached(KMALLOC_1K)),
    "own": ("- of it own caches", "MiB", cached(OWN_CACHE)),
    "kmalloc": ("all kmalloc and own caches", "MiB", cached(re.compile(""))),
    "sunreclaim": ("SUnreclaim", "MiB", lambda r: growth(r, lambda m: m["sunreclaim"])),
    "slab": ("Slab", "MiB", lambda r: growth(r, lambda m: m["slab"])),
    "percpu": ("Percpu", "MiB", lambda r: growth(r, lambda m: m["percpu"])),
}


def spread(values):
    """Median, minimum and maximum; None if a value is missing."""
    if not values or any(value is None for value in values):
        return None
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "values": values}


class Table:
    """All the results of one run, by arm, case and round."""

    def __init__(self, results, metrics):
        self.by = {}
        self.metrics = metrics
        for result in results:
            place = (result["arm"], result["case"])
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


def error_bar(found):
    """How far it reaches below the median and above; a figure that can't be below 0 is not drawn
    there, though noise may be."""
    least = found["min"] if found["median"] < 0 else max(found["min"], 0)
    return found["median"] - least, found["max"] - found["median"]
