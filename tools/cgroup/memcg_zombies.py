#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lists memory cgroups that were removed and are not freed, with what each holds and
who holds it.

A removed cgroup is in no file system any more, but its memory controller stays as long
as something has a reference: swapped-out pages, sockets, inotify and fanotify groups,
processes that nobody reaps, cgroup namespaces, writeback, per-CPU charges. Each keeps
some KiB for every possible CPU. The references that are found are compared with the
group's count: what is missing is shown as "unexplained".

Reads the running kernel (/proc/kcore, as root) or a dump, with drgn (Debian: python3-drgn)
and the kernel's debug information; changes nothing. For Linux 7.3, with
CONFIG_MEMCG_SHRINKER_RUST and without. A running kernel changes while it is read: a group
may then have references that went away, or new ones that are unexplained.

The age is known to the second where the cgroup's directory had attributes of its own
(chown, chmod, extended attributes); else it is given as bounds.

Exit status: 0 if all was read, however many there are; 1 if the kernel can't be read;
2 for wrong options; 3 without debug information of that kernel; 4 without permission; 5
if it has no memory cgroups.
"""

import argparse
import os
import sys
import time

# Run by drgn itself, a script is not where its modules are looked for.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import memcg_common
from zombies import report

try:
    import drgn
except ImportError:
    sys.exit("memcg_zombies: drgn is not installed (Debian: python3-drgn; PyPI: drgn)")

from zombies import groups, holders, kernel
from zombies.age import Ages
from zombies.found import REASONS, Scan
from zombies.memory import Sizes

TRIES = 3


def scan_once(program):
    """All that is to be known of a kernel."""
    start = time.monotonic()
    source = kernel.Kernel(program)
    groups.check_enabled(source)
    walk = groups.Walk(source)
    holders.explain(source, walk)
    Ages(source, walk)
    sizes = Sizes(source)
    for address, group in walk.dying.items():
        sizes.measure(walk.objects[address], group)
    return Scan(source.release, source.live, source.implementation(), len(source.cpus),
                len(source.nodes), walk.hierarchy(), walk.counted(),
                list(walk.dying.values()), source.notes, time.monotonic() - start)


def scan(program):
    """Again, if the running kernel changed something that was about to be read."""
    for attempt in range(1, TRIES + 1):
        try:
            return scan_once(program)
        except drgn.FaultError as error:
            if attempt == TRIES or not program.flags & drgn.ProgramFlags.IS_LIVE:
                raise kernel.Failed(f"the kernel's memory cannot be read: {error}") from None
        except (LookupError, AttributeError) as error:
            raise kernel.Failed(f"this kernel is unlike Linux 7.3: {error}") from None
    return None


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Reasons:\n" + "\n".join(f"  {reason:18} {about}"
                                        for reason, about in REASONS.items()))
    parser.add_argument("--core", metavar="FILE",
                        help="a dump instead of the running kernel: an ELF file of kdump or "
                        "of QEMU (dump-guest-memory -p), or what else this drgn can read")
    parser.add_argument("--vmlinux", metavar="FILE",
                        help="with the kernel's debug information, if drgn doesn't find it")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all as JSON")
    form.add_argument("--prometheus", action="store_true",
                      help="print metrics, for the textfile collector of node_exporter")
    parser.add_argument("--each-group", action="store_true",
                        help="with --prometheus: a time series for each group, too")
    parser.add_argument("--reason", choices=sorted(REASONS), action="append",
                        help="only groups that are held by this; may be repeated")
    parser.add_argument("--sort", choices=("bytes", "age", "path"), default="bytes",
                        help="default: %(default)s")
    parser.add_argument("--top", type=int, metavar="N", default=0,
                        help="list only the first N; the summary has all")
    options = parser.parse_args()
    if options.top < 0:
        parser.error("--top takes a number that is not negative")
    return options


ORDERS = {
    "bytes": lambda group: (-group.bytes, group.path),
    # By what it is at least; of two that are not known, the older one was made first.
    "age": lambda group: (-group.age.least, group.serial),
    "path": lambda group: (group.path, group.serial),
}


def chosen(result, options):
    if options.reason:
        result.groups = [group for group in result.groups
                         if set(group.reasons) & set(options.reason)]
    result.groups.sort(key=ORDERS[options.sort])
    return result


def show(result, options):
    if options.json:
        return report.as_json(result)
    if options.prometheus:
        return report.as_prometheus(result, options.each_group)
    return report.as_table(result, options.top)


def main():
    """Runs the program; under drgn, on the program that drgn was given."""
    options = arguments()
    try:
        program = globals().get("prog") or kernel.open_program(options.core, options.vmlinux)
        text = show(chosen(scan(program), options), options)
    except kernel.Failed as error:
        print(f"memcg_zombies: {error}", file=sys.stderr)
        sys.exit(error.status)
    memcg_common.show(text)


if __name__ == "__main__":
    main()
