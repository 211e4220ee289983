/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory cgroup slab reclaim in Rust.
 *
 * What rust/mm_reclaim/ offers to the rest of mm, and what it asks of it.
 * Without CONFIG_MEMCG_SHRINKER_RUST the C implementation in mm/shrinker.c and
 * mm/memcontrol.c serves the same calls, and nothing here generates code.
 */
#ifndef _LINUX_MM_RECLAIM_H
#define _LINUX_MM_RECLAIM_H

#include <linux/types.h>

struct mem_cgroup;
struct mem_cgroup_reclaim_cookie;
struct shrink_control;
struct shrinker;

/**
 * enum mem_cgroup_filter - verdict of a filter on one group of a walk
 * @MEM_CGROUP_VISIT: return the group
 * @MEM_CGROUP_SKIP: pass over the group, but look at its children
 * @MEM_CGROUP_SKIP_TREE: pass over the group and all of its descendants
 */
enum mem_cgroup_filter {
	MEM_CGROUP_VISIT,
	MEM_CGROUP_SKIP,
	MEM_CGROUP_SKIP_TREE,
};

/*
 * Returns an enum mem_cgroup_filter as int: an indirect call with an enum in
 * its type has another CFI hash in Rust than in C. Called under RCU, before a
 * reference on @memcg is taken: it must not sleep.
 */
typedef int (*mem_cgroup_filter_fn)(struct mem_cgroup *memcg, void *arg);

#ifdef CONFIG_MEMCG_SHRINKER_RUST

/**
 * struct shrinker_map - where a memcg keeps the units of its shrinkers
 * @table: the installed units of all nodes, replaced as a whole, read under RCU
 *
 * Embedded in struct mem_cgroup. Zero is a valid empty map, so that a memcg
 * that owns no object needs no memory beyond this. Only Rust looks inside
 * (rust/mm_reclaim/info.rs).
 */
struct shrinker_map {
	void		*table;
};

/**
 * struct shrinker_info - what a memcg may have to shrink on one node
 * @summary: bit k is set if a unit whose index is k (mod BITS_PER_LONG) may
 *	have a bit set; zero means that there is nothing to shrink
 * @flags: state bits
 *
 * Embedded in struct mem_cgroup_per_node. All zeroes is a valid empty info.
 * Only Rust writes it (rust/mm_reclaim/info.rs).
 */
struct shrinker_info {
	unsigned long	summary;
	unsigned long	flags;
};

/* sizeof a unit, which rust/mm_reclaim/unit.rs defines and checks */
#define SHRINKER_UNIT_SIZE	528

/* Shrinker ids; the caller holds shrinker_mutex. */
int shrinker_id_alloc(struct shrinker *shrinker);
void shrinker_id_free(struct shrinker *shrinker);

/* Called before a memcg can own an object of the shrinker. */
int install_shrinker_unit(struct mem_cgroup *memcg, int shrinker_id, gfp_t gfp);

/* Work that was left over, per memcg and node. */
long xchg_nr_deferred_memcg(int nid, struct shrinker *shrinker,
			    struct mem_cgroup *memcg);
long add_nr_deferred_memcg(long nr, int nid, struct shrinker *shrinker,
			   struct mem_cgroup *memcg);

unsigned long __shrink_slab_memcg(gfp_t gfp_mask, int nid,
				  struct mem_cgroup *memcg, int priority);

struct mem_cgroup *mem_cgroup_iter_cond(struct mem_cgroup *root,
					struct mem_cgroup *prev,
					struct mem_cgroup_reclaim_cookie *reclaim,
					mem_cgroup_filter_fn filter, void *arg);

/* Asked of mm/shrinker.c. */
unsigned long do_shrink_slab_memcg(struct shrink_control *sc,
				   struct shrinker *shrinker, int priority);

/* Asked of mm/mm_reclaim.c. */
void *shrinker_unit_zalloc(gfp_t gfp, int nid);
void shrinker_unit_free(void *unit);
void shrinker_warn_missing_unit(struct mem_cgroup *memcg, int nid, int shrinker_id);
void mm_reclaim_init(void);

/*
 * The options of the oracle and of the tests are not named here, as most of the
 * kernel includes this header and would be built again with each of them.
 */

/* Of the oracle only: enum mm_reclaim_mode as int, set at boot. */
enum mm_reclaim_mode {
	MM_RECLAIM_MAPS,
	MM_RECLAIM_VERIFY,
	MM_RECLAIM_EXHAUSTIVE,
};

extern int mm_reclaim_mode;
void shrinker_warn_not_empty(struct mem_cgroup *memcg, int nid,
			     struct shrinker *shrinker, unsigned long count);

/* Of the tests only: what they look at; racy unless they keep things quiet. */
bool shrinker_bit_is_set(struct mem_cgroup *memcg, int nid, int shrinker_id);
bool shrinker_summary_is_set(struct mem_cgroup *memcg, int nid, int shrinker_id);
bool shrinker_unit_is_installed(struct mem_cgroup *memcg, int nid, int shrinker_id);
unsigned long shrinker_nr_units(struct mem_cgroup *memcg);
long shrinker_nr_deferred(struct mem_cgroup *memcg, int nid, int shrinker_id);

/* Asked of mm/tests/mm_reclaim. */
u32 mm_reclaim_test_seed(void);

#else /* !CONFIG_MEMCG_SHRINKER_RUST */

static inline int install_shrinker_unit(struct mem_cgroup *memcg,
					int shrinker_id, gfp_t gfp)
{
	return 0;
}

static inline void mm_reclaim_init(void)
{
}

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* _LINUX_MM_RECLAIM_H */
