# SPDX-License-Identifier: GPL-2.0
"""Runs rust/mm_reclaim under a model checker, and shows that this can fail.

First the tests of tests/model on the code as it is. Then on mutations of it: each
mutant of tests/mutants/mutants.toml that has a key "model" is applied to a copy,
and the tests that the key names must fail. Each test must be named by a mutant.
"""

import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import tools
from harness.common import BUILD, QUICK, ROOT, BenchError, expect, shown
from tests.model import layers
from tests.mutants.mutants import load, mutated

MODEL = BUILD / 'model'
LOGS = BUILD / 'log' / 'model'
# What a mutant is a copy of.
PARTS = ('rust/mm_reclaim', 'rust/kernel', 'tests/model')
# A mutant that never ends has failed, too.
TIMEOUT = 120
# The code as it is may take long on a slow machine.
LONG_TIMEOUT = 1200
# What QUICK=1 runs: one for each of the protocols.
PROTOCOLS = ('set-without-barrier', 'settle-recheck', 'install-by-store', 'table-freed-at-once',
             'deferred-recheck', 'unlist-recheck', 'lookup-again', 'excess-mark-exchange')
CODE = 'the code as it is'


class Checker:
    """Builds and runs the tests of a copy of the sources."""

    def __init__(self, root, target):
        self.cargo = tools.run([ROOT / 'scripts' / 'cargo'], 'the model').strip()
        self.dir = root / 'tests' / 'model'
        # To cargo, two copies in the same one would be the same.
        self.target = target

    def test(self, log, *args, timeout=None):
        """Runs cargo test, and returns its status and its output."""
        env = {**os.environ, 'CARGO_TARGET_DIR': str(self.target), 'RUST_BACKTRACE': '0',
               'CARGO_TERM_COLOR': 'never', 'LC_ALL': 'C'}
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, 'w', encoding='utf-8') as file:
            # A process group, so that the tests end with cargo.
            with subprocess.Popen([self.cargo, 'test', '--locked', *args], cwd=self.dir,
                                  env=env, stdin=subprocess.DEVNULL, stdout=file,
                                  stderr=subprocess.STDOUT,
                                  start_new_session=True) as process:
                try:
                    status = process.wait(timeout)
                except subprocess.TimeoutExpired:
                    status = 'too slow'
                finally:
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGTERM)
        return status, log.read_text(encoding='utf-8', errors='replace')

    def build(self, log, is_new):
        """Builds the tests."""
        status, output = self.test(log, '--no-run')
        if not status and is_new and 'Compiling mm_reclaim_model' not in output:
            raise BenchError(f'{log.stem}: cargo did not build it anew')
        if status:
            hint = ''
            if re.search(r'failed to (download|get|fetch|query)|[Cc]ould not resolve',
                         output):
                hint = ('; loom, proptest and trybuild come from the Rust package registry, which '
                        'cargo must be able to reach once')
            raise BenchError(f'{log.stem}: does not build, see '
                             f'{shown(log)}{hint}')

    def tests(self):
        """The names of all tests."""
        _, output = self.test(LOGS / 'list.log', '--', '--list')
        return re.findall(r'^(\S+): test$', output, re.M)

    def run(self, log, names, timeout=TIMEOUT):
        """Runs tests, and returns those that failed."""
        status, output = self.test(log, '--', '--exact', '--show-output', *names,
                                   timeout=timeout)
        passed = re.findall(r'^test (\S+)(?: - should panic)? \.\.\. ok$', output, re.M)
        failed = [name for name in names if name not in passed]
        if status and not failed:
            raise BenchError(f'the tests pass, but cargo fails, see '
                             f'{shown(log)}')
        # One that crashes, or never ends, takes the others with it.
        if len(failed) > 1 and 'test result: ' not in output:
            return [name for name in names
                    if self.run(log.with_name(f'{log.stem}-{name.split("::")[-1]}.log'),
                                [name], timeout)]
        return failed


def apply(name, mutant, root):
    """Makes a copy of the sources, with the mutation."""
    for part in PARTS:
        shutil.rmtree(root / part, ignore_errors=True)
        # As new files: cargo goes by their time.
        shutil.copytree(ROOT / part, root / part, copy_function=shutil.copy)
    path, _, text = mutated(name, mutant, root)
    path.write_text(text, encoding='utf-8')


def add_options(parser):
    parser.add_argument('--matrix', action='store_true',
                        help='run all tests on the mutants, and list which fail')


def cases(options):
    """The code, and those mutants that name a test; with --matrix all."""
    known = load()
    gone = [name for name in PROTOCOLS if 'model' not in known.get(name, ())]
    expect(not gone, f'QUICK=1 names mutants that are none of the model: {" ".join(gone)}')
    mutants = {name: mutant for name, mutant in known.items()
               if options.matrix or ('model' in mutant and (not QUICK or name in PROTOCOLS))}
    return {CODE: None, **{f'mutant {name}': (name, mutant) for name, mutant in mutants.items()}}


@pytest.fixture(scope='module')
def code():
    """All tests on the code as it is: their names, and those that failed."""
    expect(not layers.main(), 'the crate is not as its table says, see above')
    checker = Checker(ROOT, MODEL / 'code')
    checker.build(LOGS / 'build.log', is_new=False)
    names = checker.tests()
    expect(names, 'there are no tests')
    named = {test for mutant in load().values() for test in mutant.get('model', '').split()}
    expect(named <= set(names), 'mutants.toml names tests which there are not: '
           f'{", ".join(sorted(named - set(names)))}')
    return names, checker.run(LOGS / 'unchanged.log', names, LONG_TIMEOUT)


@pytest.fixture(scope='module')
def checker(code):
    """What mutants are run by. If the code fails as it is, one that fails means nothing."""
    expect(not code[1], f'the code fails as it is: {" ".join(code[1])}')
    target = MODEL / 'mutants'
    # What the model depends on has been built for the code as it is.
    if not target.exists():
        new = target.with_suffix('.new')
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(MODEL / 'code', new, symlinks=True,
                        ignore=shutil.ignore_patterns('incremental', 'tests'))
        new.rename(target)
    return Checker(MODEL / 'mutant', target)


def check_code(step, names, failed):
    for name in names:
        step.check(name, 'failed, see build/log/model/unchanged.log' if name in failed else None)
    named = {test for mutant in load().values() for test in mutant.get('model', '').split()}
    # Those of litmus show themselves that they can fail.
    for test in sorted(set(names) - named):
        if not test.startswith('litmus::'):
            step.check(f'{test}: a mutant fails it', 'no mutant is known to fail it')
    step.said = f'{len(names)} tests'


def test_model(case, step, request, options, code):
    if not case:
        check_code(step, *code)
        return
    (name, mutant), checker = case, request.getfixturevalue('checker')
    apply(name, mutant, MODEL / 'mutant')
    checker.build(LOGS / f'{name}-build.log', is_new=True)
    wanted = code[0] if options.matrix else mutant['model'].split()
    failed = checker.run(LOGS / f'{name}.log', wanted)
    step.said = f'fails {" ".join(failed) or "nothing"}' if options.matrix else \
        f'caught by {" ".join(failed)}'
    missed = [test for test in wanted if test not in failed]
    if missed and not options.matrix:
        raise BenchError(f'MISSED by {" ".join(missed)}')
