/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Soft limits by predicate: what mm/memcontrol*.c and mm/vmscan.c ask of
 * mm/mm_reclaim_soft_limit.c and rust/mm_reclaim/.
 */
#ifndef __MM_MM_RECLAIM_SOFT_LIMIT_H
#define __MM_MM_RECLAIM_SOFT_LIMIT_H

#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/page_counter.h>

/* include/linux/memcontrol.h does not have it without CONFIG_MEMCG. */
struct mem_cgroup_per_node;

/**
 * enum mem_cgroup_pass - whom a pass of reclaim visits
 * @MEM_CGROUP_PASS_ALL: everybody
 * @MEM_CGROUP_PASS_EXCESS: memcgs in excess, and those below them
 * @MEM_CGROUP_PASS_OTHERS: those that such a pass does not visit
 */
enum mem_cgroup_pass {
	MEM_CGROUP_PASS_ALL,
	MEM_CGROUP_PASS_EXCESS,
	MEM_CGROUP_PASS_OTHERS,
};

#if defined(CONFIG_MEMCG_SHRINKER_RUST) && defined(CONFIG_MEMCG_V1)

extern u8 memcg_soft_limit_enabled __read_mostly;

unsigned long mem_cgroup_excess_limit(struct mem_cgroup *memcg);
int mem_cgroup_set_excess_limit(struct mem_cgroup *memcg, unsigned long nr_pages);
void mem_cgroup_reset_excess_limit(struct mem_cgroup *memcg);

static inline bool memcg_soft_limit_is_enabled(void)
{
	return READ_ONCE(memcg_soft_limit_enabled);
}

static inline void mem_cgroup_check_excess(struct mem_cgroup *memcg)
{
	if (memcg_soft_limit_is_enabled())
		mem_cgroup_update_excess(memcg);
}

static inline bool mem_cgroup_has_excess(struct mem_cgroup *root)
{
	return memcg_soft_limit_is_enabled() && __mem_cgroup_has_excess(root);
}

/* Whether @pass below @root leaves out @memcg */
static inline bool mem_cgroup_pass_skips(enum mem_cgroup_pass pass,
					 struct mem_cgroup *root,
					 struct mem_cgroup *memcg)
{
	return pass == MEM_CGROUP_PASS_OTHERS &&
	       mem_cgroup_below_excess(root, memcg);
}

static inline void
mem_cgroup_invalidate_excess_iter(struct mem_cgroup_per_node *mz,
				  struct mem_cgroup *dead_memcg)
{
	cmpxchg(&mz->excess_iter.position, dead_memcg, NULL);
}

#else

static inline bool memcg_soft_limit_is_enabled(void)
{
	return false;
}

static inline unsigned long mem_cgroup_excess_limit(struct mem_cgroup *memcg)
{
	return PAGE_COUNTER_MAX;
}

static inline int mem_cgroup_set_excess_limit(struct mem_cgroup *memcg,
					      unsigned long nr_pages)
{
	return -EOPNOTSUPP;
}

static inline void mem_cgroup_reset_excess_limit(struct mem_cgroup *memcg)
{
}

static inline void mem_cgroup_check_excess(struct mem_cgroup *memcg)
{
}

static inline void mem_cgroup_close_excess(struct mem_cgroup *memcg)
{
}

static inline bool mem_cgroup_has_excess(struct mem_cgroup *root)
{
	return false;
}

static inline bool
mem_cgroup_excess_in_vain(const struct mem_cgroup_excess_pass *pass)
{
	return true;
}

static inline bool
mem_cgroup_excess_has_more(const struct mem_cgroup_excess_pass *pass)
{
	return false;
}

static inline struct mem_cgroup *
mem_cgroup_iter_excess(struct mem_cgroup *root, struct mem_cgroup *prev,
		       struct mem_cgroup_reclaim_cookie *reclaim,
		       unsigned int *walked)
{
	return NULL;
}

static inline bool mem_cgroup_pass_skips(enum mem_cgroup_pass pass,
					 struct mem_cgroup *root,
					 struct mem_cgroup *memcg)
{
	return false;
}

static inline void
mem_cgroup_invalidate_excess_iter(struct mem_cgroup_per_node *mz,
				  struct mem_cgroup *dead_memcg)
{
}

#endif

#endif /* __MM_MM_RECLAIM_SOFT_LIMIT_H */
