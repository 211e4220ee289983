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
TEXT = re.compile(r"\t(docs/|[^/]*\.md$)")


def git(*arguments, folder=ROOT, **variables):
    return subprocess.run(["git", "-C", str(folder), *arguments], check=False,
                          capture_output=True, text=True,
                          env={**os.environ, **variables}).stdout.strip()


def described():
    """For people: the commit, and whether something is not committed."""
    return git("describe", "--always", "--dirty", "--abbrev=12") or "unknown"


def uncommitted():
    """The files that differ from the commit."""
    return sorted({*git("diff", "--name-only", "HEAD").splitlines(),
                   *git("ls-files", "-o", "--exclude-standard").splitlines()})


def code():
    """For all files that are here, committed or not, but for what is only read."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        shutil.copy(git("rev-parse", "--absolute-git-dir") + "/index", index)
        git("add", "-A", GIT_INDEX_FILE=index)
        tree = git("write-tree", GIT_INDEX_FILE=index)
    kept = "\n".join(line for line in git("ls-tree", "-r", tree).splitlines()
                     if not TEXT.search(line))
    return hashlib.sha256(kept.encode()).hexdigest()


def kernel():
    """For the kernel's source without the series."""
    return git("rev-parse", "pristine^{tree}", folder=BUILD / "linux")
