# SPDX-License-Identifier: GPL-2.0
"""Writes the tables and plots of README.md and docs/*.md from docs/figures/*.json.

A Markdown file has, between two markers, what is written here:

    <!-- figures: bench-scale -->          where and how the file's figures were measured
    <!-- figures: bench-scale idle -->     one of its tables
    <!-- figures: plot scale-idle.png -->  a plot, and what to see in it
    <!-- figures: quoted gains -->         rows of several tables, by quoted.toml
    <!-- /figures -->

A line "figures: quoted gains" of patches/cover-letter.msg stands for the same rows as plain
text; --letter prints it with them.

A JSON file has one run of a bench: revision, date, machine, rounds, the command that
measures it again, tables, and plots. A cell is a number, or median, least and most, or
null, or text. --from takes a run out of build/bench/*.json, before, into the file of the
same command, or the one that --as names; or the times of build/ci/times.json. --check
writes nothing, and fails if a file would change; it also fails for a table of figures
outside of markers, a revision that is not in the history, a plot that is shown nowhere, a
link to a file that does not exist, another version of Linux than that of patches/base, and
a README of more than 150 lines.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import sys
import textwrap
import tomllib

from harness.common import ROOT, BenchError, expect, main
from harness.common import shown as shown_path
from harness.report import markdown, shown
from harness.revision import git

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
QUOTED = FIGURES / "quoted.toml"
README = ROOT / "README.md"
README_LINES = 150
LETTER = ROOT / "patches" / "cover-letter.msg"
LETTER_WIDTH = 72
QUOTE = "figures: quoted "
# What the series is made for, and what says so to readers.
BASE = (ROOT / "patches" / "base").read_text(encoding="ascii").strip()
SAYS_BASE = (README, DOCS / "use.md")
VERSION = re.compile(r"\b[Ll]inux[- ](\d+\.\d+)")

BEGIN = re.compile(r"<!-- figures: (.+) -->$")
END = "<!-- /figures -->"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# A cell that is a figure, and not a word of two with a digit in it.
FIGURE = re.compile(r"\|\s*[-~]?\d[\d,.]*\s*(%|[a-zA-Z]{1,3}(/\w+)?|times)?\s*(\(|\|)")

# Of the C implementation, for each 64 ids, memcg and possible node: a unit of 64
# counters and 64 bits, which takes an object of kmalloc-1k, and the pointer to it.
IDS_PER_UNIT = 64
UNIT_BYTES = 1032
MIB = 1 << 20


class Number(str):
    """A number, as it is written in the file."""
    __slots__ = ()

    def __str__(self):
        digits = self.lstrip("-").replace(".", "").lstrip("0")
        if "." not in self or "e" in self or len(digits) <= 4:
            return str.__str__(self)
        value = float(self)
        places = 2 - math.floor(math.log10(abs(value)))
        return f"{value:.{max(places, 0)}f}"


def wrapped(text):
    return textwrap.wrap(text, 92, break_on_hyphens=False)


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a bench, as its JSON file has it."""
    name: str
    revision: str
    date: str
    machine: str
    rounds: str
    command: str
    tables: dict
    changes: str = ""  # what the kernels had beside the revision
    plots: dict = dataclasses.field(default_factory=dict)

    def where(self):
        """The lines that say how all of it was measured."""
        yield from wrapped(f"Measured by `{self.command}` at revision {self.measured()}, "
                           f"{self.date}, in {self.rounds} rounds. {self.machine}")

    def measured(self):
        return f"{self.revision} {self.changes}" if self.changes else self.revision

    def table(self, name):
        expect(name in self.tables, f"docs/figures/{self.name}.json has no table {name!r}")
        return self.tables[name]

    def lines(self, name):
        yield from markdown(**self.table(name)).splitlines()
        yield ""
        yield f"`{self.command}`, revision {self.revision}, {self.date}."

    def row(self, table, label, below):
        """The row with that label, or one that is some rows below it."""
        rows = self.table(table)["rows"]
        at = [number for number, cells in enumerate(rows) if cells[0] == label]
        expect(len(at) == 1 and at[0] + below < len(rows), f"docs/figures/{self.name}.json, "
               f"table {table!r}, has {len(at)} rows {label!r}")
        return rows[at[0] + below]

    def cell(self, table, row, column):
        """The figure that a quotation is of."""
        columns = self.table(table)["columns"]
        expect(column in columns, f"docs/figures/{self.name}.json, table {table!r}, has no "
               f"column {column!r}")
        return row[columns.index(column)]


def load(path):
    """A run, or what its file lacks."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"),
                             parse_float=Number, parse_int=Number)
        run = Run(path.stem, **content)
    except (ValueError, TypeError) as error:
        raise BenchError(f"docs/figures/{path.name}: {error}") from error
    for field in ("revision", "date", "machine", "rounds", "command"):
        expect(getattr(run, field), f"docs/figures/{path.name}: {field} is empty")
    for name, table in run.tables.items():
        for row in table["rows"]:
            expect(len(row) == len(table["columns"]), f"docs/figures/{path.name}, table "
                   f"{name!r}: the row {row[0]!r} has {len(row)} cells")
    return run


def written(fields, tables):
    """The text of such a file, with a row on each line."""
    texts = []
    for name, table in tables.items():
        rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in table["rows"])
        texts.append(f'  {json.dumps(name)}: {{\n   "columns": {json.dumps(table["columns"])},\n'
                     f'   "rows": [\n{rows}\n   ]\n  }}')
    head = json.dumps(fields, indent=1, ensure_ascii=False).removesuffix("\n}")
    return f'{head},\n "tables": {{\n' + ",\n".join(texts) + "\n }\n}\n"


def put(name, text):
    (FIGURES / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"written: docs/figures/{name}.json")


def take(path, name, runs):
    """Writes what a bench found to docs/figures/, or how long CI took."""
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    machine = content["machine"]
    if isinstance(machine, str):
        # It is such a file already.
        put(name or path.stem, text)
        return
    same = [run for run in runs.values() if run.command == machine["command"]]
    expect(not content["failed"] and content["checks"],
           f"{path}: a guest failed, or the run was not finished")
    expect(not content["uncommitted"],
           f"{path}: it was measured with changes that are not committed")
    expect(name or same, "no file in docs/figures/ has the command "
           f"\"{machine['command']}\": say INTO=...")
    name = name or same[0].name
    text = written({
        "revision": content["revision"][:7], "date": content["date"][:10],
        "machine": f"{machine['cpu']}, {machine['cores']} CPUs; QEMU "
                   f"{re.search('[0-9.]+', machine['qemu'])[0]} under "
                   f"{machine['accel'].upper()}; Linux {machine['kernel']}, "
                   f"clock {machine['clock']}.",
        "rounds": machine["rounds"], "command": machine["command"],
        "plots": runs[name].plots if name in runs else {}}, content["tables"])
    put(name, text)


def unit(row):
    """Of a row whose label ends in ", ms" or the like."""
    parts = row.rsplit(", ", 1)
    return " " + parts[1] if len(parts) > 1 and re.fullmatch(r"[a-zA-Z/]+", parts[1]) else ""


def quoted_row(row, columns, runs):
    """Label, figures, and the command and revision that they come from."""
    name, table = row["from"].split()
    expect(name in runs, f"quoted.toml: there is no docs/figures/{name}.json")
    run = runs[name]
    source = run.row(table, row["row"], row.get("below", 0))
    yield row["label"]
    for column in row.get("columns", columns):
        cell = run.cell(table, source, column) if column else None
        if isinstance(cell, list) and not row.get("range", "/" in column):
            cell = cell[0]
        yield shown(cell, "" if "/" in column else unit(source[0]))
    yield f"`{run.command}`, {run.revision}"


def quoted_table(name, spec, runs):
    """Heads and rows of several runs, by quoted.toml."""
    expect("rows" in spec.get(name, ()), f"quoted.toml has no rows {name!r}")
    table = spec[name]
    return [table["title"], *table["heads"], "command, revision"], [
        list(quoted_row(row, table["columns"], runs)) for row in table["rows"]]


def quoted(name, spec, runs):
    """The same as it is shown, or what is computed for it."""
    if "maps" in spec.get(name, ()):
        return list(map_cost(spec[name]["maps"]))
    return markdown(*quoted_table(name, spec, runs)).splitlines()


def letter(path, runs, spec):
    """The lines of the cover letter, with the rows of tables that it quotes."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(QUOTE):
            heads, rows = quoted_table(line.removeprefix(QUOTE), spec, runs)
            # A mail has no room for commands.
            yield from text_table(heads[:-1], [row[:-1] for row in rows])
        else:
            expect(not line.startswith("figures:"), f"{shown_path(path)}: what is {line!r}?")
            yield line


def text_table(heads, rows):
    """As mails have them: the least and most of ratios stand in docs/."""
    rows = [[row[0], *(cell.partition(" (")[0] for cell in row[1:])] for row in rows]
    widths = [max(map(len, column)) for column in list(zip(heads, *rows, strict=True))[1:]]
    left = LETTER_WIDTH - sum(widths) - 2 * len(widths)
    for name, *cells in (heads, *rows):
        *above, last = textwrap.wrap(name, left - 2, subsequent_indent="  ") or [""]
        yield from above
        yield last.ljust(left) + "".join(f"  {cell:>{width}}" for cell, width in
                                         zip(cells, widths, strict=True))


def map_cost(rows):
    """What the maps cost by the formula; bytes and not slabs."""
    def cost(memcgs, ids, nodes):
        size = -(-ids // IDS_PER_UNIT) * UNIT_BYTES * memcgs * nodes / MIB
        return f"{size:,.0f} MiB" if size < 1024 else f"{size / 1024:.1f} GiB"

    yield from markdown(
        ["memcgs", "shrinker ids", "1 node", "2 nodes", "8 nodes"],
        [[f"{memcgs:,}", f"{ids:,}", *(cost(memcgs, ids, nodes) for nodes in (1, 2, 8))]
         for memcgs, ids in rows]).splitlines()
    yield ""
    yield f"Computed from the formula by `make docs-figures`; Linux {BASE}."


def plot(name, runs):
    """A picture, and the sentence that says what to see in it."""
    for run in runs.values():
        if name in run.plots:
            sentence = run.plots[name]
            expect(sentence, f"docs/figures/{run.name}.json says nothing of {name}")
            return [f"![{name}]({{docs}}{name})", "",
                    *wrapped(f"{sentence} (`{run.command}`, revision {run.revision}, "
                             f"{run.date}.)")]
    raise BenchError(f"no file in docs/figures/ has the plot {name}")


def generated(marker, runs, spec):
    """What stands between a marker and the end."""
    kind, _, rest = marker.partition(" ")
    if kind == "quoted":
        return quoted(rest, spec, runs)
    if kind == "plot":
        return plot(rest, runs)
    expect(kind in runs, f"there is no docs/figures/{kind}.json")
    return list(runs[kind].lines(rest) if rest else runs[kind].where())


def rewritten(path, runs, spec):
    """The text of a file with all that is generated, and the plots that it shows."""
    lines, plots, marker, loose = [], set(), None, 0
    folder = "" if path.parent == DOCS else "docs/"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        here = f"{shown_path(path)}:{number}"
        if begin := BEGIN.match(line):
            expect(not marker, f"{here}: the markers of line {loose} have no end")
            marker, loose = begin[1], number
            made = generated(marker, runs, spec)
            lines += [line, *(text.replace("{docs}", folder) for text in made)]
            if marker.startswith("plot "):
                plots.add(marker.split()[1])
        elif line == END:
            expect(marker, f"{here}: an end of no marker")
            marker = None
        if not marker:
            expect(not (FIGURE.search(line) and line.startswith("|")),
                   f"{here}: a table of figures that names no revision: put them into "
                   "docs/figures/ and use markers")
            lines.append(line)
    expect(not marker, f"{shown_path(path)}: the markers of line {loose} have no end")
    return "\n".join(lines) + "\n", plots


def history():
    """Whether all of it is here: a copy without .git, or a shallow clone, has none."""
    return git("rev-parse", "--is-shallow-repository") == "false"


def wrong_revisions(runs):
    for run in runs.values():
        if git("merge-base", run.revision, "HEAD") != git("rev-parse", run.revision):
            yield (f"docs/figures/{run.name}.json: revision {run.revision} is not in the "
                   "history")


def wrong_plots(seen):
    for path in sorted((*DOCS.glob("*.png"), *DOCS.glob("*.svg"))):
        if path.name not in seen:
            yield f"docs/{path.name} is shown nowhere: add a marker, or remove it"
    for name in sorted(seen):
        if not (DOCS / name).exists():
            yield f"docs/{name} does not exist"


def wrong_links(path, text):
    for target in LINK.findall(text):
        if not (path.parent / target).exists():
            yield f"{shown_path(path)}: {target} does not exist"


def wrong_versions():
    for path in SAYS_BASE:
        for version in VERSION.findall(path.read_text(encoding="utf-8")):
            if version != BASE:
                yield f"{shown_path(path)}: Linux {version}, and not {BASE}"


def load_all():
    return {path.stem: load(path) for path in sorted(FIGURES.glob("*.json"))}


def run_all():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail instead")
    parser.add_argument("--from", metavar="FILE", dest="source", type=pathlib.Path,
                        help="take the results of this run")
    parser.add_argument("--as", metavar="NAME", dest="name", help="to docs/figures/NAME.json")
    parser.add_argument("--letter", action="store_true", help="print the cover letter; no more")
    options = parser.parse_args()
    check = options.check
    if check and options.source:
        parser.error("--check writes nothing")

    runs = load_all()
    if options.source:
        take(options.source, options.name, runs)
        runs = load_all()
    spec = tomllib.loads(QUOTED.read_text(encoding="utf-8"))
    # Also where it is not asked for: what it quotes has to be there.
    text_of_letter = "\n".join(letter(LETTER, runs, spec))
    if options.letter:
        print(text_of_letter)
        return 0
    files = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
    wrong, seen = [], set()
    for path in files:
        text, plots = rewritten(path, runs, spec)
        seen |= plots
        wrong += wrong_links(path, text)
        if text != path.read_text(encoding="utf-8"):
            if check:
                wrong.append(f"{shown_path(path)} quotes other figures than "
                             "docs/figures/ has: run 'make docs-figures'")
            else:
                path.write_text(text, encoding="utf-8")
                print(f"written: {shown_path(path)}")
        if path == README and len(text.splitlines()) > README_LINES:
            wrong.append(f"README.md has {len(text.splitlines())} lines: at most "
                         f"{README_LINES}")
    wrong += wrong_plots(seen)
    wrong += wrong_versions()
    if history():
        wrong += wrong_revisions(runs)
    else:
        print("docs-figures: no whole history here: revisions are not checked")
    for text in wrong:
        print(f"docs-figures: error: {text}", file=sys.stderr)
    print(f"docs-figures: {len(runs)} runs, {len(files)} files, {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    main(run_all)
