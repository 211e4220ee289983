# SPDX-License-Identifier: GPL-2.0
"""Judges a KUnit run from what the kernel printed, not from kunit.py's status.

Usage: python3 -m harness.kunit_check ARCH STATUS KERNEL-LOG JUNIT-XML

The kernel's .config is beside its log, and says which suites must have run.
Reports as all checks do, see results.py.
"""

import os
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

from harness import kunit_suites, results, splats

# Suites race threads, which means nothing on one CPU.
SMP = re.compile(r'Brought up .*\b([2-9]|[1-9][0-9]+) CPUs')
PLAN = re.compile(r'^(?:\[[ .0-9]+\] )?1\.\.(\d+)\s*$')
RESULT = re.compile(r'^(?:\[[ .0-9]+\] )?(?:not )?ok (\d+) \S')


def complaints(log, config):
    """What is wrong with the run as a whole, one line each."""
    if 'KTAP version' not in log:
        yield 'the kernel printed no KTAP: it did not reach the tests'
        return
    if not SMP.search(log):
        yield 'the kernel did not bring up 2 CPUs'
    lines = log[log.index('KTAP version'):].splitlines()
    plans = [int(m[1]) for m in map(PLAN.match, lines) if m]
    done = sum(1 for m in map(RESULT.match, lines) if m)
    if not plans:
        yield 'the KTAP plan is missing'
    elif done != plans[0]:
        yield f'{done} of {plans[0]} suites finished'
    yield from kunit_suites.complaints(log, config)
    splat = splats.first(log)
    if splat:
        yield f'kernel: {splat}'


def add_cases(found, path):
    """Adds what kunit.py found to the checks of a run."""
    if not os.path.exists(path):
        return
    for suite in ET.parse(path).iter('testsuite'):
        for case in suite.findall('testcase'):
            name = f'{suite.get("name")}.{case.get("name")}'
            kinds = {child.tag: child.text for child in case}
            if 'skipped' in kinds:
                found.skip(name, kinds['skipped'] or '')
            else:
                found.check(name, 'failed' if kinds.keys() & {'failure', 'error'}
                            else None)


def main():
    """Returns 0 if every case passed in a sound run."""
    arch, status, log_path, junit = sys.argv[1:]
    found = results.Run(f'kunit-{arch}')
    log_path = pathlib.Path(log_path)
    # It may be missing, or hold anything.
    log = log_path.read_text(encoding='utf-8', errors='replace') \
        if log_path.exists() else ''
    add_cases(found, junit)
    config = log_path.with_name('.config')
    wrong = list(complaints(log, config))
    failed = [check.name for check in found.checks if check.verdict == results.FAILED]
    if not found.count(results.PASSED) and not failed:
        wrong.append('no test case ran')
    if status != '0' and not failed and not wrong:
        wrong.append(f'kunit.py ended with status {status}')

    for name in failed:
        print(f'    {arch}: FAILED {name}')
    for text in wrong:
        print(f'    {arch}: {text}')
    if wrong:
        print(f'    {arch}: the kernel\'s output is in {os.path.relpath(log_path)}')
        # A run that is unsound counts as one more failure.
        found.check('the run as a whole', '\n'.join(wrong))
    return found.conclude(f'{found.count(results.SKIPPED)} skipped')


if __name__ == '__main__':
    sys.exit(main())
