# SPDX-License-Identifier: GPL-2.0
"""What the texts of benches have in common: tables in Markdown that read well on a
terminal, where it was measured, and what must be known of the run."""


def number(value, unit):
    if unit == "" or abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if unit == "MiB" else f"{value:.3g}"


def cell(spread, show):
    """Median, and least and most where they differ, as `show` has them."""
    if not spread:
        return "-"
    text, low, high = (show(spread[key]) for key in ("median", "min", "max"))
    return text if low == high else f"{text} ({low} to {high})"


def markdown(rows):
    """A table whose columns line up; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(
        text.rjust(width) if column else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths))) + " |"
        for row in (rows[0], rule, *rows[1:]))


def listed(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def goal_table(found):
    rows = [["Expected of rust", "found", "verdict", "decides"]]
    rows += [[goal["goal"], goal["found"], goal["verdict"],
              "yes" if goal["decides"] else "no"] for goal in found]
    return markdown(rows)


def describe_host(machine):
    return (f"{machine['date']}, {machine['cpu']}, {machine['cores']} CPUs, "
            f"{machine['qemu']}, {machine['accel']}; Linux {machine['kernel']}, "
            f"clock {machine['clock']}, {machine['rounds']} rounds")


def join(parts, report):
    """The parts of the text, and what must be known of the run."""
    notes = [f"{what}: {line}" for what, key in (
        ("Not run", "skipped"), ("Failed", "failed"), ("In doubt", "doubts"))
        for line in report[key]]
    retries = sum(result["retries"] for result in report["results"])
    if retries:
        notes.append(f"Started again: {retries} guests in which QEMU ran stale code "
                     "(Oops: int3)")
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else ())]) + "\n"
