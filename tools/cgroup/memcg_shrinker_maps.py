#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lists memory cgroups by the objects that shrinkers have of them, and by the
memory of their shrinker maps.

For kernels with CONFIG_MEMCG_SHRINKER_RUST and CONFIG_DEBUG_FS; the numbers of
objects need CONFIG_SHRINKER_DEBUG too. Counting objects asks every shrinker for
every cgroup, which takes long on a large system; --no-objects leaves it out.
"""

import argparse
import json
import os
import sys

from memcg_common import Failed, cgroup_root


def cgroup_paths(root):
    """The paths of all cgroups below root, by the number of their inode."""
    paths = {}
    for path, _, _ in os.walk(root):
        try:
            inode = os.stat(path).st_ino
        except FileNotFoundError:
            continue
        paths[inode] = "/" + os.path.relpath(path, root).removeprefix(".")
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
           "and debugfs must be mounted")
    for words in lines(os.path.join(debugfs, "mm_reclaim/maps"), why):
        line = dict(word.split("=", 1) for word in words)
        group = groups.setdefault(int(line["cgroup"]), new_group())
        group["map_bytes"] += int(line["bytes"])
        group["units"] += len(numbers(line["units"]))
        group["deferred"] += int(line["deferred"])
        group["shrinkers"] = sorted(set(group["shrinkers"]) |
                                    set(numbers(line["ids"])))


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
    add_maps(groups, args.debugfs)
    if args.objects:
        add_objects(groups, args.debugfs)

    # Shrinkers that know nothing of memory cgroups report under the root.
    paths = cgroup_paths(args.cgroup_root or cgroup_root())
    result = []
    for inode, group in groups.items():
        group["cgroup"] = inode
        group["path"] = paths.get(inode)
        result.append(group)
    key = "map_bytes" if args.sort == "memory" or not args.objects else "objects"
    result.sort(key=lambda group: (-group[key], group["cgroup"]))
    return result[:args.top] if args.top else result


def print_table(groups, with_objects):
    """One line for each cgroup, and one with the sums."""
    columns = ["map_bytes", "units", "deferred"]
    if with_objects:
        columns.insert(0, "objects")
    width = 12
    print("".join(f"{name:>{width}}" for name in columns), f"{'bits':>6}", " path")
    for group in groups:
        print("".join(f"{group[name]:>{width}}" for name in columns),
              f"{len(group['shrinkers']):>6}",
              f" {group['path'] or '(removed: ' + str(group['cgroup']) + ')'}")
    print("".join(f"{sum(group[name] for group in groups):>{width}}"
                  for name in columns), f"{'':>6}", f" {len(groups)} cgroups")


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true",
                        help="print a JSON list instead of a table")
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
    return args


def main():
    """Runs the program."""
    args = arguments()
    try:
        groups = collect(args)
    except Failed as error:
        sys.exit(f"memcg_shrinker_maps: {error}")
    if args.json:
        json.dump(groups, sys.stdout, indent=1)
        print()
    else:
        print_table(groups, args.objects)


if __name__ == "__main__":
    main()
