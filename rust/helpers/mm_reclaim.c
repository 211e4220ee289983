// SPDX-License-Identifier: GPL-2.0

#include <linux/gfp.h>
#include <linux/kcsan-checks.h>
#include <linux/memcontrol.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/vmstat.h>

#ifdef CONFIG_MEMCG_SHRINKER_RUST
/*
 * css_tryget() and css_put() look at CSS_NO_REF, which never changes, in a word
 * whose other flags may just do so.
 */
__rust_helper bool rust_helper_mem_cgroup_tryget(struct mem_cgroup *memcg)
{
	/* See above */
	return data_race(mem_cgroup_tryget(memcg));
}

__rust_helper void rust_helper_mem_cgroup_put(struct mem_cgroup *memcg)
{
	kcsan_disable_current();
	mem_cgroup_put(memcg);
	kcsan_enable_current();
}

__rust_helper bool
rust_helper_mem_cgroup_is_descendant(struct mem_cgroup *memcg,
				     struct mem_cgroup *root)
{
	return mem_cgroup_is_descendant(memcg, root);
}

__rust_helper struct mem_cgroup *
rust_helper_set_active_memcg(struct mem_cgroup *memcg)
{
	return set_active_memcg(memcg);
}

__rust_helper bool rust_helper_gfpflags_allow_blocking(gfp_t gfp)
{
	return gfpflags_allow_blocking(gfp);
}

__rust_helper int rust_helper_cond_resched(void)
{
	return cond_resched();
}

__rust_helper void rust_helper_count_vm_events(enum vm_event_item item, long delta)
{
	count_vm_events(item, delta);
}

__rust_helper bool rust_helper_mem_cgroup_disabled(void)
{
	return mem_cgroup_disabled();
}

__rust_helper u64 rust_helper_mem_cgroup_id(struct mem_cgroup *memcg)
{
	return mem_cgroup_id(memcg);
}

__rust_helper int rust_helper_next_possible_node(int nid)
{
	return next_node(nid, node_states[N_POSSIBLE]);
}

__rust_helper bool rust_helper_shrinker_try_get(struct shrinker *shrinker)
{
	return shrinker_try_get(shrinker);
}

__rust_helper void rust_helper_shrinker_put(struct shrinker *shrinker)
{
	shrinker_put(shrinker);
}
#endif /* CONFIG_MEMCG_SHRINKER_RUST */
