# SPDX-License-Identifier: GPL-2.0
"""Repositories that tests make, on a machine where nobody has said who he is."""

import os
import subprocess

WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "a"), ("EMAIL", "b"))}


def git(folder, *arguments):
    """What it prints. It must succeed."""
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True,
                          text=True, env={**os.environ, **WHO}).stdout


def commit(folder, message="a"):
    """All that is there."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def write(folder, files):
    """Texts by their paths."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
