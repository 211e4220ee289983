# SPDX-License-Identifier: GPL-2.0
"""Shows that each step of a release is run until it passed, and that what matters in the
log of a step is found, and not only its end."""

import pathlib

import pytest

from harness import tier, tiers
from harness.common import BenchError
from harness.released import Released

LOG = ["    CC      lib/error-inject.o", "[1/2] bench: FAIL: a splat", "    | it",
       "    other", "ERROR: modpost: x", "    9 passed, 10 failed", "0 failed"]


@pytest.mark.parametrize("log, said", [
    (LOG, [LOG[1], LOG[2], LOG[4], LOG[5]]), (["a"], ["a"])])
def test_reasons(log, said):
    assert tier.reasons(log) == said


def test_release(tmp_path, monkeypatch):
    made = []

    def run_step(step, *_, **__):
        made.append(step.name)
        return tier.Outcome(1, step.target == "model" and made.count(step.name) == 1, 1)

    def release(steps=tiers.RELEASE):
        made_before = len(made)
        outcomes = tier.run_release(steps, tmp_path,
                                    Released(tmp_path / "release.json", fresh=False))
        return outcomes, made[made_before:]

    monkeypatch.setattr(tier.revision, "uncommitted", lambda: ["docs/test.md"])
    monkeypatch.setattr(tier, "run_step", run_step)
    monkeypatch.setattr(tier, "log_of", lambda *_: pathlib.Path("/dev/null"))
    names = [step.name for step in tiers.RELEASE]
    alone = [step.name for step in tiers.RELEASE if step.alone]
    # In parts: what others came to stays.
    assert release(tiers.RELEASE[:2])[1] == names[:2]
    assert release(tiers.RELEASE[2:4])[1] == names[2:4]
    outcomes, ran = release()
    assert sorted(ran) == sorted(names[4:]) and ran[-len(alone):] == alone
    assert [step.name for step, outcome in outcomes.items() if outcome.failed] == ["model"]
    assert release()[1] == ["model"]
    outcomes, ran = release()
    assert not ran and len(list(tier.summary(tiers.RELEASE, outcomes))) == len(names) + 4

    monkeypatch.setattr(tier.revision, "uncommitted", lambda: ["mm/x.c"])
    with pytest.raises(BenchError):
        release()
