#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares the object files of two builds, but for what a source line's number
may change.

Usage: objcompare.py DIR1 DIR2 < list of object files relative to both

Ignored are the numbers of lines in the bug table and in the names of generated
symbols, notes and comments that identify a build, and the order of symbols and
of the strings that hold their names; and whether a file is in the tree linux or
plain, which messages name. Everything else has to be the same: code,
data, relocations, symbols with their binding and size, sections and flags.
"""

import re
import struct
import sys

SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS = 2, 3, 4, 7, 8
SHT_LLVM_ADDRSIG = 0x6fff4c03
STT_SECTION, STT_FILE = 3, 4
SHN_LORESERVE = 0xff00

# Names that hold __LINE__ or __COUNTER__.
GENERATED = re.compile(r'__UNIQUE_ID_|__initcall_|__exitcall_|__addressable_|'
                       r'__already_done|__warned')
# With CONFIG_DEBUG_BUGVERBOSE, which has a line: three displacements, line, flags.
BUG_ENTRY = struct.Struct('<iiiHH')


class Object:
    """What matters in one 64-bit little-endian ELF relocatable file."""

    def __init__(self, path, verbose_bugs):
        with open(path, 'rb') as file:
            self.data = file.read().replace(b'../plain/', b'../linux/')
        if self.data[:6] != b'\x7fELF\x02\x01':
            raise ValueError(f'{path}: not a 64-bit little-endian ELF file')
        self.verbose_bugs = verbose_bugs
        self.sections = self._sections()
        self.symbols = self._symbols()

    def _string(self, table, offset):
        start = table + offset
        return self.data[start:self.data.index(b'\0', start)].decode()

    def _sections(self):
        offset, = struct.unpack_from('<Q', self.data, 0x28)
        size, count, names = struct.unpack_from('<HHH', self.data, 0x3a)
        keys = ('name', 'type', 'flags', 'addr', 'offset', 'size', 'link',
                'info', 'align', 'entsize')
        raw = [dict(zip(keys, struct.unpack_from('<IIQQQQIIQQ', self.data, offset + i * size)))
               for i in range(count)]
        for section in raw:
            section['name'] = self._string(raw[names]['offset'], section['name'])
        return raw

    def _symbols(self):
        tables = [s for s in self.sections if s['type'] == SHT_SYMTAB]
        if not tables:
            return []
        table = tables[0]
        names = self.sections[table['link']]['offset']
        symbols = []
        for at in range(table['offset'], table['offset'] + table['size'], 24):
            name, info, other, index, value, size = struct.unpack_from('<IBBHQQ', self.data, at)
            text = self._string(names, name)
            if GENERATED.search(text):
                text = re.sub(r'\d+', 'N', text)
            # Sections are compared as a list, so that an index identifies one.
            symbols.append((text, info, other, index, value, size))
        return symbols

    def _content(self, section):
        if section['type'] == SHT_NOBITS:
            return section['size']
        data = self.data[section['offset']:section['offset'] + section['size']]
        if section['type'] == SHT_RELA:
            return self._relocations(data)
        if section['name'] == '__bug_table' and self.verbose_bugs:
            return [entry[:3] + entry[4:] for entry in BUG_ENTRY.iter_unpack(data)]
        return data

    def _relocations(self, data):
        relocations = []
        for offset, info, addend in struct.iter_unpack('<QQq', data):
            name, _, _, index, value, _ = self.symbols[info >> 32]
            # A symbol of this file is its place; its name may be generated.
            place = name if index == 0 or index >= SHN_LORESERVE else index
            relocations.append((offset, info & 0xffffffff, place, value + addend))
        return relocations

    def comparable(self):
        """Pairs of a description and the value that has to be the same."""
        for number, section in enumerate(self.sections):
            if section['type'] in (SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_LLVM_ADDRSIG):
                yield f'section {number}', section['type']
            elif section['name'] == '.comment':
                yield f'section {number}', section['name']
            else:
                yield (f'section {number} ({section["name"]})',
                       (section['name'], section['type'], section['flags'],
                        section['align'], section['entsize'], self._content(section)))
        yield 'symbols', sorted(s for s in self.symbols if s[1] & 15 != STT_FILE)


def describe(one, two):
    """What differs, in a few words."""
    if isinstance(one, list) and isinstance(two, list):
        extra = [x for x in one if x not in two][:2], [x for x in two if x not in one][:2]
        return f'{extra[0]} became {extra[1]}'
    if isinstance(one, tuple) and isinstance(two, tuple) and one[:5] == two[:5]:
        left, right = one[5], two[5]
        if isinstance(left, bytes) and isinstance(right, bytes):
            at = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b),
                      min(len(left), len(right)))
            return (f'{len(left)} and {len(right)} bytes, first difference at {at:#x}: '
                    f'{left[at:at + 8].hex()} became {right[at:at + 8].hex()}')
        return describe(left, right) if isinstance(left, list) else f'{left} became {right}'
    return f'{one} became {two}'


def differences(path1, path2, verbose_bugs):
    """Yields a line for each difference between two object files."""
    parts1 = list(Object(path1, verbose_bugs).comparable())
    parts2 = list(Object(path2, verbose_bugs).comparable())
    if len(parts1) != len(parts2):
        yield f'{len(parts1) - 1} sections became {len(parts2) - 1}'
        return
    for (name, one), (_, two) in zip(parts1, parts2):
        if one != two:
            yield f'{name}: {describe(one, two)}'


def bugs_have_lines(directory):
    """Whether an entry of the bug table names a file and a line."""
    with open(f'{directory}/.config', encoding='utf-8') as file:
        return 'CONFIG_DEBUG_BUGVERBOSE=y\n' in file


def main():
    """Returns 1 if an object differs, or if there is none."""
    dir1, dir2 = sys.argv[1:]
    verbose_bugs = bugs_have_lines(dir1)
    names = sys.stdin.read().split()
    different = 0
    for name in names:
        found = list(differences(f'{dir1}/{name}', f'{dir2}/{name}', verbose_bugs))
        different += bool(found)
        for text in found:
            print(f'{name}: {text}')
    print(f'{len(names)} object files compared, {different} differ')
    return 1 if different or not names else 0


if __name__ == '__main__':
    sys.exit(main())
