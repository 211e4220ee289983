# SPDX-License-Identifier: GPL-2.0
"""Tables of reStructuredText that are written as lists (list-table)."""


def rows(path):
    """The rows of all such tables of a file, as lists of cells."""
    found, row = [], None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("   * - "):
            row = [line[7:]]
            found.append(row)
        elif row and line.startswith("     -"):
            row.append(line[7:])
        elif row and line.startswith("       "):
            row[-1] += " " + line.strip()
        else:
            row = None
    return found
