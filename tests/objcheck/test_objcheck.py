# SPDX-License-Identifier: GPL-2.0
"""Checks the built object files: no way leads from our Rust code to a panic, and
each of our functions, also those in C, takes little stack. What calls through
pointers lead to is not known, and is shown."""

import functools

from harness import kernels
from harness.common import BenchError
from tests.objcheck import checks, panics, selftest
from tests.objcheck.kernel import load

SHOWN = 8


def short(name):
    """Without the types that a generic function is for."""
    return name.partition("::<")[0]


def table(title, rows):
    """The largest."""
    yield f"{title}:"
    for number, text in sorted(rows, key=lambda row: (-row[0], row[1]))[:SHOWN]:
        yield f"{number:6} {text}"


def stack(code):
    def name(function):
        return short(code.source(function.name))

    yield from table("bytes of stack, with the return address",
                     [(size, f"{name(function)} ({function.path})")
                      for function, size in code.frames.items()])
    yield from table("of all calls within our code, from what C calls",
                     [(depth, " -> ".join(map(name, path)))
                      for depth, path in map(code.depths.deepest, code.exported())])


def coverage(code):
    ours, search = code.rust_functions(), code.search
    yield (f"{len(code.functions())} functions, {len(ours)} of them in "
           f"Rust, and {len(search.followed)} of other crates")
    for function in (*ours, *search.followed):
        if function.indirect:
            yield (f"not followed: {function.indirect} calls through "
                   f"pointers in {short(code.source(function.name))}")
    if search.allowed:
        yield (f"not followed: {len(search.allowed)} functions that format, "
               "in " + ", ".join(panics.MAY_FORMAT))


# What is shown with which check.
BESIDE = {checks.panics: coverage, checks.recursion: stack}


def check(variant, find, step):
    step.uses(kernels.alone(variant))
    code = load(variant)
    problems = list(find(code))
    if find in BESIDE:
        step.lines += BESIDE[find](code)
    return "\n    ".join(problems)


def cases(_options):
    """Functions that return what is wrong."""
    variants = kernels.used_by("objcheck")
    return {
        **{f"self-test: {each.name}": functools.partial(selftest.wrong, each, variants[0])
           for each in selftest.CASES},
        **{f"{variant}: {name}": functools.partial(check, variant, find)
           for variant in variants for name, find in checks.CHECKS.items()}}


def test_objects(case, step):
    wrong = case(step=step)
    if wrong:
        raise BenchError(wrong)
