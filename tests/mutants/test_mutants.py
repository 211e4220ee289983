# SPDX-License-Identifier: GPL-2.0
"""Shows that the KUnit suites can fail.

Applies the mutations of mutants.toml to build/linux, one at a time, and runs
the suites that should notice. Afterwards build/linux is as it was. Fails if a
mutant survives that must not. What came of each is kept for this code, so that a run
that was interrupted goes on; FRESH=1 starts anew, and what -k chooses is always run.
"""

import os
import subprocess

import pytest

from harness import kernels, revision, tools
from harness.common import BUILD, ROOT, BenchError
from harness.kept import Kept
from tests.mutants.mutants import applied, check, check_unchanged, load

TREE = BUILD / 'linux'
LOGS = BUILD / 'log' / 'mutants'

[KERNEL] = kernels.used_by('mutants')
# A mutant that never ends is caught, too.
BOOT_TIMEOUT = {'um': 120, 'x86_64': 400}
# A race may need more than one run.
TRIES = {'always': 1, 'often': 4, 'rarely': 4}
REQUIRED = ('always', 'often')


def call(log, *command, **variables):
    """Runs a command, and returns whether it succeeded."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, 'w', encoding='utf-8') as file:
        return not tools.status(command, env={**os.environ, **variables}, stdout=file,
                                stderr=subprocess.STDOUT)


def builds(arch, log):
    return call(log, ROOT / 'scripts' / 'kernel', KERNEL, arch)


def passes(arch, log, suites):
    """Returns whether all went well. The kernel takes one pattern at a time."""
    return all(call(log, ROOT / 'scripts' / 'kunit', arch, BUILT='1', VARIANT=KERNEL,
                    FILTER=pattern, RESULTS=str(LOGS / 'results'),
                    TIMEOUT=str(BOOT_TIMEOUT[arch])) for pattern in suites.split())


def judge(arch, name, mutant, tries):
    """Runs the suites on a mutant: what became of it, and after how many runs."""
    with applied(name, mutant, TREE):
        if not builds(arch, LOGS / f'{name}-build.log'):
            raise BenchError(f'{name}: does not build, see {LOGS / name}-build.log')
        for run in range(1, tries + 1):
            if not passes(arch, LOGS / f'{name}.log', mutant['suites']):
                return 'killed', run
    return 'survived', tries


def add_options(parser):
    parser.add_argument('--arch', choices=list(BOOT_TIMEOUT), default='um')
    parser.add_argument('--tries', type=int,
                        help='run the suites up to this often on each')


def cases(_options):
    return {name: (name, mutant) for name, mutant in load().items()}


@pytest.fixture(scope='module')
def arch(options, request):
    """One on which the suites pass: else a mutant that fails would mean nothing."""
    check_unchanged(TREE)
    log = LOGS / 'unchanged.log'
    if not builds(options.arch, LOGS / 'unchanged-build.log') or \
            not passes(options.arch, log, 'mm_reclaim*'):
        request.session.shouldfail = f'the suites fail without any mutation, see {log}'
        raise BenchError(request.session.shouldfail)
    return options.arch


@pytest.fixture(scope='module')
def kept(options):
    return Kept(BUILD / f'mutants-{options.arch}.json', revision.kernel())


def test_mutant(case, step, request, options, kept):
    name, mutant = case
    if mutant['caught'] == 'never':
        pytest.skip(mutant['why'])
    check(name, mutant, TREE)
    tries = options.tries or TRIES.get(mutant['caught'], 1)
    before = None if options.select else kept.get(name)
    result, runs = before or judge(request.getfixturevalue('arch'), name, mutant, tries)
    step.text, step.said = result, (f'{result} (run {runs} of {tries}; expected: '
                                    f'{mutant["caught"]}){", before" if before else ""}')
    if result == 'survived' and mutant['caught'] in REQUIRED:
        raise BenchError(step.said)
    kept.keep(name, (result, runs))
