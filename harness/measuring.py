# SPDX-License-Identifier: GPL-2.0
"""Measures in one guest after another, and keeps each sample at once: a bench that was
interrupted, or of which guests failed, goes on with what is missing, if it is the same
code, kernels and options."""

import dataclasses
import sys
from collections.abc import Callable

from harness import arms, revision
from harness.common import OUT, QUICK, BenchError
from harness.kept import Kept
from harness.progress import Progress
from harness.results import digest


@dataclasses.dataclass(frozen=True)
class Guest:
    """One of them."""
    name: str  # with its round
    boot: Callable  # returns the result
    more: dict  # that the result gets
    why_not: str = ""  # it is measured, or nothing


@dataclasses.dataclass
class Measured:
    results: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    before: int = 0  # of the results, those of a run that was interrupted

    def doubts(self):
        if self.before:
            yield (f"{self.before} of {len(self.results)} guests were measured before "
                   "an interruption")


def measure(tool, guests, choice, save=lambda measured: None):
    """`save` is called after each."""
    kept = Kept(OUT / f"{tool}.kept.json", revision.kernel(), sys.argv[1:], QUICK,
                *(digest(arm.kernel.image) for arm in choice))
    print(f"samples are kept in {kept} until all are there; FRESH=1 starts anew")
    measured = Measured()
    progress = Progress(tool, [guest.name for guest in guests])
    for guest in guests:
        if guest.why_not:
            progress.skip(guest.name)
            if guest.why_not not in measured.skipped:
                measured.skipped.append(guest.why_not)
            continue
        result = kept.get(guest.name)
        if result:
            progress.skip(guest.name, "measured before")
            measured.before += 1
        else:
            progress.next(guest.name)
            try:
                result = guest.boot()
            except arms.GuestFailed as error:
                progress.done(f"FAILED: {error}", counts=False)
                measured.failed.append(f"{guest.name}: {error.why}")
                continue
            progress.done(f"{result['guest_seconds']:.1f} s")
            result.update(guest.more)
            kept.keep(guest.name, result)
        measured.results.append(result)
        save(measured)
    if not measured.results:
        raise BenchError("nothing was measured" + "".join(
            f"\n{line}" for line in measured.skipped + measured.failed))
    if not measured.failed:
        kept.drop()
    return measured
