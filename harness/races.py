# SPDX-License-Identifier: GPL-2.0
"""Reads KCSAN's reports, and tells those of stock C code from ours.

A report is let pass only if tests/sanitize/races.toml has its functions and the
lines of its accesses, and none of the functions is ours, whatever that file says.
"""

import dataclasses
import datetime
import functools
import json
import re
import tomllib

from harness import tools
from harness.common import BUILD, ROOT, BenchError, shown
from harness.revision import git

KNOWN = ROOT / "tests/sanitize/races.toml"
TREE = BUILD / "linux"
# What the kernels with KCSAN are built from: build/linux and kcsan.patch.
WATCHED = "linux-kcsan"
CRATE = ROOT / "rust/mm_reclaim"
EXPORTED = re.compile(r"#\[export\](?:\s*#\[[^\n]*)*\s*[^\n]*?\bfn (\w+)")
TITLE = re.compile(r"BUG: KCSAN: (?P<kind>[\w -]+?) in (?P<where>\S.*)")
ACCESS = re.compile(r"\b(?:read|write|read-write|assert no \w+)\b.* to 0x"
                    r"[0-9a-f]+ of \d+ bytes by ")
FRAME = re.compile(r"(?P<name>[\w.$]+)\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+")
RULE = re.compile(r"={20,}$")
# Lines that other CPUs may print after the rule that begins a report.
BETWEEN = 3
STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
# All of Rust, what it calls in C by a name of its own, and our C.
OURS = re.compile(r"^_R|^rust_helper_|mm_reclaim")
DEFINED = re.compile(r"[-+ ][A-Za-z_][\w \t*]*?\b(\w+)\([^;]*$")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an access is in the source."""
    function: str  # of the source; it may be inlined elsewhere
    file: str  # below the kernel's tree, or empty
    number: int = 0

    @functools.cached_property
    def line(self):
        """As races.toml has it: the file, and the text of the line."""
        try:
            text = (BUILD / WATCHED / self.file).read_text(encoding="utf-8")
            return f"{self.file}: {text.splitlines()[self.number - 1].strip()}"
        except (OSError, IndexError):
            return f"{self.file or 'unknown'}:{self.number}"


@dataclasses.dataclass
class Report:
    """One of them: what is on top of each stack, and its text."""
    kind: str
    tops: tuple  # function and offset; one if the other is unknown, or none
    text: str

    @property
    def functions(self):
        return tuple(sorted(base(name) for name, _ in self.tops))

    @property
    def name(self):
        return f"{self.kind} in {' / '.join(self.functions)}"

    def chains(self, kernel):
        """For each access its places."""
        return [chain(kernel.vmlinux, *top) for top in self.tops]


def base(name):
    """Without what a compiler adds to a part of a function, or a copy."""
    return name.split(".")[0]


@functools.cache
def symbols(vmlinux):
    """The addresses of the functions. One that is there twice can't be told from
    the other, so it is left out."""
    found, twice = {}, set()
    for line in tools.nm(vmlinux, shown(vmlinux)).splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwW":
            if name in found:
                twice.add(name)
            found[name] = int(address, 16)
    return {name: at for name, at in found.items() if name not in twice}


@functools.cache
def chain(vmlinux, name, offset):
    """The places of what is `offset` bytes into a function of a kernel, where the
    call returns to that precedes an access: of the access itself first, and then of
    the functions that it is inlined in."""
    start = symbols(vmlinux).get(name)
    if start is None:
        return (Place(base(name), ""),)
    output = json.loads(tools.run(
        ["llvm-symbolizer" + tools.LLVM, f"--obj={vmlinux}", "--inlines",
         "--output-style=JSON", hex(start + offset - 1)], shown(vmlinux)))
    # Its folder may have been copied from that of another kernel.
    return tuple(Place(each["FunctionName"] or base(name),
                       each["FileName"].rpartition(f"/{WATCHED}/")[2],
                       each["Line"]) for each in output[0]["Symbol"])


def parse_one(lines):
    """From the functions on top of the stacks: the title abridges long names."""
    kind, tops, wanted = "", [], False
    for line in lines:
        title = TITLE.search(line)
        frame = FRAME.search(line)
        if title:
            kind = title["kind"].strip()
        elif ACCESS.search(line):
            wanted = True
        elif wanted and frame:
            tops.append((frame["name"], int(frame["offset"], 16)))
            wanted = False
    return Report(kind, tuple(tops), "\n".join(lines))


def split(console):
    """The reports, and the console without them. One that has no end stays in
    the console, where it counts as trouble."""
    reports, rest, block, between = [], [], None, 0
    for line in console.splitlines():
        is_rule = bool(RULE.match(STAMP.sub("", line)))
        if block and (len(block) > 1 or TITLE.search(line)):
            block.append(line)
            if is_rule:
                reports.append(parse_one(block))
                block = None
        elif is_rule:
            # The one before was of something else.
            rest += block or ()
            block, between = [line], 0
        else:
            rest.append(line)
            between += 1
            if block and between > BETWEEN:
                rest += block
                block = None
    return reports, "\n".join([*rest, *(block or ())])


@functools.cache
def patched():
    """The functions of C that the series changes or adds."""
    # -W: each hunk holds whole functions, so a changed line follows the name.
    found, inside = set(), None
    for line in git("diff", "-W", "--no-color", "pristine", "overlay", "--", "*.c", "*.h",
                    ":!tools", ":!mm/tests", folder=TREE).splitlines():
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


def check_lines(entry):
    """Lines that are in the source, and were there before the series."""
    for line in entry["lines"]:
        name, _, text = line.partition(": ")
        stock = git("show", f"pristine:{name}", folder=TREE)
        if text not in map(str.strip, stock.splitlines()):
            raise BenchError(f"{shown(KNOWN)}: {name} of the kernel before the "
                             f"series has no line \"{text}\"")


def check_evidence(entry):
    """The report of a stock kernel is one of the same functions, or there is a
    reason why there is none."""
    stock = entry.get("stock", {})
    if set(stock) == {"kernel", "date", "report"}:
        report = parse_one(stock["report"].splitlines())
        if report.functions != tuple(sorted(entry["functions"])) or \
           not isinstance(stock["date"], datetime.date):
            raise BenchError(f"{shown(KNOWN)}: what was seen of the race on "
                             f"{entry['field']} is another race, or has no date")
    elif set(stock) != {"argument"}:
        raise BenchError(f"{shown(KNOWN)}: the race on {entry['field']} needs stock: "
                         "kernel, date and report, or the argument without one")


def has_no_part(entry, name):
    """Whether the entry says why what the series changes in a function is none of its race."""
    return "series" in entry and name in entry["functions"] and name in patched()


def check(entry):
    missing = {"field", "functions", "lines", "why", "stock"} - set(entry)
    if missing:
        raise BenchError(f"{shown(KNOWN)}: a race lacks {', '.join(sorted(missing))}")
    if len(entry["functions"]) != len(entry["lines"]) or \
       len(entry["lines"]) not in (1, 2):
        raise BenchError(f"{shown(KNOWN)}: the race on {entry['field']} needs one "
                         "function and line for each access, of which there are one "
                         "or two")
    for name in entry["functions"]:
        if is_ours(name) and not has_no_part(entry, name):
            raise BenchError(f"{shown(KNOWN)} lists {name}, which is ours or "
                             "changed by the series: fix the race instead")
    check_lines(entry)
    check_evidence(entry)


def key_of(functions, lines):
    """Of a race: in which order the accesses are reported doesn't matter."""
    return tuple(sorted(zip(functions, lines)))


@functools.cache
def known():
    """What races.toml lists: from the accesses of a race to its entry."""
    try:
        with open(KNOWN, "rb") as file:
            entries = tomllib.load(file).get("race", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"cannot read {shown(KNOWN)}: {error}") from None
    for entry in entries:
        check(entry)
    return {key_of(entry["functions"], entry["lines"]): entry for entry in entries}


def is_stock(kernel):
    """Whether it has the C implementation. As the series changes no code then, which
    ncheck shows, any race there is stock's."""
    return kernel.language == "C"


def is_known(report, kernel, entries=None):
    if is_stock(kernel):
        return True
    chains = report.chains(kernel)
    names = [base(name) for name, _ in report.tops]
    entry = (known() if entries is None else entries).get(
        key_of(names, [places[0].line for places in chains]))
    if entry is None:
        return False
    inlined = [place.function for places in chains for place in places]
    return not any(is_ours(name) and not has_no_part(entry, name)
                   for name in (*report.functions, *inlined))


def explained(report, kernel):
    """The text of a report, and the line of each access."""
    lines = [f"at {', inlined in '.join(place.line for place in places)}"
             for places in report.chains(kernel)]
    return "\n".join([report.text, *lines])


def without_known(console, kernel, entries=None):
    """The console without the reports that are let pass."""
    reports, rest = split(console)
    if not reports:
        return console
    return "\n".join([rest, *(report.text for report in reports
                              if not is_known(report, kernel, entries))]) + "\n"
