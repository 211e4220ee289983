# SPDX-License-Identifier: GPL-2.0
"""What a removed group keeps, part by part: as the tool finds it, against the table in
Documentation/mm/mm_reclaim.rst."""

from harness import list_table
from harness.common import ROOT

TABLE = ROOT / "Documentation/mm/mm_reclaim.rst"
# Those that are held by nothing else have nothing else of their own.
HELD_BY = "inotify"
PER_CPU, PER_NODE, ONCE = "CPU", "node", "memcg"
PER = (PER_CPU, PER_NODE, ONCE)
COLUMNS = {"c": 2, "rust": 3}


def documented(implementation):
    """Bytes, by part and by what there is one of it for."""
    return {(row[0].strip("`"), row[1]): int(row[COLUMNS[implementation]])
            for row in list_table.rows(TABLE) if len(row) == 5 and row[1] in PER}


def kept(found, told):
    """The same, of one group. `told` says which there are on each node."""
    group = next(group for group in found["groups"] if group["reasons"] == [HELD_BY])
    cpus, nodes = found["cpus"], found["nodes"]
    of_nodes = {part for part, per in told if per == PER_NODE}
    parts = {(part, PER_CPU): size // cpus for part, size in group["per_cpu"].items()}
    parts.update(((part, PER_NODE), size // nodes) if part in of_nodes else ((part, ONCE), size)
                 for part, size in group["memory"].items())
    return parts


def as_documented(found):
    told = documented(found["implementation"])
    there = kept(found, told)
    wrong = [f"{part} for each {per}: {there.get((part, per), 0)} bytes, not "
             f"{told.get((part, per), 'listed')}"
             for part, per in sorted(told.keys() | there.keys())
             if there.get((part, per), 0) != told.get((part, per))]
    return f"{TABLE.name} is wrong: {'; '.join(wrong)}" if wrong else None
