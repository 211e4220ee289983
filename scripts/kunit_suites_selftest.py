# SPDX-License-Identifier: GPL-2.0
"""Shows that a suite or a case which did not run, or was skipped, is noticed."""

import kunit_suites

WANTED = {'first': ['one', 'two'], 'mm_reclaim_nodes': ['nodes_added']}
GOOD = '''    # Subtest: first
    1..2
    ok 1 one
    # two: a note
    ok 2 two
ok 1 first
    # Subtest: mm_reclaim_nodes
    1..1
    ok 1 nodes_added
ok 2 mm_reclaim_nodes
'''
REASON = kunit_suites.SKIPS['mm_reclaim_nodes.nodes_added', 'um']
SKIPPED = GOOD.replace('nodes_added\n', f'nodes_added # SKIP {REASON}\n')
# Each console, the architecture, and whether something must be found.
CASES = {
    'all ran': (GOOD, 'x86_64', False),
    'with time stamps': (''.join(f'[    1.234567] {line}\n' for line in
                                 GOOD.splitlines()), 'x86_64', False),
    'a failure, which is found elsewhere':
        (GOOD.replace('ok 2 two', 'not ok 2 two'), 'um', False),
    'a suite is missing': (GOOD[:GOOD.index('    # Subtest: mm')], 'um', True),
    'a suite has no end': (GOOD.replace('ok 1 first\n', ''), 'um', True),
    'a case is missing': (GOOD.replace('    ok 2 two\n', ''), 'um', True),
    'a known skip': (SKIPPED, 'um', False),
    'a known skip elsewhere': (SKIPPED, 'x86_64', True),
    'a known skip for another reason':
        (SKIPPED.replace(REASON, 'no memory'), 'um', True),
    'a skip': (GOOD.replace('two\n', 'two # SKIP none\n', 1), 'um', True),
    'a skip without a reason': (GOOD.replace('two\n', 'two # SKIP\n', 1), 'um',
                                True),
    'nothing': ('', 'um', True),
}


def run():
    """What is judged wrong, or None."""
    for name, (console, arch, wrong) in CASES.items():
        if any(kunit_suites.complaints(console, WANTED, arch)) != wrong:
            return f'what must have run is judged wrong: {name}'
    return None
