# SPDX-License-Identifier: GPL-2.0
"""The objects of one built kernel: those of this project, and all of Rust."""

import functools

from harness import tools
from harness.common import BUILD, BenchError, shown
from tests.objcheck.functions import Object
from tests.objcheck.panics import MANGLED, Search
from tests.objcheck.stack import Depths, Unwind, frame

CRATE = "rust/mm_reclaim/mm_reclaim.o"
OUR_C = "mm/mm_reclaim*.o"
RUST = "rust/*.o"
# Made from C, of the names of Rust's functions.
NOT_RUST = ("exports.o",)


class Code:
    """Some objects to look at, and those that their panics are looked for in."""

    def __init__(self, rust, c, others, objtool):
        self.rust, self.objects = rust, [*rust, *c]
        self.rust_names, self.names = {}, {}
        for each in (*others, *rust):
            self.rust_names.update(each.by_name)
        for each in self.objects:
            self.names.update(each.by_name)
        self.frames, self.unknown = {}, []
        self._demangle((*others, *self.objects))
        self._measure(objtool)
        self.depths = Depths(set(self.functions()), self.frames, self.find)

    def find(self, target):
        """Of our own, also those in C."""
        return self.names.get(target, target)

    def source(self, name):
        return self._demangled.get(name, name)

    def _demangle(self, objects):
        names = {*self.names, *self.rust_names}
        for each in objects:
            for function in (*each.functions, each.tables):
                names.update(target for target in function.targets()
                             if isinstance(target, str))
        self._demangled = tools.demangle(names)

    def _measure(self, objtool):
        for each in self.objects:
            unwind = Unwind(each.path, objtool)
            for function in each.functions:
                size, why = frame(function, unwind)
                if why:
                    self.unknown.append((function, why))
                else:
                    self.frames[function] = size

    def functions(self):
        return [f for each in self.objects for f in each.functions]

    def rust_functions(self):
        return [f for each in self.rust for f in each.functions]

    def entries(self):
        """What C can call, by name or by what tables hold."""
        return [*self.exported(), *(each.tables for each in self.rust)]

    def exported(self):
        return [f for f in self.rust_functions()
                if not f.name.startswith(MANGLED)]

    @functools.cached_property
    def search(self):
        ours = [*self.rust_functions(), *(each.tables for each in self.rust)]
        # Of all crates.
        return Search(ours, lambda target: self.rust_names.get(target, target), self.source)


def read(path, folder):
    if not path.is_file():
        raise BenchError(f"no {shown(path)}: run 'make kernels'")
    return Object(path, str(path.relative_to(folder)))


def objtool(folder):
    """The one that made the objects' unwind data."""
    path = folder / "tools/objtool/objtool"
    if not path.is_file():
        raise BenchError(f"no {shown(path)}: run 'make kernels'")
    return path


@functools.cache
def load(variant):
    folder = BUILD / f"x86_64-{variant}"
    crate = read(folder / CRATE, folder)
    others = [read(path, folder) for path in sorted(folder.glob(RUST))
              if path.name not in NOT_RUST]
    c = [read(path, folder) for path in sorted(folder.glob(OUR_C))]
    if not others or not c:
        raise BenchError(f"{shown(folder)} is incomplete: run 'make kernels'")
    return Code([crate], c, others, objtool(folder))
