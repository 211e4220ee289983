#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares the imports of rust/mm_reclaim with the table in its root, mm_reclaim.rs.

Each module has a row there: what it owns, and whether it has unsafe code; and a list
item below the table: which modules it may use. A module may only use those in rows
below its own, so that there is no circle. The root and the tests have no row.
"""

import pathlib
import re
import sys

CRATE = pathlib.Path(__file__).resolve().parents[2] / 'rust' / 'mm_reclaim'
ROOT = 'mm_reclaim.rs'
# How many files may have unsafe code.
MAX_UNSAFE = 6
ROW = re.compile(r'^//! \| \[?`(?:mod@)?([\w:]+)`\]? \| [^|]+ \| (yes|no) \|$', re.M)
ITEM = re.compile(r'^//! - `([\w:]+)`: ((?:[^\n]|\n//!   )+)$', re.M)


def modules(crate):
    """The files of the crate but its root and its tests, by the paths of their modules."""
    found = {}
    for path in sorted(crate.rglob('*.rs')):
        name = path.relative_to(crate).with_suffix('').parts
        if path.name != ROOT and name[0] != 'tests':
            found['::'.join(name)] = path
    return found


def code(text):
    """A file without comments and strings."""
    text = re.sub(r'//[^\n]*', '', text)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def leaves(tree, prefix=''):
    """The paths that a `use` tree names."""
    tree = tree.strip().rstrip(',')
    group = re.fullmatch(r'(.*?)\{(.*)\}', tree, re.S)
    if not group:
        yield prefix + re.sub(r'\s+as\s+\w+$', '', tree)
        return
    depth, start = 0, 0
    inside = group[2] + ','
    for at, char in enumerate(inside):
        depth += (char == '{') - (char == '}')
        if char == ',' and not depth:
            if inside[start:at].strip():
                yield from leaves(inside[start:at], prefix + group[1].strip())
            start = at + 1


def imports(name, text, known):
    """The modules that a module names."""
    text = code(text)
    paths = [path for tree in re.findall(r'\buse\s+((?:crate|super)\b[^;]*);', text)
             for path in leaves(tree)]
    paths += re.findall(r'\b(?:crate|super)(?:::\w+)+', text)
    found = set()
    for path in paths:
        parts = path.split('::')
        if path == 'super::*':
            # Of an inline module: that is this file.
            continue
        if parts[0] == 'super':
            parts[0:1] = name.split('::')[:-1] if '::' in name else []
        else:
            del parts[0]
        while parts and '::'.join(parts) not in known:
            del parts[-1]
        found.add('::'.join(parts))
    return found - {name, ''}


def has_unsafe(text):
    """Whether a module has code for which the compiler does not vouch."""
    return bool(re.search(r'\bunsafe\b', code(text)))


def check(crate):
    """What is wrong, one line each."""
    files = modules(crate)
    head = (crate / ROOT).read_text(encoding='utf-8')
    rows, uses = ROW.findall(head), dict(ITEM.findall(head))
    order = [name for name, _ in rows]
    if sorted(order) != sorted(files):
        for name in sorted(set(order) ^ set(files)):
            yield f'{name}: is {"not in the table" if name in files else "no file"}'
        if len(order) > len(set(order)):
            yield 'a module has two rows'
        return

    for name in sorted(set(uses) - set(order)):
        yield f'{name}: has an item, but no row'
    for at, (name, may_be_unsafe) in enumerate(rows):
        text = files[name].read_text(encoding='utf-8')
        declared = set(re.findall(r'`([\w:]+)`', uses.get(name, '')))
        for other in sorted(declared - set(files)):
            yield f'{name}: may use {other}, which is no module'
        for other in sorted(declared & set(order[:at + 1])):
            yield f'{name}: may use {other}, whose row is not below: a circle'
        used = imports(name, text, files)
        for other in sorted(used - declared):
            yield f'{name}: uses {other}, which its item does not have'
        for other in sorted(declared - used):
            yield f'{name}: its item has {other}, which it does not use'
        if has_unsafe(text) != (may_be_unsafe == 'yes'):
            yield f'{name}: the table says "{may_be_unsafe}" of unsafe code'
        if not re.search(r'^//! ', text, re.M):
            yield f'{name}: its head does not say what it is'
    number = sum(may_be == 'yes' for _, may_be in rows)
    if number > MAX_UNSAFE:
        yield f'{number} files have unsafe code, more than {MAX_UNSAFE}'


def main():
    """Returns the exit status."""
    wrong = list(check(CRATE))
    for line in wrong:
        print(f'layers: {line}')
    print(f'layers of {len(modules(CRATE))} modules: {"FAIL" if wrong else "ok"}')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
