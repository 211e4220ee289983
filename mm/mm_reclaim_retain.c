// SPDX-License-Identifier: GPL-2.0
/*
 * Page cache that outlives the limit of its memory cgroup: how folios go to the pool
 * and come back, and the knobs. Which folios may, who is charged for one that is used
 * again, and when the pool has to give memory back is decided in
 * rust/mm_reclaim/retain.rs.
 *
 * The objcg of a folio changes while the folio is in the page cache, which happens
 * nowhere else. So in retain_switch() the folio
 *
 * - is locked: nobody maps it, begins to write it back, truncates, splits or migrates it;
 * - is on no LRU list, and we have cleared its flag LRU: nobody looks for its lruvec in
 *   order to lock that;
 * - is not counted as dirty meanwhile, which takes the lock of i_pages, and we hold that;
 * - is not mapped, dirty or under writeback, for which its memcg counts pages.
 *
 * Nobody else has a reference, but for those that are known: whoever unmaps a folio, or
 * ends its writeback, changes the counters of its memcg afterwards, and gives its own
 * back after that. Others may take one at any time, and read the memcg under RCU: they
 * get the old one or the new one, each of which lives until a grace period later.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/page_counter.h>
#include <linux/pagemap.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include <trace/events/vmscan.h>

#include "internal.h"
#include "memcontrol-v1.h"
#include "mm_reclaim_retain.h"
#include "mm_reclaim_stat.h"

/* On while there is a pool, or was one a moment ago: code is not patched for each. */
DEFINE_STATIC_KEY_DEFERRED_FALSE(memcg_retain_key, 10 * HZ);

/* The memcg that is the pool, if there is one: it is online. Read under RCU. */
static struct mem_cgroup __rcu *retain_pool;
/*
 * The last pool, as long as something may be left in it, to compare pointers with. What is
 * evicted from it is free, too, and whoever is to end it once more goes on with that.
 */
static struct mem_cgroup *retain_ended;
/* For changes of both, over the grace period which ends the time of a pool. */
static DEFINE_MUTEX(retain_pool_mutex);

/*
 * How many pages are freed at a time when the pool is emptied, and how many when it is
 * removed: nobody makes or removes a cgroup meanwhile. The rest is its parent's then.
 */
#define RETAIN_EMPTY_BATCH	(SZ_4M >> PAGE_SHIFT)
#define RETAIN_OFFLINE_MAX	(SZ_128M >> PAGE_SHIFT)

/*
 * How often a jiffy is waited for the references of others to go, until a folio that is to
 * be mapped or written leaves the page cache: they read it, or are charged for it, or for
 * one beside it.
 */
#define RETAIN_USE_RETRIES	4

/* What a process is killed for if it can't be charged: larger charges fail. */
#define RETAIN_CHARGE_MAX	BIT(PAGE_ALLOC_COSTLY_ORDER)

static void memcg_retain_balance(struct work_struct *work);
static DECLARE_DELAYED_WORK(retain_balance_work, memcg_retain_balance);

static void retain_balance_in(unsigned int msecs)
{
	queue_delayed_work(system_dfl_wq, &retain_balance_work, msecs_to_jiffies(msecs));
}

static void retain_count(struct mem_cgroup *memcg, enum memcg_retain_event event,
			 unsigned long nr_pages)
{
	static_assert(PGRETAIN_REFUSED_UNUSED - PGRETAIN_KEPT == MEMCG_RETAIN_UNUSED);

	if (!nr_pages)
		return;

	count_vm_events(PGRETAIN_KEPT + event, nr_pages);
	atomic64_add(nr_pages, &memcg->retain_events.local[event]);
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		atomic64_add(nr_pages, &memcg->retain_events.total[event]);
}

/* Those above the memcg have it once. */
static void retain_count_in_pool(struct mem_cgroup *pool, struct mem_cgroup *memcg,
				 enum memcg_retain_event event, unsigned long nr_pages)
{
	if (!nr_pages)
		return;

	atomic64_add(nr_pages, &pool->retain_events.local[event]);
	for (; pool && !mem_cgroup_is_descendant(memcg, pool); pool = parent_mem_cgroup(pool))
		atomic64_add(nr_pages, &pool->retain_events.total[event]);
}

/**
 * memcg_retain_pool_get - take a reference on the pool
 *
 * Context: Any.
 * Return: the pool, for css_put(), or NULL if there is none.
 */
struct mem_cgroup *memcg_retain_pool_get(void)
{
	struct mem_cgroup *pool;

	guard(rcu)();

	pool = rcu_dereference(retain_pool);
	return pool && css_tryget(&pool->css) ? pool : NULL;
}

static struct memcg_retain_node retain_node(struct pglist_data *pgdat)
{
	struct memcg_retain_node node = {};
	struct zone *zone;

	for (zone = pgdat->node_zones; zone < pgdat->node_zones + MAX_NR_ZONES; zone++) {
		if (!managed_zone(zone))
			continue;
		node.free += zone_page_state(zone, NR_FREE_PAGES);
		node.high += high_wmark_pages(zone);
		node.managed += zone_managed_pages(zone);
	}
	return node;
}

/**
 * memcg_retain_lacking - find how much the pool is to give back to a node
 * @pgdat: the node
 *
 * Context: Any.
 * Return: the number of pages.
 */
unsigned long memcg_retain_lacking(struct pglist_data *pgdat)
{
	struct memcg_retain_node node = retain_node(pgdat);

	return memcg_retain_node_lacking(node);
}

/* Up to where a memcg is not reclaimed from */
static unsigned long retain_limit(struct mem_cgroup *memcg)
{
	return min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
}

/* How much may be charged to a memcg until it, or one above it, is full */
static unsigned long retain_margin(struct mem_cgroup *memcg)
{
	unsigned long margin = PAGE_COUNTER_MAX;

	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		unsigned long usage = page_counter_read(&memcg->memory);
		unsigned long limit = retain_limit(memcg);

		margin = min(margin, limit - min(limit, usage));
	}
	return margin;
}

/* What a memcg has up to its limit: cgroup v1 sets one after it has reclaimed down to it. */
static unsigned long retain_usage(struct mem_cgroup *memcg)
{
	return min(retain_limit(memcg), page_counter_read(&memcg->memory));
}

/* What only the slab shrinkers free: among it inodes, and the nodes of the page cache */
static unsigned long retain_nr_slab(struct mem_cgroup *memcg)
{
	return memcg_page_state(memcg, NR_SLAB_RECLAIMABLE_B) >> PAGE_SHIFT;
}

static unsigned long retain_relief_from(struct mem_cgroup *memcg, unsigned long nr_pooled)
{
	/* mem_cgroup_flush_stats() leaves what is little: much of a small limit. */
	css_rstat_flush(&memcg->css);
	return memcg_retain_nr_relief(retain_nr_slab(memcg), retain_usage(memcg), nr_pooled);
}

/**
 * memcg_retain_relief - find how much of the pool is freed for a memcg at its limit
 * @pool: the pool
 * @memcg: a memcg in which reclaim found too little
 *
 * Only for memory.max: who is above memory.high has been charged, and others keep what they
 * have in the pool.
 *
 * Context: May sleep.
 * Return: the number of pages; 0 if nothing of the memcg has ever been retained.
 */
unsigned long memcg_retain_relief(struct mem_cgroup *pool, struct mem_cgroup *memcg)
{
	if (!atomic64_read(&memcg->retain_events.total[MEMCG_RETAIN_KEPT]))
		return 0;
	/* cgroup v1 has no other limit, and sets one after it has reclaimed down to it. */
	if (cgroup_subsys_on_dfl(memory_cgrp_subsys) &&
	    page_counter_read(&memcg->memory) + RETAIN_CHARGE_MAX <=
			READ_ONCE(memcg->memory.max))
		return 0;

	return retain_relief_from(memcg, page_counter_read(&pool->memory));
}

/**
 * memcg_retain_lacks_relief - whether more of the pool is to be freed for a memcg
 * @memcg: a memcg at its limit
 *
 * Context: May sleep.
 * Return: whether it is.
 */
bool memcg_retain_lacks_relief(struct mem_cgroup *memcg)
{
	return retain_relief_from(memcg, 1);
}

/**
 * struct retain_relief - reclaim by a work item, for who must not enter a file system
 * @work: the work item
 * @memcg: a memcg at its limit, with a reference
 * @done: whether that is over
 * @users: the work item, and who waits for it
 */
struct retain_relief {
	struct work_struct	work;
	struct mem_cgroup	*memcg;
	struct completion	done;
	refcount_t		users;
};

static void retain_relief_put(struct retain_relief *relief)
{
	if (!refcount_dec_and_test(&relief->users))
		return;

	css_put(&relief->memcg->css);
	kfree(relief);
}

static void memcg_retain_relieve(struct work_struct *work)
{
	struct retain_relief *relief = container_of(work, struct retain_relief, work);

	/* On cgroup v1, the limit may be that of memory and swap together. */
	try_to_free_mem_cgroup_pages(relief->memcg, SWAP_CLUSTER_MAX, GFP_KERNEL,
				     do_memsw_account() ? 0 : MEMCG_RECLAIM_MAY_SWAP, NULL);
	complete(&relief->done);
	retain_relief_put(relief);
}

/* Whether reclaim that may enter a file system would evict some of the pool for a memcg */
static bool retain_wants_relief(struct mem_cgroup *memcg)
{
	struct mem_cgroup *pool;
	bool ret;

	pool = memcg_retain_pool_get();
	if (!pool)
		return false;

	ret = memcg_retain_relief(pool, memcg);
	css_put(&pool->css);

	return ret;
}

/**
 * memcg_retain_have_relieved - have a work item reclaim from a memcg
 * @memcg: the memcg
 *
 * Waits for it, but not for long: the caller may hold locks of a file system that it needs.
 *
 * Context: May sleep.
 */
void memcg_retain_have_relieved(struct mem_cgroup *memcg)
{
	struct retain_relief *relief;

	/* Who reclaims could use the reserves. */
	relief = kmalloc_obj(*relief, GFP_NOWAIT | __GFP_NOMEMALLOC | __GFP_NOWARN);
	if (!relief)
		return;

	css_get(&memcg->css);
	relief->memcg = memcg;
	init_completion(&relief->done);
	refcount_set(&relief->users, 2);
	INIT_WORK(&relief->work, memcg_retain_relieve);
	queue_work(system_dfl_wq, &relief->work);

	wait_for_completion_killable_timeout(&relief->done, MEMCG_RETAIN_RELIEF_WAIT);
	retain_relief_put(relief);
}

/**
 * memcg_retain_relieve_nofs - make room for who must not enter a file system
 * @memcg: a memcg at its limit, in which the caller has found too little
 *
 * Does for it what the same caller would do with __GFP_FS: see memcg_retain_relief().
 *
 * Context: May sleep. The caller may hold locks of a file system.
 */
void memcg_retain_relieve_nofs(struct mem_cgroup *memcg)
{
	if (!fatal_signal_pending(current) && retain_wants_relief(memcg))
		memcg_retain_have_relieved(memcg);
}

/*
 * The page cache of a memcg, on all nodes, that files have on a disk: by what is counted for
 * the memcg as folios come and go, since those that reclaim is about to put back are on no
 * list yet.
 */
static unsigned long retain_pages(struct mem_cgroup *memcg)
{
	unsigned long nr_pages = 0, nr_others = 0;
	int nid;

	/* As in retain_relief_from() */
	css_rstat_flush(&memcg->css);
	for_each_node_state(nid, N_MEMORY) {
		struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));

		nr_pages += lruvec_page_state_local(lruvec, NR_FILE_PAGES);
		nr_others += lruvec_page_state_local(lruvec, NR_SHMEM);
	}
	return nr_pages - min(nr_pages, nr_others);
}

/**
 * memcg_retain_share - find how many of the pages that are to be freed are on a node
 * @pool: the pool
 * @pgdat: the node
 * @nr: how many are to be freed on all nodes
 *
 * Context: Any.
 * Return: the number of pages, in proportion to what the pool has there.
 */
unsigned long memcg_retain_share(struct mem_cgroup *pool, struct pglist_data *pgdat,
				 unsigned long nr)
{
	unsigned long here = memcg_retain_size(mem_cgroup_lruvec(pool, pgdat), MAX_NR_ZONES - 1);
	unsigned long all = max(here, page_counter_read(&pool->memory));

	return all ? DIV64_U64_ROUND_UP((u64)here * nr, all) : 0;
}

/* What retain.rs has to know of a folio */
static u32 retain_facts(struct folio *folio, struct mem_cgroup *pool)
{
	/* Who has no lock has the file open: its mapping, or none. */
	struct address_space *mapping = READ_ONCE(folio->mapping);
	u32 word = 0;

	if (mapping && test_bit(AS_MEMCG_RETAIN, &mapping->flags) && !mapping_exiting(mapping))
		word |= MEMCG_RETAIN_FOLIO_ASKED;
	if (folio_test_uptodate(folio))
		word |= MEMCG_RETAIN_FOLIO_UPTODATE;
	if (folio_mapped(folio))
		word |= MEMCG_RETAIN_FOLIO_MAPPED;
	if (folio_test_dirty(folio))
		word |= MEMCG_RETAIN_FOLIO_DIRTY;
	if (folio_test_writeback(folio))
		word |= MEMCG_RETAIN_FOLIO_WRITEBACK;
	if (folio_test_dropbehind(folio) || folio_test_private(folio))
		word |= MEMCG_RETAIN_FOLIO_DROPPED;
	if (folio_contain_hwpoisoned_page(folio))
		word |= MEMCG_RETAIN_FOLIO_POISONED;

	rcu_read_lock();
	if (folio_memcg(folio) == pool)
		word |= MEMCG_RETAIN_FOLIO_POOLED;
	rcu_read_unlock();

	return word;
}

/* Page cache is counted for the memcg, and these are the counters of what is not used. */
static void retain_account(struct folio *folio, long nr_pages)
{
	lruvec_stat_mod_folio(folio, NR_FILE_PAGES, nr_pages);
	if (folio_test_pmd_mappable(folio))
		lruvec_stat_mod_folio(folio, NR_FILE_THPS, nr_pages);
}

/*
 * Gives a folio to the memcg of another objcg, whose reference the folio gets; that on
 * the one that is returned is the caller's. What has to be held is above.
 */
static struct obj_cgroup *retain_switch(struct folio *folio, struct obj_cgroup *objcg)
{
	struct obj_cgroup *old = folio_objcg(folio);
	long nr_pages = folio_nr_pages(folio);

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) || folio_test_lru(folio), folio);
	lockdep_assert_held(&folio->mapping->i_pages.xa_lock);

	retain_account(folio, -nr_pages);
	/* Pairs with the reads of those who have but a reference on the folio. */
	WRITE_ONCE(folio->memcg_data, (unsigned long)objcg);
	retain_account(folio, nr_pages);

	return old;
}

/*
 * How a folio was used in one memcg means nothing in the other. MGLRU also makes those active
 * that are taken from a list whose older generations are empty.
 */
static void retain_forget_use(struct folio *folio)
{
	set_mask_bits(&folio->flags.f,
		      LRU_REFS_FLAGS | BIT(PG_active) | BIT(PG_workingset), 0);
}

/* The objcg may have got another memcg since: it is that one which is charged now. */
static void retain_uncharge(struct obj_cgroup *objcg, unsigned int nr_pages, int nid)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = obj_cgroup_memcg(objcg);
	if (!obj_cgroup_is_root(objcg)) {
		memcg_retain_uncharge(memcg, nr_pages);
		memcg1_oom_recover(memcg);
	}
	memcg1_uncharge_batch(memcg, 1, nr_pages, nid);
	rcu_read_unlock();

	obj_cgroup_put(objcg);
}

/* ---- from a limit to the pool */

void __memcg_retain_begin(struct memcg_retain_pass *pass, struct mem_cgroup *memcg,
			  struct pglist_data *pgdat, struct mem_cgroup *limited)
{
	struct memcg_retain_node node;
	struct mem_cgroup *pool;
	unsigned long size;

	pass->memcg = memcg;
	/* What is evicted from the pool is free. The caller keeps this one valid. */
	if (memcg == rcu_access_pointer(retain_pool) || memcg == READ_ONCE(retain_ended)) {
		pass->pool = memcg;
		return;
	}
	if (!limited || !memcg_retain_allows(memcg))
		return;

	pool = memcg_retain_pool_get();
	if (!pool)
		return;

	/*
	 * So is what those below the pool evict; and what goes to a pool below the memcg with
	 * the limit would still be charged to that.
	 */
	if (mem_cgroup_is_descendant(memcg, pool) ||
	    mem_cgroup_is_descendant(pool, limited)) {
		css_put(&pool->css);
		return;
	}

	node = retain_node(pgdat);
	pass->pool = pool;
	pass->limited = limited;
	pass->nid = pgdat->node_id;
	INIT_LIST_HEAD(&pass->folios);
	memset(pass->events, 0, sizeof(pass->events));
	memset(&pass->room, 0, sizeof(pass->room));
	pass->room.spare = memcg_retain_node_spare(node);
	pass->room.margin = retain_margin(pool);
	/* With what it has room for: where nothing has to go, taking all costs nothing. */
	size = page_counter_read(&pool->memory) + min(pass->room.spare, pass->room.margin);
	pass->room.is_unused = !memcg_retain_takes_next(pool, size);
	if (pass->room.is_unused)
		return;

	/* As old as what else reclaim knows of a memcg: if it is too late, there is relief. */
	mem_cgroup_flush_stats_ratelimited(limited);
	pass->room.is_burdened = memcg_retain_is_burden(retain_nr_slab(limited),
							retain_usage(limited));
}

/*
 * Reclaim must not begin anew in here, as it would for try_charge_memcg(): with
 * PF_MEMALLOC, that one charges what is above the limit.
 */
static bool retain_charge_pool(struct mem_cgroup *pool, unsigned int nr_pages)
{
	struct page_counter *counter;

	if (!page_counter_try_charge(&pool->memory, nr_pages, &counter))
		return false;
	if (do_memsw_account() &&
	    !page_counter_try_charge(&pool->memsw, nr_pages, &counter)) {
		page_counter_uncharge(&pool->memory, nr_pages);
		return false;
	}
	return true;
}

bool __memcg_retain_folio(struct memcg_retain_pass *pass, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	unsigned int nr_pages = folio_nr_pages(folio);
	struct obj_cgroup *objcg, *old = NULL;
	int nid = folio_nid(folio);
	int event;

	/* Has no mapping, but an anon_vma, or that of swap. */
	if (folio_test_anon(folio) || folio_test_swapcache(folio))
		return false;

	event = memcg_retain_judge(retain_facts(folio, pass->pool), nr_pages, pass->room);
	if (event != MEMCG_RETAIN_KEPT)
		goto refused;

	event = MEMCG_RETAIN_CAP;
	if (!retain_charge_pool(pass->pool, nr_pages))
		goto refused;
	objcg = memcg_retain_objcg(pass->pool, nid);

	/*
	 * The page cache has a reference for each page, and we have that of the list it
	 * was on. With any other, whoever has it uses the folio. Once the lock is there,
	 * it can't get dirty; and there is a grace period between the end of the pool's
	 * time and the first look at what is left in it.
	 */
	event = MEMCG_RETAIN_BUSY;
	xa_lock_irq(&mapping->i_pages);
	if (folio_ref_count(folio) == 1 + nr_pages &&
	    memcg_retain_judge(retain_facts(folio, pass->pool), nr_pages, pass->room) ==
			MEMCG_RETAIN_KEPT &&
	    rcu_access_pointer(retain_pool) == pass->pool)
		old = retain_switch(folio, objcg);
	xa_unlock_irq(&mapping->i_pages);

	if (!old) {
		memcg_retain_uncharge(pass->pool, nr_pages);
		obj_cgroup_put(objcg);
		goto refused;
	}

	retain_forget_use(folio);
	memcg1_commit_charge(folio, pass->pool);
	retain_uncharge(old, nr_pages, nid);
	/* As if it had been evicted: what else its memcg has lost is the older for that. */
	if (!lru_gen_enabled())
		workingset_age_nonresident(mem_cgroup_lruvec(pass->limited,
							     NODE_DATA(nid)), nr_pages);

	pass->room.spare -= nr_pages;
	pass->room.margin -= nr_pages;
	pass->events[MEMCG_RETAIN_KEPT] += nr_pages;
	list_add(&folio->lru, &pass->folios);
	return true;

refused:
	if (event >= 0)
		pass->events[event] += nr_pages;
	return false;
}

void __memcg_retain_end(struct memcg_retain_pass *pass, unsigned long nr_reclaimed)
{
	enum memcg_retain_event event;

	if (memcg_retain_is_pool(pass)) {
		retain_count(pass->pool, MEMCG_RETAIN_EVICTED, nr_reclaimed);
		memcg_retain_evicted(pass->pool, nr_reclaimed,
				     page_counter_read(&pass->pool->memory));
		return;
	}

	trace_mm_vmscan_memcg_retain(pass->nid, pass->events, pass->memcg);
	for (event = 0; event < NR_MEMCG_RETAIN_EVENTS; event++)
		retain_count(pass->memcg, event, pass->events[event]);
	retain_count_in_pool(pass->pool, pass->memcg, MEMCG_RETAIN_KEPT,
			     pass->events[MEMCG_RETAIN_KEPT]);

	/* What is full has to lose its oldest for those to come. */
	if (pass->events[MEMCG_RETAIN_CAP])
		mod_delayed_work(system_dfl_wq, &retain_balance_work, 0);
	else if (pass->events[MEMCG_RETAIN_KEPT])
		retain_balance_in(memcg_retain_next_look(0));
	css_put(&pass->pool->css);
}

/* ---- from the pool to whoever uses it */

/**
 * folio_is_retained - whether a folio is in the pool
 * @folio: a folio of the page cache, with a reference
 *
 * Context: Any. It may change, unless what retain_switch() needs is held.
 * Return: whether it is.
 */
bool folio_is_retained(struct folio *folio)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);
	struct mem_cgroup *pool;

	/* Others may be charged to the pool, as to any memcg. */
	if (!mapping || !test_bit(AS_MEMCG_RETAIN, &mapping->flags))
		return false;

	guard(rcu)();

	pool = rcu_dereference(retain_pool);
	return pool && folio_memcg(folio) == pool;
}

/*
 * Whether a folio has but the references of the page cache and of the caller. Whoever
 * isolates one that has others leaves it to a CPU for being put back, which is one more.
 */
static bool retain_has_one_user(struct folio *folio)
{
	int expected = 1 + folio_nr_pages(folio);

	/* It may wait on this CPU for being put on a list. */
	if (folio_ref_count(folio) != expected)
		lru_add_drain();
	return folio_test_lru(folio) && folio_ref_count(folio) == expected;
}

/* Whether who uses a locked folio of the pool has to be charged, or may not have it */
static bool retain_is_owed(struct folio *folio, struct mem_cgroup *pool,
			   struct mem_cgroup *memcg)
{
	return folio->mapping && !folio_test_private(folio) &&
	       !folio_maybe_dma_pinned(folio) &&
	       memcg_retain_charges_user(retain_facts(folio, pool), memcg == pool);
}

bool __memcg_retain_is_unpaid(struct folio *folio)
{
	struct mem_cgroup *pool = memcg_retain_pool_get();
	struct mem_cgroup *memcg;
	bool ret;

	if (!pool)
		return false;

	memcg = get_mem_cgroup_from_mm(NULL);
	ret = retain_is_owed(folio, pool, memcg);
	mem_cgroup_put(memcg);
	css_put(&pool->css);

	return ret;
}

/* With the folio locked, and charged for already; returns what it was charged to. */
static struct obj_cgroup *retain_take(struct folio *folio, struct mem_cgroup *pool,
				      struct mem_cgroup *memcg, struct obj_cgroup *objcg)
{
	struct address_space *mapping = folio->mapping;
	struct obj_cgroup *old = NULL;

	if (!mapping || !retain_has_one_user(folio) || !folio_isolate_lru(folio))
		return NULL;

	/* The page cache's, that for which it was isolated, and the caller's */
	xa_lock_irq(&mapping->i_pages);
	if (folio_ref_count(folio) == folio_nr_pages(folio) + 2 &&
	    memcg_retain_charges_user(retain_facts(folio, pool), memcg == pool))
		old = retain_switch(folio, objcg);
	xa_unlock_irq(&mapping->i_pages);

	if (old) {
		retain_forget_use(folio);
		memcg1_commit_charge(folio, memcg);
	}
	folio_putback_lru(folio);
	return old;
}

/*
 * The same again and again, if it is to be held, and others use the folio. In the end it is
 * removed from the page cache, as truncation does, whoever has references: it is locked, not
 * mapped and clean, and stays that. For who could write to it with but a reference has mapped
 * it before, and so been charged, unless it is a process of the pool, which should have none.
 * Who reads it again is charged, or meets the limit.
 * Without an objcg nothing is charged. A folio that somebody has locked is left to the
 * caller, who can wait for that.
 */
static struct obj_cgroup *retain_take_or_drop(struct folio *folio, struct mem_cgroup *pool,
					      struct mem_cgroup *memcg,
					      struct obj_cgroup *objcg, unsigned int nr_pages)
{
	struct obj_cgroup *old = NULL;
	int retries;

	for (retries = objcg ? RETAIN_USE_RETRIES : 0; folio_trylock(folio); retries--) {
		/* If it has been split, the caller comes again. */
		bool is_done = folio_nr_pages(folio) != nr_pages;

		if (objcg && !is_done)
			old = retain_take(folio, pool, memcg, objcg);
		is_done |= old || !retain_is_owed(folio, pool, memcg);
		if (!is_done && !retries) {
			retain_count(pool, MEMCG_RETAIN_EVICTED, nr_pages);
			filemap_remove_folio(folio);
			is_done = true;
		}
		folio_unlock(folio);
		if (is_done)
			break;
		schedule_timeout_killable(1);
	}
	return old;
}

int __memcg_retain_use(struct folio *folio, gfp_t gfp, unsigned int how)
{
	struct mem_cgroup *pool = memcg_retain_pool_get();
	unsigned int nr_pages = folio_nr_pages(folio);
	struct obj_cgroup *objcg, *old = NULL;
	bool is_limited, is_charged;
	struct mem_cgroup *memcg;
	int nid = folio_nid(folio);
	int err = 0;

	if (!pool)
		return 0;

	memcg = get_mem_cgroup_from_mm(NULL);
	if (!memcg_retain_charges_user(retain_facts(folio, pool), memcg == pool))
		goto put;
	/* A reader shares what others use at the moment, and is not charged. */
	if (!(how & MEMCG_RETAIN_PAID) && !retain_has_one_user(folio))
		goto put;

	/*
	 * Before the folio is locked: reclaim on cgroup v1 may wait for the writeback of
	 * others, which may wait for the lock. And nobody is killed for what can be had
	 * without.
	 */
	objcg = memcg_retain_objcg(memcg, nid);
	is_limited = !obj_cgroup_is_root(objcg);
	is_charged = !is_limited ||
		     !memcg_retain_charge(memcg, gfp | __GFP_NORETRY | __GFP_NOWARN, nr_pages);

	if (how & MEMCG_RETAIN_PAID && !(how & MEMCG_RETAIN_NOWAIT)) {
		old = retain_take_or_drop(folio, pool, memcg, is_charged ? objcg : NULL,
					  nr_pages);
	} else if (is_charged && folio_trylock(folio)) {
		if (folio_nr_pages(folio) == nr_pages)
			old = retain_take(folio, pool, memcg, objcg);
		/* Who waits for the others to go can hold it. */
		if (!old && how & MEMCG_RETAIN_PAID && retain_is_owed(folio, pool, memcg))
			err = -EAGAIN;
		folio_unlock(folio);
	} else if (how & MEMCG_RETAIN_NOWAIT) {
		/* Who may wait, and finds no memory or lock, reads it all the same. */
		err = -EAGAIN;
	} else if (!is_charged) {
		err = -ENOMEM;
	}

	if (old) {
		trace_mm_vmscan_memcg_retain_hit(folio, memcg);
		retain_count(memcg, MEMCG_RETAIN_HIT, nr_pages);
		retain_count_in_pool(pool, memcg, MEMCG_RETAIN_HIT, nr_pages);
		memcg_retain_used(pool, nr_pages, page_counter_read(&pool->memory));
		/* The folio has the reference on its new objcg, and gave that on the old one. */
		retain_uncharge(old, nr_pages, nid);
	} else {
		if (is_limited && is_charged)
			memcg_retain_uncharge(memcg, nr_pages);
		obj_cgroup_put(objcg);
	}
put:
	mem_cgroup_put(memcg);
	css_put(&pool->css);

	return err;
}

/* ---- out of the pool */

/* Before anybody allocates what is short, and so while nobody waits for it */
static void memcg_retain_balance(struct work_struct *work)
{
	struct mem_cgroup *pool = memcg_retain_pool_get();
	unsigned int next = UINT_MAX;
	unsigned long room;
	int nid;

	if (!pool)
		return;

	room = memcg_retain_makes_room(page_counter_read(&pool->memory), retain_margin(pool));
	for_each_node_state(nid, N_MEMORY) {
		struct pglist_data *pgdat = NODE_DATA(nid);
		struct memcg_retain_node node = retain_node(pgdat);
		unsigned long nr = max(memcg_retain_node_lacking(node),
				       memcg_retain_share(pool, pgdat, room));

		if (!memcg_retain_size(mem_cgroup_lruvec(pool, pgdat), MAX_NR_ZONES - 1))
			continue;
		if (nr)
			memcg_retain_evict(pool, pgdat, nr);
		next = min(next, memcg_retain_next_look(memcg_retain_node_spare(node)));
	}
	if (next != UINT_MAX)
		retain_balance_in(next);
	css_put(&pool->css);
}

/*
 * Frees what was the pool, but no more than so many pages. Returns whether no page cache
 * is left: what is used at the moment stays, as that of any memcg.
 */
static bool retain_empty(struct mem_cgroup *memcg, unsigned long nr, gfp_t gfp)
{
	bool is_removed = css_is_dying(&memcg->css);
	int retries = MAX_RECLAIM_RETRIES;

	lru_add_drain_all();
	while (nr && retries && retain_pages(memcg)) {
		unsigned long batch = min(nr, RETAIN_EMPTY_BATCH);

		if (!try_to_free_mem_cgroup_pages(memcg, batch, gfp,
						  MEMCG_RECLAIM_NO_RETAIN, NULL)) {
			/* What others have in their hands gets on a list in a moment. */
			retries--;
			schedule_timeout_uninterruptible(1);
			lru_add_drain_all();
		}
		nr -= batch;

		/* cgroup_rmdir() waits for this write to end, with cgroup_mutex held. */
		if (signal_pending(current) || css_is_dying(&memcg->css) != is_removed)
			break;
	}
	return !retain_pages(memcg);
}

static void retain_unset_pool(void)
{
	struct mem_cgroup *pool = rcu_dereference_protected(retain_pool,
					lockdep_is_held(&retain_pool_mutex));

	WRITE_ONCE(retain_ended, pool);
	RCU_INIT_POINTER(retain_pool, NULL);
	/* Whoever saw the pool while it held a lock of i_pages has put its folio there. */
	synchronize_rcu();
	/* Without a pool it does nothing, so nobody has to wait for it. */
	cancel_delayed_work(&retain_balance_work);
}

static void retain_forget_ended(struct mem_cgroup *memcg)
{
	guard(mutex)(&retain_pool_mutex);

	if (retain_ended == memcg)
		WRITE_ONCE(retain_ended, NULL);
}

/* ---- memcgs come and go */

/**
 * memcg_retain_reset - forget what was set for a memcg
 * @memcg: the memcg
 *
 * Context: May sleep.
 */
void memcg_retain_reset(struct mem_cgroup *memcg)
{
	memcg_retain_set(memcg, MEMCG_RETAIN_UNSET);
	memcg_retain_offline(memcg);
}

/**
 * memcg_retain_offline - end the time of a pool that is removed
 * @memcg: a memcg that goes offline, whose files are gone, or is reset
 *
 * Context: May sleep; the caller holds cgroup_mutex.
 */
void memcg_retain_offline(struct mem_cgroup *memcg)
{
	bool was_pool = rcu_access_pointer(retain_pool) == memcg;

	if (!was_pool && READ_ONCE(retain_ended) != memcg)
		return;

	if (was_pool) {
		scoped_guard(mutex, &retain_pool_mutex)
			retain_unset_pool();
		/* While cgroup_mutex is held, nobody waits for writeback: see may_enter_fs(). */
		retain_empty(memcg, RETAIN_OFFLINE_MAX, GFP_NOFS);
		static_branch_slow_dec_deferred(&memcg_retain_key);
	}
	retain_forget_ended(memcg);
}

/* ---- statistics */

static const char *const memcg_retain_event_names[] = {
	[MEMCG_RETAIN_KEPT]		= "retain_kept",
	[MEMCG_RETAIN_HIT]		= "retain_hit",
	[MEMCG_RETAIN_EVICTED]		= "retain_evicted",
	[MEMCG_RETAIN_CAP]		= "retain_refused_cap",
	[MEMCG_RETAIN_WATERMARK]	= "retain_refused_watermark",
	[MEMCG_RETAIN_BUSY]		= "retain_refused_busy",
	[MEMCG_RETAIN_SLAB]		= "retain_refused_slab",
	[MEMCG_RETAIN_UNUSED]		= "retain_refused_unused",
};

static void retain_print_events(struct seq_buf *s, const char *prefix,
				const atomic64_t *events)
{
	BUILD_BUG_ON(ARRAY_SIZE(memcg_retain_event_names) != NR_MEMCG_RETAIN_EVENTS);

	memcg_stat_print_events(s, prefix, memcg_retain_event_names, events,
				NR_MEMCG_RETAIN_EVENTS);
}

/**
 * memcg_retain_stat_format - print what memory.stat says of retained page cache
 * @memcg: the memcg, which is counted with those below it
 * @s: where to
 *
 * Context: May sleep.
 */
void memcg_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
	retain_print_events(s, "", memcg->retain_events.total);
}

/**
 * memcg1_retain_stat_format - print what memory.stat of cgroup v1 says of it
 * @memcg: the memcg, which is counted alone, and with those below it
 * @s: where to
 *
 * Context: May sleep.
 */
void memcg1_retain_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
	retain_print_events(s, "", memcg->retain_events.local);
	retain_print_events(s, "total_", memcg->retain_events.total);
}

/* ---- knobs */

static const char *const memcg_retain_settings[] = {
	[MEMCG_RETAIN_UNSET]	= "0",
	[MEMCG_RETAIN_ALLOW]	= "1",
	[MEMCG_RETAIN_DENY]	= "deny",
};

static int memcg_retain_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", memcg_retain_settings[memcg_retain_get(mem_cgroup_from_seq(m))]);
	return 0;
}

static ssize_t memcg_retain_write(struct kernfs_open_file *of, char *buf, size_t nbytes,
				  loff_t off)
{
	int setting = match_string(memcg_retain_settings, ARRAY_SIZE(memcg_retain_settings),
				   strim(buf));

	if (setting < 0)
		return -EINVAL;

	memcg_retain_set(mem_cgroup_from_css(of_css(of)), setting);
	return nbytes;
}

static int memcg_retain_pool_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%d\n", mem_cgroup_from_seq(m) == rcu_access_pointer(retain_pool));
	return 0;
}

static ssize_t memcg_retain_pool_write(struct kernfs_open_file *of, char *buf,
				       size_t nbytes, loff_t off)
{
	struct mem_cgroup *memcg = mem_cgroup_from_css(of_css(of));
	bool was_pool, was_ended, is_empty;
	struct mem_cgroup *pool;
	unsigned int is_pool;
	int ret;

	/* There is one for the whole machine, whoever owns the memcg. */
	if (!file_ns_capable(of->file, &init_user_ns, CAP_SYS_RESOURCE))
		return -EPERM;

	ret = kstrtouint(strim(buf), 10, &is_pool);
	if (ret)
		return ret;
	if (is_pool > 1)
		return -EINVAL;

	scoped_guard(mutex, &retain_pool_mutex) {
		pool = rcu_dereference_protected(retain_pool,
						 lockdep_is_held(&retain_pool_mutex));
		was_pool = pool == memcg;
		if (is_pool && pool && !was_pool)
			return -EBUSY;

		if (is_pool && !pool) {
			/* Those who find the pool have to find the key on. */
			static_branch_deferred_inc(&memcg_retain_key);
			memcg_retain_start(memcg);
			rcu_assign_pointer(retain_pool, memcg);
			WRITE_ONCE(retain_ended, NULL);
		} else if (!is_pool && was_pool) {
			retain_unset_pool();
		}
		was_ended = retain_ended == memcg;
	}
	if (is_pool || !was_ended)
		return nbytes;

	is_empty = retain_empty(memcg, ULONG_MAX, GFP_KERNEL);
	if (was_pool)
		static_branch_slow_dec_deferred(&memcg_retain_key);
	if (!is_empty)
		return signal_pending(current) ? -EINTR : -EAGAIN;

	retain_forget_ended(memcg);
	return nbytes;
}

/* The same on cgroup v2 and v1; what is registered can't be so twice. */
static struct cftype memcg_retain_files[][3] = {
	[0 ... 1] = {
		{
			.name = "retain",
			.flags = CFTYPE_NOT_ON_ROOT,
			.seq_show = memcg_retain_show,
			.write = memcg_retain_write,
		},
		{
			.name = "retain_pool",
			.flags = CFTYPE_NOT_ON_ROOT,
			.seq_show = memcg_retain_pool_show,
			.write = memcg_retain_pool_write,
		},
		{ }	/* terminate */
	},
};

static int __init memcg_retain_init(void)
{
	if (mem_cgroup_disabled())
		return 0;

	WARN_ON(cgroup_add_dfl_cftypes(&memory_cgrp_subsys, memcg_retain_files[0]));
#ifdef CONFIG_MEMCG_V1
	WARN_ON(cgroup_add_legacy_cftypes(&memory_cgrp_subsys, memcg_retain_files[1]));
#endif
	return 0;
}
subsys_initcall(memcg_retain_init);
