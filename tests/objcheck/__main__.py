# SPDX-License-Identifier: GPL-2.0
"""Checks the built object files: no way leads from our Rust code to a panic, and
each of our functions, also those in C, takes little stack. What calls through
pointers lead to is not known, and is shown."""

from harness import kernels, results
from harness.common import main
from tests.objcheck import checks, kernel, panics, selftest

SHOWN = 8


def short(name):
    """Without the types that a generic function is for."""
    return name.partition("::<")[0]


def table(title, rows):
    """The largest."""
    print(f"    {title}:")
    for number, text in sorted(rows, key=lambda row: (-row[0], row[1]))[:SHOWN]:
        print(f"    {number:6} {text}")


def show_stack(code):
    def name(function):
        return short(code.source(function.name))

    table("bytes of stack, with the return address",
          [(size, f"{name(function)} ({function.path})")
           for function, size in code.frames.items()])
    table("of all calls within our code, from what C calls",
          [(depth, " -> ".join(map(name, path)))
           for depth, path in map(code.depths.deepest, code.exported())])


def show_coverage(code, search):
    ours = code.rust_functions()
    print(f"    {len(code.functions())} functions, {len(ours)} of them in "
          f"Rust, and {len(search.followed)} of other crates")
    for function in (*ours, *search.followed):
        if function.indirect:
            print(f"    not followed: {function.indirect} calls through "
                  f"pointers in {short(code.source(function.name))}")
    if search.allowed:
        print(f"    not followed: {len(search.allowed)} functions that format, "
              "in " + ", ".join(panics.MAY_FORMAT))


def check(variant, found):
    code = kernel.load(variant)
    search = code.search()
    for name, problems in checks.all_checks(code, search):
        print(f"{variant}: {name}: " + ("FAIL" if problems else "ok"))
        for problem in problems:
            print(f"    {problem}")
        found.check(f"{variant}: {name}", "\n".join(problems))
    show_coverage(code, search)
    show_stack(code)


def objcheck():
    variants = kernels.used_by("objcheck")
    found = results.Run("objcheck", map(kernels.KERNELS.get, variants))
    selftest.run(variants[0], found)
    for variant in variants:
        check(variant, found)
    return found.conclude()


if __name__ == "__main__":
    main(objcheck)
