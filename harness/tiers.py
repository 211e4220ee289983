# SPDX-License-Identifier: GPL-2.0
"""What is checked when: the steps of each tier, in order.

A step is a target of the Makefile. Those that start guests wait for the kernels
that they name; all others only need a CPU.
"""

import dataclasses

from harness import kernels


@dataclasses.dataclass(frozen=True)
class Step:
    """One target, with the variables that it is made with."""
    target: str
    variables: tuple = ()
    kernels: tuple = ()  # those for x86_64 that must have been built
    guests: bool = False
    alone: bool = False  # in a release: nothing runs beside it

    @property
    def name(self):
        """As it is shown, and chosen on the command line."""
        return " ".join((self.target, *self.variables))


def guests(target, *variables, on=()):
    return Step(target, variables, on, True)


def alone(target):
    return Step(target, alone=True)


def kernel(variant):
    return Step("kernel", (f"VARIANT={variant}",))


BENCH = tuple(kernels.used_by("bench"))
SUITES = tuple(kernels.used_by("suites"))
DEBUG = tuple(kernels.used_by("failinject"))
BOOTS = tuple(kernels.used_by("boots"))

# In an hour on two cores, with nothing built before: that is room for two kernels
# built from nothing, and copies of one. The kernels come in the order in which guests
# need them: a variant is copied from one before it. While the last one is built, guests
# do all that they can without it.
CI = (
    Step("rustavailable"),
    Step("docs-figures", ("CHECK=1",)),
    *map(kernel, (*BENCH, *SUITES, *BOOTS)),
    Step("harness-check"),
    Step("mutants-check"),
    Step("tools-check"),
    Step("lint"),
    Step("litmus"),
    Step("model", ("QUICK=1",)),
    Step("ncheck", ("QUICK=1",)),
    Step("objcheck", kernels=tuple(kernels.used_by("objcheck"))),

    guests("bench", "QUICK=1", on=BENCH),
    guests("bench-scale", "QUICK=1", on=BENCH),
    guests("suites", on=SUITES),
    guests("bench-softlimit", "QUICK=1", on=BENCH),
    guests("bench-untrusted", "QUICK=1", on=BENCH),
    guests("bench-dying", "QUICK=1", on=BENCH),
    guests("bench-retain", "QUICK=1", on=BENCH),
    guests("bench-containers", "QUICK=1", on=BENCH),
    guests("boots", "PART=others", "QUICK=1", on=BENCH),
    guests("boots", "PART=debug", "QUICK=1", on=BOOTS),
    guests("failinject", "QUICK=1", on=DEBUG),
    # These run the torture test, and the suites with sanitizers.
    guests("sanitize", "KERNELS=debug", "QUICK=1", "DURATION=120",
           on=DEBUG),
)

# Everything but what compares docs/ with docs/figures/, which a release changes. Alone are
# those that measure times, or compare them, and those that change the source of all kernels.
RELEASE = (
    Step("harness-check"),
    Step("tools-check"),
    Step("lint"),
    Step("htmldocs"),
    Step("rustdoc"),
    Step("litmus"),
    Step("model"),
    Step("ncheck"),
    Step("objcheck"),
    Step("configs"),
    Step("bisect"),

    guests("suites"),
    guests("kunit", "ARCH=x86_64"),
    guests("boots"),
    guests("failinject"),
    guests("sanitize"),
    guests("kunit", "ARCH=um"),
    guests("kunit", "ARCH=um", "VARIANT=kunit-nov1"),
    guests("kunit", "ARCH=arm64"),
    guests("kunit", "ARCH=arm64", "VARIANT=kunit-lockdep-64k"),
    guests("zombies"),
    guests("stock-check"),
    guests("retained", "DURATION=3600"),
    guests("torture", "DURATION=1800"),

    alone("selftests"),
    alone("bench-profile"),
    alone("bench"),
    alone("bench-scale"),
    alone("bench-softlimit"),
    alone("bench-untrusted"),
    alone("bench-dying"),
    alone("bench-priority"),
    alone("bench-retain"),
    alone("bench-containers"),
    alone("mutants"),
    alone("mutants-debug"),
)

TIERS = {"ci": CI, "release": RELEASE}
