# SPDX-License-Identifier: GPL-2.0
"""Parts of the series that several files have something of are brought up to date."""

import shutil
import subprocess

import pytest

from harness.common import ROOT
from tests.harness.repository import commit, git, write

LINES = "first\nsecond\nthird\nfourth\nfifth\nsixth\nseventh\n"
WITH_ONE = LINES.replace("second\n", "second\none\n")
WITH_BOTH = WITH_ONE.replace("sixth\n", "sixth\ntwo\n")
SERIES = "x.patch steps/one.diff\n# steps/none.diff\ny.patch steps/two.diff\n"


def run(folder):
    return subprocess.run([folder / "scripts/steps"], capture_output=True, text=True, check=False)


def without(folder, text, *names):
    """A file without these steps, as scripts/assemble makes it."""
    (folder / "tree/mm").mkdir(parents=True, exist_ok=True)
    file = folder / "tree/mm/a.c"
    file.write_text(text, encoding="utf-8")
    for name in names:
        diff = (folder / f"patches/steps/{name}.diff").read_text(encoding="utf-8")
        subprocess.run(["git", "apply", "-R", "--unsafe-paths", "--directory=tree", "-"],
                       cwd=folder, input=diff.partition("---\n")[2], text=True, check=True,
                       env={"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_DIR": "/none",
                            "PATH": "/usr/bin:/bin"})
    return file.read_text(encoding="utf-8")


@pytest.fixture(name="folder")
def repository(tmp_path):
    """One file in which two steps have a line each."""
    write(tmp_path, {
        ".gitignore": "build\ntree\n", "patches/series": SERIES, "a.c": WITH_BOTH,
        "scripts/newfiles": "#!/bin/sh\nprintf 'mm/a.c\\ta.c\\n'\n",
        "patches/steps/one.diff": "mm/one.c\n---\n", "build/steps/one/mm/a.c": LINES,
        "patches/steps/two.diff": "mm/two.c\n---\n", "build/steps/two/mm/a.c": WITH_ONE})
    (tmp_path / "scripts/newfiles").chmod(0o755)
    shutil.copy(ROOT / "scripts/steps", tmp_path / "scripts")
    git(tmp_path, "init", "-q")
    assert run(tmp_path).returncode == 0
    shutil.rmtree(tmp_path / "build")
    commit(tmp_path)
    return tmp_path


def test_begin(folder):
    """From the file as it is before each step."""
    assert (folder / "patches/steps/one.diff").read_text(encoding="utf-8").startswith(
        "mm/one.c\n---\n--- a/mm/a.c\n")
    assert without(folder, WITH_BOTH, "two") == WITH_ONE
    assert without(folder, WITH_BOTH, "two", "one") == LINES


def test_moved(folder):
    """What is around the line of a step may change, and that line, too."""
    text = WITH_BOTH.replace("first\n", "zeroth\nfirst\n").replace("fifth", "5th")
    (folder / "a.c").write_text(text, encoding="utf-8")
    assert run(folder).returncode == 0
    assert without(folder, text, "two", "one") == text.replace("one\n", "").replace("two\n", "")


def test_conflict(folder):
    """What can't be told is asked, and what was answered is taken."""
    text = WITH_BOTH.replace("one\n", "uno\n")
    (folder / "a.c").write_text(text, encoding="utf-8")
    result = run(folder)
    assert result.returncode == 1 and "steps/one.diff: mm/a.c conflicts" in result.stderr
    mended = folder / "build/steps/one/mm/a.c"
    assert "<<<<<<<" in mended.read_text(encoding="utf-8")
    mended.write_text(LINES, encoding="utf-8")
    assert run(folder).returncode == 0 and not mended.exists()
    assert without(folder, text, "two", "one") == LINES
    # Nor is it asked again, before that is committed.
    diff = (folder / "patches/steps/one.diff").read_text(encoding="utf-8")
    assert run(folder).returncode == 0
    assert (folder / "patches/steps/one.diff").read_text(encoding="utf-8") == diff


def test_renamed(folder):
    """Of a step, or of the file that it adds to: nothing is lost without a word."""
    diff = folder / "patches/steps/one.diff"
    other = diff.rename(diff.with_stem("uno"))
    series = folder / "patches/series"
    series.write_text(SERIES.replace("one.diff", "uno.diff"), encoding="utf-8")
    before = other.read_text(encoding="utf-8")
    assert run(folder).returncode == 0
    assert other.read_text(encoding="utf-8") == before
    newfiles = folder / "scripts/newfiles"
    newfiles.write_text("#!/bin/sh\nprintf 'mm/b.c\\tb.c\\n'\n", encoding="utf-8")
    result = run(folder)
    assert result.returncode == 1 and "a step adds to mm/a.c" in result.stderr
