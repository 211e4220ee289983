#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Estimates the memory that shrinker maps of memory cgroups take on this host, and
what they would take with CONFIG_MEMCG_SHRINKER_RUST (mm_reclaim).

Runs on any kernel, changes nothing, and needs only Python 3.6. Root sees more:
/proc/slabinfo, debugfs, and the mounts of all containers. Run it on the host, not
in a container.

The kernel does not tell which shrinker ids it has given out, so numbers are
ranges, and each input is marked "read" (the kernel says it), "counted" (some may
not be seen) or "guessed".

Exit status: 0 if there is an estimate, 1 if there is none, 2 for wrong options.
"""

import argparse
import json
import os
import re
import sys

# Of 64 shrinkers, as struct shrinker_info_unit has it, and a pointer to it.
IDS_PER_UNIT = 64
POINTER = 8
C_UNIT = 64 * 8 + 8
# struct shrinker_info: an rcu_head and an int, before the pointers.
C_INFO = 24

# What mm_reclaim has for the same: a unit, its place in a table, a table without
# places, the numbers of an id (at most), and the bitmap of cgroups of a node.
RUST_UNIT = 528
RUST_PLACE = 16
RUST_TABLE = 40
RUST_ID = 16.25
RUST_BITMAP = 8320
# What a container with a mount of its own needs, on one node: measured, 4000 of them
# have 8.1 MiB.
USUAL_UNITS = 4

# Shrinkers with an id that belong to no super block: one for shadow entries always
# exists; those for huge pages, zswap and three of NFS may.
SHRINKERS = (1, 6)
# Super blocks that are mounted nowhere (pipes, sockets, ...) on a host of which
# nothing else tells their number. 20 to 30 are usual.
HIDDEN = (8, 64)
MOST_IDS = 1 << 21  # numbers of super blocks without a device, and some devices
MOST_NODES = 1024  # MAX_NUMNODES of the largest configurations
LARGEST_FILE = 64 << 20
# What mm_reclaim counts of what comes and goes.
EVENTS = "/proc/vmstat"
PAIRS = (("ids", "shrinker_id_alloc", "shrinker_id_free"),
         ("units", "shrinker_unit_alloc", "shrinker_unit_free"),
         ("table_bytes", "shrinker_table_bytes_alloc", "shrinker_table_bytes_free"))

READ, COUNTED, GUESSED = "read", "counted", "guessed"


class Failed(Exception):
    """Why there is no estimate, and what helps."""


class Host:
    """The files of a host, or of a folder that has copies of them."""

    def __init__(self, root="/"):
        self.root = root
        self.unreadable = []

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def text(self, name, wanted=False):
        """What is in a file; None if it can't be read, which is noted if it was wanted."""
        try:
            # A pipe that stands in for a file must not stop this.
            file = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            if wanted:
                self.note(name, error)
            return None
        try:
            parts, size = [], 0
            while size < LARGEST_FILE:
                part = os.read(file, 1 << 20)
                if not part:
                    break
                parts.append(part)
                size += len(part)
        except OSError as error:
            if wanted:
                self.note(name, error)
            return None
        finally:
            os.close(file)
        # All of it can be printed, wherever that goes.
        return b"".join(parts).decode("ascii", "backslashreplace")

    def note(self, name, error):
        why = getattr(error, "strerror", None) or str(error)
        if not isinstance(error, FileNotFoundError):
            self.unreadable.append(f"{name}: {why}")

    def names(self, name):
        """What is in a folder, or None."""
        try:
            return sorted(os.listdir(self.path(name)))
        except (OSError, ValueError):
            return None

    def link(self, name):
        try:
            return os.readlink(self.path(name))
        except (OSError, ValueError):
            return None

    def exists(self, name):
        try:
            return os.path.exists(self.path(name))
        except ValueError:
            return False


class Range:
    """At least and at most, where they come from, and how sure that is."""

    def __init__(self, low, high, how, source):
        self.low = low
        self.high = max(low, high)
        self.how = how
        self.source = source

    def json(self):
        return {"low": self.low, "high": self.high, "how": self.how,
                "source": self.source}


def number(text):
    """A number that is not negative and fits a long; None for anything else."""
    if text is not None and re.match(r"[0-9]{1,18}\Z", text.strip()):
        return int(text)
    return None


def values(text):
    """Lines of a name and a number."""
    found = {}
    for line in (text or "").splitlines():
        words = line.split()
        if len(words) == 2 and number(words[1]) is not None:
            found[words[0]] = int(words[1])
    return found


def list_size(text):
    """How many are in a list such as 0-3,8; None if it is none."""
    total = 0
    for part in (text or "").strip().split(","):
        first, _, last = part.partition("-")
        first, last = number(first), number(last or first)
        if first is None or last is None or last < first:
            return None
        total += last - first + 1
    return total


# --- what there is -----------------------------------------------------------------

def release(host):
    """The kernel's name, and its version as two numbers or None."""
    name = (host.text("/proc/sys/kernel/osrelease") or "").strip()
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", name)
    return name or "unknown", tuple(map(int, match.groups())) if match else None


def mounts(text):
    """Of each line of mountinfo: device, place, type, the super block's options, and
    whether it is all of the file system."""
    for line in (text or "").splitlines():
        words = line.split()
        try:
            dash = words.index("-", 6)
            major, minor = (number(part) for part in words[2].split(":"))
            if major is not None and minor is not None:
                yield ((major, minor), unescaped(words[4]), words[dash + 1],
                       words[dash + 3].split(","), words[3] == "/")
        except (ValueError, IndexError):
            continue


def unescaped(place):
    """mountinfo writes blanks as \\040, and so on."""
    return re.sub(r"\\(040|011|012|134)", lambda match: chr(int(match.group(1), 8)), place)


def controllers(host):
    """The lines of /proc/cgroups: name, hierarchy, number of cgroups, enabled."""
    found = {}
    for line in (host.text("/proc/cgroups", True) or "").splitlines():
        words = line.split()
        if len(words) == 4 and None not in map(number, words[1:]):
            found[words[0]] = tuple(map(int, words[1:]))
    return found


class Tree:
    """The cgroups below a mount."""

    def __init__(self, host, mount, is_v2):
        self.host = host
        self.mount = mount
        self.is_v2 = is_v2
        self.live = self.unreadable = 0
        self._walk()

    @property
    def kind(self):
        return "v2" if self.is_v2 else "v1"

    def is_whole(self):
        """Only the root of all has or lacks these files; that of a container is a
        cgroup like others."""
        if self.is_v2:
            return not self.host.exists(self.mount + "/cgroup.type")
        return self.host.exists(self.mount + "/release_agent")

    def _has_memory(self, folder):
        """In v2 the controller of I/O brings that of memory, which then is not shown."""
        if not self.is_v2 or folder == self.mount:
            return True
        text = self.host.text(folder + "/cgroup.controllers")
        return bool({"memory", "io"} & set((text or "").split()))

    def _walk(self):
        todo = [self.mount]
        while todo:
            folder = todo.pop()
            try:
                with os.scandir(self.host.path(folder)) as entries:
                    below = [folder + "/" + entry.name for entry in entries
                             if entry.is_dir(follow_symlinks=False)]
            except (OSError, ValueError) as error:
                # Cgroups go away meanwhile.
                self.unreadable += not isinstance(error, FileNotFoundError)
                continue
            self.live += self._has_memory(folder)
            todo += below


def find_tree(host, own, known):
    """The hierarchy that has the memory controller."""
    # A container's part may be mounted elsewhere, too.
    own = sorted(own, key=lambda mount: not mount[-1])
    for _, place, kind, options, _ in own:
        if kind == "cgroup" and "memory" in options:
            return Tree(host, place, False)
    if known.get("memory", (0,))[0]:
        raise Failed("the memory controller is in a cgroup v1 hierarchy that is mounted "
                     "nowhere: mount -t cgroup -o memory none SOME_FOLDER")
    for _, place, kind, _, _ in own:
        if kind == "cgroup2":
            text = host.text(place + "/cgroup.controllers", True)
            if text is not None and "memory" not in text.split():
                continue
            return Tree(host, place, True)
    raise Failed("no cgroup hierarchy with the memory controller is mounted, or this "
                 "is a container without it: run this on the host")


def count_cgroups(tree, known):
    """Live memory cgroups, and all that have maps: dying ones keep them."""
    live = Range(tree.live, tree.live, COUNTED,
                 f"folders below {tree.mount} ({tree.kind})")
    stat = values(tree.host.text(tree.mount + "/cgroup.stat"))
    if tree.is_v2 and tree.is_whole() and "nr_subsys_memory" in stat:
        now = stat["nr_subsys_memory"]
        live = Range(now, now, READ, "nr_subsys_memory of cgroup.stat")
        everyone = now + stat.get("nr_dying_subsys_memory", 0)
        return live, Range(everyone, everyone, READ,
                           "the same, and nr_dying_subsys_memory")
    if not tree.is_whole():
        live.how = GUESSED
        return live, Range(live.low, live.low, GUESSED, "live ones of this part alone")
    everyone = known.get("memory", (0, 0))[1]
    if everyone >= live.low and not tree.is_v2:
        return live, Range(everyone, everyone, READ, "/proc/cgroups, with dying ones")
    # Of v2 it counts the cgroups without the controller, too.
    dying = stat.get("nr_dying_descendants", 0)
    most = max(everyone, live.low + dying)
    return live, Range(live.low, most, COUNTED,
                       "live ones, up to /proc/cgroups or with all that are dying")


def count_nodes(host):
    """Possible nodes, and those with memory."""
    folder = "/sys/devices/system/node/"
    possible = list_size(host.text(folder + "possible"))
    if possible is None or not 0 < possible <= MOST_NODES:
        if host.exists("/sys/devices/system") and not host.exists(folder):
            return (Range(1, 1, READ, "no NUMA"),) * 2
        return (Range(1, 1, GUESSED, folder + "possible says nothing"),) * 2
    with_memory = list_size(host.text(folder + "has_memory"))
    nodes = Range(possible, possible, READ, folder + "possible")
    if with_memory is None or not 0 < with_memory <= possible:
        return nodes, Range(1, possible, GUESSED, "has_memory says nothing")
    return nodes, Range(with_memory, with_memory, READ, folder + "has_memory")


class SuperBlocks:
    """Devices of file systems that are mounted in the namespaces that are seen."""

    def __init__(self, host):
        self.devices = {}
        # Those that can be told apart, which takes root.
        self.namespaces = 1
        self.unreadable = 0
        self._add(host.text("/proc/self/mountinfo"))
        seen = {host.link("/proc/self/ns/mnt")}
        for pid in host.names("/proc") or ():
            if number(pid) is None:
                continue
            namespace = host.link(f"/proc/{pid}/ns/mnt")
            if namespace is not None and namespace in seen:
                continue
            text = host.text(f"/proc/{pid}/mountinfo")
            if text is None:
                # Kernels let everybody read it; it may be gone meanwhile.
                self.unreadable += host.exists(f"/proc/{pid}/ns")
            elif namespace is not None:
                seen.add(namespace)
                self.namespaces += 1
            self._add(text)

    def _add(self, text):
        for device, _, kind, _, _ in mounts(text):
            self.devices[device] = kind

    def without_device(self):
        """The largest number of a super block without a device, which get the lowest
        free one: there were so many at a time. Subvolumes and layers take some, too."""
        return max((minor for major, minor in self.devices if not major), default=0)


# Names of shrinkers with an id, without the number that debugfs adds.
AWARE = re.compile(r"(sb-|mm-shadow|mm-zswap|thp-deferred_split|nfs-xattr_)")


def ids_by_debugfs(host):
    """debugfs numbers all shrinkers, not only those with an id, in the same way."""
    names = host.names("/sys/kernel/debug/shrinker")
    if not names:
        return None
    aware = [name for name in names if AWARE.match(name)]
    last = max((number(name.rpartition("-")[2]) or 0 for name in names), default=0)
    others = len(names) - len(aware)
    if not aware or last > MOST_IDS:
        return None
    # Those with the highest number came when all lower ones were taken.
    return Range(len(aware), last + 1 - others, READ,
                 "names in debugfs; at most, by the highest number there")


def ids_by_mounts(supers):
    """From what is mounted, and what usually is mounted nowhere."""
    seen = len(supers.devices)
    with_device = sum(1 for major, _ in supers.devices if major)
    # The kernel's own have the lowest numbers, so the largest one has them in it.
    numbered = supers.without_device()
    high = max(numbered + with_device, seen + HIDDEN[0 if numbered else 1])
    return Range(seen + SHRINKERS[0], min(high, MOST_IDS) + SHRINKERS[1],
                 COUNTED if numbered else GUESSED,
                 f"{seen} super blocks seen, and others; at most, by the largest device number")


# --- /proc/slabinfo ----------------------------------------------------------------

def slab_caches(host):
    """Objects and bytes of each cache; None where that can't be read."""
    text = host.text("/proc/slabinfo", True)
    if text is None:
        return None
    caches = {}
    for line in text.splitlines():
        words = line.split()
        sizes = [number(word) for word in words[1:4]]
        if len(sizes) == 3 and None not in sizes and not line.startswith("#"):
            caches[words[0]] = {"active": sizes[0], "objects": sizes[1], "size": sizes[2],
                                "bytes": sizes[1] * sizes[2]}
    return caches


def is_c_unit_cache(name):
    """With RANDOM_KMALLOC_CACHES there are several. C does not charge them, so that
    they are never in kmalloc-cg-1k."""
    return re.match(r"kmalloc-(rnd-[0-9]+-)?1k\Z|kmalloc-1024\Z", name) is not None


def c_units_limit(caches):
    """There are no more units than objects of their size."""
    return sum(cache["active"] for name, cache in (caches or {}).items()
               if is_c_unit_cache(name))


def limit_by_slabs(ids, caches, cgroups, nodes):
    """None if there are too few."""
    objects = c_units_limit(caches)
    pairs = cgroups.low * nodes.low
    if not objects or not pairs:
        return ids
    most = objects // pairs * IDS_PER_UNIT
    if most < ids.low:
        return None
    if most < ids.high:
        return Range(ids.low, most, ids.how, ids.source + "; and by kmalloc-1k")
    return ids


# --- what it costs -----------------------------------------------------------------

def kmalloc_size(size):
    """What an allocation of that many bytes takes: the next class, or whole pages."""
    if size <= 192:
        return next(top for top in (8, 16, 32, 64, 96, 128, 192) if size <= top)
    return 1 << (size - 1).bit_length()


def units_of(ids):
    return -(-ids // IDS_PER_UNIT)


def layout_of(version):
    """How this kernel keeps its maps."""
    if version is None or version >= (6, 7):
        return "units"
    if version >= (5, 13):
        return "blocks"
    return "bits" if version >= (4, 19) else "none"


def c_map_bytes(layout, ids):
    """What one memory cgroup has on one node."""
    units = units_of(ids)
    if layout == "units":
        return units * kmalloc_size(C_UNIT) + kmalloc_size(C_INFO + units * POINTER)
    if layout == "blocks":
        return kmalloc_size(2 * C_INFO + units * C_UNIT)
    return kmalloc_size(C_INFO + units * POINTER) if layout == "bits" else 0


def formula_bytes(ids, cgroups, nodes):
    return units_of(ids) * (kmalloc_size(C_UNIT) + POINTER) * cgroups * nodes


def rust_own_bytes(ids, nodes, nodes_with_memory):
    """What there is without any cgroup but the root."""
    units = units_of(ids) * nodes_with_memory
    return int(units * (RUST_UNIT + RUST_PLACE) + ids * RUST_ID + nodes * RUST_BITMAP)


def rust_group_bytes(units):
    """Of a cgroup that has so many."""
    # 15 fit into 8 KiB.
    return units * -(-8192 // 15) + kmalloc_size(RUST_TABLE) + \
        kmalloc_size(units * RUST_PLACE)


def in_bytes(value):
    """As people read it."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


# --- all together ------------------------------------------------------------------

def find_implementation(host):
    """Whether this kernel has mm_reclaim, and its totals if it counts events."""
    events = values(host.text(EVENTS))
    there = {name: max(events[alloc] - events[free], 0) for name, alloc, free in PAIRS
             if {alloc, free} <= events.keys()}
    if len(there) == len(PAIRS):
        return "rust", {"ids": there["ids"],
                        "bytes": there["units"] * RUST_UNIT + there["table_bytes"]}
    if host.exists("/sys/kernel/mm/mm_reclaim"):
        return "rust", {}
    return ("c" if host.exists("/sys/kernel/mm") else "unknown"), {}


def find_ids(host, implementation, stats, counts, caches, notes):
    """Shrinker ids: the map of C has room for the highest that ever was."""
    if "ids" in stats:
        return Range(stats["ids"], stats["ids"], READ, EVENTS)
    ids = ids_by_debugfs(host) or ids_by_mounts(counts["super_blocks"])
    if implementation != "c" or caches is None or counts["layout"] != "units":
        return ids
    limited = limit_by_slabs(ids, caches, counts["cgroups"], counts["nodes"])
    if limited is None:
        notes.append("kmalloc-1k has fewer objects than maps of that many ids need: this "
                     "kernel keeps its maps in another way, or most of what was counted "
                     "has no map")
        ids.how = GUESSED
        return ids
    return limited


def collect(host):
    """All that is known of a host."""
    if not host.names("/proc"):
        raise Failed("/proc is not mounted" if host.root == "/" else
                     f"{host.root} has no folder proc")
    name, version = release(host)
    known = controllers(host)
    result = {"version": 1, "kernel": name, "notes": []}
    notes = result["notes"]
    if known.get("memory", (0, 0, 1))[2] == 0:
        result["disabled"] = True
        return result

    own = list(mounts(host.text("/proc/self/mountinfo", True)))
    if not own:
        raise Failed("/proc/self/mountinfo cannot be read, or is empty")
    tree = find_tree(host, own, known)
    if not tree.is_whole():
        notes.append(f"{tree.mount} is a part of the cgroups of the host, which has more: "
                     "run this on the host")
    if tree.unreadable:
        notes.append(f"{tree.unreadable} folders of cgroups cannot be read")
    implementation, stats = find_implementation(host)
    caches = slab_caches(host)
    live, cgroups = count_cgroups(tree, known)
    nodes, with_memory = count_nodes(host)
    supers = SuperBlocks(host)
    layout = layout_of(version)
    ids = find_ids(host, implementation, stats,
                   {"super_blocks": supers, "cgroups": cgroups, "nodes": nodes,
                    "layout": layout}, caches, notes)
    add_notes(host, version, implementation, layout, supers, caches, notes)
    result.update(
        implementation=implementation, layout=layout, cgroup=tree.kind,
        live_cgroups=live, cgroups=cgroups, nodes=nodes, nodes_with_memory=with_memory,
        super_blocks=Range(len(supers.devices), len(supers.devices), COUNTED,
                           f"{supers.namespaces} or more mount namespaces"),
        ids=ids, stats=stats or None, slabs=slabs_of(caches))
    result.update(estimate(result))
    return result


def slabs_of(caches):
    """Those that units are in."""
    if caches is None:
        return None
    return {name: cache for name, cache in sorted(caches.items())
            if is_c_unit_cache(name) or name in ("kmalloc-cg-1k", "shrinker_unit")}


def add_notes(host, version, implementation, layout, supers, caches, notes):
    """What makes the estimate less sure."""
    if version is None:
        notes.append("the kernel's version is unknown: its maps are taken to be those of "
                     "6.7 and later")
    elif layout != "units":
        notes.append("the maps of kernels before 6.7 differ: those of 5.13 to 6.6 are one "
                     "block, older ones have bits only; distributions may have changed it")
    if implementation == "unknown":
        notes.append("there is no /sys/kernel/mm: taken to be a kernel without mm_reclaim")
    if supers.unreadable:
        notes.append(f"the mounts of {supers.unreadable} processes cannot be read: run this "
                     "as root")
    if host.text("/proc/2/comm") not in ("kthreadd\n", "kthreadd"):
        notes.append("only processes of a PID namespace are seen, and so not the mounts "
                     "of all containers")
    if "cgroup.memory=nokmem" in (host.text("/proc/cmdline") or ""):
        notes.append("cgroup.memory=nokmem: nearly no shrinker has an id, and maps take "
                     "little")
    if caches is None:
        notes.append("/proc/slabinfo cannot be read: nothing limits the estimate from "
                     "above")
    notes += ["not read: " + what for what in host.unreadable]


def estimate(found):
    """Bytes: of C's maps, by the formula and as allocated; and of mm_reclaim."""
    ids, cgroups, live = found["ids"], found["cgroups"], found["live_cgroups"]
    nodes, memory = found["nodes"], found["nodes_with_memory"]
    formula = [formula_bytes(getattr(ids, end), getattr(cgroups, end),
                             getattr(nodes, end)) for end in ("low", "high")]
    c = [c_map_bytes(found["layout"], getattr(ids, end)) * getattr(cgroups, end) *
         getattr(nodes, end) for end in ("low", "high")]
    least = rust_own_bytes(ids.low, nodes.low, memory.low)
    own = rust_own_bytes(ids.high, nodes.high, memory.high)
    others = max(live.high - 1, 0)
    units = units_of(ids.high) * memory.high
    most = own + others * rust_group_bytes(units)
    usual = own + others * rust_group_bytes(min(units, USUAL_UNITS))
    rust = Range(least, most, GUESSED, "no cgroup has had an object, or each has had one "
                                       "of every shrinker on every node")
    if found["stats"]:
        now = found["stats"]["bytes"]
        rust = Range(now, now, READ, EVENTS)
    # Maps keep the room for shrinkers that are gone, of which nothing else tells.
    limit = None
    if found["implementation"] == "c" and found["layout"] == "units" and found["slabs"]:
        units = c_units_limit(found["slabs"])
        limit = max(c[1], units * (kmalloc_size(C_UNIT) + POINTER))
    worst = max((cgroups.how, ids.how, nodes.how),
                key=(READ, COUNTED, GUESSED).index)
    return {"formula_bytes": Range(*formula, worst, "units of 1032 B"),
            "c_bytes": Range(*c, worst, "as the allocator rounds"),
            "c_limit_bytes": limit, "mm_reclaim_bytes": rust,
            "mm_reclaim_usual_bytes": usual}


def show_range(both, show=str):
    low, high = show(both.low), show(both.high)
    return low if low == high else f"{low} to {high}"


def print_text(found):
    """For people."""
    if found.get("disabled"):
        print("Kernel {}: the memory controller is disabled, and there are no maps."
              .format(found["kernel"]))
        return
    is_ours = found["implementation"] == "rust"
    print("Kernel {}, {}, cgroup {}".format(
        found["kernel"], "with mm_reclaim" if is_ours else
        "maps in C" + ("" if found["implementation"] == "c" else " (it seems)"),
        found["cgroup"]))
    print()
    for key, title in (("live_cgroups", "live memory cgroups"),
                       ("cgroups", "memory cgroups with maps"),
                       ("super_blocks", "super blocks seen"),
                       ("ids", "shrinker ids"), ("nodes", "possible nodes"),
                       ("nodes_with_memory", "nodes with memory")):
        value = found[key]
        print(f"  {title:<26}{show_range(value):<18}{value.how:<9}{value.source}")
    for name, cache in (found["slabs"] or {}).items():
        print("  {:<26}{:<18}{:<9}{} objects of {} B".format(
            name, in_bytes(cache["bytes"]), READ, cache["objects"], cache["size"]))
    print()
    if found["layout"] == "units":
        print("  ceil(ids / 64) x 1032 B x memory cgroups x possible nodes = {}".format(
            show_range(found["formula_bytes"], in_bytes)))
    print("  {:<26}{}".format("C here would take" if is_ours else "C takes here",
                              show_range(found["c_bytes"], in_bytes)))
    if found["c_limit_bytes"] is not None:
        print("  {:<26}{}: with more mounts in the past, whose room stays".format(
            "  by kmalloc-1k at most", in_bytes(found["c_limit_bytes"])))
    print("  {:<26}{}".format("mm_reclaim takes" if found["stats"] else
                              "mm_reclaim would take" if not is_ours else
                              "mm_reclaim takes (estimate)",
                              show_range(found["mm_reclaim_bytes"], in_bytes)))
    if not found["stats"]:
        print("    at least: no cgroup has had an object; at most: each has had one of "
              "every\n    shrinker on every node")
        print(f"    usual:    {in_bytes(found['mm_reclaim_usual_bytes'])}, if each cgroup has "
              f"objects of shrinkers in {USUAL_UNITS} units")
    print()
    print("How sure: inputs are {}.".format({
        READ: "all read from the kernel",
        COUNTED: "counted: what is not seen is missing",
        GUESSED: "guessed in part, as marked"}[found["c_bytes"].how]))
    for note in found["notes"]:
        print("  - " + note)


def metrics(found):
    """Name, what it is, and samples: labels and a value each."""
    if found.get("disabled"):
        return
    own = found["mm_reclaim_bytes"]
    yield "shrinker_maps_bytes", "Memory of the shrinker maps of this host, as estimated", [
        *((f'implementation="c",bound="{end}"', getattr(found["c_bytes"], end))
          for end in ("low", "high")),
        *((f'implementation="mm_reclaim",bound="{end}"', getattr(own, end))
          for end in ("low", "high")),
        *([] if found["stats"] else [
            ('implementation="mm_reclaim",bound="usual"', found["mm_reclaim_usual_bytes"])])]
    for key, about in (("cgroups", "Memory cgroups with maps"), ("ids", "Shrinker ids"),
                       ("nodes", "Possible nodes")):
        yield f"shrinker_maps_{key}", about, [
            (f'bound="{end}"', getattr(found[key], end)) for end in ("low", "high")]


def print_prometheus(found):
    """For the textfile collector of node_exporter."""
    for name, about, samples in metrics(found):
        print(f"# HELP {name} {about}.")
        print(f"# TYPE {name} gauge")
        for labels, value in samples:
            print(f"{name}{{{labels}}} {value}")


def main():
    """Runs the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""Examples:
  shrinker_map_cost.py                        for people
  shrinker_map_cost.py --json --root COPY     of another host, from a copy of its files
  shrinker_map_cost.py --prometheus > shrinker_maps.prom.new &&
      mv shrinker_maps.prom.new /var/lib/node_exporter/shrinker_maps.prom""")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--prometheus", action="store_true",
                      help="print metrics, for the textfile collector of node_exporter")
    parser.add_argument("--root", metavar="DIR", default="/",
                        help="read from a copy of /proc and /sys in this folder")
    args = parser.parse_args()
    if not os.path.isdir(args.root):
        parser.error(f"{args.root} is no folder")
    try:
        found = collect(Host(args.root))
    except Failed as error:
        print(f"shrinker_map_cost: {error}", file=sys.stderr)
        return 1
    try:
        if args.json:
            json.dump(found, sys.stdout, indent=1, default=Range.json)
            print()
        elif args.prometheus:
            print_prometheus(found)
        else:
            print_text(found)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted. Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
