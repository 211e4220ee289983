# SPDX-License-Identifier: GPL-2.0
"""One way to select: -k EXPR, or K= of make, as pytest has it: words that a name must
contain, joined by "and", "or", "not" and parentheses. Words with blanks are quoted."""

import argparse
import os
import re
import sys

from harness.common import BenchError, main

WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([()])|([^\s()"']+))""")


def words(expression):
    """Pairs of a kind and a text."""
    at, found = 0, []
    while expression[at:].strip():
        match = WORD.match(expression, at)
        if not match:
            raise BenchError(f"-k: a quote in \"{expression}\" has no end")
        at = match.end()
        quoted = match[1] if match[1] is not None else match[2]
        plain = match[3] or match[4]
        if quoted is not None:
            found.append(("word", quoted))
        elif plain in ("and", "or", "not", "(", ")"):
            found.append((plain, plain))
        else:
            found.append(("word", plain))
    return found


class Expression:
    """Whether a name matches is what it returns when called."""

    def __init__(self, text):
        self.text, self.left = text, words(text)
        self.matches = self.any_of() if self.left else lambda name: True
        if self.left:
            self.wrong()

    def wrong(self):
        raise BenchError(f"-k: \"{self.text}\" is no expression, such as "
                         "\"v1 and not (mglru or 'no memory')\"")

    def take(self, *kinds):
        if self.left and self.left[0][0] in kinds:
            return self.left.pop(0)
        return None

    def any_of(self):
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return lambda name: any(part(name) for part in parts)

    def all_of(self):
        parts = [self.one()]
        while self.take("and"):
            parts.append(self.one())
        return lambda name: all(part(name) for part in parts)

    def one(self):
        if self.take("not"):
            part = self.one()
            return lambda name: not part(name)
        if self.take("("):
            part = self.any_of()
            if not self.take(")"):
                self.wrong()
            return part
        word = self.take("word")
        if not word:
            self.wrong()
        return lambda name: word[1].lower() in name

    def __call__(self, name):
        return self.matches(name.lower())


def add_option(parser, what):
    parser.add_argument("-k", metavar="EXPR", dest="select",
                        default=os.environ.get("K", ""),
                        help=f"only {what} whose names match, such as \"v1 and not "
                             "mglru\" (or K)")


def chosen(options, items, name=str):
    """Those of the items whose name matches; one must."""
    matches = Expression(options.select)
    found = [item for item in items if matches(name(item))]
    if not found:
        raise BenchError(f"-k: nothing matches \"{options.select}\"; there are\n" +
                         "\n".join(f"    {name(item)}" for item in items))
    return found


def main_program():
    """For shell."""
    parser = argparse.ArgumentParser(description=main_program.__doc__)
    add_option(parser, "lines of the standard input")
    print("\n".join(chosen(parser.parse_args(), sys.stdin.read().split("\n")[:-1])))
    return 0


if __name__ == "__main__":
    main(main_program)
