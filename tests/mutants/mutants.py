# SPDX-License-Identifier: GPL-2.0
"""The mutations of mutants.toml, and how one is made of a file, or in a tree."""

import contextlib
import fnmatch
import functools
import pathlib
import shlex
import tomllib

from harness import kernels, kunit_suites, pytest_check, selection, tools
from harness.common import ROOT, BenchError, expect


def load(name='mutants.toml'):
    """The mutations, by name, in the order of the file."""
    with open(pathlib.Path(__file__).parent / name, 'rb') as file:
        return tomllib.load(file)


def mutated(name, mutant, tree):
    """The file of a mutant below `tree`: its path, its text, and the text to be."""
    path = tree / mutant['file']
    text = path.read_text(encoding='utf-8')
    old, new = mutant['old'], mutant['new']
    if old not in text:
        # It ends inside of a line: only the closing quotes began a new one.
        old, new = old.removesuffix('\n'), new.removesuffix('\n')
    if text.count(old) != 1:
        raise BenchError(f'{name}: its text occurs {text.count(old)} times in '
                         f'{mutant["file"]}; bring the mutant up to date')
    return path, text, text.replace(old, new)


@functools.cache
def cases():
    """The cases of the suites, as kunit.py names them: SUITE.CASE."""
    return {f'{suite}.{case}' for suite, found in kunit_suites.everything().items()
            for case in found}


def unmatched(mutant, names):
    """Those of a mutant's suites that are not there. Nothing would run, which looks
    like a failure of the mutant's."""
    return [pattern for pattern in mutant['suites'].split()
            if not fnmatch.filter(names, pattern if '.' in pattern else
                                  f'{pattern}.*')]


def command(mutant):
    """Of its check: variables of the environment, and what is given to tests/run."""
    words, variables = shlex.split(mutant['check']), {}
    while '=' in words[0]:
        variable, _, value = words.pop(0).partition('=')
        variables[variable] = value
    return variables, words


def check(name, mutant, tree):
    """That it fits the code: its text is there once, and its suites, or its program with
    cases that it chooses, are there."""
    _, text, changed = mutated(name, mutant, tree)
    expect(text != changed, f'{name}: changes nothing')
    if 'suites' in mutant:
        wrong = unmatched(mutant, cases())
        expect(not wrong, f'{name}: no case is called {" or ".join(wrong)}')
    else:
        _, (program, *words) = command(mutant)
        expect((ROOT / 'tests' / program / f'test_{program}.py').is_file(),
               f'{name}: there is no tests/{program}')
        # What K in the environment chooses is not for it.
        options, _ = pytest_check.parse(program, ['-k', '', *words])
        # It fails if there are none.
        selection.chosen(options, pytest_check.module_of(program).cases(options))
    kernel = mutant.get('kernel', 'debug')
    expect(kernel in kernels.KERNELS, f'{name}: there is no kernel {kernel}')


def check_unchanged(tree):
    """What was edited there would be tested, too, or lost."""
    changed = tools.run(['git', '-C', tree, 'status', '--porcelain', '--untracked-files=no'],
                        'build/linux').strip()
    expect(not changed, f'build/linux was edited:\n{changed}\ndrop that with: '
           'git -C build/linux reset --hard')


@contextlib.contextmanager
def applied(name, mutant, tree):
    """The mutation, which is taken back however the block is left."""
    path, text, changed = mutated(name, mutant, tree)
    try:
        path.write_text(changed, encoding='utf-8')
        yield
    finally:
        path.write_text(text, encoding='utf-8')
