# SPDX-License-Identifier: GPL-2.0
"""Which KUnit suites and cases a kernel must run, from their sources and its
configuration, and which of them may be skipped.

A suite that is not built, or is not linked, prints nothing, and a plan counts
only what is there: so neither is missed without a list from elsewhere.
"""

import fnmatch
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUITES = ROOT / 'tests/kunit'
CRATE = ROOT / 'rust/mm_reclaim'
# Cases that may be skipped: what they say then, and the option without which they
# have nothing to test.
ONE_NODE = ('there is only one node with memory', 'CONFIG_NUMA')
SKIPS = {
    'mm_reclaim_nodes.nodes_added': ONE_NODE,
    'mm_reclaim_nodes.nodes_shared_work': ONE_NODE,
    'mm_reclaim_install.install_at_limit': ('there are no huge pages',
                                            'CONFIG_TRANSPARENT_HUGEPAGE'),
    'mm_reclaim_root.root_unannounced': ('there is no oracle',
                                         'CONFIG_MEMCG_SHRINKER_RUST_VERIFY'),
}

MAKE_LINE = re.compile(r'mm_reclaim_test-(?:y|\$\((CONFIG_\w+)\)) [+:]?= (.*)')
C_SUITE = re.compile(r'kunit_test_suites?\(')
C_NAME = re.compile(r'\.name = "(\w+)"')
C_CASE = re.compile(r'KUNIT_CASE\w*\((\w+)')
MODULE = re.compile(r'((?:#\[[^\]]*\]\s*)*)mod (\w+);')
RUST_SUITE = re.compile(r'#\[kunit_tests\((\w+)\)\]')
RUST_CASE = re.compile(r'((?:#\[[^\]]*\]\s*)*#\[test\]\s*(?:#\[[^\]]*\]\s*)*)'
                       r'fn (\w+)')
CFG = re.compile(r'#\[cfg\((not\()?(\w+)\)?\)\]')

FILTER = re.compile(r'Kernel command line:.*\bkunit\.filter_glob=(\S+)')
STAMP = r'^(?:\[[ .0-9]+\] )?'
SUBTEST = re.compile(STAMP + r' {4}# Subtest: (\S+)')
CASE = re.compile(STAMP + r' {4}(not )?ok \d+ (\w+)(?: # SKIP ?(.*?))?\s*$')
SUITE = re.compile(STAMP + r'(not )?ok \d+ (\w+)')


class Unreadable(Exception):
    """The sources are not as they were when this was written."""


def read(path):
    return path.read_text(encoding='utf-8')


def options(config):
    """The options that are on in a kernel's .config."""
    return set(re.findall(r'^(CONFIG_\w+)=y$', read(pathlib.Path(config)), re.MULTILINE))


def holds(attributes, enabled):
    """Whether what has these attributes of Rust's is built."""
    return all((name in enabled) != bool(negated)
               for negated, name in CFG.findall(attributes))


def of_c(enabled):
    """By suite, the cases of the C files that are built."""
    listed, built = set(), []
    for condition, names in MAKE_LINE.findall(read(SUITES / 'Makefile')):
        files = [name.replace('.o', '.c') for name in names.split()]
        listed.update(files)
        if not condition or condition in enabled:
            built += files
    forgotten = {path.name for path in SUITES.glob('*.c')} - listed
    if forgotten:
        raise Unreadable(f'{", ".join(sorted(forgotten))} is not in '
                         'tests/kunit/Makefile')
    found = {}
    for name in built:
        text = read(SUITES / name)
        if not C_SUITE.search(text):
            continue
        suites, cases = C_NAME.findall(text), C_CASE.findall(text)
        if len(suites) != 1 or len(C_SUITE.findall(text)) != 1 or not cases:
            raise Unreadable(f'tests/kunit/{name} has not one suite with cases')
        found[suites[0]] = cases
    return found


def of_rust(enabled):
    """The same of the crate's own suites."""
    left_out = {CRATE / f'tests/{name}.rs' for attributes, name
                in MODULE.findall(read(CRATE / 'tests.rs'))
                if not holds(attributes, enabled)}
    found = {}
    for path in sorted(CRATE.rglob('*.rs')):
        text = read(path)
        suites = RUST_SUITE.findall(text)
        if not suites or path in left_out:
            continue
        cases = [name for attributes, name in RUST_CASE.findall(text)
                 if holds(attributes, enabled)]
        if len(suites) != 1 or not cases:
            raise Unreadable(f'{path.relative_to(ROOT)} has not one suite with '
                             'cases')
        found[suites[0]] = cases
    return found


def chosen(suites, globs):
    """Those of the suites and cases that kunit.filter_glob lets run."""
    found = {}
    for glob in globs.split():
        suite_glob, _, case_glob = glob.partition('.')
        for suite in fnmatch.filter(suites, suite_glob):
            cases = fnmatch.filter(suites[suite], case_glob or '*')
            found.setdefault(suite, []).extend(cases)
    return {suite: cases for suite, cases in found.items() if cases}


def expected(log, config):
    """By suite, the cases that a kernel with this .config must run. Its log says
    whether it was told to run fewer of them."""
    enabled = options(config)
    if 'CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST' not in enabled:
        raise Unreadable(f'{config} has no suites')
    match = FILTER.search(log)
    globs = match[1].strip('"') if match else '*'
    found = chosen({**of_c(enabled), **of_rust(enabled)}, globs)
    if not found:
        raise Unreadable(f'no suite is called {globs}')
    return found


def found_in(console):
    """What ran: by suite, its cases with what they were skipped for, or None."""
    suites, current, cases = {}, None, {}
    for line in console.splitlines():
        if match := SUBTEST.match(line):
            current, cases = match[1], {}
        elif match := CASE.match(line):
            cases[match[2]] = match[3]
        elif (match := SUITE.match(line)) and match[2] == current:
            suites[current] = cases
    return suites


def missing(console, wanted, enabled):
    """What did not run, though it is `wanted`, or was skipped, one line each."""
    suites = found_in(console)
    for suite, cases in wanted.items():
        if suite not in suites:
            yield f'the suite {suite} did not run'
            continue
        for case in cases:
            if case not in suites[suite]:
                yield f'{suite}.{case} did not run'
                continue
            reason = suites[suite][case]
            known, option = SKIPS.get(f'{suite}.{case}', (None, None))
            if reason is not None and (reason != known or option in enabled):
                yield (f'{suite}.{case} was skipped ("{reason}"), and harness/'
                       'kunit_suites.py does not name it')


def complaints(log, config):
    """The same for a kernel's whole log and its .config."""
    try:
        yield from missing(log, expected(log, config), options(config))
    except (Unreadable, OSError) as error:
        yield f'what must have run is not known: {error}'
