# SPDX-License-Identifier: GPL-2.0
"""Shows that each step of a release is run until it passed, and that what matters in the
log of a step is found, and not only its end."""

import functools

import pytest

from harness import tier, tiers
from harness.kept import Kept

LOG = ["    CC      lib/error-inject.o", "[1/2] bench: FAIL: a splat", "    | it",
       "    other", "ERROR: modpost: x", "    9 passed, 10 failed", "0 failed"]


@pytest.mark.parametrize("log, said", [
    (LOG, [LOG[1], LOG[2], LOG[4], LOG[5]]), (["a"], ["a"])])
def test_reasons(log, said):
    assert tier.reasons(log) == said


def test_run_alone(tmp_path, monkeypatch):
    made = []

    def run_step(step, *_, **__):
        made.append(step.name)
        return tier.Outcome(1, step.target == "model" and made.count(step.name) == 1, 1)

    monkeypatch.setattr(tier.revision, "uncommitted", lambda: [])
    monkeypatch.setattr(tier, "Kept", functools.partial(Kept, fresh=False))
    monkeypatch.setattr(tier, "run_step", run_step)
    names = [step.name for step in tiers.RELEASE]
    outcomes = tier.run_alone(tiers.RELEASE, tmp_path)
    assert made == names
    assert [step.name for step, outcome in outcomes.items() if outcome.failed] == ["model"]

    tier.run_alone(tiers.RELEASE, tmp_path)
    assert made == [*names, "model"]
    rows = list(tier.summary(tiers.RELEASE, tier.run_alone(tiers.RELEASE, tmp_path)))
    assert made == [*names, "model"] and len(rows) == len(names) + 4
