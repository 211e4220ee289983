# SPDX-License-Identifier: GPL-2.0
"""Compares the caches of bench-profile, which are in C, with known misses and with a model that
takes no shortcuts; and what is found of lines that several CPUs write."""

import collections
import ctypes
import pathlib
import random

import pytest

from bench import profile
from harness import compiler, tools

FOLDER = pathlib.Path(profile.__file__).parent
# As caches.h has them.
L1, L2, L3, LOST, TOOK = (1 << bit for bit in range(5))
OWN, ALL = L1 | L2, L1 | L2 | L3
# In lines.
L1_SIZE, L2_SIZE, L3_SIZE = 512, 16384, 262144
CPUS = 3


class Stores(ctypes.Structure):
    _fields_ = (("slots", ctypes.c_void_p), ("size", ctypes.c_size_t), ("used", ctypes.c_size_t))


FOUND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("caches") / "caches.so"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tools, "LOGS", path.parent)
        compiler.build("the model", path,
                       [FOLDER / f"{name}.c" for name in ("cache", "caches", "stores")],
                       ["-shared", "-fPIC"], "build.log")
    found = ctypes.CDLL(path)
    found.caches_new.restype = ctypes.c_void_p
    found.caches_free.argtypes = (ctypes.c_void_p,)
    found.caches_access.argtypes = (ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint64,
                                    ctypes.c_bool)
    found.stores_add.argtypes = (ctypes.POINTER(Stores), ctypes.c_uint64, ctypes.c_uint,
                                 ctypes.c_void_p)
    found.stores_shared.argtypes = (ctypes.POINTER(Stores), FOUND, ctypes.c_void_p)
    found.stores_shared.restype = ctypes.c_size_t
    return found


@pytest.fixture
def access(library):
    caches = library.caches_new(CPUS)
    yield lambda cpu, line, store=False: library.caches_access(caches, cpu, line, store)
    library.caches_free(caches)


def test_no_caches_for_too_many(library):
    assert library.caches_new(9) is None


def test_comes_once(access):
    assert [access(0, 5), access(0, 5), access(0, 5, True)] == [ALL, 0, 0]


# What a line finds that was used before as many others as there is room for.
@pytest.mark.parametrize("size, found", [(L1_SIZE, L1), (L2_SIZE, OWN), (L3_SIZE, ALL)])
def test_least_recently_used_gives_way(access, size, found):
    # So far apart that in sets they would all share one.
    lines = [7 + 16384 * number for number in range(size)]
    assert all(access(0, line) == ALL for line in lines)
    if size == L1_SIZE:
        # The first one is no more the one that was not used for longest.
        assert not any(access(0, line) for line in (lines[0], *lines[2:]))
        lines[0] = lines[1]
    assert access(0, 7 + 16384 * size) == ALL
    assert access(0, lines[0]) == found


def test_l1_has_what_l2_has(access):
    """An L2 does not know that its L1 uses a line all the time."""
    access(0, 7)
    found = collections.Counter((access(0, 7 + number), access(0, 7))
                                for number in range(1, L2_SIZE + 1))
    assert found == {(ALL, 0): L2_SIZE - 1, (ALL, OWN): 1}


def test_l3_is_shared(access):
    assert [access(0, 5), access(1, 5), access(1, 5)] == [ALL, OWN, 0]


def test_lines_move_between_cpus(access):
    assert [access(0, 5, True), access(1, 5), access(0, 5)] == [ALL, OWN, 0]
    # Now both have it.
    assert [access(1, 5, True), access(1, 5, True)] == [TOOK, 0]
    assert [access(0, 5), access(1, 5), access(0, 5, True)] == [OWN | LOST, 0, TOOK]
    assert access(1, 5, True) == OWN | LOST | TOOK


def test_lost_for_more_than_one_reason(access):
    access(0, 5)
    access(1, 5, True)
    for number in range(1, L2_SIZE + 1):
        access(0, 5 + number)
    assert access(0, 5) == OWN


class Cache:
    """The lines, the one that was used first comes first."""

    def __init__(self, size):
        self.size, self.lines, self.lost = size, collections.OrderedDict(), set()

    def use(self, line):
        """Whether it was there, whether it was lost, and which one is dropped."""
        was, lost = line in self.lines, line in self.lost
        self.drop(line)
        self.lines[line] = True
        dropped = next(iter(self.lines)) if len(self.lines) > self.size else None
        self.drop(dropped)
        return was and not lost, lost, dropped

    def drop(self, line):
        self.lines.pop(line, None)
        self.lost.discard(line)

    def lose(self, line):
        had = line in self.lines and line not in self.lost
        if had:
            self.lost.add(line)
        return had


class Model:
    """What caches.h says, each time anew."""

    def __init__(self):
        self.own = [(Cache(L1_SIZE), Cache(L2_SIZE)) for _ in range(CPUS)]
        self.l3 = Cache(L3_SIZE)

    def fetch(self, cpu, line):
        l1, l2 = self.own[cpu]
        if l1.use(line)[0]:
            return 0
        there, lost, dropped = l2.use(line)
        l1.drop(dropped)
        if there:
            return L1
        there, _, dropped = self.l3.use(line)
        for cache in (cache for own in self.own for cache in own):
            cache.drop(dropped)
        return OWN | (LOST if lost else 0) | (0 if there else L3)

    def access(self, cpu, line, store):
        found = self.fetch(cpu, line)
        for number, (l1, l2) in enumerate(self.own):
            if store and number != cpu:
                l1.lose(line)
                found |= TOOK if l2.lose(line) else 0
        return found


def test_random_accesses(access):
    """Around as many lines as an L1 has, an L2, and the L3."""
    model, chance = Model(), random.Random(1)
    seen = set()
    for size, times in ((L1_SIZE, 20000), (L2_SIZE, 100000), (L3_SIZE, 700000)):
        for _ in range(times):
            line = chance.randrange(size * 5 // 4)
            one = chance.randrange(CPUS), line * 64, chance.random() < 0.2
            found = access(*one)
            assert found == model.access(*one)
            seen.add(found)
    assert seen >= {0, L1, OWN, ALL, OWN | LOST, TOOK, OWN | TOOK, OWN | LOST | TOOK}


def shared(library, stores):
    """The number of lines, and the stores to them by place."""
    found = collections.Counter()
    lines = library.stores_shared(
        stores, FOUND(lambda where, times, _: found.update({where: times})), None)
    return lines, dict(found)


@pytest.mark.parametrize("written, found", [
    # Line, CPU and place of each store.
    ((), (0, {})),
    (((1, 0, 8), (1, 0, 9), (2, 1, 8)), (0, {})),
    (((1, 0, 8), (1, 1, 8), (1, 1, 8)), (1, {8: 3})),
    (((1, 0, 8), (1, 1, 9), (2, 1, 8), (3, 2, 9), (3, 0, 9)), (2, {8: 1, 9: 3})),
    # So many that the table has to grow.
    (tuple((line, line % 7 == 0 and cpu, 8) for line in range(3000) for cpu in (0, 2)),
     (429, {8: 858})),
])
def test_shared_lines(library, written, found):
    stores = Stores()
    assert all(library.stores_add(stores, *each) for each in written)
    assert shared(library, stores) == found
    assert shared(library, stores) == (0, {})
