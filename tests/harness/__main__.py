# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of the harness itself, with pytest: they show that what judges finds
what is wrong."""

import argparse
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ET

from harness import results
from harness.common import OUT, ROOT, BenchError, main


def python():
    """pytest may be there for the system's Python only."""
    for name in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if os.access(name, os.X_OK) and not subprocess.run(
                [name, "-c", "import pytest"], check=False, capture_output=True).returncode:
            return name
    raise BenchError("pytest is not installed: run 'make deps'")


def harness():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="EXPR", default=os.environ.get("K", ""))
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    # Its own name for the file: results.py writes harness.xml.
    junit = OUT / "harness-pytest.xml"
    junit.unlink(missing_ok=True)
    done = subprocess.run(
        [python(), "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "--import-mode=importlib", f"--junitxml={junit}", "-k", options.k,
         str(pathlib.Path(__file__).parent)], cwd=ROOT, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    found = results.Run("harness")
    for case in ET.parse(junit).iter("testcase") if junit.is_file() else ():
        wrong = next((child.text for child in case
                      if child.tag in ("failure", "error")), None)
        found.check(f"{case.get('classname').split('.')[-1]}: {case.get('name')}",
                    wrong, seconds=float(case.get("time")))
    if done.returncode and not found.count(results.FAILED):
        found.check("pytest", f"ended with status {done.returncode}")
    # What counts is part of what is tested: pytest has the last word.
    return found.conclude() or done.returncode


if __name__ == "__main__":
    main(harness)
