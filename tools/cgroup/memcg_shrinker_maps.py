#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lists memory cgroups by the objects that shrinkers have of them, and by the
memory of their shrinker maps.

For kernels with CONFIG_MEMCG_SHRINKER_RUST. The numbers of objects need
CONFIG_SHRINKER_DEBUG and debugfs. Counting them asks every shrinker for every
cgroup, which takes long on a large system; --no-objects leaves it out.

The memory of maps is that in memory.stat where there is cgroup v2. With --no-objects
and without debugfs it is all that is shown; in cgroup v1 debugfs is needed, which
knows the memory of units, but not that of the tables which list them.

Exit status: 0; 1 if there is nothing to read; 2 for wrong options.
"""

import argparse
import collections
import json
import os
import sys

from memcg_common import Failed, aligned, cgroup_root, family, printable, show, text_path

# What there is of each cgroup, and what metrics say of that.
FIELDS = {"objects": "Objects that shrinkers count",
          "map_bytes": "Memory of the shrinker maps",
          "units": "Units of the shrinker maps, with 64 shrinkers each",
          "deferred": "Objects whose scan was put off",
          "bits": "Shrinkers whose bit is set"}


def cgroup_paths(root):
    """The paths of all cgroups below root, by the number of their inode; children first."""
    paths = {}
    for path, _, _ in os.walk(os.path.abspath(root), topdown=False):
        try:
            inode = os.stat(path).st_ino
        except FileNotFoundError:
            continue
        paths[inode] = path
    return paths


def lines(path, why):
    """The lines of a file, each split into words."""
    try:
        with open(path, encoding="ascii") as file:
            return [line.split() for line in file]
    except FileNotFoundError:
        raise Failed(f"{path} does not exist: {why}") from None
    except PermissionError:
        raise Failed(f"{path} cannot be read: run this as root") from None


def numbers(text):
    """The numbers of a list that is separated by commas."""
    return [int(number) for number in text.split(",") if number]


def add_maps(groups, debugfs):
    """Adds what the file of maps says: one line for each cgroup and node."""
    why = ("the kernel needs CONFIG_MEMCG_SHRINKER_RUST and CONFIG_DEBUG_FS, "
           "and debugfs must be mounted, or use --no-objects")
    for words in lines(os.path.join(debugfs, "mm_reclaim/maps"), why):
        line = dict(word.split("=", 1) for word in words)
        group = groups.setdefault(int(line["cgroup"]), new_group())
        group["map_bytes"] += int(line["bytes"])
        group["units"] += len(numbers(line["units"]))
        group["deferred"] += int(line["deferred"])
        group["shrinkers"] = sorted(set(group["shrinkers"]) |
                                    set(numbers(line["ids"])))


def set_map_bytes(groups, paths):
    """Takes what memory.stat says, which has the sum of all below, too. Returns whether it says
    anything."""
    below, found = collections.Counter(), False
    for inode, path in paths.items():
        try:
            stat = dict(lines(os.path.join(path, "memory.stat"), "it went away"))
        except Failed:
            # The memory controller need not be on everywhere.
            continue
        if "shrinker_maps" not in stat:
            continue
        total, found = int(stat["shrinker_maps"]), True
        below[os.path.dirname(path)] += total
        # Between two reads, some may have come or gone.
        own = max(total - below[path], 0)
        if own or inode in groups:
            groups.setdefault(inode, new_group())["map_bytes"] = own
    return found


def add_objects(groups, debugfs):
    """Adds the counts of all shrinkers: a cgroup, and a number for each node."""
    top = os.path.join(debugfs, "shrinker")
    try:
        shrinkers = os.listdir(top)
    except FileNotFoundError:
        raise Failed(f"{top} does not exist: the kernel needs "
                     "CONFIG_SHRINKER_DEBUG, or use --no-objects") from None
    for shrinker in shrinkers:
        try:
            counts = lines(os.path.join(top, shrinker, "count"), "it went away")
        except Failed:
            # File systems are unmounted meanwhile.
            if os.path.exists(os.path.join(top, shrinker)):
                raise
            continue
        for words in counts:
            group = groups.setdefault(int(words[0]), new_group())
            group["objects"] += sum(map(int, words[1:]))


def new_group():
    """A cgroup of which nothing is known yet."""
    return {"path": None, "objects": 0, "map_bytes": 0, "units": 0,
            "deferred": 0, "shrinkers": []}


def collect(args):
    """All cgroups that have something, those with most first."""
    groups = {}
    root = args.cgroup_root or cgroup_root()
    if args.with_debugfs:
        add_maps(groups, args.debugfs)
    paths = cgroup_paths(root)
    if not set_map_bytes(groups, paths) and not args.with_debugfs:
        raise Failed(f"no memory.stat in {root} has shrinker_maps: the kernel needs "
                     "CONFIG_MEMCG_SHRINKER_RUST, and cgroup v2 or debugfs")
    if args.objects:
        add_objects(groups, args.debugfs)

    # Shrinkers that know nothing of memory cgroups report under the root.
    result = []
    for inode, group in groups.items():
        group["cgroup"] = inode
        group["path"] = text_path(paths[inode], root) if inode in paths else None
        group["bits"] = len(group["shrinkers"])
        result.append(group)
    key = "map_bytes" if args.sort == "memory" or not args.objects else "objects"
    result.sort(key=lambda group: (-group[key], group["cgroup"]))
    return result[:args.top] if args.top else result


def name_of(group):
    """Where it is; of one that was removed the number is left."""
    return group["path"] or f"(removed: {group['cgroup']})"


def fields(args):
    """What there is to be shown."""
    if not args.with_debugfs:
        return ["map_bytes"]
    return [name for name in FIELDS if args.objects or name != "objects"]


def as_table(groups, columns):
    """One line for each cgroup, and one with the sums."""
    return "\n".join(aligned([
        [*columns, "cgroup"],
        *([*(str(group[name]) for name in columns), printable(name_of(group))]
          for group in groups),
        [*("" if name == "bits" else str(sum(group[name] for group in groups))
           for name in columns), f"{len(groups)} cgroups"]]))


def metrics(groups, name):
    """Samples of one. Those that were removed are together: there are ever more of them."""
    sums = collections.Counter()
    for group in groups:
        sums[group["path"] or "(removed)"] += group[name]
    return [((("cgroup", path),), value) for path, value in sums.items()]


def as_prometheus(groups, columns):
    """For the textfile collector of node_exporter."""
    return "\n".join(line for name in columns for line in family(
        f"memcg_shrinker_{name}", "gauge", f"{FIELDS[name]} of a cgroup.",
        metrics(groups, name)))


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""Examples:
  memcg_shrinker_maps.py --top 20                 those with most objects
  memcg_shrinker_maps.py --sort memory --json     all, for other programs
  memcg_shrinker_maps.py --no-objects --prometheus > DIR/memcg_maps.prom.new &&
      mv DIR/memcg_maps.prom.new DIR/memcg_maps.prom
where node_exporter has --collector.textfile.directory=DIR""")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON list")
    form.add_argument("--prometheus", action="store_true",
                      help="print metrics, for the textfile collector of node_exporter")
    parser.add_argument("--sort", choices=("objects", "memory"),
                        default="objects", help="default: %(default)s")
    parser.add_argument("--top", type=int, metavar="N", default=0,
                        help="print only the first N")
    parser.add_argument("--no-objects", dest="objects", action="store_false",
                        help="don't count objects")
    parser.add_argument("--debugfs", default="/sys/kernel/debug",
                        help="where it is mounted (default: %(default)s)")
    parser.add_argument("--cgroup-root", metavar="DIR",
                        help="where memory cgroups are mounted")
    args = parser.parse_args()
    if args.top < 0:
        parser.error("--top takes a number that is not negative")
    # Objects are nowhere else.
    args.with_debugfs = args.objects or os.access(
        os.path.join(args.debugfs, "mm_reclaim/maps"), os.R_OK)
    return args


def main():
    """Runs the program."""
    args = arguments()
    try:
        groups, columns = collect(args), fields(args)
    except Failed as error:
        sys.exit(f"memcg_shrinker_maps: {error}")
    # Metrics are in it, whatever the locale is.
    sys.stdout.reconfigure(encoding="utf-8")
    if args.json:
        wanted = {"cgroup", "path", *columns, *(["shrinkers"] if "bits" in columns else [])}
        show(json.dumps([{name: value for name, value in group.items() if name in wanted}
                         for group in groups], indent=1))
    else:
        show((as_prometheus if args.prometheus else as_table)(groups, columns))


if __name__ == "__main__":
    main()
