# SPDX-License-Identifier: GPL-2.0
"""The mutations of mutants.toml, and how one is made of a file."""

import pathlib
import tomllib


class Failed(Exception):
    """Something other than a mutant is wrong."""


def load():
    """The mutations, by name, in the order of the file."""
    with open(pathlib.Path(__file__).parent / 'mutants.toml', 'rb') as file:
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
                     f'{mutant["file"]}; bring mutants.toml up to date')
    return path, text, text.replace(old, new)
