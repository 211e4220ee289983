# SPDX-License-Identifier: GPL-2.0
"""What was found, as a table, as JSON, and in the text format of Prometheus."""

import collections
import json

from memcg_common import family, printable

from .found import REASONS, UNEXPLAINED

PREFIX = "memcg_zombies"
# Of the table: those who hold most groups, and holders of one group.
SHOWN_PROCESSES = 10
SHOWN_HOLDERS = 3


# ---- what all forms have

def summary(scan):
    """By reason: groups, groups that have no other reason, and their bytes."""
    rows = {reason: {"groups": 0, "only": 0, "bytes": 0, "only_bytes": 0}
            for reason in REASONS}
    for group in scan.groups:
        for reason in group.reasons:
            row = rows[reason]
            row["groups"] += 1
            row["bytes"] += group.bytes
            if len(group.reasons) == 1:
                row["only"] += 1
                row["only_bytes"] += group.bytes
    return rows


def by_process(scan):
    """(pid, comm) and how many groups each holds, most first."""
    groups = collections.Counter()
    for group in scan.groups:
        groups.update({(holder.pid, holder.comm) for hold in group.holds
                       for holder in hold.holders if holder.pid})
    return groups.most_common()


def totals(scan):
    return {
        "groups": len(scan.groups),
        "bytes": sum(group.bytes for group in scan.groups),
        "per_cpu_bytes": sum(group.per_cpu_bytes for group in scan.groups),
        "explained_groups": sum(UNEXPLAINED not in group.reasons for group in scan.groups),
        "unexplained_references": sum(max(0, group.unexplained) for group in scan.groups),
    }


def states(scan):
    """How many have each state of their statistics; nothing where there are none."""
    return collections.Counter(group.stats_state for group in scan.groups
                               if group.stats_state is not None)


# ---- JSON

def group_record(group):
    return {
        "path": group.path, "path_in_use": group.path_in_use,
        "cgroup_lives": group.cgroup_lives, "cgroup_id": group.cgroup_id,
        "css_id": group.css_id, "private_id": group.private_id, "level": group.level,
        "serial": group.serial, "stage": group.stage, "stats_state": group.stats_state,
        "age": {"least": group.age.least, "most": group.age.most,
                "exact": group.age.exact, "how": group.age.how},
        "bytes": group.bytes, "per_cpu_bytes": group.per_cpu_bytes,
        "memory": group.memory, "per_cpu": group.per_cpu,
        "references": group.references, "own_references": group.own_references,
        "unexplained": group.unexplained, "reasons": group.reasons,
        "holds": [{"reason": hold.reason, "references": hold.references, "what": hold.what,
                   "holders": [vars(holder) for holder in hold.holders]}
                  for hold in group.holds],
    }


def as_json(scan):
    return json.dumps({
        "release": scan.release, "live": scan.live, "implementation": scan.implementation,
        "cpus": scan.cpus, "nodes": scan.nodes, "hierarchy": scan.hierarchy,
        "counted": scan.counted, "seconds": scan.seconds, "notes": scan.notes,
        "total": totals(scan), "reasons": summary(scan), "states": states(scan),
        "processes": [{"pid": pid, "comm": comm, "groups": groups}
                      for (pid, comm), groups in by_process(scan)],
        "groups": [group_record(group) for group in scan.groups],
    }, indent=1)


# ---- table

def size(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 10240:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.0f} GiB"


def duration(seconds):
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"


def age(group):
    if group.age.most is None:
        return f">={duration(group.age.least)}" if group.age.least else "?"
    if group.age.exact or duration(group.age.least) == duration(group.age.most):
        return duration(group.age.least)
    if not group.age.least:
        return f"<={duration(group.age.most)}"
    return f"{duration(group.age.least)}-{duration(group.age.most)}"


def holders(hold):
    shown = ", ".join(map(str, hold.holders[:SHOWN_HOLDERS]))
    rest = len(hold.holders) - SHOWN_HOLDERS
    return shown + (f" and {rest} more" if rest > 0 else "")


def hold_line(hold):
    who = holders(hold)
    return f"{hold.reason}: {hold.what}" + (f"; {who}" if who else "")


def group_lines(group):
    flags = "".join((" (path in use again)" if group.path_in_use else "",
                     " (controller disabled)" if group.cgroup_lives else ""))
    state = f"{group.stats_state:>9}" if group.stats_state is not None else ""
    yield (f"{age(group):>9} {size(group.bytes):>9} {size(group.per_cpu_bytes):>9} "
           f"{group.references:>5} {group.private_id:>6} {group.cgroup_id:>10}{state}  "
           f"{group.path}{flags}")
    for hold in group.holds:
        yield f"{'':>12}{hold_line(hold)}"
    if group.own_references:
        yield f"{'':>12}offlining: its removal has not ended ({group.stage})"
    if group.unexplained > 0:
        yield f"{'':>12}unexplained: {group.unexplained} of {group.references} references"
    elif group.unexplained < 0:
        yield f"{'':>12}{-group.unexplained} references went away while this was read"


def summary_lines(scan):
    total = totals(scan)
    of_kernel = f" (the kernel counts {scan.counted})" \
        if scan.counted not in (-1, total["groups"]) else ""
    yield (f"{total['groups']} removed memory cgroups{of_kernel} hold {size(total['bytes'])}, "
           f"{size(total['per_cpu_bytes'])} of it per-CPU (possible CPUs: {scan.cpus}, nodes: "
           f"{scan.nodes})")
    yield f"{'held by':18} {'groups':>7} {'only':>7} {'bytes':>10} {'only':>10}"
    for reason, row in summary(scan).items():
        if row["groups"]:
            yield (f"{reason:18} {row['groups']:>7} {row['only']:>7} {size(row['bytes']):>10} "
                   f"{size(row['only_bytes']):>10}  {REASONS[reason]}")
    processes = by_process(scan)[:SHOWN_PROCESSES]
    if processes:
        yield "processes that hold most: " + ", ".join(
            f"{comm}[{pid}] {groups}" for (pid, comm), groups in processes)
    if states(scan):
        yield "statistics: " + ", ".join(f"{count} {state}" for state, count in
                                         sorted(states(scan).items()))
    for note in scan.notes:
        yield f"note: {note}"


def as_table(scan, top=0):
    lines = []
    groups = scan.groups[:top] if top else scan.groups
    if groups:
        state = f"{'stats':>9}" if groups[0].stats_state is not None else ""
        lines.append(f"{'age':>9} {'bytes':>9} {'per-CPU':>9} {'refs':>5} {'id':>6} "
                     f"{'cgroup':>10}{state}  path when removed, and who holds it")
    for group in groups:
        lines += group_lines(group)
    if len(groups) < len(scan.groups):
        lines.append(f"... and {len(scan.groups) - len(groups)} more")
    lines += summary_lines(scan)
    return "\n".join(map(printable, lines))


# ---- Prometheus

def metrics(scan, each_group):
    total, reasons = totals(scan), summary(scan)
    yield "", "Removed memory cgroups that are not freed.", [((), total["groups"])]
    yield "_bytes", "Bytes that they hold.", [
        ((("kind", "per_cpu"),), total["per_cpu_bytes"]),
        ((("kind", "other"),), total["bytes"] - total["per_cpu_bytes"])]
    yield "_held", "Removed memory cgroups by who holds them; one may be held by several.", [
        ((("reason", reason),), row["groups"]) for reason, row in reasons.items()]
    yield "_held_only", "Removed memory cgroups that are held by nothing else.", [
        ((("reason", reason),), row["only"]) for reason, row in reasons.items()]
    yield "_held_bytes", "Bytes of the removed memory cgroups by who holds them.", [
        ((("reason", reason),), row["bytes"]) for reason, row in reasons.items()]
    yield "_unexplained_references", "References whose holder was not found.", [
        ((), total["unexplained_references"])]
    yield "_oldest_seconds", "Age that the oldest one has at least.", [
        ((), max((group.age.least for group in scan.groups), default=0))]
    if states(scan):
        yield "_statistics", "Removed memory cgroups by the state of their statistics.", [
            ((("state", state),), count) for state, count in sorted(states(scan).items())]
    yield "_scan_seconds", "Time that it took to find them.", [((), round(scan.seconds, 3))]
    if each_group:
        yield "_group_bytes", "Bytes of one removed memory cgroup.", [
            ((("cgroup", group.cgroup_id), ("css", group.css_id), ("path", group.path),
              ("reasons", ",".join(group.reasons))), group.bytes) for group in scan.groups]


def as_prometheus(scan, each_group=False):
    """`each_group` adds a time series for each group, of which there may be any number."""
    return "\n".join(line for name, about, samples in metrics(scan, each_group)
                     for line in family(PREFIX + name, "gauge", about, samples))
