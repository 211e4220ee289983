# SPDX-License-Identifier: GPL-2.0
"""What memcg_zombies.py must say of the groups that the guest made."""

import collections
import re

# Of the groups of each recipe, and of all.
LEAST_NAMED = 0.99
# What the tool can't find, and must not hide.
UNKNOWN = "unexplained"
# Between the guest's clock and the kernel's, which moves by jiffies.
CLOCK = 0.05
POINTER, UNIT = 8, 4
CHARGED = ("memcg_vmstats_percpu", "lruvec_stats_percpu", "memcg1_events_percpu")
# Which finder is the only one that knows of a reason, for all that recipes make.
REASONS_OF = {
    "find_children": ("child",), "find_swap": ("swap",),
    "find_notify": ("inotify", "fanotify"), "find_sockets": ("socket",),
    "find_css_sets": ("task", "cgroup_namespace"), "find_writeback": ("writeback",),
    "find_stock": ("stock",), "find_v1": ("oom",)}


def by_path(found):
    groups = collections.defaultdict(list)
    for group in found["groups"]:
        groups[group["path"]].append(group)
    return groups


def holders(group, reason):
    return [holder for hold in group["holds"] if hold["reason"] == reason
            for holder in hold["holders"]]


def shown(group, reason):
    """All that is said of the reason, as text."""
    return " ".join([hold["what"] for hold in group["holds"] if hold["reason"] == reason]
                    + [holder["what"] for holder in holders(group, reason)])


def misnamed(expected, groups):
    """Why the tool's word about a group is wrong, or None."""
    if len(groups) != 1:
        return f"is listed {len(groups)} times"
    group, reason = groups[0], expected["reason"]
    if group["reasons"] != [reason]:
        return f"is held by {reason}, not by {group['reasons']}"
    if group["unexplained"] != (reason == UNKNOWN):
        return f"has {group['unexplained']} unexplained references"
    pids = {holder["pid"] for holder in holders(group, reason)}
    if set(expected["holders"]) - {0} != pids - {0}:
        return f"is held by processes {expected['holders']}, not {sorted(pids)}"
    if expected.get("what", "") not in shown(group, reason):
        return f"is held by {expected['what']}, not \"{shown(group, reason)}\""
    for key in ("path_in_use", "cgroup_lives"):
        if group[key] != expected.get(key, False):
            return f"has {key} {group[key]}"
    return None


def names(expected, found):
    """Of each reason, and of all."""
    groups = by_path(found)
    wrong = {each["path"]: why for each in expected
             if (why := misnamed(each, groups.get(each["path"], [])))}
    recipes = collections.Counter(each["path"].split("/")[1] for each in expected)
    bad = collections.Counter(path.split("/")[1] for path in wrong)
    few = [recipe for recipe, count in recipes.items()
           if bad[recipe] > (1 - LEAST_NAMED) * count]
    if few:
        path, why = next((path, why) for path, why in wrong.items()
                         if path.split("/")[1] in few)
        return f"{len(wrong)} of {len(expected)} are misnamed: {path} {why}"
    return None


def lists_nothing_else(expected, found):
    extra = {group["path"] for group in found["groups"]} - {each["path"] for each in expected}
    if extra:
        return f"{len(extra)} groups that nobody removed are listed: {sorted(extra)[:3]}"
    return None


def counts(found):
    """As the kernel counts them."""
    if found["counted"] != len(found["groups"]):
        return f"{len(found['groups'])} groups are listed, the kernel counts {found['counted']}"
    return None


def ages(expected, found, read_at):
    """`read_at` is when the tool read the kernel, at least and at most, and the seconds of
    the ticks that the guest had lost by then."""
    groups, lost = by_path(found), max(0, read_at[2])
    for each in expected:
        if len(groups[each["path"]]) != 1:
            continue
        age = groups[each["path"]][0]["age"]
        least = read_at[0] - each["removed"][1] - CLOCK
        most = read_at[1] - each["removed"][0] + CLOCK
        if age["exact"] != each["exact"]:
            return f"the age of {each['path']} is {'' if age['exact'] else 'not '}exact"
        if age["least"] > most or (age["most"] is not None and age["most"] + lost < least):
            return (f"{each['path']} is {age['least']:.1f} to {age['most']} s old "
                    f"({age['how']}), not {least:.1f} to {most:.1f}")
        # A time of removal that is known exactly lies within the rmdir().
        if age["exact"] and not least <= age["least"] <= most:
            return f"{each['path']} is {age['least']:.2f} s old, not {least:.2f} to {most:.2f}"
        if age["most"] is None:
            return f"nothing is known of the age of {each['path']}"
    return None


def per_cpu_bytes(result, found):
    """Against what the kernel charged the parents. Each 4 bytes on a CPU cost a pointer
    more, and what lies in the chunks that it made at boot is not charged at all."""
    costs = {}
    for name, charged in result["percpu"].items():
        sums = [sum(group["per_cpu"].get(part, 0) for part in CHARGED)
                for group in found["groups"] if group["path"].startswith(f"/{name}/")]
        costs[name] = sum(size + size // found["cpus"] // UNIT * POINTER for size in sums)
        if charged > costs[name]:
            return f"/{name} is charged {charged} bytes of per-CPU memory, {costs[name]} listed"
    if not any(result["percpu"][name] == cost for name, cost in costs.items()):
        return f"{costs} bytes of per-CPU memory are listed, {result['percpu']} charged"
    return None


SAMPLE = re.compile(r'memcg_zombies\w*(\{(\w+="([^"\\]|\\.)*",?)*\})? -?[0-9.e+-]+')


def metrics(text, groups):
    """The text format of Prometheus: each family has its HELP and TYPE before it."""
    described, samples = {"HELP": set(), "TYPE": set()}, []
    for line in text.splitlines():
        if line.startswith("# "):
            _, keyword, name, _ = line.split(" ", 3)
            described[keyword].add(name)
        elif not SAMPLE.fullmatch(line):
            return f"\"{line}\" is no sample"
        elif not all(re.split("[{ ]", line)[0] in names for names in described.values()):
            return f"\"{line}\" has no HELP and TYPE"
        else:
            samples.append(line)
    if f"memcg_zombies {groups}" not in samples:
        return f"there is no sample of {groups} groups"
    return None


def blinded(expected, whole, without):
    """Without its finder, no group has the reason any more, and as many are unexplained."""
    made = {each["reason"] for each in expected} - {UNKNOWN}
    unknown = whole["reasons"][UNKNOWN]["groups"]
    for finder, reasons in REASONS_OF.items():
        wanted = made.intersection(reasons)
        for reason in sorted(wanted):
            if without[finder][reason]:
                return f"without {finder}, {without[finder][reason]} groups are held by {reason}"
        had = sum(bool(wanted.intersection(group["reasons"])) for group in whole["groups"])
        missing = without[finder][UNKNOWN] - unknown
        if missing != had:
            return f"without {finder}, {missing} more groups are unexplained, not {had}"
    others = made.difference(*REASONS_OF.values())
    return f"no finder is known to find {sorted(others)}" if others else None
