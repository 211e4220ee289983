# SPDX-License-Identifier: GPL-2.0
"""Finds the memory cgroups that were removed and not freed."""

from . import found
from .kernel import DEAD, NO_MEMCG, Failed

# enum of include/linux/cgroup-defs.h.
CSS_ONLINE = 1 << 1
CSS_RELEASED = 1 << 2
CSS_DYING = 1 << 4
# Of a work_struct.
PENDING = 1
# Of CONFIG_MEMCG_SHRINKER_RUST: which statistics of a group are still its own, in the
# order of enum memcg_stats_state; and when it is being drained, which takes a reference.
STATS_STATES = ("active", "draining", "flushed", "freed")
DRAINED = STATS_STATES[1:3]
POPULATED, KILLED, OFFLINE = "populated", "killed", "offline"


def check_enabled(kernel):
    """The root is there in any case."""
    key = kernel.variable("memory_cgrp_subsys_enabled_key")
    if key is not None and key.key.enabled.counter.value_() <= 0:
        raise Failed("memory cgroups are disabled (cgroup_disable=memory)", NO_MEMCG)


class Walk:
    """All memcgs, those that were removed as found.Group and as the kernel has them."""

    def __init__(self, kernel):
        self.kernel = kernel
        # A list has a removed one until its last reference is gone.
        self.sibling = kernel.offset("struct cgroup_subsys_state", "sibling")
        self.css = kernel.offset("struct mem_cgroup", "css")
        self.paths = {}
        self.live_paths = set()
        # By the address of the memcg.
        self.dying = {}
        self.objects = {}
        self.parent = "__parent" if kernel.has_member("struct kernfs_node", "__parent") \
            else "parent"
        self.has_state = kernel.has_member("struct mem_cgroup", "dying")
        self.root = kernel.variable("root_mem_cgroup").css
        self._walk()
        for group in self.dying.values():
            group.path_in_use = not group.cgroup_lives and group.path in self.live_paths

    def _walk(self):
        todo = [self.root.address_of_().value_()]
        seen = set(todo)
        head = self.kernel.offset("struct cgroup_subsys_state", "children")
        while todo:
            for address in self.kernel.addresses(todo.pop() + head, self.sibling):
                if address not in seen:
                    seen.add(address)
                    todo.append(address)
                    self._visit(address)

    def _visit(self, address):
        css = self.kernel.at("struct cgroup_subsys_state", address)
        flags = css.flags.value_()
        if flags & CSS_RELEASED:
            return
        if not flags & CSS_DYING:
            self.live_paths.add(self.path(css.cgroup.kn.value_()))
            return
        address -= self.css
        memcg = self.kernel.at("struct mem_cgroup", address)
        self.objects[address] = memcg
        self.dying[address] = self._group(address, memcg, flags)

    def _group(self, address, memcg, flags):
        css, cgroup = memcg.css, memcg.css.cgroup
        node = cgroup.kn.value_()
        killed = bool(css.refcnt.percpu_count_ptr.value_() & DEAD)
        stage = POPULATED if not killed else KILLED if flags & CSS_ONLINE else OFFLINE
        group = found.Group(
            address, self.path(node), False,
            bool(cgroup.self.flags.value_() & CSS_ONLINE), cgroup.kn.id.value_(),
            css.id.value_(), memcg.id.id.value_(), cgroup.level.value_(),
            css.serial_nr.value_(), stage, self.kernel.references(css.refcnt),
            self._own_references(memcg, stage))
        group.stats_state = self._state(memcg)
        return group

    def _own_references(self, memcg, stage):
        """The first one, which the removal drops; one that the removal takes until the
        group is offline; one of the online group's private id; one of the work that
        continues a removal when the last process is gone; and one while statistics are
        drained."""
        pending = self._is_pending(memcg.css)
        if stage == OFFLINE:
            return pending + (self._state(memcg) in DRAINED)
        return 2 + pending

    def _is_pending(self, css):
        if not self.kernel.has_member("struct cgroup_subsys_state", "kill_finish_work"):
            return 0
        return css.kill_finish_work.data.counter.value_() & PENDING

    def _state(self, memcg):
        """None on stock."""
        if not self.has_state:
            return None
        number = memcg.dying.state.value_()
        return STATS_STATES[number] if number < len(STATS_STATES) else str(number)

    def path(self, node):
        """Of a kernfs node, which keeps its name and its parents while it is there."""
        if not node:
            return "?"
        if node not in self.paths:
            kn = self.kernel.at("struct kernfs_node", node)
            parent = getattr(kn, self.parent).value_()
            if not parent:
                self.paths[node] = "/"
            else:
                name = self.kernel.string(kn.name.value_())
                self.paths[node] = f"{self.path(parent).rstrip('/')}/{name}"
        return self.paths[node]

    def hierarchy(self):
        """Where the controller is."""
        default = self.kernel.address("cgrp_dfl_root")
        return "v2" if self.root.cgroup.root.value_() == default else "v1"

    def counted(self):
        """The removed ones by the kernel's own count; -1 if it has none."""
        if not self.kernel.has_member("struct cgroup", "nr_dying_subsys"):
            return -1
        return self.root.cgroup.nr_dying_subsys[self.subsystem()].value_()

    def subsystem(self):
        return self.root.ss.id.value_()
