# SPDX-License-Identifier: GPL-2.0
"""What the system calls by which containers start execute, on machines with many nodes."""

from bench.profile.workloads import START, START_CALLS, START_MOUNTS, start_operation
from bench.scale import FLOOR as FLOOR_LIMIT
from harness.goals import goal
from harness.report import ratio, table

# The arm without shrinker maps.
FLOOR = "floor"
CALLS = {**{f"{call}(2)": (call,) for call in START_CALLS}, "all of these": START_CALLS}
CONTAINERS = next(iter(START.values())).groups[0]
NOTES = f"""\
{CONTAINERS} containers start, one after the other: a group, and from inside it {START_MOUNTS}
mounts of a tmpfs with a file in each. What the system calls for that execute, for each of the
mounts. "{FLOOR}" is stock without any shrinker maps: nothing that has some can be below."""


def executed(profile, nodes, calls):
    """By these calls for each mount; None if it was not counted."""
    found = [profile.get(start_operation(nodes, call)) for call in calls]
    return None if None in found else sum(
        function["instructions"] for content in found for function in content["functions"].values())


def goals(profiles):
    for nodes in START:
        rust, floor = (executed(profiles.get(arm, {}), nodes, START_CALLS)
                       for arm in ("rust", FLOOR))
        if rust and floor:
            yield goal(f"containers start on {nodes} nodes: at most {FLOOR_LIMIT} times the "
                       "instructions without shrinker maps", rust / floor,
                       lambda times: f"{times:.3f} times", lambda times: times <= FLOOR_LIMIT)


def start_table(profiles, shown):
    arms = ("stock", "rust", FLOOR)
    rows = []
    for nodes in START:
        for title, calls in CALLS.items():
            stock, rust, floor = found = [executed(profiles.get(arm, {}), nodes, calls)
                                          for arm in arms]
            if any(found):
                rows.append([f"{nodes} nodes: {title}", *(each and shown(each) for each in found),
                             ratio(stock / rust) if stock and rust else None,
                             round(rust / floor, 3) if rust and floor else None])
    return table(["instructions per mount", *arms, "stock / rust", f"rust / {FLOOR}"], rows)
