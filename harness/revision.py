# SPDX-License-Identifier: GPL-2.0
"""Names for the code that is run: that of this repository, with what is not committed,
and that of the kernel below it."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from harness.common import BUILD, ROOT

# Nothing that is run depends on these.
TEXT = re.compile(r"docs/|[^/]*\.md$")


def git(*arguments, folder=ROOT, **variables):
    return subprocess.run(["git", "-C", str(folder), *arguments], check=False,
                          capture_output=True, text=True,
                          env={**os.environ, **variables}).stdout.strip()


def described():
    """For people: the commit, and whether something is not committed."""
    return git("describe", "--always", "--dirty", "--abbrev=12") or "unknown"


def commit():
    """For figures: the commit."""
    return git("rev-parse", "--short=7", "HEAD")


def uncommitted():
    """The files that differ from the commit."""
    return sorted({*git("diff", "--name-only", "HEAD").splitlines(),
                   *git("ls-files", "-o", "--exclude-standard").splitlines()})


def uncommitted_code():
    """Those of them that matter to what is run."""
    return [path for path in uncommitted() if not TEXT.match(path)]


def files(tree):
    """The path and content of each file of a commit, but for what is only read: nothing
    if there is no such commit."""
    for line in git("ls-tree", "-r", "--full-tree", tree).splitlines():
        content, path = line.split("\t", 1)
        if not TEXT.match(path):
            yield path, f"{content} {path}"


def code():
    """For all files that are here, committed or not, but for what is only read."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        shutil.copy(git("rev-parse", "--absolute-git-dir") + "/index", index)
        git("add", "-A", GIT_INDEX_FILE=index)
        tree = git("write-tree", GIT_INDEX_FILE=index)
    return hashlib.sha256("\n".join(content for _, content in files(tree)).encode()).hexdigest()


def kernel():
    """For the kernel's source without the series."""
    return git("rev-parse", "pristine^{tree}", folder=BUILD / "linux")
