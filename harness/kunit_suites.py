# SPDX-License-Identifier: GPL-2.0
"""Which KUnit suites and cases a kernel must run, from their sources and its
configuration, and which of them may be skipped.

A suite that is not built, or is not linked, prints nothing, and a plan counts
only what is there: so neither is missed without a list from elsewhere.
"""

import fnmatch
import functools
import importlib
import pathlib
import re
import sys

from harness.common import BUILD, ROOT, BenchError, shown

SUITES = ROOT / 'tests/kunit'
CRATE = ROOT / 'rust/mm_reclaim'
# In a tree of the kernel.
PLACES = 'mm/tests/mm_reclaim', 'rust/mm_reclaim'
# The kernel's own parser.
PARSER = BUILD / 'linux/tools/testing/kunit'
# Cases that may be skipped: what they say then, and the option without which they
# have nothing to test.
ONE_NODE = ('there is only one node with memory', 'CONFIG_NUMA')
SKIPS = {
    'mm_reclaim_nodes.nodes_added': ONE_NODE,
    'mm_reclaim_nodes.nodes_shared_work': ONE_NODE,
    'mm_reclaim_nodes.nodes_work_elsewhere': ONE_NODE,
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


class Unreadable(BenchError):
    """The sources are not as they were when this was written."""


def read(path):
    return path.read_text(encoding='utf-8')


def options(config):
    """The options that are on in a kernel's .config."""
    return set(re.findall(r'^(CONFIG_\w+)=y$', read(pathlib.Path(config)), re.MULTILINE))


def holds(attributes, enabled):
    """Whether what has these attributes of Rust's is built."""
    return enabled is None or all((name in enabled) != bool(negated)
                                  for negated, name in CFG.findall(attributes))


def of_c(enabled, suites_in):
    """By suite, the cases of the C files that are built; without options all."""
    listed, built = set(), []
    for condition, names in MAKE_LINE.findall(read(suites_in / 'Makefile')):
        files = [name.replace('.o', '.c') for name in names.split()]
        listed.update(files)
        if not condition or enabled is None or condition in enabled:
            built += files
    forgotten = {path.name for path in suites_in.glob('*.c')} - listed
    if forgotten:
        raise Unreadable(f'{", ".join(sorted(forgotten))} is not in '
                         'tests/kunit/Makefile')
    found = {}
    for name in built:
        text = read(suites_in / name)
        if not C_SUITE.search(text):
            continue
        suites, cases = C_NAME.findall(text), C_CASE.findall(text)
        if len(suites) != 1 or len(C_SUITE.findall(text)) != 1 or not cases:
            raise Unreadable(f'tests/kunit/{name} has not one suite with cases')
        found[suites[0]] = cases
    return found


def of_rust(enabled, crate):
    """The same of the crate's own suites."""
    left_out = {crate / f'tests/{name}.rs' for attributes, name
                in MODULE.findall(read(crate / 'tests.rs'))
                if not holds(attributes, enabled)}
    found = {}
    for path in sorted(crate.rglob('*.rs')):
        text = read(path)
        suites = RUST_SUITE.findall(text)
        if not suites or path in left_out:
            continue
        cases = [name for attributes, name in RUST_CASE.findall(text)
                 if holds(attributes, enabled)]
        if len(suites) != 1 or not cases:
            raise Unreadable(f'{shown(path)} has not one suite with cases')
        found[suites[0]] = cases
    return found


def everything(enabled=None, tree=None):
    """Of both, in a tree of the kernel, or else of what is here."""
    suites_in, crate = (tree / place for place in PLACES) if tree else (SUITES, CRATE)
    return {**of_c(enabled, suites_in), **of_rust(enabled, crate)}


def chosen(suites, globs):
    """Those of the suites and cases that kunit.filter_glob lets run."""
    found = {}
    for glob in globs.split():
        suite_glob, _, case_glob = glob.partition('.')
        for suite in fnmatch.filter(suites, suite_glob):
            cases = fnmatch.filter(suites[suite], case_glob or '*')
            found.setdefault(suite, []).extend(cases)
    return {suite: cases for suite, cases in found.items() if cases}


def expected(log, config, tree=None):
    """By suite, the cases that a kernel with this .config, of that tree, must run. Its log
    says whether it was told to run fewer of them."""
    enabled = options(config)
    if 'CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST' not in enabled:
        raise Unreadable(f'{config} has no suites')
    match = FILTER.search(log)
    globs = match[1].strip('"') if match else '*'
    found = chosen(everything(enabled, tree), globs)
    if not found:
        raise Unreadable(f'no suite is called {globs}')
    return found


@functools.cache
def kernel_parser():
    """The kernel's parser, and what it prints with."""
    if not (PARSER / 'kunit_parser.py').is_file():
        raise Unreadable("there is no kernel source: run 'make tree'")
    if str(PARSER) not in sys.path:
        sys.path.append(str(PARSER))
    return tuple(map(importlib.import_module, ('kunit_parser', 'kunit_printer')))


def ktap(console):
    """The lines from the head of the KTAP on, without what the kernel puts before each."""
    parser, _ = kernel_parser()
    return ''.join(f'{line}\n' for line in parser.extract_tap_lines(console.splitlines()))


def keep_ktap(log, console):
    """Beside the log, for readers of KTAP."""
    log.with_suffix('.ktap').write_text(ktap(console), encoding='utf-8')


@functools.cache
def parsed(console):
    """All that ran, as the kernel's parser has it: suites and their cases are `subtests`."""
    parser, printer = kernel_parser()
    return parser.parse_run_tests(console.splitlines(), printer.null_printer)


def cases(console):
    """Those that ran, and how each ended: passed, failed or skipped; each with its suite."""
    kinds = {'SUCCESS': 'passed', 'SKIPPED': 'skipped'}
    for suite in parsed(console).subtests:
        for case in suite.subtests:
            yield suite, case, kinds.get(case.status.name, 'failed')


def missing(console, wanted, enabled):
    """What did not run, though it is `wanted`, or was skipped, one line each."""
    ended = {suite.name for suite in parsed(console).subtests
             if suite.status.name != 'TEST_CRASHED'}
    ran = {f'{suite.name}.{case.name}': case.skip_reason if kind == 'skipped' else None
           for suite, case, kind in cases(console)}
    for suite in wanted:
        if suite not in ended:
            yield f'the suite {suite} did not run'
            continue
        for name in (f'{suite}.{case}' for case in wanted[suite]):
            known, option = SKIPS.get(name, (None, None))
            if name not in ran:
                yield f'{name} did not run'
            elif ran[name] is not None and (ran[name] != known or option in enabled):
                yield (f'{name} was skipped ("{ran[name]}"), and harness/kunit_suites.py '
                       'does not name it')


def complaints(log, config, tree=None):
    """The same for a kernel's whole log, its .config and its tree."""
    try:
        yield from missing(log, expected(log, config, tree), options(config))
    except (Unreadable, OSError) as error:
        yield f'what must have run is not known: {error}'
