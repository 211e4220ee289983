# SPDX-License-Identifier: GPL-2.0
"""Reads KCSAN's reports, and tells those of stock C code from ours.

A report is let pass only if tests/sanitize/races.toml names both of its
functions, and none of them is ours, whatever that file says.
"""

import dataclasses
import functools
import re
import subprocess
import tomllib

from common import BUILD, ROOT, BenchError, shown

KNOWN = ROOT / "tests/sanitize/races.toml"
TREE = BUILD / "linux"
CRATE = ROOT / "rust/mm_reclaim"
EXPORTED = re.compile(r"#\[export\](?:\s*#\[[^\n]*)*\s*[^\n]*?\bfn (\w+)")
TITLE = re.compile(r"BUG: KCSAN: (?P<kind>[\w -]+?) in (?P<where>\S.*)")
ACCESS = re.compile(r"\b(?:read|write|read-write|assert no \w+)\b.* to 0x"
                    r"[0-9a-f]+ of \d+ bytes by ")
FRAME = re.compile(r"(?P<name>[\w.$]+)\+0x[0-9a-f]+/0x[0-9a-f]+")
RULE = re.compile(r"={20,}$")
STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
# All of Rust, what it calls in C by a name of its own, and our C.
OURS = re.compile(r"^_R|^rust_helper_|mm_reclaim")
DEFINED = re.compile(r"[-+ ][A-Za-z_][\w \t*]*?\b(\w+)\([^;]*$")


@dataclasses.dataclass
class Report:
    """One of them: the functions that race, and its text."""
    kind: str
    functions: tuple  # one if the other is unknown, none if they can't be read
    text: str

    @property
    def name(self):
        return f"{self.kind} in {' / '.join(self.functions)}"


def base(name):
    """Without what a compiler adds to a part of a function, or a copy."""
    return name.split(".")[0]


def parse_one(lines):
    """From the functions on top of the stacks: the title abridges long names."""
    kind, functions, wanted = "", [], False
    for line in lines:
        title = TITLE.search(line)
        if title:
            kind = title["kind"].strip()
        elif ACCESS.search(line):
            wanted = True
        elif wanted and FRAME.search(line):
            functions.append(base(FRAME.search(line)["name"]))
            wanted = False
    return Report(kind, tuple(sorted(functions)), "\n".join(lines))


def split(console):
    """The reports, and the console without them. One that has no end stays in
    the console, where it counts as trouble."""
    reports, rest, block = [], [], None
    for line in console.splitlines():
        bare = STAMP.sub("", line)
        if block is None:
            block = [line] if RULE.match(bare) else None
            if block is None:
                rest.append(line)
        elif len(block) == 1 and not TITLE.search(line):
            # It was the rule of something else.
            rest += block
            block = [line] if RULE.match(bare) else None
            if block is None:
                rest.append(line)
        else:
            block.append(line)
            if RULE.match(bare):
                reports.append(parse_one(block))
                block = None
    return reports, "\n".join([*rest, *(block or ())])


@functools.cache
def patched():
    """The functions of C that the series changes or adds."""
    # -W: each hunk holds whole functions, so a changed line follows the name.
    diff = subprocess.run(
        ["git", "-C", str(TREE), "diff", "-W", "--no-color", "pristine",
         "overlay", "--", "*.c", "*.h", ":!tools", ":!mm/tests"],
        capture_output=True, text=True)
    found, inside = set(), None
    for line in diff.stdout.splitlines():
        if line.startswith(("diff ", "@@")):
            inside = None
        elif not line.startswith(("+++", "---")):
            defined = DEFINED.match(line)
            if defined:
                inside = defined[1]
            if line[:1] in "+-" and inside:
                found.add(inside)
            if line[1:2] == "}":
                inside = None
    if not found:
        raise BenchError(f"{shown(TREE)} has no series: run 'make tree'")
    return frozenset(found)


@functools.cache
def exported():
    """What C calls of our Rust, by names that are not mangled."""
    found = {name for path in CRATE.rglob("*.rs")
             for name in EXPORTED.findall(path.read_text(encoding="utf-8"))}
    if not found:
        raise BenchError(f"{shown(CRATE)} exports no function")
    return frozenset(found)


def is_ours(name):
    return bool(OURS.search(name)) or name in patched() or name in exported()


def races_of(entry):
    """The functions of each race that an entry is about."""
    functions = entry.get("functions", ())
    if "against" not in entry:
        return [tuple(sorted(functions))]
    return [tuple(sorted((*functions, other))) for other in entry["against"]]


@functools.cache
def known():
    """What races.toml lists: from the functions of a race to its entry."""
    try:
        with open(KNOWN, "rb") as file:
            entries = tomllib.load(file).get("race", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"cannot read {shown(KNOWN)}: {error}") from None
    found = {}
    for entry in entries:
        races = races_of(entry)
        if not all(1 <= len(functions) <= 2 for functions in races) or \
           not entry.get("why") or not entry.get("stock"):
            raise BenchError(f"{shown(KNOWN)}: each race needs functions (one, or "
                             "two), why, and stock (what showed it there)")
        for name in {name for functions in races for name in functions}:
            if is_ours(name):
                raise BenchError(f"{shown(KNOWN)} lists {name}, which is ours or "
                                 "changed by the series: fix the race instead")
        found.update(dict.fromkeys(races, entry))
    return found


def is_known(report, entries=None):
    listed = known() if entries is None else entries
    return report.functions in listed and \
        not any(map(is_ours, report.functions))


def without_known(console, entries=None):
    """The console without the reports that are let pass."""
    reports, rest = split(console)
    if not reports:
        return console
    return "\n".join([rest, *(report.text for report in reports
                              if not is_known(report, entries))]) + "\n"
