# SPDX-License-Identifier: GPL-2.0
"""Compiles what the series touches in each configuration of tests/configs/matrix.

Those that passed are kept for this code in build/configs.json, so that a run that was
interrupted goes on; FRESH=1 starts anew. What is named is always compiled. QUICK=1 takes
a few of the configurations, and less of each.
"""

import pathlib
import re

import pytest

from harness import revision, tools
from harness.common import BUILD, QUICK, BenchError
from harness.kept import Kept

HERE = pathlib.Path(__file__).parent
ROW = re.compile(r"^([a-z0-9-]+): *(.*)", re.MULTILINE)


def add_options(parser):
    parser.add_argument("name", nargs="*", help="only these")


def cases(options):
    """Names and properties."""
    found = dict(ROW.findall((HERE / "matrix").read_text(encoding="utf-8")))
    for name in set(options.name) - set(found):
        raise BenchError(f"no configuration is called {name}; there are: {' '.join(found)}")
    return {name: (name, about) for name, about in found.items()
            if (name in options.name if options.name else not QUICK or "quick" in about.split())}


@pytest.fixture(scope="module")
def kept():
    return Kept(BUILD / "configs.json", QUICK, revision.kernel())


def test_configuration(case, step, options, kept):
    name, about = case
    if not options.name and kept.get(name):
        step.said = "passed before"
        return
    print(f" ({about})", flush=True)
    if tools.status([HERE / "build", name]):
        raise BenchError("does not compile without a warning, see above")
    kept.keep(name, True)
