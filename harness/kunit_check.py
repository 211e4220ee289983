# SPDX-License-Identifier: GPL-2.0
"""Judges a KUnit run from what the kernel printed, not from kunit.py's status.

Usage: python3 -m harness.kunit_check ARCH STATUS KERNEL-LOG [TREE]

The kernel's .config is beside its log, and says which suites must have run. TREE is the
one that it was built from, if that is not build/linux.
Reports as all checks do, see results.py.
"""

import os
import pathlib
import re
import sys

from harness import common, kunit_suites, results, splats

# Suites race threads, which means nothing on one CPU.
SMP = re.compile(r'Brought up .*\b([2-9]|[1-9][0-9]+) CPUs')


def complaints(log, config, tree=None):
    """What is wrong with the run as a whole, one line each."""
    if 'KTAP version' not in log:
        yield 'the kernel printed no KTAP: it did not reach the tests'
        return
    if not SMP.search(log):
        yield 'the kernel did not bring up 2 CPUs'
    faults = kunit_suites.parsed(log).counts.errors
    if faults:
        yield f'its KTAP has {faults} faults, such as a suite that did not finish'
    yield from kunit_suites.complaints(log, config, tree)
    splat = splats.first(log)
    if splat:
        yield f'kernel: {splat}'


def main():
    """Returns 0 if every case passed in a sound run."""
    arch, status, log_path, *trees = sys.argv[1:]
    found = results.Run(f'kunit-{arch}')
    log_path = pathlib.Path(log_path)
    log = ''
    # It may be missing, or hold anything.
    if log_path.exists():
        log = log_path.read_text(encoding='utf-8', errors='replace')
        kunit_suites.keep_ktap(log_path, log)
    for suite, case, kind in kunit_suites.cases(log):
        name = f'{suite.name}.{case.name}'
        if kind == results.SKIPPED:
            found.skip(name, case.skip_reason)
        else:
            found.check(name, kind if kind == results.FAILED else None)
    config = log_path.with_name('.config')
    wrong = list(complaints(log, config, *map(pathlib.Path, trees)))
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
    common.main(main)
