# SPDX-License-Identifier: GPL-2.0
"""Shows that "make failinject", "make torture", "make sanitize" and "make selftests"
can fail.

Applies the mutations of tests/mutants/debug.toml to build/linux, one at a time, builds
the kernel, and runs the check that should notice. Afterwards build/linux is as it was,
and the kernels are built again. Those that were caught are kept for this code, so that
a run that was interrupted goes on; FRESH=1 starts anew, and what -k chooses is always run.
"""

import os
import re
import subprocess

import pytest

from harness import kernels, revision, tools
from harness.common import BUILD, ROOT, BenchError
from harness.kept import Kept
from tests.mutants.mutants import applied, check, check_unchanged, command, load

TREE = BUILD / 'linux'
LOGS = BUILD / 'log' / 'mutants'
DEFAULT = kernels.used_by('mutants-debug')[0]


def kernel_of(mutant):
    return mutant.get('kernel', DEFAULT)


def build(what, kernel):
    """Builds the kernel from the tree as it is."""
    tools.logged([ROOT / 'scripts' / 'kernel', kernel, 'x86_64'], what,
                 f'mutants-debug-{kernel}.log')


def run_check(name, mutant):
    """Returns whether the check failed, and whether it said why."""
    variables, words = command(mutant)
    # It chooses, and counts, for itself: that it fails is as it should be.
    env = {**os.environ, 'K': '', 'RESULTS': str(LOGS / 'results'), **variables}
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f'{name}.log'
    with open(log, 'w', encoding='utf-8') as file:
        failed = tools.status([ROOT / 'tests' / 'run', *words], stdout=file,
                              stderr=subprocess.STDOUT, env=env)
    return failed != 0, re.search(
        mutant['says'], log.read_text(encoding='utf-8', errors='replace'))


def cases(_options):
    return {name: (name, mutant) for name, mutant in load('debug.toml').items()}


@pytest.fixture(scope='module')
def kept(request):
    check_unchanged(TREE)
    yield Kept(BUILD / 'mutants-debug.json', revision.kernel())
    chosen = (item.callspec.params['case'][1] for item in request.session.items)
    for kernel in sorted(set(map(kernel_of, chosen))):
        build('the unchanged tree', kernel)


def test_mutant(case, step, options, kept):
    name, mutant = case
    check(name, mutant, TREE)
    before = None if options.select else kept.get(name)
    if before:
        step.text, step.said = before, f'caught before: {before}'
        return
    with applied(name, mutant, TREE):
        build(name, kernel_of(mutant))
    failed, said = run_check(name, mutant)
    if not failed or not said:
        raise BenchError(f'FAILED, but does not say "{mutant["says"]}"' if failed
                         else 'SURVIVED')
    kept.keep(name, said[0])
    step.text, step.said = said[0], f'caught: {said[0]}'
