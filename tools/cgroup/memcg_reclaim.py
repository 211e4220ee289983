#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lists memory cgroups with what is set for reclaim, and what came of it: priorities when the
whole machine is short of memory (memory.global_shrink_priority), and page cache that outlives
limits (memory.retain, memory.retain_pool).

Lists those in which something is set; --all lists all others, too. Counters are those of a
cgroup with all below it. Needs CONFIG_MEMCG_SHRINKER_RUST, and neither root nor debugfs.

Exit status: 0; 1 if there is nothing to read; 2 for wrong options.
"""

import argparse
import json
import os
import sys

from memcg_common import Failed, aligned, cgroup_root, family, printable, show, text_path

PAGE = os.sysconf("SC_PAGE_SIZE")
PRIORITY = "memory.global_shrink_priority"
UNSET = {"priority": "default", "retain": "0", "pool": "0"}
FILES = {"priority": PRIORITY, "effective": PRIORITY + ".effective",
         "retain": "memory.retain", "pool": "memory.retain_pool"}
# In memory.stat, and what metrics say of them.
EVENTS = {"gsp_skipped": "Times that reclaim passed over a cgroup for its priority",
          "gsp_override": "Times that it was reclaimed from in spite of that"}
PAGES = {"retain_kept": "kept in the pool when a limit evicted them",
         "retain_hit": "taken from the pool and used again",
         "retain_evicted": "evicted from the pool (counted there alone)",
         "retain_refused_cap": "refused, as the pool was full",
         "retain_refused_watermark": "refused, as too little memory was free",
         "retain_refused_busy": "refused, as they were in use",
         "retain_refused_slab": "refused, as too much of the limit is slab",
         "retain_refused_unused": "refused, as the pool was of no use"}
GAUGES = {"dying_memcgs": "Removed cgroups that something refers to",
          "drained_bytes": "Bytes of statistics that these gave back"}
COUNTERS = (*EVENTS, *PAGES, *GAUGES)


def read(path):
    """What is in a file, or None: not each cgroup has each file, and cgroups go away."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def counters(text):
    """Of memory.stat; version 1 has some of a cgroup alone, and those with all below it beside
    them."""
    lines = dict(line.split() for line in text.splitlines())
    return {name: int(lines.get("total_" + name, lines.get(name, 0))) for name in COUNTERS}


def settings(path):
    """What is set in a cgroup; None if it has no such file, as the root."""
    found = {name: read(os.path.join(path, file)) for name, file in FILES.items()}
    return None if found["priority"] is None else found


def is_set(found):
    """Whether it was told anything."""
    return any(found[name] not in (None, unset) for name, unset in UNSET.items())


def collect(root, everything):
    """Those that are to be listed, parents first. To read counters makes the kernel add them up:
    only those of them are read."""
    if not os.path.isdir(root):
        raise Failed(f"{root} is no directory")
    groups, has_files = [], False
    for path, _, _ in os.walk(root):
        found = settings(path)
        has_files |= found is not None
        if found and (everything or is_set(found)):
            stat = read(os.path.join(path, "memory.stat"))
            if stat is not None:
                groups.append({"path": text_path(path, root), **found, **counters(stat)})
    if not has_files:
        raise Failed(f"no cgroup in {root} has {PRIORITY}: the kernel needs "
                     "CONFIG_MEMCG_SHRINKER_RUST, and a cgroup the memory controller")
    return sorted(groups, key=lambda each: each["path"])


def mib(pages):
    """So that a little is not nothing."""
    size = pages * PAGE / (1 << 20)
    return f"{size:.1f}" if 0 < size < 10 else f"{size:.0f}"


def as_table(found):
    """One line for each cgroup."""
    head = ("priority", "effective", "skipped", "override", "retain", "kept", "hit",
            "evicted", "refused", "dying", "cgroup")
    rows = [(*(each[name] or "-" for name in ("priority", "effective")),
             *(str(each[name]) for name in EVENTS),
             "pool" if each["pool"] == "1" else each["retain"] or "-",
             *(mib(each["retain_" + name]) for name in ("kept", "hit", "evicted")),
             mib(sum(each[name] for name in PAGES if "refused" in name)),
             str(each["dying_memcgs"]), printable(each["path"])) for each in found]
    return "\n".join(
        [*aligned([head, *rows]),
         "kept, hit, evicted and refused: MiB of page cache, since the cgroup was made"])


def metrics(found):
    """Name, kind, what it is, and samples of each."""
    yield ("memcg_global_shrink_priority_effective", "gauge",
           "The priority at which reclaim of the machine begins with a cgroup",
           [((("cgroup", each["path"]),), each["effective"]) for each in found
            if each["effective"]])
    for name, about in EVENTS.items():
        yield (f"memcg_{name}_total", "counter", about,
               [((("cgroup", each["path"]),), each[name]) for each in found])
    yield ("memcg_retain_pages_total", "counter", "Pages of page cache that " + "; ".join(
        f"{name[len('retain_'):]}: {about}" for name, about in PAGES.items()),
           [((("cgroup", each["path"]), ("event", name[len("retain_"):])), each[name])
            for each in found for name in PAGES])
    for name, about in GAUGES.items():
        yield (f"memcg_{name}", "gauge", about,
               [((("cgroup", each["path"]),), each[name]) for each in found])


def as_prometheus(found):
    """For the textfile collector of node_exporter."""
    return "\n".join(line for name, kind, about, samples in metrics(found) if samples
                     for line in family(name, kind, f"{about}; with all below it.", samples))


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""Examples:
  memcg_reclaim.py                      what is set where, and what came of it
  memcg_reclaim.py --all --json         all cgroups, for other programs; retain_* are pages
  memcg_reclaim.py --prometheus > memcg_reclaim.prom.new &&
      mv memcg_reclaim.prom.new /var/lib/node_exporter/memcg_reclaim.prom""")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON list")
    form.add_argument("--prometheus", action="store_true",
                      help="print metrics, for the textfile collector of node_exporter")
    parser.add_argument("--all", action="store_true",
                        help="list cgroups in which nothing is set, too")
    parser.add_argument("--cgroup-root", metavar="DIR",
                        help="where memory cgroups are mounted")
    return parser.parse_args()


def main():
    """Runs the program."""
    options = arguments()
    try:
        found = collect(options.cgroup_root or cgroup_root(), options.all)
    except Failed as error:
        sys.exit(f"memcg_reclaim: {error}")
    # Metrics are in it, whatever the locale is.
    sys.stdout.reconfigure(encoding="utf-8")
    if options.json:
        show(json.dumps(found, indent=1))
    else:
        show(as_prometheus(found) if options.prometheus else as_table(found))


if __name__ == "__main__":
    main()
