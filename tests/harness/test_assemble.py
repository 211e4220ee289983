# SPDX-License-Identifier: GPL-2.0
"""A series is put together of patches, new files, and steps that add to these."""

import shutil
import subprocess

import pytest

from harness.common import ROOT
from tests.harness.repository import commit, git, write

BEFORE = "first\nsecond\nthird\n"
WHOLE = BEFORE + "later\n"
# Of a step: its own file, and where it adds a line.
HEAD = """\
mm/late.c
---
--- a/mm/new.c
+++ b/mm/new.c
"""
STEP = HEAD + """\
@@ -1,3 +1,4 @@
 first
 second
 third
+later
"""
# It is taken away where it is, and comes back near line 9, if that looks alike.
FAR = HEAD + """\
@@ -9,2 +9,3 @@
 a
+later
 b
"""
SCRIPT = "#!/bin/sh\necho late\n"
PATCH = """\
From: A Person <person@localhost>
Subject: [PATCH] mm: say more
Date: Sun, 1 Nov 2026 00:00:00 +0000

Why.
---
--- a/mm/old.c
+++ b/mm/old.c
@@ -1 +1,2 @@
 old
+more
"""
SERIES = "# first the new one\nnew.msg\n0*.patch\nlate.msg steps/late.diff\n"
FILES = {
    "patches/base": "7.3\n", "patches/series": SERIES, "patches/0001.patch": PATCH,
    "patches/new.msg": "mm: add what is new\n---\nmm/new.c\n",
    "patches/late.msg": "mm: add what is late\n---\nmm/late.c\n",
    "patches/steps/late.diff": STEP, "mm/new.c": WHOLE, "mm/late.c": SCRIPT}


@pytest.fixture(name="folder")
def repository(tmp_path):
    """With a kernel of one file, and a series of three commits."""
    write(tmp_path, {**FILES, ".gitignore": "build\n", "build/linux/mm/old.c": "old\n"})
    (tmp_path / "mm/late.c").chmod(0o755)
    (tmp_path / "scripts").mkdir()
    for name in ("assemble", "lib.sh", "newfiles"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    for tree in (tmp_path / "build/linux", tmp_path):
        git(tree, "init", "-q")
        commit(tree)
    git(tmp_path / "build/linux", "tag", "pristine")
    return tmp_path


def assemble(folder):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_COMMITTER_NAME": "c",
                   "GIT_COMMITTER_EMAIL": "d"}
    return subprocess.run([folder / "scripts/assemble"], capture_output=True, text=True,
                          check=False, env=environment)


def commits(folder, last):
    tree = folder / "build/linux"
    return git(tree, "log", "--reverse", "--format=%s", f"pristine..{last}").splitlines()


def test_series(folder):
    """In its order, each with what it has by then; a step's files come with it."""
    result = assemble(folder)
    assert result.returncode == 0, result.stderr
    last, tree = result.stdout.strip(), folder / "build/linux"
    assert commits(folder, last) == ["mm: add what is new", "mm: say more", "mm: add what is late"]
    assert git(tree, "show", f"{last}~2:mm/new.c") == BEFORE
    assert git(tree, "ls-tree", "--name-only", f"{last}~1", "mm/").split() == [
        "mm/new.c", "mm/old.c"]
    assert git(tree, "show", f"{last}:mm/new.c") == WHOLE
    assert git(tree, "show", f"{last}:mm/old.c") == "old\nmore\n"
    assert git(tree, "ls-tree", last, "mm/late.c").startswith("100755 ")
    assert "Signed-off-by: a <b>" in git(tree, "log", "-1", "--format=%b", last)
    # The files of the kernel stay as they are, and the same series is the same commits.
    assert git(tree, "status", "--porcelain") == ""
    assert assemble(folder).stdout.strip() == last


def test_left_over(folder):
    """What nothing names comes last."""
    write(folder, {"mm/other.c": "other\n"})
    result = assemble(folder)
    assert commits(folder, result.stdout.strip())[3:] == [
        "mm_reclaim: files that no patch names yet"]


@pytest.mark.parametrize("files, message", [
    ({"patches/series": SERIES + "absent.msg\n"}, "names absent.msg, which does not exist"),
    ({"patches/series": SERIES + "base\n"}, "neither a .patch nor a .msg"),
    ({"patches/series": SERIES.replace("late.msg ", "*.msg ")}, "names several, and a step"),
    ({"patches/steps/late.diff": STEP.replace("mm/late.c", "mm/none.c")}, "which is no new file"),
    ({"mm/new.c": "a\nlater\nb\n" + 6 * "filled\n" + "a\nb\n", "patches/steps/late.diff": FAR},
     "mm/new.c is not whole after all steps"),
    ({"mm/new.c": "second\n"}, "run scripts/steps"),
    ({"mm/old.c": "old\n"}, "exists in the kernel already"),
    ({"patches/0001.patch": PATCH.replace(" old\n", " odd\n")}, "does not apply")])
def test_refused(folder, files, message):
    """What would give another series than the one that is meant."""
    write(folder, files)
    result = assemble(folder)
    assert result.returncode == 1 and message in result.stderr, (result.stdout, result.stderr)
