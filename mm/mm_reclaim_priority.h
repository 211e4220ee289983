/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Priorities of memory cgroups when the whole machine is short of memory: what
 * mm/memcontrol*.c, mm/memory.c, mm/vmscan.c and mm/workingset.c ask of
 * mm/mm_reclaim_priority.c and rust/mm_reclaim/.
 */
#ifndef __MM_MM_RECLAIM_PRIORITY_H
#define __MM_MM_RECLAIM_PRIORITY_H

#include <linux/jump_label_ratelimit.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>

struct seq_buf;

#ifdef CONFIG_MEMCG_SHRINKER_RUST

extern struct static_key_false_deferred memcg_priority_key;
extern struct static_key_false_deferred memcg_priority_active_key;

/* Whether any memcg has a value, or had one a moment ago */
static inline bool memcg_priority_is_used(void)
{
	return static_branch_unlikely(&memcg_priority_key.key);
}

/* Whether it matters if memcgs are active */
static inline bool memcg_priority_needs_activity(void)
{
	return static_branch_unlikely(&memcg_priority_active_key.key);
}

/* A page fault in an address space, which is counted for the memcg of its owner */
static inline void memcg_priority_fault(struct mm_struct *mm)
{
	struct mem_cgroup *memcg;

	if (!memcg_priority_needs_activity())
		return;

	guard(rcu)();
	memcg = mem_cgroup_from_task(rcu_dereference(mm->owner));
	if (memcg)
		memcg_priority_active(memcg);
}

/* What was evicted is read again, into a locked folio */
static inline void memcg_priority_refault(struct folio *folio)
{
	struct mem_cgroup *memcg;

	if (!memcg_priority_needs_activity())
		return;

	guard(rcu)();
	memcg = folio_memcg(folio);
	if (memcg)
		memcg_priority_active(memcg);
}

int memcg_nr_priorities(void);
void memcg_priority_online(struct mem_cgroup *memcg);
void memcg_priority_reset(struct mem_cgroup *memcg);
void memcg_priority_count(struct mem_cgroup *memcg, enum memcg_priority_event event);
struct mem_cgroup_reclaim_iter *memcg_priority_iter(int nid, int priority);
void memcg_priority_invalidate_iters(struct mem_cgroup *dead_memcg);
void memcg_priority_stat_format(struct mem_cgroup *memcg, struct seq_buf *s);
void memcg1_priority_stat_format(struct mem_cgroup *memcg, struct seq_buf *s);

#else /* !CONFIG_MEMCG_SHRINKER_RUST */

static inline bool memcg_priority_is_used(void)
{
	return false;
}

static inline void memcg_priority_fault(struct mm_struct *mm)
{
}

static inline void memcg_priority_refault(struct folio *folio)
{
}

static inline void memcg_priority_online(struct mem_cgroup *memcg)
{
}

static inline void memcg_priority_reset(struct mem_cgroup *memcg)
{
}

static inline void memcg_priority_invalidate_iters(struct mem_cgroup *dead_memcg)
{
}

static inline void memcg_priority_stat_format(struct mem_cgroup *memcg,
					      struct seq_buf *s)
{
}

static inline void memcg1_priority_stat_format(struct mem_cgroup *memcg,
					       struct seq_buf *s)
{
}

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* __MM_MM_RECLAIM_PRIORITY_H */
