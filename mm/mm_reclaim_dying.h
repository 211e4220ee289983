/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose per-CPU statistics a memory cgroup writes, which changes when it is removed,
 * and what becomes of its own.
 */
#ifndef _MM_MM_RECLAIM_DYING_H
#define _MM_MM_RECLAIM_DYING_H

#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>

struct seq_buf;

#ifdef CONFIG_MEMCG_SHRINKER_RUST

/*
 * Must be read with preemption disabled, and not used afterwards. Macros, as most
 * of the kernel sees no more of these types than their names.
 */
#define memcg_vmstats_target(memcg)	READ_ONCE((memcg)->vmstats_target)
#define memcg_lruvec_stats_target(pn)	READ_ONCE((pn)->lruvec_stats_target)
#define memcg_events_target(memcg)	READ_ONCE((memcg)->events_target)

/* Whether a flush looks at the memcg's own; the caller flushes, under the lock. */
static inline bool memcg_has_own_stats(struct mem_cgroup *memcg)
{
	return READ_ONCE(memcg->dying.state) < MEMCG_STATS_FLUSHED;
}

/*
 * Nothing more comes from a node that lost its memory, so that it is not looked
 * at. What came before it did is with the parent when the memcg is drained.
 */
static inline enum node_states memcg_nodes_to_flush(struct mem_cgroup *memcg)
{
	return READ_ONCE(memcg->dying.state) == MEMCG_STATS_ACTIVE ?
		N_MEMORY : N_POSSIBLE;
}

/* The next one above whose own statistics a flush looks at; under the same lock */
static inline struct mem_cgroup *memcg_parent_to_flush(struct mem_cgroup *memcg)
{
	do {
		memcg = parent_mem_cgroup(memcg);
	} while (memcg && !memcg_has_own_stats(memcg));

	return memcg;
}

/*
 * The sums of a memcg's statistics are replaced by zeros when it has given them
 * back: whoever reads them is under RCU, or flushes. So all of them may go down to
 * zero once, also those that otherwise only grow; by then nothing is charged to the
 * memcg, and its LRUs are empty, so that nobody decides anything by them.
 */
#define memcg_sums(memcg)	READ_ONCE((memcg)->vmstats)
#define memcg_lruvec_sums(pn)	READ_ONCE((pn)->lruvec_stats)
#define memcg_sums_lock()	rcu_read_lock()
#define memcg_sums_unlock()	rcu_read_unlock()
#define memcg_read_sum(sum)	\
({				\
	guard(rcu)();		\
	READ_ONCE(sum);		\
})

/**
 * struct memcg_dying_counts - the removed memcgs below one that are not freed yet
 * @dying: all of them
 * @draining: those that are giving back their per-CPU statistics
 * @drained: those that have done so
 * @drained_bytes: what that gave back
 *
 * Of one moment, unless they change meanwhile.
 */
struct memcg_dying_counts {
	long	dying;
	long	draining;
	long	drained;
	long	drained_bytes;
};

struct memcg_dying_counts memcg_dying_count(struct mem_cgroup *memcg);
void memcg_dying_stat_format(struct mem_cgroup *memcg, struct seq_buf *s);
void memcg_dying_init(struct mem_cgroup *memcg);
void memcg_dying_add(struct mem_cgroup *memcg);
void memcg_dying_remove(struct mem_cgroup *memcg);

/* In bytes of slab */
unsigned long memcg_own_sums_size(void);
void memcg_free_own_sums(struct mem_cgroup *memcg);

/* In bytes on each CPU */
unsigned long memcg_own_stats_size(void);
#ifdef CONFIG_MEMCG_V1
unsigned long memcg1_events_size(void);
#else
static inline unsigned long memcg1_events_size(void)
{
	return 0;
}
#endif

#else /* !CONFIG_MEMCG_SHRINKER_RUST */

#define memcg_vmstats_target(memcg)	((memcg)->vmstats_percpu)
#define memcg_lruvec_stats_target(pn)	((pn)->lruvec_stats_percpu)
#define memcg_events_target(memcg)	((memcg)->events_percpu)

#define memcg_sums(memcg)	((memcg)->vmstats)
#define memcg_lruvec_sums(pn)	((pn)->lruvec_stats)
#define memcg_read_sum(sum)	READ_ONCE(sum)

static inline void memcg_sums_lock(void)
{
}

static inline void memcg_sums_unlock(void)
{
}

static inline enum node_states memcg_nodes_to_flush(struct mem_cgroup *memcg)
{
	return N_MEMORY;
}

static inline struct mem_cgroup *memcg_parent_to_flush(struct mem_cgroup *memcg)
{
	return parent_mem_cgroup(memcg);
}

static inline void memcg_dying_stat_format(struct mem_cgroup *memcg,
					   struct seq_buf *s)
{
}

static inline void memcg_dying_init(struct mem_cgroup *memcg)
{
}

static inline void memcg_dying_add(struct mem_cgroup *memcg)
{
}

static inline void memcg_dying_remove(struct mem_cgroup *memcg)
{
}

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* _MM_MM_RECLAIM_DYING_H */
