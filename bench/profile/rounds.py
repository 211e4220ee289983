# SPDX-License-Identifier: GPL-2.0
"""What was counted in the guests of each arm, in several rounds."""

import statistics

# What of an operation has a median; the rest of it is that of one round.
FUNCTIONS = "functions"


class Rounds:
    """By arm and round: each workload has a guest, and operations, of its own."""

    def __init__(self, results):
        self.by_arm = {}
        for result in results:
            rounds = self.by_arm.setdefault(result["arm"], {})
            rounds.setdefault(result["round"], {}).update(result["profile"])

    def median(self, arm):
        """A profile with the median of each count."""
        found = {}
        for profile in self.by_arm[arm].values():
            for name, content in profile.items():
                found.setdefault(name, []).append(content)
        return {name: {**contents[0], FUNCTIONS: median_of([
            content[FUNCTIONS] for content in contents])} for name, contents in found.items()}

    def pairs(self, name, figure, over="rust", under="stock"):
        """The figure of an operation in two arms, for each round in which both have it."""
        one, other = (self.by_arm.get(arm, {}) for arm in (over, under))
        return [(figure(one[number][name]), figure(other[number][name]))
                for number in sorted(one.keys() & other.keys())
                if name in one[number] and name in other[number]]


def median_of(rounds):
    """`rounds` are the functions of one operation."""
    found = {}
    for functions in rounds:
        for name, counts in functions.items():
            found.setdefault(name, {}).update(counts)
    return {name: {key: statistics.median(functions.get(name, {}).get(key, 0)
                                          for functions in rounds)
                   for key in keys} for name, keys in found.items()}
