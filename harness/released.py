# SPDX-License-Identifier: GPL-2.0
"""What steps of a release have passed, and at which revision: in docs/figures/, so that
a release that takes longer than a machine is there goes on elsewhere, and docs/ quotes it.

A step holds as long as nothing changes that it depends on.
"""

import datetime
import json
import os

from harness import figures, revision, session, tiers
from harness.common import ROOT
from harness.kept import FRESH

FILE = figures.FIGURES / "release.json"
TABLE = "steps"
COLUMNS = ["make", "passed", "failed", "minutes", "CPU minutes", "revision", "date"]

TARGETS = {step.target for step in tiers.RELEASE}
# Those with guests that kunit.py does not start.
GUESTS = {step.target for step in tiers.RELEASE if step.guests or step.alone} - {
    "kunit", "stock-check"}
# Patches to the kernel's own documents: no code comes of them.
TEXTS = [path for kind in ("Documentation", "MAINTAINERS")
         for path in sorted((ROOT / "patches").glob(f"*-{kind}-*.patch"))]
# Of retained page cache, each a step's own.
CHECKS = sorted((ROOT / "guest/retained").glob("check_*.py"))
# What neither builds the crate nor reads its source.
WITHOUT_CRATE = {"htmldocs", "ncheck", "stock-check", "tools-check"}
# What runs kernels without the suites.
BENCHES = {target for target in TARGETS if target.startswith("bench")}
# What some steps alone depend on, by how paths begin, where owned() does not tell.
ONLY = {
    **{f"patches/{path.name}": ("htmldocs",) for path in TEXTS},
    "patches/cover-letter.msg": (),
    "patches/steps/": ("bisect",),
    "patches/stock/": ("stock-check",),
    "Documentation/": ("htmldocs", "zombies"),
    "bench/": GUESTS,
    "bench/containers.py": ("bench-containers", "bench-profile"),
    "bench/drop_caches.py": ("bench",),
    "bench/priority.py": ("bench-priority", "boots"),
    "bench/retain.py": ("bench-retain", "boots", "retained", "sanitize"),
    "bench/scale.py": ("bench-scale", "boots"),
    "bench/softlimit.py": ("bench-softlimit", "boots"),
    "configs/bisect.config": ("bisect",),
    "configs/ext4.config": ("boots", "retained", "mutants-debug"),
    "configs/selftests.config": ("selftests",),
    "configs/stock-kunit.config": ("stock-check",),
    "configs/xfs.config": ("retained",),
    "configs/zombies.config": ("zombies",),
    "guest/": GUESTS,
    "guest/jobs.py": ("bench-softlimit", "bench-priority", "boots"),
    "guest/torturer.py": ("torture", "sanitize"),
    "guest/workloads/containers.py": ("bench-containers", "bench-profile"),
    "guest/containers.py": ("bench-containers", "bench-profile"),
    "guest/workloads/dying.py": ("bench-dying", "boots"),
    "guest/workloads/huge_tmpfs.py": ("boots",),
    "guest/workloads/lists.py": ("sanitize",),
    "guest/workloads/map_cost.py": ("boots",),
    "guest/workloads/priority_checks.py": ("boots",),
    **{f"guest/retained/{path.name}": ("boots", "retained") for path in CHECKS},
    "guest/retained/model.py": ("boots", "retained", "sanitize"),
    "guest/workloads/retain_checks.py": ("boots", "retained"),
    "guest/workloads/retain_files.py": ("retained", "sanitize"),
    "guest/workloads/soft_limit.py": ("bench-softlimit", "boots"),
    "guest/workloads/tools.py": ("boots",),
    "guest/workloads/torture.py": ("torture", "sanitize"),
    "configs/mm_reclaim.config": (),
    "harness/arms.py": GUESTS,
    "harness/dashboard.py": (),
    "harness/doctor.py": (),
    "harness/figures.py": (),
    "harness/kconfig.py": (),
    "harness/list_table.py": ("litmus", "zombies"),
    "harness/monitor.py": GUESTS,
    "harness/races.py": ("sanitize",),
    "harness/released.py": (),
    "harness/splats.py": GUESTS,
    "harness/stale_code.py": GUESTS,
    "harness/tier.py": (),
    "harness/tiers.py": (),
    "tests/harness/": (),
    "rust/mm_reclaim/": TARGETS - WITHOUT_CRATE,
    # And tests.rs.
    "rust/mm_reclaim/tests": TARGETS - WITHOUT_CRATE - BENCHES,
    "scripts/help": (),
    "scripts/patches": (),
    "scripts/prometheus": (),
    "scripts/steps": (),
    "tests/kunit/": TARGETS - BENCHES,
    "tests/mutants/": ("model", "mutants"),
    # Of mutants-debug alone.
    "tests/mutants/debug.toml": (),
    "tests/mutants_check/": (),
    "tests/mutants_debug/": (),
    "tests/stock/": ("stock-check",),
    "tests/tools/": ("tools-check",),
    "tests/torture/": ("torture", "sanitize"),
    "tests/zombies/": ("zombies", "tools-check"),
    "tools/cgroup/memcg_common.py": ("tools-check", "boots", "zombies"),
    "tools/cgroup/memcg_reclaim.py": ("tools-check", "boots", "zombies"),
    "tools/cgroup/zombies/": ("tools-check", "zombies"),
}
# These depend on all that there is.
ON_ALL = ("lint", "harness-check", "mutants-debug")


def owned(target):
    """How paths begin that are for this step alone, by their name."""
    name = target.removeprefix("bench-")
    folder = "tests" if name == target else "bench"
    return f"{folder}/{name}/", f"{folder}/{name}.py", f"guest/workloads/{name}.py"


# The longest counts. On all else, every step depends.
STARTS = {start: (target,) for target in TARGETS for start in owned(target)} | ONLY


def depends(step, path):
    start = max(filter(path.startswith, STARTS), key=len, default=None)
    return start is None or step.target in ON_ALL or step.target in STARTS[start]


class Released:
    """The rows of the file, by name of the step."""

    def __init__(self, path=FILE, fresh=FRESH):
        self.path = path
        self.fresh = fresh
        self.start = revision.commit()
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

    def is_same(self, step, one, other):
        """Whether there are both commits, and what the step depends on is the same."""
        before = self.depended_on(step, one)
        return bool(before) and before == self.depended_on(step, other)

    def passed(self, step):
        """The row of a step that need not be run again."""
        row = self.rows.get(step.name)
        if self.fresh or not row or row["failed"]:
            return None
        return row if self.is_same(step, row["revision"], self.start) else None

    def keep(self, step, outcome, steps):
        """Writes what came of a step, in the order of all, unless it can't be said of
        what it came."""
        if any(depends(step, path) for path in revision.uncommitted_code()) or \
                not self.is_same(step, self.start, revision.commit()):
            print(f"make {step.name}: not kept, as what it depends on has changed since the "
                  "start")
            return
        today, commit = str(datetime.date.today()), self.start
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
