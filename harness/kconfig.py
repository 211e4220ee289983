# SPDX-License-Identifier: GPL-2.0
"""Why an option of the kernel can't be chosen: what its Kconfig entry depends on, and which of
that a configuration lacks."""

import dataclasses
import re

from harness.common import BenchError

# Where an entry ends, or its help text begins.
END_OF_ENTRY = re.compile(r"^(?:(?:menu)?config|menu|endmenu|if|endif|source|choice|comment)\b"
                          r"|^\s+help\s*$", re.MULTILINE)
DEPENDS = re.compile(r"^\s+depends on\s+((?:.*\\\n)*.*)$", re.MULTILINE)
TOKEN = re.compile(r"\s*(&&|\|\||!=|>=|<=|[!()=<>]|\"[^\"]*\"|[\w/.-]+)")
# As Kconfig orders them.
LEVELS = {"n": 0, "m": 1, "y": 2}


def values(text):
    """Of a .config: without the prefix, and what is not set is not there."""
    return dict(re.findall(r"^CONFIG_(\w+)=\"?([^\"\n]*)\"?$", text, re.MULTILINE))


def dependencies(text, symbol):
    """What an entry depends on, a clause for each line and each `&&` of these. What the menus and
    `if` blocks depend on that it is in is left out."""
    start = re.search(rf"^(?:menu)?config\s+{symbol}\s*$", text, re.MULTILINE)
    if not start:
        raise BenchError(f"there is no option {symbol}: the tree lacks the series")
    end = END_OF_ENTRY.search(text, start.end())
    entry = text[start.end():end.start() if end else None]
    return [clause for line in DEPENDS.findall(entry)
            for clause in Parser(re.sub(r"\s#.*", "", line.replace("\\\n", " "))).clauses()]


def lacking(clauses, config):
    """The clauses that do not hold for these values."""
    return [clause for clause in clauses if not clause.level(config)]


@dataclasses.dataclass(frozen=True)
class Expression:
    """A part of what something depends on."""
    text: str
    operator: str       # or "", for a symbol
    operands: tuple

    def level(self, config):
        """0 is n, 1 is m and 2 is y."""
        if not self.operator:
            return LEVELS.get(self.value(config, "n"), 0)
        if self.operator in COMPARE:
            values = [each.value(config, "") for each in self.operands]
            return 2 * COMPARE[self.operator](*comparable(values))
        levels = [each.level(config) for each in self.operands]
        return {"!": lambda: 2 - levels[0], "&&": lambda: min(levels),
                "||": lambda: max(levels)}[self.operator]()

    def value(self, config, default):
        """Of a symbol; `default` is that of one without a value."""
        if self.is_constant():
            return self.text.strip('"')
        return config.get(self.text, default)

    def is_constant(self):
        return self.text in LEVELS or self.text[0] == '"' or number(self.text) is not None

    def symbols(self):
        """The names of all symbols in it."""
        if self.operator:
            return [symbol for each in self.operands for symbol in each.symbols()]
        return [] if self.is_constant() else [self.text]


def number(text):
    """As Kconfig reads it, or None."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def comparable(values):
    """Both as numbers, if they are; else as text, as Kconfig compares them."""
    numbers = [number(value) for value in values]
    return values if None in numbers else numbers


COMPARE = {"=": lambda one, other: one == other, "!=": lambda one, other: one != other,
           ">=": lambda one, other: one >= other, "<=": lambda one, other: one <= other,
           ">": lambda one, other: one > other, "<": lambda one, other: one < other}


class Parser:
    """Reads one line of `depends on`."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        if TOKEN.sub("", text).strip():
            raise BenchError(f"Kconfig: {text!r} is not understood")

    def clauses(self):
        """The expressions that all have to hold."""
        expression = self.parse_or()
        if self.peek() == "if":
            self.tokens.pop(0)
            condition = self.parse_or()
            expression = Expression(f"!({condition.text}) || {expression.text}", "||",
                                    (Expression("", "!", (condition,)), expression))
        if self.tokens:
            raise BenchError(f"Kconfig: {self.tokens[0]!r} is not understood")
        return expression.operands if expression.operator == "&&" else (expression,)

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def chain(self, operator, parse_operand):
        operands = [parse_operand()]
        while self.peek() == operator:
            self.tokens.pop(0)
            operands.append(parse_operand())
        if len(operands) == 1:
            return operands[0]
        return Expression(f" {operator} ".join(each.text for each in operands), operator,
                          tuple(operands))

    def parse_or(self):
        return self.chain("||", self.parse_and)

    def parse_and(self):
        return self.chain("&&", self.parse_operand)

    def parse_operand(self):
        if self.peek() == "!":
            self.tokens.pop(0)
            operand = self.parse_operand()
            return Expression(f"!{operand.text}", "!", (operand,))
        if self.peek() == "(":
            self.tokens.pop(0)
            inner = self.parse_or()
            if self.peek() != ")":
                raise BenchError("Kconfig: a parenthesis is not closed")
            self.tokens.pop(0)
            return dataclasses.replace(inner, text=f"({inner.text})")
        symbol = self.parse_symbol()
        if self.peek() not in COMPARE:
            return symbol
        operator, other = self.tokens.pop(0), self.parse_symbol()
        return Expression(f"{symbol.text} {operator} {other.text}", operator, (symbol, other))

    def parse_symbol(self):
        token = self.peek()
        if token is None or not re.match(r"[\w\"]", token):
            raise BenchError(f"Kconfig: {token!r} is not understood")
        return Expression(self.tokens.pop(0), "", ())
