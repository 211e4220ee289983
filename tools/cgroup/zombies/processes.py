# SPDX-License-Identifier: GPL-2.0
"""Reads all processes once: their open files, their css_sets and their namespaces."""

import collections
import dataclasses

import drgn

# Files in a message that waits in a Unix socket are held by nobody else.
IN_FLIGHT = "in flight in a Unix socket"


@dataclasses.dataclass
class OpenFile:
    """A struct file of interest: what it is by its operations, and who has it open."""
    private_data: int
    inode: int
    holders: list


class Processes:
    """`kinds` has the names of struct file_operations whose files are looked at, and
    what they are called."""

    def __init__(self, kernel, kinds):
        self.kernel = kernel
        self.program = kernel.program
        # kind -> address of the struct file -> OpenFile
        self.files = {kind: {} for kind in kinds.values()}
        self.operations = {}
        for name, kind in kinds.items():
            address = kernel.address(name)
            if address:
                self.operations[address] = kind
        self.of_css_set = collections.defaultdict(list)
        self.of_namespace = collections.defaultdict(list)
        self.in_oom = collections.defaultdict(list)
        self.nsproxies = {}
        offset = kernel.offset
        self.f_op = offset("struct file", "f_op")
        self.f_private = offset("struct file", "private_data")
        self.f_inode = offset("struct file", "f_inode")
        self.has_oom = kernel.has_member("struct task_struct", "memcg_in_oom")
        self.tables = {}
        self.lost = 0
        self._walk()

    # ---- processes

    def _walk(self):
        init = self.kernel.variable("init_task")
        # The idle task of the first CPU is on no list, and is nobody's.
        for leader in self.kernel.entries(init.tasks.address_of_().value_(),
                                          "struct task_struct", "tasks"):
            try:
                self._visit_process(leader)
            except drgn.FaultError:
                # It ended meanwhile.
                self.lost += 1

    def _visit_process(self, leader):
        pid = leader.tgid.value_()
        for task in self.kernel.entries(leader.signal.thread_head.address_of_().value_(),
                                        "struct task_struct", "thread_node"):
            self._visit_thread(task, pid)

    def _visit_thread(self, task, pid):
        comm = task.comm.string_().decode("utf-8", "backslashreplace")
        self.of_css_set[task.cgroups.value_()].append((task, pid, comm))
        proxy = task.nsproxy.value_()
        if proxy:
            if proxy not in self.nsproxies:
                self.nsproxies[proxy] = task.nsproxy.cgroup_ns.value_()
            self.of_namespace[self.nsproxies[proxy]].append((pid, comm))
        if self.has_oom and task.memcg_in_oom:
            self.in_oom[task.memcg_in_oom.value_()].append((pid, comm))
        files = task.files.value_()
        # Threads share them.
        if files and files not in self.tables:
            self.tables[files] = pid
            self._visit_files(task.files.fdt, pid, comm)

    def _visit_files(self, table, pid, comm):
        count, array = table.max_fds.value_(), table.fd.value_()
        for fd, file in enumerate(self.kernel.words(array, count)):
            if file:
                self.visit(file, pid, comm, fd)

    # ---- files

    def visit(self, address, pid, comm, fd, what=""):
        try:
            kind = self.operations.get(self.kernel.u64(address + self.f_op))
            if not kind:
                return
            file = self.files[kind].setdefault(address, OpenFile(
                self.kernel.u64(address + self.f_private),
                self.kernel.u64(address + self.f_inode), []))
        except drgn.FaultError:
            self.lost += 1
            return
        file.holders.append((pid, comm, fd, what))
