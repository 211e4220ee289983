# SPDX-License-Identifier: GPL-2.0
"""The bytes that a removed memory cgroup holds, by what they are.

Sizes are those of this kernel's types, as its allocators round them. Per-CPU memory is
there for each possible CPU. Not counted: what an allocation charged for itself (a pointer
for each 4 bytes of per-CPU memory that is charged, which belongs to its chunk).
"""

# Of the per-CPU allocator.
PER_CPU_UNIT = 4
PAGE = 4096
ODD_SIZES = (96, 192)
# A struct percpu_ref counts in these until it is killed.
COUNTER = 8


def slab_size(size):
    """Of the kmalloc cache that an object of this size is in; whole pages beyond."""
    if size > 2 * PAGE:
        return -(-size // PAGE) * PAGE
    power = max(8, 1 << (size - 1).bit_length())
    return min((odd for odd in ODD_SIZES if size <= odd < power), default=power)


class Sizes:
    """Of one kernel: what each group is made of."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.memcg = self._cache("memcg_cachep", "struct mem_cgroup")
        self.node = self._cache("memcg_pn_cachep", "struct mem_cgroup_per_node")
        self.kernfs = self._cache("kernfs_node_cache", "struct kernfs_node")
        self.has_info = kernel.has_member("struct mem_cgroup_per_node", "shrinker_info")
        self.has_writeback = kernel.has_member("struct mem_cgroup", "cgwb_domain")
        self.has_psi = kernel.has_member("struct psi_group", "pcpu")
        # Of CONFIG_MEMCG_SHRINKER_RUST: what those have that gave back their own.
        self.shared = {kernel.address("memcg_no_sums"), kernel.address("memcg_no_lruvec_sums")}

    def _cache(self, variable, type_name):
        """The size of the objects of a cache of its own."""
        cache = self.kernel.variable(variable)
        return cache.size.value_() if cache else slab_size(self.kernel.size(type_name))

    def measure(self, memcg, group):
        group.memory = {key: size for key, size in self._memory(memcg) if size}
        per_cpu = {}
        for key, pointer, size in self._per_cpu(memcg):
            if pointer:
                on_one = -(-size // PER_CPU_UNIT) * PER_CPU_UNIT
                per_cpu[key] = per_cpu.get(key, 0) + on_one * len(self.kernel.cpus)
        group.per_cpu = per_cpu

    def _nodes(self, memcg):
        for node in self.kernel.nodes:
            info = memcg.nodeinfo[node]
            if info:
                yield info

    def _of_type(self, name, pointer):
        if not pointer or pointer.value_() in self.shared:
            return 0
        return slab_size(self.kernel.size(name))

    def _memory(self, memcg):
        cgroup = memcg.css.cgroup
        nodes = list(self._nodes(memcg))
        yield "mem_cgroup", self.memcg
        yield "mem_cgroup_per_node", self.node * len(nodes)
        yield "memcg_vmstats", self._of_type("struct memcg_vmstats", memcg.vmstats)
        yield "lruvec_stats", sum(self._of_type("struct lruvec_stats", info.lruvec_stats)
                                  for info in nodes)
        yield "obj_cgroup", sum(
            self._of_type("struct obj_cgroup", info.orig_objcg)
            + self._of_type("struct percpu_ref_data", info.orig_objcg) for info in nodes)
        yield "shrinker_info", sum(map(self._shrinkers, nodes))
        yield "percpu_ref", 2 * slab_size(self.kernel.size("struct percpu_ref_data"))
        yield "cgroup", slab_size(self.kernel.size("struct cgroup")
                                  + 8 * (cgroup.level.value_() + 1))
        yield "kernfs_node", self.kernfs + slab_size(1 + len(self.kernel.string(
            cgroup.kn.name.value_())))
        if self.has_psi and cgroup.psi:
            yield "psi_group", self._of_type("struct psi_group", cgroup.psi)

    def _shrinkers(self, node):
        """Only stock has them: mm_reclaim frees its maps when a group goes offline."""
        if not self.has_info or not node.shrinker_info:
            return 0
        units = -(-node.shrinker_info.map_nr_max.value_() // 64)
        return slab_size(self.kernel.size("struct shrinker_info") + 8 * units) \
            + units * slab_size(self.kernel.size("struct shrinker_info_unit"))

    def _per_cpu(self, memcg):
        """Parts, where they are, and their bytes on one CPU."""
        size, cgroup = self.kernel.size, memcg.css.cgroup
        yield "memcg_vmstats_percpu", memcg.vmstats_percpu, size("struct memcg_vmstats_percpu")
        for info in self._nodes(memcg):
            yield ("lruvec_stats_percpu", info.lruvec_stats_percpu,
                   size("struct lruvec_stats_percpu"))
            if info.orig_objcg:
                yield self._counter(info.orig_objcg.refcnt)
        if self.kernel.has_member("struct mem_cgroup", "events_percpu"):
            yield ("memcg1_events_percpu", memcg.events_percpu,
                   size("struct memcg1_events_percpu"))
        yield "css_rstat_cpu", memcg.css.rstat_cpu, size("struct css_rstat_cpu")
        yield "css_rstat_cpu", cgroup.self.rstat_cpu, size("struct css_rstat_cpu")
        yield ("cgroup_rstat_base_cpu", cgroup.rstat_base_cpu,
               size("struct cgroup_rstat_base_cpu"))
        yield self._counter(memcg.css.refcnt)
        yield self._counter(cgroup.self.refcnt)
        if self.has_writeback:
            yield ("wb_domain", memcg.cgwb_domain.completions.events.counters, 4)
        if self.has_psi and cgroup.psi:
            yield "psi_group_cpu", cgroup.psi.pcpu, size("struct psi_group_cpu")

    def _counter(self, ref):
        """The low bits of the pointer are flags."""
        return "percpu_ref", ref.percpu_count_ptr.value_() & ~3, COUNTER
