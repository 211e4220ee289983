# SPDX-License-Identifier: GPL-2.0
"""What is checked when: the steps of each tier, in order.

A step is a target of the Makefile. Those that start guests wait for the kernels
that they name; all others only need a CPU.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """One target, with the variables that it is made with."""
    target: str
    variables: tuple = ()
    kernels: tuple = ()  # variants for x86_64 that must have been built
    guests: bool = False

    @property
    def name(self):
        """As it is shown, and chosen on the command line."""
        return " ".join((self.target, *self.variables))


def guests(target, *variables, kernels):
    return Step(target, variables, kernels, True)


def kernel(variant):
    return Step("kernel", (f"VARIANT={variant}",))


BENCH = ("stock", "rust", "verify")

# In an hour on two cores, with nothing built before: that is room for two kernels
# built from nothing, and copies of one. The kernels come in the order in which guests
# need them: a variant is copied from one before it. While the last one is built, guests
# do all that they can without it.
CI = (
    Step("rustavailable"),
    Step("docs-figures", ("CHECK=1",)),
    *map(kernel, (*BENCH, "suites", "debug")),
    Step("mutants-check"),
    Step("tools-check"),
    Step("lint"),
    Step("litmus"),
    Step("model", ("QUICK=1",)),
    Step("ncheck", ("QUICK=1",)),
    Step("objcheck", kernels=("rust", "verify")),

    guests("bench", "QUICK=1", kernels=BENCH),
    guests("bench-scale", "QUICK=1", kernels=BENCH),
    guests("suites", kernels=("suites",)),
    guests("bench-softlimit", "QUICK=1", kernels=BENCH),
    guests("bench-untrusted", "QUICK=1", kernels=BENCH),
    guests("boots", "PART=others", kernels=BENCH),
    guests("boots", "PART=debug", kernels=("debug",)),
    guests("failinject", "QUICK=1", kernels=("debug",)),
    # These run the torture test, and the suites with sanitizers.
    guests("sanitize", "KERNELS=debug", "QUICK=1", "DURATION=160",
           kernels=("debug",)),
)

# Everything, one after the other, as times are measured.
RELEASE = tuple(Step(target, variables) for target, *variables in (
    ("lint",),
    ("tools-check",),
    ("docs-figures", "CHECK=1"),
    ("htmldocs",),
    ("rustdoc",),
    ("litmus",),
    ("model",),
    ("suites",),
    ("kunit", "ARCH=x86_64"),
    ("kunit", "ARCH=um"),
    ("kunit", "ARCH=um", "VARIANT=kunit-nov1"),
    ("kunit", "ARCH=arm64"),
    ("kunit", "ARCH=arm64", "VARIANT=kunit-lockdep-64k"),
    ("configs",),
    ("ncheck",),
    ("objcheck",),
    ("boots",),
    ("failinject",),
    ("sanitize",),
    ("torture", "DURATION=1800"),
    ("selftests",),
    ("bench-profile",),
    ("bench",),
    ("bench-scale",),
    ("bench-softlimit",),
    ("bench-untrusted",),
    ("mutants",),
    ("mutants-debug",),
))

TIERS = {"ci": CI, "release": RELEASE}
