# SPDX-License-Identifier: GPL-2.0
"""The mutations of mutants.toml, and how one is made of a file, or in a tree."""

import pathlib
import signal
import subprocess
import sys
import tomllib


class Failed(Exception):
    """Something other than a mutant is wrong."""


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
        raise Failed(f'{name}: its text occurs {text.count(old)} times in '
                     f'{mutant["file"]}; bring the mutant up to date')
    return path, text, text.replace(old, new)


def check_unchanged(tree):
    """What was edited there would be tested, too, or lost."""
    changed = subprocess.run(['git', 'status', '--porcelain',
                              '--untracked-files=no'], cwd=tree, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    if changed:
        raise Failed(f'build/linux was edited:\n{changed}drop that with: '
                     'git -C build/linux reset --hard')


class Mutation:
    """Applies a mutation, and takes it back however the block is left."""

    def __init__(self, name, mutant, tree):
        self.path, self.text, self.mutated = mutated(name, mutant, tree)

    def __enter__(self):
        self.path.write_text(self.mutated, encoding='utf-8')

    def __exit__(self, *_):
        self.path.write_text(self.text, encoding='utf-8')


def interrupted(*_):
    """Leaves all blocks, as Ctrl-C does."""
    raise KeyboardInterrupt


def run_main(run):
    """Runs a program's main function, and returns the exit status: 0 unless it
    returns something."""
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    try:
        return 1 if run() else 0
    except Failed as failure:
        print(f'{pathlib.Path(sys.argv[0]).name}: error: {failure}',
              file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('\ninterrupted; build/linux is as it was', file=sys.stderr)
        return 130
