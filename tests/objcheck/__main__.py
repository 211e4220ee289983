# SPDX-License-Identifier: GPL-2.0
"""Checks the built object files: no way leads from our Rust code to a panic, and
each of our functions, also those in C, takes little stack. What calls through
pointers lead to is not known, and is shown."""

import argparse

from harness import kernels, results
from harness.common import main
from tests.objcheck import checks, kernel, panics, selftest

SHOWN = 8


def short(name):
    """Without the types that a generic function is for."""
    return name.partition("::<")[0]


def table(title, rows, everything):
    print(f"    {title}:")
    for number, text in rows if everything else rows[:SHOWN]:
        print(f"    {number:6} {text}")
    if not everything and len(rows) > SHOWN:
        print(f"           {len(rows) - SHOWN} more with --all")


def show_stack(code, everything):
    def name(function):
        full = code.source(function.name)
        return full if everything else short(full)

    rows = [(size, f"{name(function)} ({function.path})")
            for function, size in code.frames.items()]
    table("bytes of stack, with the return address",
          sorted(rows, key=lambda row: (-row[0], row[1])), everything)

    rows = []
    for entry in code.exported():
        depth, path = code.depths.deepest(entry)
        rows.append((depth, " -> ".join(map(name, path))))
    table("of all calls within our code, from what C calls",
          sorted(rows, key=lambda row: (-row[0], row[1])), everything)


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


def check(variant, everything, found):
    code = kernel.load(variant)
    search = code.search()
    for name, problems in checks.all_checks(code, search):
        print(f"{variant}: {name}: " + ("FAIL" if problems else "ok"))
        for problem in problems:
            print(f"    {problem}")
        found.check(f"{variant}: {name}", "\n".join(problems))
    show_coverage(code, search)
    show_stack(code, everything)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="*", default=kernels.used_by("objcheck"),
                        metavar="VARIANT",
                        help="kernels to check (default: "
                             f"{' '.join(kernels.used_by('objcheck'))})")
    parser.add_argument("--all", action="store_true",
                        help="show all functions, not only the largest")
    parser.add_argument("--self-test", action="store_true",
                        help="only show that the checks find what is wrong")
    return parser.parse_args()


def objcheck():
    options = parse_options()
    found = results.Run("objcheck", map(kernels.KERNELS.get, options.variants))
    selftest.run(options.variants[0], found)
    for variant in options.variants if not options.self_test else ():
        check(variant, options.all, found)
    return found.conclude()


if __name__ == "__main__":
    main(objcheck)
