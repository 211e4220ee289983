# SPDX-License-Identifier: GPL-2.0
"""Finds cgroup namespaces, each of which holds the css_set in which it was made, and who
holds them: processes, open files and mounts. What else does is not looked for: files of
cgroups that were opened in one, and mounts of cgroups that are being prepared."""

import collections

from .found import Holder

NS_TREE = "cgroup_ns_tree"


class Namespaces:
    """By the address of the css_set: (address of the namespace, number, holders)."""

    def __init__(self, kernel, processes):
        self.kernel = kernel
        self.processes = processes
        self.common = kernel.offset("struct cgroup_namespace", "ns")
        self.of_css_set = collections.defaultdict(list)
        self.pins = collections.defaultdict(list)
        self._read_files()
        self._read_mounts()
        for address in sorted(self._all()):
            namespace = kernel.at("struct cgroup_namespace", address)
            self.of_css_set[namespace.root_cset.value_()].append(
                (address, namespace.ns.inum.value_(), self._holders(address)))

    def _all(self):
        """The kernel has a list of them; else those that somebody is known to hold."""
        found = {address for address in self.processes.nsproxies.values() if address}
        tree = self.kernel.variable(NS_TREE)
        if tree is not None and self.kernel.has_type("struct ns_tree_node"):
            # The entry is deep inside; its place is that within ns_common.
            name = "struct cgroup_namespace"
            inside = self.kernel.offset(name, "ns.ns_tree_node.ns_list_entry") \
                if self.kernel.has_member(name, "ns.ns_tree_node.ns_list_entry") else None
            if inside is not None:
                head = tree.ns_list_head.address_of_().value_()
                found.update(self.kernel.addresses(head, inside))
        found.update(self.pins)
        return found

    def _holders(self, address):
        seen, holders = set(), []
        for pid, comm in self.processes.of_namespace.get(address, ()):
            if pid not in seen:
                seen.add(pid)
                holders.append(Holder("is in it", pid, comm))
        return holders + self.pins.get(address, [])

    def _pinned(self, inode, holder):
        """If the inode of nsfs is one of a cgroup namespace."""
        common = inode.i_private
        if not common:
            return
        common = self.kernel.at("struct ns_common", common.value_())
        if common.ops.value_() == self.kernel.address("cgroupns_operations"):
            self.pins[common.address_of_().value_() - self.common].append(holder)

    def _read_files(self):
        for file in self.processes.files["nsfs"].values():
            for pid, comm, fd, what in file.holders:
                self._pinned(self.kernel.at("struct inode", file.inode),
                             Holder(what or "open", pid, comm, fd))

    def _read_mounts(self):
        nsfs = self.kernel.variable("nsfs_mnt")
        if not nsfs:
            return
        mount = nsfs.mnt_sb.s_mounts
        own = nsfs.value_()
        seen = set()
        while mount and mount.value_() not in seen:
            seen.add(mount.value_())
            inode = mount.mnt.mnt_root.d_inode
            if mount.mnt.address_of_().value_() != own and inode:
                self._pinned(inode, Holder(f"bind mount at {self._place(mount)}"))
            mount = mount.mnt_next_for_sb

    def _place(self, mount):
        names, seen = [], set()
        while mount.mnt_parent.value_() != mount.value_() and mount.value_() not in seen:
            seen.add(mount.value_())
            entry = mount.mnt_mountpoint
            while entry.d_parent.value_() != entry.value_():
                names.append(self.kernel.string(entry.d_name.name.value_()))
                entry = entry.d_parent
            mount = mount.mnt_parent
        return "/" + "/".join(reversed(names))
