# SPDX-License-Identifier: GPL-2.0
"""Tables, and the texts that are made of them.

A table has columns and rows, as in docs/figures/: a cell is a number, or median, least and
most, or None, or text. A report has sections: a title, what is to be known, and the names of
its tables.
"""


def rounded(value, unit):
    """To the digits that mean something."""
    if unit == "" or abs(value) >= 100:
        return round(value)
    if abs(value) >= 10:
        return round(value, 1)
    return round(value, 2) if unit == "MiB" else float(f"{value:.3g}")


def ratio(value):
    """Three digits, and none behind the point where it is large."""
    return float(f"{value:.3g}") if value < 1000 else round(value)


def cell(spread, show):
    """Median, and least and most where they differ, as `show` has them."""
    if not spread:
        return None
    found = [show(spread[key]) for key in ("median", "min", "max")]
    return found[0] if found[1] == found[2] else found


def shown(cell, unit=""):
    """A cell as text."""
    if cell is None:
        return "-"
    if isinstance(cell, list):
        median, least, most = map(str, cell)
        return f"{median}{unit} ({least} to {most})"
    return f"{cell}{unit}"


def table(columns, rows):
    return {"columns": list(columns), "rows": rows}


def markdown(columns, rows):
    """Names at the left, figures at the right."""
    cells = [[shown(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(
        text.rjust(width) if column else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths))) + " |"
        for row in (cells[0], rule, *cells[1:]))


def listed(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def goal_table(found):
    return table(["Expected of rust", "found", "verdict", "decides"],
                 [[goal["goal"], goal["found"], goal["verdict"],
                   "yes" if goal["decides"] else "no"] for goal in found])


def describe_host(machine):
    return (f"{machine['date']}, {machine['cpu']}, {machine['cores']} CPUs, "
            f"{machine['qemu']}, {machine['accel']}; Linux {machine['kernel']}, "
            f"clock {machine['clock']}, {machine['rounds']} rounds")


def sections(*found):
    """For the content of a run: `found` are titles, what is to be known, and tables by
    name, of which those without rows are left out."""
    tables = {name: each for _, _, of_one in found for name, each in of_one.items()
              if each["rows"]}
    return {"tables": tables, "sections": [
        {"title": title, "about": about, "tables": [name for name in of_one if name in tables]}
        for title, about, of_one in found if not title or of_one.keys() & tables.keys()]}


def text(content):
    """What the terminal shows: where it was measured, the sections, and what must be known
    of the run."""
    parts = [describe_host(content["machine"])]
    for each in content["sections"]:
        parts += [f"## {each['title']}"] if each["title"] else []
        parts.append(each["about"])
        parts += (markdown(**content["tables"][name]) for name in each["tables"])
    notes = [f"{what}: {line}" for what, key in (
        ("Not run", "skipped"), ("Failed", "failed"), ("In doubt", "doubts"))
        for line in content[key]]
    retries = sum(result["retries"] for result in content["results"])
    if retries:
        notes.append(f"Started again: {retries} guests in which QEMU ran stale code "
                     "(Oops: int3)")
    return "\n\n".join([*filter(None, parts), *(["\n".join(notes)] if notes else ())]) + "\n"
