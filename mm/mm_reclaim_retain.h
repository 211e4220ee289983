/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page cache that outlives the limit of its memory cgroup: what mm/memcontrol*.c,
 * mm/vmscan.c and mm/filemap.c ask of mm/mm_reclaim_retain.c and rust/mm_reclaim/.
 */
#ifndef __MM_MM_RECLAIM_RETAIN_H
#define __MM_MM_RECLAIM_RETAIN_H

#include <linux/jump_label_ratelimit.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>

struct seq_buf;

/**
 * struct memcg_retain_pass - what one pass of reclaim over a memcg retains
 * @pool: with a reference, if it is not @memcg; NULL if nothing may be retained
 * @memcg: from which it comes
 * @limited: the memcg whose limit makes that be reclaimed from
 * @nid: the node on which they are
 * @room: how much more may be retained
 * @folios: those that were retained, and are on no LRU list
 * @events: pages, until they are added to the counters of @memcg and @pool
 */
struct memcg_retain_pass {
	struct mem_cgroup	*pool;
#ifdef CONFIG_MEMCG_SHRINKER_RUST
	struct mem_cgroup	*memcg;
	struct mem_cgroup	*limited;
	int			nid;
	struct memcg_retain_room room;
	struct list_head	folios;
	unsigned long		events[NR_MEMCG_RETAIN_EVENTS];
#endif
};

/* Neither others nor memory is waited for. */
#define MEMCG_RETAIN_NOWAIT	BIT(0)
/* It is going to be mapped or written, and so held: not without being charged for. */
#define MEMCG_RETAIN_PAID	BIT(1)

#ifdef CONFIG_MEMCG_SHRINKER_RUST

extern struct static_key_false_deferred memcg_retain_key;

/* Whether there is a pool, or was one a moment ago */
static inline bool memcg_retain_is_used(void)
{
	return static_branch_unlikely(&memcg_retain_key.key);
}

void __memcg_retain_begin(struct memcg_retain_pass *pass, struct mem_cgroup *memcg,
			  struct pglist_data *pgdat, struct mem_cgroup *limited);
bool __memcg_retain_folio(struct memcg_retain_pass *pass, struct folio *folio);
void __memcg_retain_end(struct memcg_retain_pass *pass, unsigned long nr_reclaimed);

/**
 * memcg_retain_begin - have what a pass of reclaim is about to free be retained
 * @pass: its state, for the other functions; memcg_retain_end() gives back what it holds
 * @memcg: whose folios they are, which the caller keeps valid; NULL for those of several
 * @pgdat: the node they are on
 * @limited: the memcg whose limit makes them be freed; NULL if nothing may be retained, as
 *	it is a shortage of memory
 *
 * Context: May sleep.
 */
static inline void memcg_retain_begin(struct memcg_retain_pass *pass,
				      struct mem_cgroup *memcg,
				      struct pglist_data *pgdat,
				      struct mem_cgroup *limited)
{
	pass->pool = NULL;
	if (memcg_retain_is_used() && memcg)
		__memcg_retain_begin(pass, memcg, pgdat, limited);
}

/* Whether it is the pool from which the pass frees */
static inline bool memcg_retain_is_pool(struct memcg_retain_pass *pass)
{
	return pass->pool && pass->pool == pass->memcg;
}

/* Whether the pass has a list of folios, which may be empty */
static inline bool memcg_retain_has_folios(struct memcg_retain_pass *pass)
{
	return pass->pool && pass->pool != pass->memcg;
}

/**
 * memcg_retain_folio - give a folio to the pool
 * @pass: the pass
 * @folio: locked, isolated from its LRU list, and without buffers
 *
 * Context: Process context; does not sleep. Takes the lock of i_pages.
 * Return: whether the folio is on the list of the pass now: its memcg has got rid of it.
 */
static inline bool memcg_retain_folio(struct memcg_retain_pass *pass, struct folio *folio)
{
	return memcg_retain_has_folios(pass) && __memcg_retain_folio(pass, folio);
}

/**
 * memcg_retain_end - end a pass
 * @pass: the pass, whose folios are on LRU lists again
 * @nr_reclaimed: how many pages its memcg has lost
 *
 * Context: Process context; does not sleep.
 */
static inline void memcg_retain_end(struct memcg_retain_pass *pass,
				    unsigned long nr_reclaimed)
{
	if (pass->pool)
		__memcg_retain_end(pass, nr_reclaimed);
}

bool folio_is_retained(struct folio *folio);

/* Whether a folio is in the pool, if there is one */
static inline bool memcg_retain_has(struct folio *folio)
{
	return memcg_retain_is_used() && folio_is_retained(folio);
}

int __memcg_retain_use(struct folio *folio, gfp_t gfp, unsigned int how);

/**
 * memcg_retain_use - charge whoever uses a folio of the pool
 * @folio: with a reference, not locked by the caller
 * @gfp: how memory may be reclaimed from the memcg that is charged
 * @how: MEMCG_RETAIN_NOWAIT, MEMCG_RETAIN_PAID
 *
 * A folio that somebody else reads at the moment, or has locked, stays in the pool, and can be
 * read all the same. So does one for which there is no memory, if that was waited for. With
 * MEMCG_RETAIN_PAID, who locks it afterwards has to see whether it is in the page cache, and
 * memcg_retain_is_unpaid(): one that others go on to use, or for which there is no memory,
 * leaves the page cache here.
 *
 * Context: May sleep, unless @gfp and @how say otherwise. Does not wait for the lock of the
 * folio.
 * Return: 0; -EAGAIN, only with MEMCG_RETAIN_NOWAIT, if it must not be used, as who waits
 * can be charged for it; or -ENOMEM, without any of both, if it may be used, and there was no
 * memory to be charged.
 */
static inline int memcg_retain_use(struct folio *folio, gfp_t gfp, unsigned int how)
{
	return memcg_retain_has(folio) ? __memcg_retain_use(folio, gfp, how) : 0;
}

bool __memcg_retain_is_unpaid(struct folio *folio);

/**
 * memcg_retain_is_unpaid - whether a folio of the pool must not be mapped or written yet
 * @folio: locked by the caller, and in the page cache
 *
 * As it came to the pool, or could not be locked, since memcg_retain_use() was called, which
 * is to be called again. Not for who belongs to the pool, nor if others have it mapped.
 *
 * Context: Process context; does not sleep.
 * Return: whether who maps or writes it would hold it without being charged.
 */
static inline bool memcg_retain_is_unpaid(struct folio *folio)
{
	return memcg_retain_has(folio) && __memcg_retain_is_unpaid(folio);
}

/*
 * How long a charge waits for others to free inodes, each time it tries: sixteen times, and a
 * few more.
 */
#define MEMCG_RETAIN_RELIEF_WAIT	(HZ / 2)

struct mem_cgroup *memcg_retain_pool_get(void);
unsigned long memcg_retain_lacking(struct pglist_data *pgdat);
unsigned long memcg_retain_relief(struct mem_cgroup *pool, struct mem_cgroup *memcg);
bool memcg_retain_lacks_relief(struct mem_cgroup *memcg);
void memcg_retain_relieve_nofs(struct mem_cgroup *memcg);
void memcg_retain_have_relieved(struct mem_cgroup *memcg);
unsigned long memcg_retain_share(struct mem_cgroup *pool, struct pglist_data *pgdat,
				 unsigned long nr);

void memcg_retain_offline(struct mem_cgroup *memcg);
void memcg_retain_reset(struct mem_cgroup *memcg);
void memcg_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s);
void memcg1_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s);

/* Asked of mm/vmscan.c. */
unsigned long memcg_retain_size(struct lruvec *lruvec, int zone_idx);
unsigned long memcg_retain_evict(struct mem_cgroup *pool, struct pglist_data *pgdat,
				 unsigned long nr);

/* Asked of mm/memcontrol.c. */
int memcg_retain_charge(struct mem_cgroup *memcg, gfp_t gfp, unsigned int nr_pages);
void memcg_retain_uncharge(struct mem_cgroup *memcg, unsigned int nr_pages);
struct obj_cgroup *memcg_retain_objcg(struct mem_cgroup *memcg, int nid);

#else /* !CONFIG_MEMCG_SHRINKER_RUST */

static inline bool memcg_retain_is_used(void)
{
	return false;
}

static inline void memcg_retain_begin(struct memcg_retain_pass *pass,
				      struct mem_cgroup *memcg,
				      struct pglist_data *pgdat,
				      struct mem_cgroup *limited)
{
}

static inline bool memcg_retain_is_pool(struct memcg_retain_pass *pass)
{
	return false;
}

static inline bool memcg_retain_folio(struct memcg_retain_pass *pass, struct folio *folio)
{
	return false;
}

static inline bool memcg_retain_has(struct folio *folio)
{
	return false;
}

static inline int memcg_retain_use(struct folio *folio, gfp_t gfp, unsigned int how)
{
	return 0;
}

static inline bool memcg_retain_is_unpaid(struct folio *folio)
{
	return false;
}

static inline void memcg_retain_offline(struct mem_cgroup *memcg)
{
}

static inline void memcg_retain_reset(struct mem_cgroup *memcg)
{
}

static inline void memcg_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
}

static inline void memcg1_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
}

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* __MM_MM_RECLAIM_RETAIN_H */
