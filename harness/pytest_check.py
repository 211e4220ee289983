# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of a folder with pytest, as a check."""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

from harness import results
from harness.common import OUT, ROOT, BenchError


def python():
    """pytest may be there for the system's Python only."""
    for name in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if os.access(name, os.X_OK) and not subprocess.run(
                [name, "-c", "import pytest"], check=False, capture_output=True).returncode:
            return name
    raise BenchError("pytest is not installed: run 'make deps'")


def run(tool, about, folder):
    """The main function of such a check."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("-k", metavar="EXPR", default=os.environ.get("K", ""))
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    # Its own name for the file: results.py writes another one.
    junit = OUT / f"{tool}-pytest.xml"
    junit.unlink(missing_ok=True)
    done = subprocess.run(
        [python(), "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "--import-mode=importlib", f"--junitxml={junit}", "-k", options.k, str(folder)],
        cwd=ROOT, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    found = results.Run(tool)
    for case in ET.parse(junit).iter("testcase") if junit.is_file() else ():
        name = f"{case.get('classname').split('.')[-1]}: {case.get('name')}"
        said = {child.tag: child.text for child in case}
        if "skipped" in said:
            found.skip(name, said["skipped"])
        else:
            found.check(name, said.get("failure") or said.get("error"),
                        seconds=float(case.get("time")))
    if done.returncode and not found.count(results.FAILED):
        found.check("pytest", f"ended with status {done.returncode}")
    # What counts may be part of what is tested: pytest has the last word.
    return found.conclude() or done.returncode
