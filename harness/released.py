# SPDX-License-Identifier: GPL-2.0
"""What steps of a release have passed, and at which revision: in docs/figures/, so that
a release that takes longer than a machine is there goes on elsewhere, and docs/ quotes it.

A step holds as long as nothing changes that it depends on.
"""

import datetime
import json
import os

from harness import figures, revision, session
from harness.kept import FRESH

FILE = figures.FIGURES / "release.json"
TABLE = "steps"
COLUMNS = ["make", "passed", "failed", "minutes", "CPU minutes", "revision", "date"]

# What some steps alone depend on. On all else, every step does.
ONLY = {
    "Documentation/": ("htmldocs",),
    "bench/drop_caches.py": ("bench",),
    "bench/dying.py": ("bench-dying",),
    "bench/profile/": ("bench-profile",),
    "bench/scale.py": ("bench-scale",),
    "bench/softlimit.py": ("bench-softlimit",),
    "bench/untrusted.py": ("bench-untrusted",),
    "tests/boots/": ("boots",),
    "tests/configs/": ("configs",),
    "tests/harness/": (),
    "tests/litmus/": ("litmus",),
    "tests/model/": ("model",),
    "tests/mutants/": ("model", "mutants"),
    "tests/mutants_check/": (),
    "tests/mutants_debug/": (),
    "tests/ncheck/": ("ncheck",),
    "tests/objcheck/": ("objcheck",),
    "tests/selftests/": ("selftests",),
    "tests/tools/": ("tools-check",),
    "tests/zombies/": ("zombies", "tools-check"),
}
# These depend on all that there is.
ON_ALL = ("lint", "harness-check", "mutants-debug")


def depends(step, path):
    only = next((targets for start, targets in ONLY.items() if path.startswith(start)), None)
    return step.target in ON_ALL or only is None or step.target in only


class Released:
    """The rows of the file, by name of the step."""

    def __init__(self, path=FILE, fresh=FRESH):
        self.path = path
        self.fresh = fresh
        self.code = revision.code()
        self.files = {}
        self.rows = {}
        if path.exists():
            table = json.loads(path.read_text(encoding="utf-8"))["tables"][TABLE]
            self.rows = {row[0]: dict(zip(COLUMNS, row)) for row in table["rows"]}

    def depended_on(self, step, commit):
        """The content of what the step depends on; nothing if there is no such commit."""
        if commit not in self.files:
            self.files[commit] = list(revision.files(commit))
        return [content for path, content in self.files[commit] if depends(step, path)]

    def passed(self, step):
        """The row of a step that need not be run again."""
        row = self.rows.get(step.name)
        if self.fresh or not row or row["failed"]:
            return None
        before = self.depended_on(step, row["revision"])
        return row if before and before == self.depended_on(step, "HEAD") else None

    def keep(self, step, outcome, steps):
        """Writes what came of a step, in the order of all, unless it can't be said of
        what it came."""
        if revision.code() != self.code:
            print(f"make {step.name}: not kept, as the code has changed since the start")
            return
        today, commit = str(datetime.date.today()), revision.commit()
        self.rows[step.name] = dict(zip(COLUMNS, (
            step.name, outcome.passed, outcome.failed, round(outcome.seconds / 60, 1),
            round(outcome.cpu / 60, 1), commit, today)))
        fields = {"revision": commit, "date": today, "rounds": 1, "command": "make release",
                  "machine": f"{session.cpu_model()}, {os.cpu_count()} CPUs."}
        rows = [list(self.rows[each.name].values()) for each in steps
                if each.name in self.rows]
        self.path.write_text(
            figures.written(fields, {TABLE: {"columns": COLUMNS, "rows": rows}}),
            encoding="utf-8")
