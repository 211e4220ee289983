# SPDX-License-Identifier: GPL-2.0
"""Builds each commit of the series on UML without a warning: with the option off, and where that
is offered, on, with and without the KUnit suites; and runs those suites that exist by then.

So whoever bisects the kernel can stop at any of them. What passed is kept in build/bisect.json by
all that it depends on, so that a run that was interrupted goes on, and one after a change begins
where that is. FRESH=1 starts anew.
"""

import hashlib
import os
import re
import shutil

import pytest

from harness import tools
from harness.common import BUILD, ROOT, BenchError
from harness.kept import Kept

SERIES = BUILD / "linux"
TREE = BUILD / "linux-bisect"
# Of these nothing is built.
TEXT = re.compile(r"Documentation/|MAINTAINERS$|tools/(cgroup|testing)/")
KCONFIG = "rust/mm_reclaim/Kconfig"
OFF, PLAIN, SUITES = "bisect-off", "bisect-plain", "bisect"
SAID = {OFF: "off", PLAIN: "on", SUITES: "on with its suites"}
# How kernels are made, and judged.
SOURCES = ("configs/um.config", "configs/bisect.config", "configs/kunit.config",
           "configs/rust.config", "configs/stock.config", "scripts/kernel", "scripts/kunit",
           "scripts/lib.sh", "harness/kernels.toml", "harness/kunit_check.py",
           "harness/kunit_suites.py", "harness/splats.py", "tests/bisect/test_bisect.py")


def lib(call, *arguments):
    """The command that calls functions of scripts/lib.sh."""
    return ["bash", "-c", f'. "$0/scripts/lib.sh"; {call}', ROOT, *arguments]


def git(*arguments):
    return tools.run(["git", "-C", SERIES, *arguments], "git in build/linux")


def cases(_options):
    """The commits of which something is built, by number and subject."""
    found = {}
    for number, commit in enumerate(git("rev-list", "--reverse",
                                        "pristine..overlay").split(), 1):
        changed = git("diff-tree", "-r", "--name-only", "--no-commit-id", commit).splitlines()
        if not all(map(TEXT.match, changed)):
            found[f"{number:02} {git('log', '-1', '--format=%s', commit).strip()}"] = commit
    return found


@pytest.fixture(scope="module")
def kept():
    return Kept(BUILD / "bisect.json", of_code=False)


@pytest.fixture(scope="module")
def common():
    """What the results of all commits depend on: our files, and the compilers."""
    return "".join([*((ROOT / path).read_text(encoding="utf-8") for path in SOURCES),
                    tools.run(lib("load_toolchain; toolchain_used"), "the toolchain")])


def forms(commit):
    """How a commit is built."""
    offered = KCONFIG in git("show", f"{commit}:mm/Kconfig")
    return (OFF, PLAIN, SUITES) if offered else (OFF,)


def build(form):
    """A compiler warns once: what warned, or nobody looked at, is built again from nothing."""
    unseen = BUILD / f".unseen-um-{form}"
    if unseen.exists():
        shutil.rmtree(BUILD / f"um-{form}", ignore_errors=True)
    unseen.touch()
    if tools.status([ROOT / "scripts/kernel", form, "um"]):
        raise BenchError(f"{form} does not build, see above")
    log = BUILD / f"log/kernel-um-{form}.log"
    if tools.status(lib('no_warnings "$1"', log)):
        raise BenchError(f"{form}: a compiler warns, see above")
    unseen.unlink()


def run_suites():
    """All of them, and beside others that run such suites."""
    if tools.status([ROOT / "scripts/kunit", "um"], env={
            **os.environ, "VARIANT": SUITES, "BUILT": "1", "SOURCE": str(TREE), "FILTER": "",
            "RESULTS": str(BUILD / "bisect")}):
        raise BenchError("the KUnit suites fail, see above")


def test_commit(case, step, kept, common):
    done = []
    tree = git("rev-parse", f"{case}^{{tree}}")
    print(flush=True)
    for form in forms(case):
        key = hashlib.sha256(f"{tree}{form}{common}".encode()).hexdigest()
        if kept.get(key):
            continue
        tools.run([ROOT / "scripts/patched_tree", TREE.name.removeprefix("linux-"), case],
                  "build/linux-bisect")
        build(form)
        if form == SUITES:
            run_suites()
        kept.keep(key, True)
        done.append(SAID[form])
    step.said = f"builds {', '.join(done)}" if done else "passed before"
