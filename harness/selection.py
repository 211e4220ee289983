# SPDX-License-Identifier: GPL-2.0
"""One way to select: -k EXPR, or K= of make, as pytest has it: words that a name must
contain, joined by "and", "or", "not" and parentheses. Words with blanks are quoted."""

import argparse
import os
import re
import sys

from harness.common import BenchError, main

# Quoted, an operator or a parenthesis, or a plain word.
TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([()]|(?:and|or|not)\b(?![^\s()"']))"""
                   r"""|([^\s()"']+))""")
# To Python, a call or a tuple.
NO_EXPRESSION = re.compile(r"[\d)] \(|\( \)")


class Expression:
    """Whether a name matches is what it returns when called. To Python, the words are
    variables."""

    def __init__(self, text):
        self.words, found, at = [], [], 0
        wrong = BenchError(f"-k: \"{text}\" is no expression, such as "
                           "\"v1 and not (mglru or 'no memory')\"")
        while text[at:].strip():
            match = TOKEN.match(text, at)
            if not match:
                raise wrong
            at = match.end()
            if not match[3]:
                self.words.append((match[1] or match[2] or match[4] or "").lower())
            found.append(match[3] or f"w{len(self.words) - 1}")
        try:
            self.code = compile(" ".join(found) or "True", "-k", "eval")
        except SyntaxError:
            raise wrong from None
        if NO_EXPRESSION.search(" ".join(found)):
            raise wrong

    def __call__(self, name):
        return eval(self.code, {f"w{number}": word in name.lower()
                                for number, word in enumerate(self.words)})


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
