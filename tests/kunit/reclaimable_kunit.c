// SPDX-License-Identifier: GPL-2.0
/*
 * The walk of global reclaim, against pages and groups that come and go.
 *
 * It visits the root and the groups that have pages or objects on the node, and
 * brings the protection of what is above them up to date.
 */
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/mm_reclaim.h>
#include <linux/mmzone.h>
#include <linux/page_counter.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>

#include "../../internal.h"
#include "memcg_fixture.h"
#include "race.h"
#include "race_groups.h"

#define NR_ITEMS	4
#define NR_USES		100

/* What the threads count. */
enum { ADDED, TRANSITIONS, WALKS, SEARCHES, GONE };

/**
 * struct reclaimable - the state of a race
 * @rg: the groups
 * @nid: the node that has pages
 * @items: the pages of each thread
 */
struct reclaimable {
	struct race_groups	rg;
	int			nid;
	struct folio		*items[RACE_MAX_THREADS][NR_ITEMS];
};

/*
 * A page on a list of the group, which nobody uses. With the multi-gen LRU, only those
 * that can't be evicted are on lists.
 */
static struct folio *reclaimable_folio(struct mem_cgroup *memcg, int nid)
{
	struct folio *folio = __folio_alloc_node(GFP_KERNEL, 0, nid);
	struct mem_cgroup *outer;
	int ret;

	if (!folio)
		return NULL;

	outer = set_active_memcg(memcg);
	ret = mem_cgroup_charge(folio, NULL, GFP_KERNEL);
	set_active_memcg(outer);
	if (ret) {
		folio_put(folio);
		return NULL;
	}

	if (lru_gen_enabled())
		folio_set_mlocked(folio);
	/* Of the CPU to which it was added. */
	migrate_disable();
	folio_add_lru(folio);
	lru_add_drain();
	migrate_enable();
	return folio;
}

static void reclaimable_put(struct folio *folio)
{
	if (!folio)
		return;
	folio_clear_mlocked(folio);
	folio_put(folio);
}

/* How often global reclaim comes by the group. */
static int reclaimable_search_filtered(int nid, struct mem_cgroup *memcg,
				       mem_cgroup_filter_fn filter, void *arg)
{
	struct mem_cgroup *visited = NULL;
	int found = 0;

	while ((visited = mem_cgroup_iter_reclaimable(NULL, visited, NULL, nid,
						      filter, arg)))
		found += visited == memcg;
	return found;
}

static int reclaimable_search(int nid, struct mem_cgroup *memcg)
{
	return reclaimable_search_filtered(nid, memcg, NULL, NULL);
}

static bool reclaimable_has_bit(struct mem_cgroup *memcg, int nid)
{
	return memcg_id_has_lru_bit(mem_cgroup_private_id(memcg), nid);
}

static void reclaimable_pages(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct test_group *aa = test_group_new(test, a, "aa");
	int nid = first_memory_node;
	struct folio *folio;

	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, root_mem_cgroup), 1);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, aa->memcg), 0);

	folio = reclaimable_folio(aa->memcg, nid);
	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_EXPECT_TRUE(test, reclaimable_has_bit(aa->memcg, nid));
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, root_mem_cgroup), 1);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, aa->memcg), 1);
	/* It stays. */
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, aa->memcg), 1);
	/* It has nothing itself. */
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, a->memcg), 0);

	reclaimable_put(folio);
	/* A walk finds out when it has been there. */
	reclaimable_search(nid, aa->memcg);
	KUNIT_EXPECT_FALSE(test, reclaimable_has_bit(aa->memcg, nid));
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, aa->memcg), 0);
}

/* Those with something to shrink are visited, too, and no other ones. */
static void reclaimable_objects(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct test_group *b = test_group_new(test, top, "b");
	struct test_shrinker *ts = test_shrinker_new(test);
	int nid = first_memory_node;
	struct folio *folio;
	struct list_head item;

	INIT_LIST_HEAD(&item);
	KUNIT_ASSERT_EQ(test, test_list_lru_alloc(a->memcg, &ts->lru), 0);
	list_lru_add(&ts->lru, &item, nid, a->memcg);
	KUNIT_EXPECT_FALSE(test, reclaimable_has_bit(a->memcg, nid));
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, a->memcg), 1);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, b->memcg), 0);

	/* One that is on both lists is visited once. */
	folio = reclaimable_folio(a->memcg, nid);
	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, a->memcg), 1);
	reclaimable_put(folio);

	list_lru_del(&ts->lru, &item, nid, a->memcg);
	test_settle(a->memcg, nid);
	reclaimable_search(nid, a->memcg);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, a->memcg), 0);
}

struct reclaimable_filtered {
	struct mem_cgroup *memcg;
	int asked;
};

static int reclaimable_skip(struct mem_cgroup *memcg, void *arg)
{
	struct reclaimable_filtered *filtered = arg;

	filtered->asked += memcg == filtered->memcg || mem_cgroup_is_root(memcg);
	return MEM_CGROUP_SKIP;
}

/* Who has too few pages for a visit, and no object, is passed over as long as it has one. */
static void reclaimable_filter(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct reclaimable_filtered filtered = { .memcg = a->memcg };
	struct test_shrinker *ts = test_shrinker_new(test);
	struct folio *folio, *of_root;
	int nid = first_memory_node;
	struct list_head item;

	folio = reclaimable_folio(a->memcg, nid);
	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_EXPECT_EQ(test, reclaimable_search_filtered(nid, a->memcg, reclaimable_skip,
							  &filtered), 0);
	KUNIT_EXPECT_EQ(test, filtered.asked, 1);
	/* The root has shrinkers of the whole system. */
	of_root = reclaimable_folio(root_mem_cgroup, nid);
	KUNIT_EXPECT_NOT_NULL(test, of_root);
	KUNIT_EXPECT_EQ(test, reclaimable_search_filtered(nid, root_mem_cgroup,
							  reclaimable_skip, &filtered), 1);
	reclaimable_put(of_root);
	KUNIT_EXPECT_EQ(test, filtered.asked, 2);

	INIT_LIST_HEAD(&item);
	KUNIT_EXPECT_EQ(test, test_list_lru_alloc(a->memcg, &ts->lru), 0);
	list_lru_add(&ts->lru, &item, nid, a->memcg);
	KUNIT_EXPECT_EQ(test, reclaimable_search_filtered(nid, a->memcg, reclaimable_skip,
							  &filtered), 1);
	KUNIT_EXPECT_EQ(test, filtered.asked, 2);
	list_lru_del(&ts->lru, &item, nid, a->memcg);
	test_settle(a->memcg, nid);

	reclaimable_put(folio);
	KUNIT_EXPECT_EQ(test, reclaimable_search_filtered(nid, a->memcg, reclaimable_skip,
							  &filtered), 1);
	KUNIT_EXPECT_FALSE(test, reclaimable_has_bit(a->memcg, nid));
}

static bool reclaimable_too_few(struct mem_cgroup *memcg, int nid, int priority,
				bool ages_anon)
{
	return lruvec_has_too_few(mem_cgroup_lruvec(memcg, NODE_DATA(nid)), priority,
				  MAX_NR_ZONES - 1, ages_anon);
}

/* By its size alone: with the multi-gen LRU, no folio would go to such a list. */
static void reclaimable_resize(struct mem_cgroup *memcg, int nid, enum lru_list lru,
			       long nr_pages)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));
	int zid = 0;

	while (!managed_zone(&NODE_DATA(nid)->node_zones[zid]))
		zid++;

	spin_lock_irq(&lruvec->lru_lock);
	update_lru_size(lruvec, lru, zid, nr_pages);
	spin_unlock_irq(&lruvec->lru_lock);
}

/* What get_scan_count() makes of so many, and when anonymous pages are deactivated. */
static void reclaimable_few(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	int nid = first_memory_node;
	struct test_group gone;

	reclaimable_resize(a->memcg, nid, LRU_INACTIVE_FILE, 31);
	KUNIT_EXPECT_TRUE(test, reclaimable_too_few(a->memcg, nid, 6, true));
	/* Were they protected, more would be scanned than by their number. */
	KUNIT_EXPECT_FALSE(test, reclaimable_too_few(a->memcg, nid, 5, true));
	reclaimable_resize(a->memcg, nid, LRU_INACTIVE_FILE, 32);
	KUNIT_EXPECT_TRUE(test, reclaimable_too_few(a->memcg, nid, 6, true));
	reclaimable_resize(a->memcg, nid, LRU_INACTIVE_FILE, 1);
	KUNIT_EXPECT_FALSE(test, reclaimable_too_few(a->memcg, nid, 6, true));
	KUNIT_EXPECT_TRUE(test, reclaimable_too_few(a->memcg, nid, 7, true));

	reclaimable_resize(a->memcg, nid, LRU_ACTIVE_ANON, 1);
	css_rstat_flush(&a->memcg->css);
	KUNIT_EXPECT_FALSE(test, reclaimable_too_few(a->memcg, nid, 7, true));
	KUNIT_EXPECT_TRUE(test, reclaimable_too_few(a->memcg, nid, 7, false));

	reclaimable_resize(a->memcg, nid, LRU_ACTIVE_ANON, -1);
	reclaimable_resize(a->memcg, nid, LRU_INACTIVE_FILE, -64);

	KUNIT_ASSERT_EQ(test, test_group_make(a, "gone", true, &gone), 0);
	KUNIT_EXPECT_TRUE(test, reclaimable_too_few(gone.memcg, nid, 12, true));
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&gone), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&gone));
	KUNIT_EXPECT_FALSE(test, reclaimable_too_few(gone.memcg, nid, 12, true));
	test_group_put(&gone);
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(top));
}

/* The pages of a group that goes are its parent's, and so are visits. */
static void reclaimable_group_goes(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	int nid = first_memory_node, id;
	struct test_group gone;
	struct folio *folio;

	KUNIT_ASSERT_EQ(test, test_group_make(a, "gone", true, &gone), 0);
	id = mem_cgroup_private_id(gone.memcg);
	folio = reclaimable_folio(gone.memcg, nid);
	KUNIT_EXPECT_TRUE(test, memcg_id_has_lru_bit(id, nid));
	KUNIT_EXPECT_FALSE(test, reclaimable_has_bit(a->memcg, nid));

	KUNIT_EXPECT_EQ(test, test_group_rmdir(&gone), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&gone));
	KUNIT_EXPECT_FALSE(test, memcg_id_has_lru_bit(id, nid));
	KUNIT_EXPECT_TRUE(test, reclaimable_has_bit(a->memcg, nid));
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, gone.memcg), 0);
	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, a->memcg), 1);

	reclaimable_put(folio);
	test_group_put(&gone);
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(top));
}

/* Groups above those with pages have none, and pass on what protects these. */
static void reclaimable_protection(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct test_group *aa = test_group_new(test, a, "aa");
	struct test_group *aaa = test_group_new(test, aa, "aaa");
	struct test_group *b = test_group_new(test, top, "b");
	struct test_group *bb = test_group_new(test, b, "bb");
	struct test_group *above[] = { top, a, aa, b };
	int nid = first_memory_node, i;
	struct folio *folios[2];

	/* As it is shared out by usage, there must be some. */
	for (i = 0; i < ARRAY_SIZE(above); i++) {
		page_counter_charge(&above[i]->memcg->memory, i ? 100 : 200);
		page_counter_set_min(&above[i]->memcg->memory, i ? 40 : 100);
		WRITE_ONCE(above[i]->memcg->memory.emin, 0);
	}
	folios[0] = reclaimable_folio(aaa->memcg, nid);
	folios[1] = reclaimable_folio(bb->memcg, nid);
	KUNIT_EXPECT_NOT_NULL(test, folios[0]);
	KUNIT_EXPECT_NOT_NULL(test, folios[1]);

	KUNIT_EXPECT_EQ(test, reclaimable_search(nid, aaa->memcg), 1);
	for (i = 0; i < ARRAY_SIZE(above); i++)
		KUNIT_EXPECT_GE(test, READ_ONCE(above[i]->memcg->memory.emin), 40UL);

	for (i = 0; i < ARRAY_SIZE(folios); i++)
		reclaimable_put(folios[i]);
	for (i = 0; i < ARRAY_SIZE(above); i++) {
		page_counter_set_min(&above[i]->memcg->memory, 0);
		page_counter_uncharge(&above[i]->memcg->memory, i ? 100 : 200);
	}
	reclaimable_search(nid, aaa->memcg);
}

/* Two that share a position visit each group once; it may go offline under them. */
static void reclaimable_shared(struct kunit *test)
{
	struct mem_cgroup_reclaim_cookie cookies[] = {
		{ .pgdat = NODE_DATA(first_memory_node) },
		{ .pgdat = NODE_DATA(first_memory_node) },
	};
	struct test_group *top = test_group_top(test);
	struct mem_cgroup *prev[2] = { };
	int nid = first_memory_node, i, k, visits[4] = { }, ids[4];
	struct test_group groups[4];
	struct folio *folios[4];
	char name[] = "0";

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		name[0] = '0' + i;
		KUNIT_ASSERT_EQ(test, test_group_make(top, name, true, &groups[i]), 0);
		ids[i] = mem_cgroup_private_id(groups[i].memcg);
		folios[i] = reclaimable_folio(groups[i].memcg, nid);
		KUNIT_EXPECT_NOT_NULL(test, folios[i]);
	}

	/* From wherever it is, to its end. */
	while ((prev[0] = mem_cgroup_iter_reclaimable(NULL, prev[0], &cookies[0], nid,
						      NULL, NULL)))
		;
	for (k = 0; ; k = !k) {
		prev[k] = mem_cgroup_iter_reclaimable(NULL, prev[k], &cookies[k], nid,
						      NULL, NULL);
		if (!prev[k])
			break;
		for (i = 0; i < ARRAY_SIZE(groups); i++)
			visits[i] += prev[k] == groups[i].memcg;
	}
	mem_cgroup_iter_break(NULL, prev[!k]);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		KUNIT_EXPECT_EQ(test, visits[i], 1);

	prev[0] = NULL;
	do {
		prev[0] = mem_cgroup_iter_reclaimable(NULL, prev[0], &cookies[0], nid,
						      NULL, NULL);
	} while (prev[0] && prev[0] != groups[1].memcg);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&groups[1]), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&groups[1]));
	/* The walk goes on behind its id, which may be another group's by now. */
	memset(visits, 0, sizeof(visits));
	while ((prev[0] = mem_cgroup_iter_reclaimable(NULL, prev[0], &cookies[0], nid,
						      NULL, NULL)))
		for (i = 0; i < ARRAY_SIZE(groups); i++)
			visits[i] += prev[0] == groups[i].memcg;
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		KUNIT_EXPECT_EQ(test, visits[i], ids[i] > ids[1]);

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		reclaimable_put(folios[i]);
		if (i != 1)
			KUNIT_EXPECT_EQ(test, test_group_rmdir(&groups[i]), 0);
		test_group_put(&groups[i]);
	}
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(top));
}

static void reclaimable_toggle(struct race_thread *thread)
{
	struct reclaimable *st = thread->race->priv;
	struct folio **item = &st->items[thread->nr][race_random(thread, NR_ITEMS)];
	struct mem_cgroup *memcg = race_groups_choose(thread, &st->rg);
	bool was_listed;

	if (*item) {
		reclaimable_put(*item);
		*item = NULL;
		return;
	}
	was_listed = reclaimable_has_bit(memcg, st->nid);
	*item = reclaimable_folio(memcg, st->nid);
	if (!*item) {
		race_fail(thread->race, "a page", 0, 0);
		return;
	}
	thread->hits[TRANSITIONS] += !was_listed;
	thread->hits[ADDED]++;

	/* It is there until this thread takes it away. */
	if (race_random(thread, 4) || race_groups_is_going(&st->rg, memcg))
		return;
	race_expect(thread->race, reclaimable_search(st->nid, memcg) == 1, thread->nr, 0);
	thread->hits[SEARCHES]++;
}

static void reclaimable_user(struct race_thread *thread)
{
	int i;

	for (i = 0; i < NR_USES; i++) {
		reclaimable_toggle(thread);
		race_jitter(thread);
		cond_resched();
	}
}

/* Takes those without pages off the list. */
static void reclaimable_walker(struct race_thread *thread)
{
	struct reclaimable *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_USES; i++) {
		reclaimable_search(st->nid, NULL);
		thread->hits[WALKS]++;
		if (i == NR_USES / 2) {
			race_groups_remove(thread, &st->rg);
			thread->hits[GONE]++;
		}
		cond_resched();
	}
}

static void reclaimable_prepare(struct race *race)
{
	struct reclaimable *st = race->priv;

	race_groups_prepare(race, &st->rg);
}

static void reclaimable_expect_exact(struct race *race)
{
	struct reclaimable *st = race->priv;
	int i;

	reclaimable_search(st->nid, NULL);
	for (i = 0; i < RACE_GROUPS; i++) {
		struct mem_cgroup *memcg = st->rg.groups[i].memcg;
		bool has_pages = !memcg_lru_is_empty(memcg, st->nid);

		/* Nobody else may have got the id: no other group is made. */
		race_expect(race, memcg_id_has_lru_bit(st->rg.ids[i], st->nid) == has_pages,
			    has_pages, i);
		race_expect(race, reclaimable_search(st->nid, memcg) == has_pages,
			    has_pages, i);
	}
}

static void reclaimable_check(struct race *race)
{
	struct reclaimable *st = race->priv;
	int i, k;

	race_groups_wait(race, &st->rg);
	reclaimable_expect_exact(race);

	for (i = 0; i < race->nr_threads; i++)
		for (k = 0; k < NR_ITEMS; k++) {
			reclaimable_put(st->items[i][k]);
			st->items[i][k] = NULL;
		}
	reclaimable_expect_exact(race);

	race_groups_put(&st->rg);
}

static void reclaimable_race(struct kunit *test)
{
	struct reclaimable *st;
	struct race *race;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->nid = first_memory_node;
	KUNIT_ASSERT_EQ(test, race_groups_init(test, &st->rg), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			reclaimable_user, reclaimable_walker,
			reclaimable_user, reclaimable_user,
		},
		.nr_roles = 4,
		.prepare = reclaimable_prepare,
		.check = reclaimable_check,
		.counters = {
			[ADDED] = "pages added",
			[TRANSITIONS] = "of them to a group that was not listed",
			[WALKS] = "walks",
			[SEARCHES] = "searches for a group with a page",
			[GONE] = "groups went offline",
		},
		.min_hits = { 5000, 500, 5000, 1000, 50 },
		.priv = st,
	};
	race_run(race);
}

static struct kunit_case reclaimable_cases[] = {
	KUNIT_CASE(reclaimable_pages),
	KUNIT_CASE(reclaimable_objects),
	KUNIT_CASE(reclaimable_filter),
	KUNIT_CASE(reclaimable_few),
	KUNIT_CASE(reclaimable_group_goes),
	KUNIT_CASE(reclaimable_protection),
	KUNIT_CASE(reclaimable_shared),
	KUNIT_CASE_SLOW(reclaimable_race),
	{}
};

static struct kunit_suite reclaimable_suite = {
	.name = "mm_reclaim_reclaimable",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = reclaimable_cases,
};

kunit_test_suite(reclaimable_suite);
