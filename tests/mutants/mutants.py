# SPDX-License-Identifier: GPL-2.0
"""The mutations of mutants.toml, and how one is made of a file, or in a tree."""

import fnmatch
import pathlib
import re
import subprocess
import tomllib

from harness import kernels
from harness.common import BenchError


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


def cases(tree):
    """The cases of the suites, as kunit.py names them: SUITE.CASE. A case that is in
    a file with several suites is taken for one of each."""
    found = set()
    for folder, suite, case in (
            ('mm/tests/mm_reclaim/*.c', r'\.name = "(\w+)"', r'KUNIT_CASE\w*\((\w+)\)'),
            ('rust/mm_reclaim/tests/*.rs', r'#\[kunit_tests\((\w+)\)\]',
             r'#\[test\]\s+fn (\w+)')):
        for path in tree.glob(folder):
            text = path.read_text(encoding='utf-8')
            names = re.findall(case, text)
            found.update(f'{name}.{of}' for name in re.findall(suite, text)
                         for of in names)
    return found


def unmatched(mutant, names):
    """Those of a mutant's suites that are not there. Nothing would run, which looks
    like a failure of the mutant's."""
    return [pattern for pattern in mutant['suites'].split()
            if not fnmatch.filter(names, pattern if '.' in pattern else
                                  f'{pattern}.*')]


def outdated(mutants, tree):
    """What is wrong with mutants, one line each: a text that occurs not once, or
    suites, or a program, that are not there."""
    names, programs = cases(tree), pathlib.Path(__file__).parents[1]
    for name, mutant in mutants.items():
        try:
            _, text, changed = mutated(name, mutant, tree)
            if text == changed:
                yield f'{name}: changes nothing'
        except (BenchError, OSError) as error:
            yield str(error)
        if 'suites' in mutant:
            for pattern in unmatched(mutant, names):
                yield f'{name}: no case is called {pattern}'
        else:
            words = [word for word in mutant['check'].split() if '=' not in word]
            if not (programs / words[0]).is_dir():
                yield f'{name}: there is no tests/{words[0]}'
        if mutant.get('kernel', 'debug') not in kernels.KERNELS:
            yield f'{name}: there is no kernel {mutant["kernel"]}'


def check(mutants, tree):
    """Prints what is wrong, and returns how many lines that took."""
    wrong = list(outdated(mutants, tree))
    for line in wrong:
        print(line)
    print(f'{len(mutants)} mutants, {len(wrong)} faults')
    return len(wrong)


def check_unchanged(tree):
    """What was edited there would be tested, too, or lost."""
    changed = subprocess.run(['git', 'status', '--porcelain',
                              '--untracked-files=no'], cwd=tree, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    if changed:
        raise BenchError(f'build/linux was edited:\n{changed}drop that with: '
                         'git -C build/linux reset --hard')


class Mutation:
    """Applies a mutation, and takes it back however the block is left."""

    def __init__(self, name, mutant, tree):
        self.path, self.text, self.mutated = mutated(name, mutant, tree)

    def __enter__(self):
        self.path.write_text(self.mutated, encoding='utf-8')

    def __exit__(self, *_):
        self.path.write_text(self.text, encoding='utf-8')
