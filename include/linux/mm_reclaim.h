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

#include <linux/gfp_types.h>
#include <linux/types.h>
#include <asm/bitsperlong.h>

struct lruvec;
struct mem_cgroup;
struct mem_cgroup_reclaim_cookie;
struct seq_file;
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

/**
 * struct mem_cgroup_excess_pass - a pass of reclaim over memcgs in excess
 * @scanned: how many pages it scanned
 * @reclaimed: how many it reclaimed
 * @waiting: how many of @scanned are dirty or under writeback
 * @wanted: how many reclaim wants
 * @size: how many those have that it visited, and that can be reclaimed at all
 * @priority: the priority of reclaim
 */
struct mem_cgroup_excess_pass {
	unsigned long	scanned;
	unsigned long	reclaimed;
	unsigned long	waiting;
	unsigned long	wanted;
	unsigned long	size;
	int		priority;
};

#ifdef CONFIG_MEMCG_SHRINKER_RUST

/**
 * struct shrinker_map - where a memcg keeps the units of its shrinkers
 * @table: the installed units of all nodes, replaced as a whole, read under RCU
 *
 * Embedded in struct mem_cgroup. Zero is a valid empty map, so that a memcg
 * that owns no object needs no memory beyond this. Only Rust looks inside
 * (rust/mm_reclaim/map.rs).
 */
struct shrinker_map {
	void		*table;
};

/**
 * struct shrinker_node_info - what a memcg may have to shrink on one node
 * @summary: bit k is set if a unit whose index is k (mod BITS_PER_LONG) may
 *	have a bit set
 * @strays: bit k is set if a shrinker whose id is k (mod BITS_PER_LONG) may
 *	have objects, but had no unit; if both are zero, there is nothing to
 *	shrink
 *
 * Embedded in struct mem_cgroup_per_node. All zeroes is a valid empty info.
 * Only Rust writes it (rust/mm_reclaim/map/on_node.rs).
 */
struct shrinker_node_info {
	unsigned long	summary;
	unsigned long	strays;
};

/* Number of private ids of memcgs, which mm/mm_reclaim.c checks. */
#define SHRINKER_MEMCG_IDS	65536

/**
 * struct shrinker_memcg_bitmap - which memcgs may have something to reclaim
 * @words: a bit for each private id of a memcg
 * @limit: words from this one on never had a bit set
 *
 * Two for each possible node: of those that may have something to shrink, and of
 * those that may have pages on its lists. All zeroes is a valid empty bitmap. Only Rust
 * writes it (rust/mm_reclaim/memcg_bitmap.rs).
 */
struct shrinker_memcg_bitmap {
	unsigned long	words[SHRINKER_MEMCG_IDS / BITS_PER_LONG];
	unsigned int	limit;
};

/**
 * struct soft_limit_state - whether a memcg exceeds its soft limit
 * @flags: state bits
 * @nr_below: how many memcgs below exceed theirs
 *
 * Embedded in struct mem_cgroup. All zeroes is a valid state. Only Rust looks
 * inside (rust/mm_reclaim/soft_limit.rs).
 */
struct soft_limit_state {
	unsigned long	flags;
	long		nr_below;
};

/**
 * enum memcg_stats_state - what became of the per-CPU statistics of a memcg
 * @MEMCG_STATS_ACTIVE: it may write them; so may all below it that are not active
 * @MEMCG_STATS_DRAINING: removed: it and all below it write those of the next memcg
 *	above that is active, except for writers that began before
 * @MEMCG_STATS_FLUSHED: nobody writes them, and all that was in them is with the
 *	parent, where flushes of memcgs below add from now on; those that began
 *	before may still read them, and add to its sums
 * @MEMCG_STATS_FREED: they are freed, and so are the sums, but for readers under RCU
 * @NR_MEMCG_STATS_STATES: number of states
 */
enum memcg_stats_state {
	MEMCG_STATS_ACTIVE,
	MEMCG_STATS_DRAINING,
	MEMCG_STATS_FLUSHED,
	MEMCG_STATS_FREED,
	NR_MEMCG_STATS_STATES,
};

/**
 * struct memcg_dying - what becomes of a memcg that is removed and still referenced
 * @state: enum memcg_stats_state; only Rust changes it (rust/mm_reclaim/dying.rs)
 * @below: how many memcgs below it were removed and are not freed yet, by their state
 * @list: in the list of those removed a short time ago
 * @since: when it went offline, in jiffies since boot
 *
 * Embedded in struct mem_cgroup, beside pairs of pointers: vmstats_percpu is the
 * memcg's own, vmstats_target what it writes; so are lruvec_stats_percpu and
 * lruvec_stats_target on each node, and events_percpu and events_target.
 */
struct memcg_dying {
	unsigned int		state;
	atomic_t		below[NR_MEMCG_STATS_STATES];
	struct list_head	list;
	u64			since;
};

/**
 * struct memcg_priority - until when reclaim spares a memcg
 * @own: what was written for it, 0 if that is nothing
 * @granted: what comes of that and of what was written for those above it
 * @active_at: when it last faulted, in jiffies, while that was asked of any memcg
 *
 * Embedded in struct mem_cgroup. All zeroes is a memcg that is not spared. Only Rust
 * looks inside (rust/mm_reclaim/priority.rs).
 */
struct memcg_priority {
	int		own;
	int		granted;
	unsigned long	active_at;
};

/**
 * enum memcg_priority_event - what happens to a memcg because of a priority
 * @MEMCG_PRIORITY_SKIPPED: reclaim passed over it
 * @MEMCG_PRIORITY_OVERRIDE: reclaim did not spare it, as nothing else was left
 * @NR_MEMCG_PRIORITY_EVENTS: number of events
 */
enum memcg_priority_event {
	MEMCG_PRIORITY_SKIPPED,
	MEMCG_PRIORITY_OVERRIDE,
	NR_MEMCG_PRIORITY_EVENTS,
};

/**
 * struct memcg_priority_events - how often something happened to a memcg
 * @local: to itself
 * @total: to itself and those that are, or were, below it
 */
struct memcg_priority_events {
	atomic64_t	local[NR_MEMCG_PRIORITY_EVENTS];
	atomic64_t	total[NR_MEMCG_PRIORITY_EVENTS];
};

/* What is set for the page cache of a memcg that a limit evicts */
#define MEMCG_RETAIN_UNSET	0
#define MEMCG_RETAIN_ALLOW	1
#define MEMCG_RETAIN_DENY	2

/**
 * struct memcg_retain_debt - whether a pool is of use
 * @pages: that it evicted, and nobody had used, less those for which others paid that were
 * @offers: passes that were offered to it while these were too many, ever
 */
struct memcg_retain_debt {
	long		pages;
	unsigned long	offers;
};

/**
 * struct memcg_retain - whether the page cache of a memcg outlives its limit
 * @debt: if it is the pool, whether that is of use
 * @own: what is set for it, MEMCG_RETAIN_*
 *
 * Embedded in struct mem_cgroup. All zeroes is a memcg for which nothing is set. Only Rust
 * looks inside (rust/mm_reclaim/retain.rs).
 */
struct memcg_retain {
	struct memcg_retain_debt debt;
	unsigned int	own;
};

/**
 * enum memcg_retain_event - what happens to page cache that may be retained, in pages
 * @MEMCG_RETAIN_KEPT: it went to the pool instead of being freed
 * @MEMCG_RETAIN_HIT: it was used again, and is charged to who did
 * @MEMCG_RETAIN_EVICTED: the pool had to free it
 * @MEMCG_RETAIN_CAP: it was freed, as the pool is full
 * @MEMCG_RETAIN_WATERMARK: it was freed, as the node has too little free memory
 * @MEMCG_RETAIN_BUSY: it was not retained, as it was used or written at that moment
 * @MEMCG_RETAIN_SLAB: it was freed, as inodes and the like fill what the limit allows
 * @MEMCG_RETAIN_UNUSED: it was freed, as the pool is of no use lately, and takes a sample
 * @NR_MEMCG_RETAIN_EVENTS: number of events
 */
enum memcg_retain_event {
	MEMCG_RETAIN_KEPT,
	MEMCG_RETAIN_HIT,
	MEMCG_RETAIN_EVICTED,
	MEMCG_RETAIN_CAP,
	MEMCG_RETAIN_WATERMARK,
	MEMCG_RETAIN_BUSY,
	MEMCG_RETAIN_SLAB,
	MEMCG_RETAIN_UNUSED,
	NR_MEMCG_RETAIN_EVENTS,
};

/* Of a folio that is none of those which may be retained */
#define MEMCG_RETAIN_UNFIT	(-1)

/**
 * struct memcg_retain_events - how many pages something happened to
 * @local: those of the memcg itself
 * @total: those, and of memcgs that are, or were, below it
 */
struct memcg_retain_events {
	atomic64_t	local[NR_MEMCG_RETAIN_EVENTS];
	atomic64_t	total[NR_MEMCG_RETAIN_EVENTS];
};

/**
 * struct memcg_retain_node - the pages of a node
 * @free: those that are free
 * @high: up to how many kswapd frees
 * @managed: all that the page allocator has
 */
struct memcg_retain_node {
	unsigned long	free;
	unsigned long	high;
	unsigned long	managed;
};

/**
 * struct memcg_retain_room - how much a pass of reclaim may retain, in pages
 * @spare: until the node has too little free memory
 * @margin: until the pool, or a memcg above it, is full
 * @is_burdened: whether the memcg at its limit holds too many inodes and the like, which
 *	nobody frees as long as their pages are in the page cache
 * @is_unused: whether the pool is of no use lately, and takes nothing of this pass
 */
struct memcg_retain_room {
	unsigned long	spare;
	unsigned long	margin;
	bool		is_burdened;
	bool		is_unused;
};

/* What is known of a folio: its file system asked for this, ... */
#define MEMCG_RETAIN_FOLIO_ASKED	0x001
#define MEMCG_RETAIN_FOLIO_UPTODATE	0x002
/* ... it is used, ... */
#define MEMCG_RETAIN_FOLIO_MAPPED	0x004
#define MEMCG_RETAIN_FOLIO_DIRTY	0x008
#define MEMCG_RETAIN_FOLIO_WRITEBACK	0x010
/* ... it was to be dropped behind who read it, or has private data, ... */
#define MEMCG_RETAIN_FOLIO_DROPPED	0x020
#define MEMCG_RETAIN_FOLIO_POISONED	0x040
/* ... and it is in the pool already. */
#define MEMCG_RETAIN_FOLIO_POOLED	0x080

/* For a value that there is not, and a turn that does not come */
#define MEMCG_PRIORITY_UNSET	(-1)
#define MEMCG_PRIORITY_PASS	(-1)

/* sizeof a unit, which rust/mm_reclaim/unit.rs defines and checks */
#define SHRINKER_UNIT_SIZE	528

/* Shrinker ids; the caller holds shrinker_mutex. */
int shrinker_id_alloc(struct shrinker *shrinker);
void shrinker_id_free(struct shrinker *shrinker);

/*
 * Whether a memcg and all above it can own objects of the shrinker on the node, or with
 * NUMA_NO_NODE on all that have memory; and what lets them. The former needs RCU.
 */
bool shrinker_unit_is_ready(struct mem_cgroup *memcg, int nid, int shrinker_id);
int install_shrinker_unit(struct mem_cgroup *memcg, int nid, int shrinker_id, gfp_t gfp);

/*
 * For callers that can do without the object: a unit is charged, and must not
 * have the out-of-memory killer called for a memcg at its limit.
 */
static inline gfp_t shrinker_unit_gfp_may_fail(gfp_t gfp)
{
	return gfp | __GFP_NORETRY;
}

/* Called before the first memory of a node can be used. */
int install_shrinker_node(int nid);

/*
 * Called after objects of the root memcg that are in no list_lru became countable,
 * for a shrinker that returns SHRINK_EMPTY for the root when it has none.
 */
void set_shrinker_bits_root(struct shrinker *shrinker);

/* Called where a memcg can be found by its id: before that, walks don't find it. */
void shrinker_memcg_online(struct mem_cgroup *memcg);

/* What set_shrinker_bit() does after a full barrier. */
void set_shrinker_bit_after_mb(struct mem_cgroup *memcg, int nid, int shrinker_id);

/* Called with the lru_lock of the node, before pages come to an empty list. */
void set_memcg_lru_bit(struct mem_cgroup *memcg, int nid);

unsigned long __shrink_slab_memcg(gfp_t gfp_mask, int nid,
				  struct mem_cgroup *memcg, int priority);

struct mem_cgroup *mem_cgroup_iter_cond(struct mem_cgroup *root,
					struct mem_cgroup *prev,
					struct mem_cgroup_reclaim_cookie *reclaim,
					mem_cgroup_filter_fn filter, void *arg);
struct mem_cgroup *mem_cgroup_iter_charged(struct mem_cgroup *root,
					   struct mem_cgroup *prev,
					   struct mem_cgroup_reclaim_cookie *reclaim);
struct mem_cgroup *mem_cgroup_iter_reclaimable(struct mem_cgroup *root,
					       struct mem_cgroup *prev,
					       struct mem_cgroup_reclaim_cookie *reclaim,
					       int nid,
					       mem_cgroup_filter_fn filter,
					       void *arg);
struct mem_cgroup *mem_cgroup_iter_shrinkable(struct mem_cgroup *prev, int nid,
					      unsigned int *pos);

#ifdef CONFIG_MEMCG_V1
/* Soft limits; mm/mm_reclaim_soft_limit.h has what callers use without them. */
void mem_cgroup_update_excess(struct mem_cgroup *memcg);
void mem_cgroup_close_excess(struct mem_cgroup *memcg);
bool __mem_cgroup_has_excess(struct mem_cgroup *root);
long mem_cgroup_nr_excess(struct mem_cgroup *memcg);
bool mem_cgroup_excess_in_vain(const struct mem_cgroup_excess_pass *pass);
bool mem_cgroup_excess_has_more(const struct mem_cgroup_excess_pass *pass);
bool mem_cgroup_below_excess(struct mem_cgroup *root, struct mem_cgroup *memcg);
struct mem_cgroup *mem_cgroup_iter_excess(struct mem_cgroup *root,
					  struct mem_cgroup *prev,
					  struct mem_cgroup_reclaim_cookie *reclaim,
					  unsigned int *walked);
#endif

/* Priorities; the first two with memcg_priority_mutex held. */
void memcg_priority_set(struct mem_cgroup *memcg, int value, bool while_active);
void memcg_priority_update(struct mem_cgroup *memcg);
int memcg_priority_get(struct mem_cgroup *memcg, bool *while_active);
int memcg_priority_effective(struct mem_cgroup *memcg);
int memcg_priority_turn(struct mem_cgroup *memcg, int priority,
			unsigned long size, unsigned long *owed);
void memcg_priority_active(struct mem_cgroup *memcg);

/* Page cache that outlives limits */
void memcg_retain_set(struct mem_cgroup *memcg, unsigned int setting);
unsigned int memcg_retain_get(struct mem_cgroup *memcg);
bool memcg_retain_allows(struct mem_cgroup *memcg);
void memcg_retain_start(struct mem_cgroup *pool);
void memcg_retain_evicted(struct mem_cgroup *pool, unsigned long nr_pages,
			  unsigned long pooled);
void memcg_retain_used(struct mem_cgroup *pool, unsigned long nr_pages,
		       unsigned long pooled);
bool memcg_retain_takes_next(struct mem_cgroup *pool, unsigned long pooled);
unsigned long memcg_retain_node_spare(struct memcg_retain_node node);
unsigned long memcg_retain_node_lacking(struct memcg_retain_node node);
bool memcg_retain_is_burden(unsigned long nr_slab, unsigned long usage);
unsigned long memcg_retain_nr_relief(unsigned long nr_slab, unsigned long usage,
				     unsigned long nr_pooled);
unsigned long memcg_retain_relief_step(unsigned long nr);
int memcg_retain_judge(u32 facts, unsigned long nr_pages,
		       struct memcg_retain_room room);
bool memcg_retain_charges_user(u32 facts, bool user_is_pool);
unsigned long memcg_retain_makes_room(unsigned long usage, unsigned long margin);
bool memcg_retain_goes_on(unsigned long nr_wanted, unsigned long nr_scanned,
			  unsigned long nr_reclaimed);
unsigned long memcg_retain_batch(unsigned long nr_lacking);
unsigned int memcg_retain_next_look(unsigned long nr_spare);

/* Called where it may sleep, by one task at a time. */
void drain_dying_memcgs(void);

/* Asked of mm/mm_reclaim_dying.c. */
struct mem_cgroup *memcg_dying_take(void);
void memcg_redirect_stats(struct mem_cgroup *memcg, struct mem_cgroup *to);
void memcg_note_own_stats(struct mem_cgroup *memcg);
void memcg_flush_noted_stats(struct mem_cgroup *memcg);
void memcg_free_own_stats(struct mem_cgroup *memcg);

/* Asked of mm/vmscan.c, by tests. */
bool lruvec_has_too_few(struct lruvec *lruvec, int priority, int zone_idx,
			bool ages_anon);

/* Asked of mm/shrinker.c. */
unsigned long do_shrink_slab_memcg(struct shrink_control *sc,
				   struct shrinker *shrinker, int priority);

/* Asked of mm/mm_reclaim.c. */
extern struct shrinker_memcg_bitmap *shrinker_memcg_bitmaps[];
extern struct shrinker_memcg_bitmap *lru_memcg_bitmaps[];
bool memcg_lru_is_empty(struct mem_cgroup *memcg, int nid);
void memcg_lock_lru(struct mem_cgroup *memcg, int nid);
void memcg_unlock_lru(struct mem_cgroup *memcg, int nid);
void *shrinker_unit_zalloc(gfp_t gfp, int nid);
void shrinker_unit_free(void *unit);
unsigned long shrinker_nodes_word(unsigned int at);
int shrinker_home_node(void);
int shrinker_add_node(int nid);
void shrinker_warn_missing_unit(struct mem_cgroup *memcg, int nid, int shrinker_id);
void count_shrinker_walk(unsigned long bits, unsigned long spurious);
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
void shrinker_warn_unlisted(struct mem_cgroup *memcg, int nid);
void memcg_warn_lru_unlisted(struct mem_cgroup *memcg, int nid);

/* Of debugfs only. */
void show_shrinker_map(struct seq_file *m, struct mem_cgroup *memcg, int nid);

/* Of the tests only: what they look at; racy unless they keep things quiet. */
enum shrinker_map_view {
	SHRINKER_MAP_BIT,
	SHRINKER_MAP_SUMMARY,
	SHRINKER_MAP_INSTALLED,
	SHRINKER_MAP_DEFERRED,
	SHRINKER_MAP_NR_UNITS,
};

long shrinker_map_inspect(struct mem_cgroup *memcg, int nid, int shrinker_id, int what);
bool shrinker_id_is_listed(int memcg_id, int nid);
bool memcg_id_has_lru_bit(int memcg_id, int nid);
bool shrinker_id_is_found(int memcg_id);
long shrinker_take_deferred(int nid, struct shrinker *shrinker,
			    struct mem_cgroup *memcg);
long shrinker_add_deferred(long nr, int nid, struct shrinker *shrinker,
			   struct mem_cgroup *memcg);

static inline bool shrinker_bit_is_set(struct mem_cgroup *memcg, int nid,
				       int shrinker_id)
{
	return shrinker_map_inspect(memcg, nid, shrinker_id, SHRINKER_MAP_BIT);
}

static inline bool shrinker_summary_is_set(struct mem_cgroup *memcg, int nid,
					   int shrinker_id)
{
	return shrinker_map_inspect(memcg, nid, shrinker_id, SHRINKER_MAP_SUMMARY);
}

static inline bool shrinker_unit_is_installed(struct mem_cgroup *memcg, int nid,
					      int shrinker_id)
{
	return shrinker_map_inspect(memcg, nid, shrinker_id, SHRINKER_MAP_INSTALLED);
}

static inline long shrinker_nr_deferred(struct mem_cgroup *memcg, int nid,
					int shrinker_id)
{
	return shrinker_map_inspect(memcg, nid, shrinker_id, SHRINKER_MAP_DEFERRED);
}

/* On all nodes, of all shrinkers */
static inline unsigned long shrinker_nr_units(struct mem_cgroup *memcg)
{
	return shrinker_map_inspect(memcg, 0, 0, SHRINKER_MAP_NR_UNITS);
}

#ifdef CONFIG_MEMCG_V1
bool mem_cgroup_is_in_excess(struct mem_cgroup *memcg);
#endif

void shrinker_forget_node(int nid);
void memcg_dying_drain(void);
void shrinker_verify(struct mem_cgroup *memcg, int nid);

/* For mm/tests/mm_reclaim */
bool memcg_has_own_sums(struct mem_cgroup *memcg);

/* Asked of mm/tests/mm_reclaim. */
u32 mm_reclaim_test_seed(void);

#else /* !CONFIG_MEMCG_SHRINKER_RUST */

static inline gfp_t shrinker_unit_gfp_may_fail(gfp_t gfp)
{
	return gfp;
}

static inline void set_shrinker_bits_root(struct shrinker *shrinker)
{
}

static inline void set_memcg_lru_bit(struct mem_cgroup *memcg, int nid)
{
}

static inline void shrinker_memcg_online(struct mem_cgroup *memcg)
{
}

static inline void mm_reclaim_init(void)
{
}

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* _LINUX_MM_RECLAIM_H */
