# SPDX-License-Identifier: GPL-2.0
"""Finds who holds references of removed memory cgroups.

FINDERS has all that take a reference of the css of a memcg and keep it on Linux 7.3. What
doesn't: page cache, slab objects, obj_cgroups, list_lrus and swap cache, which move to
the parent; SGX, BPF maps and programs, zswap entries and bios, which have obj_cgroups or
the css of another controller; files of a cgroup that are open, which hold the cgroup and
not its memcg. What looks a memcg up and lets it go soon (reclaim, a charge, loop, DAMON)
is not on any list, and shows as unexplained if it is met.
"""

import collections

import drgn

from . import found
from .found import Hold, Holder
from .namespaces import Namespaces
from .processes import Processes
from .sockets import Sockets, described

FILES = {"inotify_fops": found.INOTIFY, "fanotify_fops": found.FANOTIFY,
         "socket_file_ops": "socket", "ns_file_operations": "nsfs"}
CLUSTER = 512
# Names of dirty inodes that are shown.
SHOWN_INODES = 3
EXIT_STATES = {16: "about to end", 32: "zombie", 48: "zombie"}


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


class Context:
    """What the finders share."""

    def __init__(self, kernel, walk):
        self.kernel = kernel
        self.walk = walk
        self.dying = walk.dying
        self.objects = walk.objects
        self.processes = Processes(kernel, FILES)
        self.sockets = Sockets(kernel, self.processes)
        # After that: sockets may have files of namespaces in flight.
        self.namespaces = Namespaces(kernel, self.processes)

    def add(self, address, *hold):
        self.dying[address].holds.append(Hold(*hold))

    def memcg_of_css(self, address):
        return address - self.walk.css


# ---- held by other groups

def find_children(context):
    count = collections.Counter(
        memcg.css.parent.value_() - context.walk.css for memcg in context.objects.values())
    for address, number in count.items():
        if address in context.dying:
            context.add(address, found.CHILD, number, plural(number, "removed child")
                        if number == 1 else f"{number} removed children")


# ---- swap

def swap_entries(kernel):
    """How many entries of each swap device belong to a private id: {id: {device: n}}."""
    entries = collections.defaultdict(collections.Counter)
    table = kernel.variable("swap_info")
    if table is None or not kernel.has_member("struct swap_cluster_info", "memcg_table"):
        return entries
    size = kernel.size("struct swap_cluster_info")
    offset = kernel.offset("struct swap_cluster_info", "memcg_table")
    for number in range(table.type_.length):
        info = table[number]
        if not info or not info.cluster_info:
            continue
        clusters = -(-info.max.value_() // CLUSTER)
        name = kernel.string(info.swap_file.f_path.dentry.d_name.name.value_()) \
            if info.swap_file else f"swap {number}"
        first = info.cluster_info.value_()
        data = kernel.program.read(first, clusters * size)
        for at in range(offset, len(data), size):
            ids = int.from_bytes(data[at:at + 8], "little")
            if ids:
                found_ids = memoryview(kernel.program.read(ids, 2 * CLUSTER)).cast("H")
                for private_id, count in collections.Counter(found_ids).items():
                    if private_id:
                        entries[private_id][name] += count
    return entries


def find_swap(context):
    """A private id that is in use holds the group, by a reference for all entries."""
    entries = None
    for address, group in context.dying.items():
        uses = context.objects[address].id.ref.refs.counter.value_()
        # The group has one as long as it is online.
        uses -= group.stage != "offline"
        if uses <= 0:
            continue
        if entries is None:
            entries = swap_entries(context.kernel)
        own = entries.get(group.private_id, {})
        rest = uses - sum(own.values())
        holders = [Holder(f"{plural(count, 'page')} on {device}")
                   for device, count in sorted(own.items())]
        if rest > 0:
            holders.append(Holder(f"{plural(rest, 'page')} not found on any device"))
        # While it is online that reference is the kernel's own.
        context.add(address, found.SWAP, int(group.stage == "offline"),
                    plural(uses, "swapped-out page"), holders)


# ---- files of processes

def process_holders(holders, nobody):
    return [Holder(what, pid, comm, fd) for pid, comm, fd, what in holders] or [Holder(nobody)]


def find_notify(context):
    kernel = context.kernel
    if not kernel.has_member("struct fsnotify_group", "memcg"):
        return
    memcg = kernel.offset("struct fsnotify_group", "memcg")
    for kind in (found.INOTIFY, found.FANOTIFY):
        groups = collections.defaultdict(list)
        for file in context.processes.files[kind].values():
            groups[file.private_data] += file.holders
        for group, holders in groups.items():
            address = kernel.u64(group + memcg)
            if address in context.dying:
                context.add(address, kind, 1, f"{kind} group",
                            process_holders(holders, "nobody that is known"))


def find_sockets(context):
    for address, sock, holders in context.sockets.of_memcgs(context.dying):
        context.add(address, found.SOCKET, 1, described(sock), process_holders(
            holders, "no process: closed, or not yet received"))


# ---- css_sets

def css_sets(context, address):
    """Of those that are linked to the cgroup, the ones that have this memcg."""
    css = context.objects[address].css
    subsystem = context.walk.subsystem()
    head = css.cgroup.e_csets[subsystem].address_of_().value_()
    kernel = context.kernel
    offset = kernel.offset("struct css_set", "e_cset_node") + 16 * subsystem
    for entry in kernel.addresses(head, offset):
        css_set = kernel.at("struct css_set", entry)
        if css_set.subsys[subsystem].value_() == css.address_of_().value_():
            yield entry, css_set


def task_holder(task, pid, comm):
    state = EXIT_STATES.get(task.exit_state.value_(), "in it")
    if state == "zombie":
        parent = task.real_parent
        name = parent.comm.string_().decode("utf-8", "backslashreplace")
        state = f"zombie, to be reaped by {name}[{parent.tgid.value_()}]"
    return Holder(state, pid, comm)


def find_css_sets(context):
    for address in context.dying:
        for entry, css_set in css_sets(context, address):
            add_css_set(context, address, entry, css_set)


def add_css_set(context, address, entry, css_set):
    """One reference, of the first of those who hold the css_set."""
    tasks = context.processes.of_css_set.get(entry, ())
    namespaces = context.namespaces.of_css_set.get(entry, ())
    count = css_set.refcount.refs.counter.value_()
    reference = 1
    if tasks:
        context.add(address, found.TASK, reference, plural(len(tasks), "process")
                    if len(tasks) == 1 else f"{len(tasks)} processes",
                    [task_holder(*task) for task in tasks])
        reference = 0
    for _, number, holders in namespaces:
        context.add(address, found.NAMESPACE, reference, f"cgroup:[{number}]",
                    holders or [Holder("nobody that is known")])
        reference = 0
    rest = count - len(tasks) - len(namespaces)
    if rest > 0:
        context.add(address, found.CSS_SET, reference,
                    f"{plural(rest, 'reference')} of a css_set",
                    [Holder("nobody that is known")])


# ---- structures of the kernel

def writebacks(kernel):
    """Each bdi_writeback, by its address. Those whose memcg was removed have a list of their
    own, but each removal takes them off it for a while, to see which ones can go. Only those
    of a device that is gone are there alone."""
    bdis = kernel.entries(kernel.address("bdi_list"), "struct backing_dev_info", "bdi_list")
    lists = [(kernel.address("offline_cgwbs"), "offline_node"),
             *((bdi.wb_list.address_of_().value_(), "bdi_node") for bdi in bdis)]
    return {wb.address_of_().value_(): wb for head, member in lists
            for wb in kernel.entries(head, "struct bdi_writeback", member)}


def find_writeback(context):
    kernel = context.kernel
    if not kernel.has_member("struct bdi_writeback", "memcg_css"):
        return
    for wb in writebacks(kernel).values():
        address = context.memcg_of_css(wb.memcg_css.value_())
        if address in context.dying:
            context.add(address, found.WRITEBACK, 1, f"writeback to {device(wb)}",
                        inodes(kernel, wb))


def device(wb):
    bdi = wb.bdi
    try:
        return bdi.dev_name.string_().decode("utf-8", "backslashreplace")
    except drgn.FaultError:
        return "a device"


def inodes(kernel, wb):
    """The inodes that hold it: the dirty ones, and how many others."""
    holders, others = [], 0
    for name in ("b_dirty", "b_io", "b_more_io", "b_dirty_time", "b_attached"):
        for inode in kernel.entries(getattr(wb, name).address_of_().value_(),
                                    "struct inode", "i_io_list"):
            if len(holders) < SHOWN_INODES and name != "b_attached":
                holders.append(Holder(f"dirty inode {inode.i_ino.value_()}"))
            else:
                others += 1
    if others:
        holders.append(Holder(f"{plural(others, 'inode')}{' more' if holders else ''}"))
    return holders or [Holder("no inode")]


def find_stock(context):
    stock = context.kernel.variable("memcg_stock")
    if stock is None:
        return
    for cpu, address in context.kernel.on_cpus(stock.address_):
        own = drgn.Object(context.kernel.program, stock.type_, address=address)
        for number in range(own.cached.type_.length):
            memcg = own.cached[number].value_()
            if memcg in context.dying:
                pages = own.nr_pages[number].value_()
                context.add(memcg, found.STOCK, 1, f"{plural(pages, 'page')} charged ahead",
                            [Holder(f"CPU {cpu}")])


def find_mms(context):
    kernel = context.kernel
    if not kernel.has_member("struct mem_cgroup", "mm_list"):
        return
    offset = kernel.offset("struct mm_struct", "lru_gen.list")
    for address, memcg in context.objects.items():
        for entry in kernel.addresses(memcg.mm_list.fifo.address_of_().value_(), offset):
            mm = kernel.at("struct mm_struct", entry)
            context.add(address, found.MM, 1, "address space", mm_owner(mm))


def mm_owner(mm):
    owner = mm.owner
    if not owner:
        return [Holder("its process is gone")]
    return [Holder("owns it", owner.tgid.value_(),
                   owner.comm.string_().decode("utf-8", "backslashreplace"))]


def find_v1(context):
    """What only cgroup v1 has."""
    kernel = context.kernel
    for address, processes in context.processes.in_oom.items():
        if address in context.dying:
            for pid, comm in processes:
                context.add(address, found.OOM, 1, "waits for memory",
                            [Holder("waits", pid, comm)])
    if not kernel.has_member("struct mem_cgroup", "event_list"):
        return
    for address, memcg in context.objects.items():
        for _ in kernel.addresses(memcg.event_list.address_of_().value_()):
            context.add(address, found.EVENT, 1, "event_control", [Holder("an eventfd")])


def find_zswap(context):
    cursor = context.kernel.variable("zswap_next_shrink")
    if cursor is not None and cursor.value_() in context.dying:
        context.add(cursor.value_(), found.ZSWAP, 1, "cursor of the shrinker")


FINDERS = (find_children, find_swap, find_notify, find_sockets, find_css_sets,
           find_writeback, find_stock, find_mms, find_v1, find_zswap)


def explain(kernel, walk):
    """Adds to each group what holds it. What can't be read is noted, and the others are
    found all the same."""
    context = Context(kernel, walk)
    for finder in FINDERS:
        try:
            finder(context)
        except (drgn.FaultError, LookupError, AttributeError) as error:
            kernel.notes.append(f"{finder.__name__} could not read all: {error}")
    if context.processes.lost:
        kernel.notes.append(f"{plural(context.processes.lost, 'process')} or files went "
                            "away while they were read")
