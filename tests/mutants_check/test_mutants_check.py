# SPDX-License-Identifier: GPL-2.0
"""Shows that the mutants still fit the code."""

import pytest

from harness.common import BUILD
from tests.mutants.mutants import check, load


@pytest.mark.parametrize('table, name', [(table, name) for table in ('mutants', 'debug')
                                         for name in load(f'{table}.toml')])
def test_fits(table, name):
    check(name, load(f'{table}.toml')[name], BUILD / 'linux')
