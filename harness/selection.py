# SPDX-License-Identifier: GPL-2.0
"""One way to select: -k EXPR, or K= of make, as pytest has it: words that a name must
contain, joined by "and", "or", "not" and parentheses. Words with blanks are quoted."""

import ast
import os
import re

from harness.common import BenchError

# Quoted, an operator or a parenthesis, or a plain word.
TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([()]|(?:and|or|not)\b(?![^\s()"']))"""
                   r"""|([^\s()"']+))""")
# Of Python, of which an expression is made: no call, and no tuple.
ALLOWED = (ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Compare, ast.In,
           ast.Constant, ast.Name, ast.Load)


def expression(text):
    """A function that says whether a name matches."""
    python = TOKEN.sub(lambda match: f" {match[3]} " if match[3] else
                       f" {(match[1] or match[2] or match[4] or '').lower()!r} in name ", text)
    try:
        tree = ast.parse(python.strip() or "True", mode="eval")
    except SyntaxError:
        tree = ast.parse("()")
    if not all(isinstance(node, ALLOWED) for node in ast.walk(tree)):
        raise BenchError(f"-k: \"{text}\" is no expression, such as "
                         "\"v1 and not (mglru or 'no memory')\"")
    code = compile(tree, "-k", "eval")
    return lambda name: eval(code, {"name": name.lower()})


def add_option(parser, what):
    parser.add_argument("-k", metavar="EXPR", dest="select",
                        default=os.environ.get("K", ""),
                        help=f"only {what} whose names match, such as \"v1 and not "
                             "mglru\" (or K)")


def chosen(options, items, name=str):
    """Those of the items whose name matches; one must."""
    matches = expression(options.select)
    found = [item for item in items if matches(name(item))]
    if not found:
        raise BenchError(f"-k: nothing matches \"{options.select}\"; there are\n" +
                         "\n".join(f"    {name(item)}" for item in items))
    return found
