# SPDX-License-Identifier: GPL-2.0
"""Shows that a suite or a case which did not run, or was skipped, is noticed, and what is
kept of a console."""

import pytest

from harness import kunit_suites

WANTED = {'first': ['one', 'two'], 'mm_reclaim_nodes': ['nodes_added']}
GOOD = '''KTAP version 1
1..2
    KTAP version 1
    # Subtest: first
    1..2
    ok 1 one
    # two: a note
    ok 2 two
ok 1 first
    KTAP version 1
    # Subtest: mm_reclaim_nodes
    1..1
    ok 1 nodes_added
ok 2 mm_reclaim_nodes
'''
REASON, OPTION = kunit_suites.SKIPS['mm_reclaim_nodes.nodes_added']
SKIPPED = GOOD.replace('nodes_added\n', f'nodes_added # SKIP {REASON}\n')
# Each console, the option that is on, and whether something must be found.
CASES = {
    'all ran': (GOOD, OPTION, False),
    'with time stamps': (''.join(f'[    1.234567] {line}\n' for line in
                                 GOOD.splitlines()), OPTION, False),
    'a failure, which is found elsewhere':
        (GOOD.replace('ok 2 two', 'not ok 2 two'), '', False),
    'a suite is missing': (GOOD[:GOOD.index('    KTAP version 1\n    # Subtest: mm')], '', True),
    'a suite has no end': (GOOD.replace('ok 1 first\n', ''), '', True),
    'a case is missing': (GOOD.replace('    ok 2 two\n', ''), '', True),
    'a known skip': (SKIPPED, '', False),
    'a known skip elsewhere': (SKIPPED, OPTION, True),
    'a known skip for another reason':
        (SKIPPED.replace(REASON, 'no memory'), '', True),
    'a skip': (GOOD.replace('two\n', 'two # SKIP none\n', 1), '', True),
    'a skip without a reason': (GOOD.replace('two\n', 'two # SKIP\n', 1), '',
                                True),
    'nothing': ('', '', True),
}
GLOBS = {'*': {'a_b': ['one', 'two'], 'a_c': ['one']}, 'a_c': {'a_c': ['one']},
         'a_b.two': {'a_b': ['two']}, '*.two': {'a_b': ['two']}, 'b*': {}}


@pytest.mark.parametrize('case', CASES)
def test_missing(case):
    console, option, wrong = CASES[case]
    assert any(kunit_suites.missing(console, WANTED, {option})) == wrong


def test_ktap():
    printed = CASES['with time stamps'][0]
    assert kunit_suites.ktap(f'[    0.123456] booting\n{printed}') == GOOD


@pytest.mark.parametrize('globs', GLOBS)
def test_chosen(globs):
    suites = {'a_b': ['one', 'two'], 'a_c': ['one']}
    assert kunit_suites.chosen(suites, globs) == GLOBS[globs]
