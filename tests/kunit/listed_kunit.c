// SPDX-License-Identifier: GPL-2.0
/*
 * The list of groups with something to shrink, against objects and groups that
 * come and go.
 *
 * A group with an object is found. When all is quiet, exactly those groups are
 * listed that have objects.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/rcupdate.h>

#include "memcg_fixture.h"
#include "race.h"
#include "race_groups.h"

#define NR_ITEMS	8
#define NR_LISTS	2
#define NR_USES		100

/* What the threads count. */
enum { ADDED, TRANSITIONS, WALKS, SEARCHES, GONE };

struct listed_item {
	struct list_head	lru;
	struct mem_cgroup	*memcg;
	struct list_lru		*list;
};

/**
 * struct listed - the state of a race
 * @rg: the groups
 * @nid: the node that has objects
 * @ts: the shrinkers that have objects, whose locks don't keep two threads from
 *	adding the first object of a group; scanning does not free them
 * @items: the objects of each thread
 */
struct listed {
	struct race_groups	rg;
	int			nid;
	struct test_shrinker	*ts[NR_LISTS];
	struct listed_item	items[RACE_MAX_THREADS][NR_ITEMS];
};

/* Whether drop_caches comes by the group. */
static bool listed_search(struct listed *st, struct mem_cgroup *memcg)
{
	struct mem_cgroup *visited = NULL;
	unsigned int pos = 0;
	bool found = false;

	while ((visited = mem_cgroup_iter_shrinkable(visited, st->nid, &pos)))
		found |= visited == memcg;
	return found;
}

/*
 * A walk that found a shrinker empty has cleared its bit until it has looked
 * again, and another walk may draw its conclusions meanwhile. That passes.
 */
static bool listed_search_patiently(struct listed *st,
				    struct mem_cgroup *memcg)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (listed_search(st, memcg))
			return true;
		usleep_range(100, 1000);
	}
	return false;
}

static void listed_toggle(struct race_thread *thread)
{
	struct listed *st = thread->race->priv;
	struct listed_item *item =
		&st->items[thread->nr][race_random(thread, NR_ITEMS)];
	struct list_lru *list = &st->ts[race_random(thread, NR_LISTS)]->lru;
	struct mem_cgroup *memcg = race_groups_choose(thread, &st->rg);

	/* A walk may just move it, or what is next to it, to another place. */
	if (!data_race(list_empty(&item->lru))) {
		list_lru_del(item->list, &item->lru, st->nid, item->memcg);
		return;
	}
	if (test_list_lru_alloc(memcg, list)) {
		race_fail(thread->race, "a list", 0, 0);
		return;
	}
	thread->hits[TRANSITIONS] +=
		!shrinker_id_is_listed(mem_cgroup_private_id(memcg), st->nid);
	item->memcg = memcg;
	item->list = list;
	list_lru_add(list, &item->lru, st->nid, memcg);
	thread->hits[ADDED]++;

	/* It is there until this thread takes it away. */
	if (race_random(thread, 4) || race_groups_is_going(&st->rg, memcg))
		return;
	race_expect(thread->race, listed_search_patiently(st, memcg),
		    thread->nr, 0);
	thread->hits[SEARCHES]++;
}

static void listed_user(struct race_thread *thread)
{
	int i;

	for (i = 0; i < NR_USES; i++) {
		listed_toggle(thread);
		race_jitter(thread);
		cond_resched();
	}
}

static void listed_walker(struct race_thread *thread)
{
	struct listed *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_USES; i++) {
		test_walk(race_groups_choose(thread, &st->rg), st->nid);
		thread->hits[WALKS]++;
		if (i == NR_USES / 2) {
			race_groups_remove(thread, &st->rg);
			thread->hits[GONE]++;
		}
		cond_resched();
	}
}

static void listed_prepare(struct race *race)
{
	struct listed *st = race->priv;

	race_groups_prepare(race, &st->rg);
}

static bool listed_has_objects(struct listed *st, int i)
{
	struct mem_cgroup *memcg = st->rg.groups[i].memcg;
	int k;

	for (k = 0; k < NR_LISTS; k++) {
		if (!memcg || !test_memcg_is_online(memcg))
			break;
		if (list_lru_count_one(&st->ts[k]->lru, st->nid, memcg))
			return true;
	}
	return false;
}

static void listed_expect_exact(struct race *race)
{
	struct listed *st = race->priv;
	int i;

	for (i = 0; i < RACE_GROUPS; i++)
		test_settle(st->rg.groups[i].memcg, st->nid);

	for (i = 0; i < RACE_GROUPS; i++) {
		bool is_listed = shrinker_id_is_listed(st->rg.ids[i], st->nid);
		struct mem_cgroup *memcg = st->rg.groups[i].memcg;

		/* Nobody else may have got the id: no other group is made. */
		race_expect(race, shrinker_id_is_found(st->rg.ids[i]) ==
				  (memcg && test_memcg_is_online(memcg)),
			    st->rg.ids[i], i);
		race_expect(race, is_listed == listed_has_objects(st, i),
			    is_listed, i);
		race_expect(race,
			    listed_search(st, memcg) == is_listed,
			    is_listed, i);
	}
}

static void listed_check(struct race *race)
{
	struct listed *st = race->priv;
	int i, k;

	race_groups_wait(race, &st->rg);
	synchronize_rcu();
	rcu_barrier();
	listed_expect_exact(race);

	for (i = 0; i < race->nr_threads; i++)
		for (k = 0; k < NR_ITEMS; k++) {
			struct listed_item *item = &st->items[i][k];

			if (list_empty(&item->lru))
				continue;
			/* Some went to the parent of the group that is gone. */
			list_lru_del(item->list, &item->lru, st->nid,
				     item->memcg);
		}
	listed_expect_exact(race);

	race_groups_put(&st->rg);
}

static void listed_race(struct kunit *test)
{
	struct listed *st;
	struct race *race;
	int i, k;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	for (i = 0; i < RACE_MAX_THREADS; i++)
		for (k = 0; k < NR_ITEMS; k++)
			INIT_LIST_HEAD(&st->items[i][k].lru);
	st->nid = first_online_node;
	for (i = 0; i < NR_LISTS; i++) {
		st->ts[i] = test_shrinker_new(test);
		st->ts[i]->keep = true;
	}
	KUNIT_ASSERT_EQ(test, race_groups_init(test, &st->rg), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			listed_user, listed_walker,
			listed_user, listed_user,
		},
		.nr_roles = 4,
		.prepare = listed_prepare,
		.check = listed_check,
		.counters = {
			[ADDED] = "objects added",
			[TRANSITIONS] = "of them to a group that was not listed",
			[WALKS] = "walks",
			[SEARCHES] = "searches for a group with an object",
			[GONE] = "groups went offline",
		},
		.min_hits = { 5000, 500, 5000, 1000, 50 },
		.priv = st,
	};
	race_run(race);
}

/* The root is always visited, others if they have something themselves. */
static void listed_alone(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct test_group *aa = test_group_new(test, a, "aa");
	struct test_group *b = test_group_new(test, top, "b");
	struct test_shrinker *ts = test_shrinker_new(test);
	struct listed st = { .nid = first_online_node };
	struct list_head item;

	INIT_LIST_HEAD(&item);
	KUNIT_EXPECT_TRUE(test, listed_search(&st, root_mem_cgroup));
	KUNIT_EXPECT_FALSE(test, listed_search(&st, a->memcg));

	KUNIT_ASSERT_EQ(test,
			test_list_lru_alloc(aa->memcg, &ts->lru), 0);
	list_lru_add(&ts->lru, &item, st.nid, aa->memcg);
	KUNIT_EXPECT_TRUE(test, listed_search(&st, aa->memcg));
	/* It has nothing itself. */
	KUNIT_EXPECT_FALSE(test, listed_search(&st, a->memcg));
	KUNIT_EXPECT_FALSE(test, listed_search(&st, b->memcg));

	list_lru_del(&ts->lru, &item, st.nid, aa->memcg);
	/* Only a walk finds out. */
	KUNIT_EXPECT_TRUE(test, listed_search(&st, aa->memcg));
	test_settle(aa->memcg, st.nid);
	KUNIT_EXPECT_FALSE(test, listed_search(&st, aa->memcg));
}

static struct kunit_case listed_cases[] = {
	KUNIT_CASE(listed_alone),
	KUNIT_CASE_SLOW(listed_race),
	{}
};

static struct kunit_suite listed_suite = {
	.name = "mm_reclaim_listed_race",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = listed_cases,
};

kunit_test_suite(listed_suite);
