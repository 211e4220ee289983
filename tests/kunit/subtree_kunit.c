// SPDX-License-Identifier: GPL-2.0
/*
 * The counts by which a walk passes over subtrees without objects, against
 * objects and groups that come and go.
 *
 * A group with an object is found. When all is quiet, every group counts exactly
 * those of its subtree that have objects, and none when there are no objects
 * left.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/rcupdate.h>

#include "memcg_fixture.h"
#include "race.h"

#define NR_MIDDLES	2
#define NR_LEAVES	3
#define NR_GROUPS	(NR_MIDDLES * (1 + NR_LEAVES))
#define NR_ITEMS	8
#define NR_USES		100

/* What the threads count. */
enum { ADDED, TRANSITIONS, WALKS, SEARCHES, GONE };

struct subtree_item {
	struct list_head	lru;
	struct mem_cgroup	*memcg;
};

/**
 * struct subtree - the state of a race
 * @top: the parent of the middle groups
 * @groups: each middle group, followed by its leaves
 * @serial: to name groups
 * @nid: the node that has objects
 * @ts: the shrinker that has objects; scanning does not free them
 * @going: the group that goes offline in this round, always a leaf
 * @items: the objects of each thread
 */
struct subtree {
	struct test_group	*top;
	struct test_group	groups[NR_GROUPS];
	unsigned int		serial;
	int			nid;
	struct test_shrinker	*ts;
	int			going;
	struct subtree_item	items[RACE_MAX_THREADS][NR_ITEMS];
};

static struct mem_cgroup *subtree_choose(struct race_thread *thread)
{
	struct subtree *st = thread->race->priv;

	return st->groups[race_random(thread, NR_GROUPS)].memcg;
}

/* Whether drop_caches comes by the group. */
static bool subtree_search(struct subtree *st, struct mem_cgroup *memcg)
{
	struct mem_cgroup *pos = NULL;
	bool found = false;

	while ((pos = mem_cgroup_iter_shrinkable(pos, st->nid)))
		found |= pos == memcg;
	return found;
}

/*
 * A walk that found a shrinker empty has cleared its bit until it has looked
 * again, and another walk may draw its conclusions meanwhile. That passes.
 */
static bool subtree_search_patiently(struct subtree *st,
				     struct mem_cgroup *memcg)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (subtree_search(st, memcg))
			return true;
		usleep_range(100, 1000);
	}
	return false;
}

static void subtree_toggle(struct race_thread *thread)
{
	struct subtree *st = thread->race->priv;
	struct subtree_item *item =
		&st->items[thread->nr][race_random(thread, NR_ITEMS)];
	struct mem_cgroup *memcg = subtree_choose(thread);

	if (!list_empty(&item->lru)) {
		list_lru_del(&st->ts->lru, &item->lru, st->nid, item->memcg);
		return;
	}
	if (memcg_list_lru_alloc(memcg, &st->ts->lru, GFP_KERNEL)) {
		race_fail(thread->race, "a list", 0, 0);
		return;
	}
	thread->hits[TRANSITIONS] +=
		!list_lru_count_one(&st->ts->lru, st->nid, memcg);
	item->memcg = memcg;
	list_lru_add(&st->ts->lru, &item->lru, st->nid, memcg);
	thread->hits[ADDED]++;

	/* It is there until this thread takes it away. */
	if (race_random(thread, 4) || memcg == st->groups[st->going].memcg)
		return;
	race_expect(thread->race, subtree_search_patiently(st, memcg),
		    thread->nr, 0);
	thread->hits[SEARCHES]++;
}

static void subtree_user(struct race_thread *thread)
{
	int i;

	for (i = 0; i < NR_USES; i++) {
		subtree_toggle(thread);
		race_jitter(thread);
		cond_resched();
	}
}

static void subtree_walker(struct race_thread *thread)
{
	struct subtree *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_USES; i++) {
		test_walk(subtree_choose(thread), st->nid);
		thread->hits[WALKS]++;
		if (i == NR_USES / 2) {
			race_expect(thread->race,
				    !test_group_rmdir(&st->groups[st->going]),
				    st->going, 0);
			thread->hits[GONE]++;
		}
		cond_resched();
	}
}

static int subtree_make(struct subtree *st, int i)
{
	struct test_group *parent = i % (1 + NR_LEAVES) ?
		&st->groups[i - i % (1 + NR_LEAVES)] : st->top;
	char name[16];

	snprintf(name, sizeof(name), "s%u", st->serial++);
	return test_group_make(parent, name, false, &st->groups[i]);
}

static void subtree_prepare(struct race *race)
{
	struct subtree *st = race->priv;
	struct race_thread *thread = &race->threads[0];

	if (race->round && subtree_make(st, st->going)) {
		race_fail(race, "a new group", st->going, 0);
		return;
	}
	st->going = race_random(thread, NR_MIDDLES) * (1 + NR_LEAVES) + 1 +
		    race_random(thread, NR_LEAVES);
}

static bool subtree_has_objects(struct subtree *st, int i)
{
	return st->groups[i].memcg && css_is_online(&st->groups[i].memcg->css) &&
	       list_lru_count_one(&st->ts->lru, st->nid, st->groups[i].memcg);
}

static void subtree_expect_exact(struct race *race)
{
	struct subtree *st = race->priv;
	long nr, middle = 0, total = 0;
	int i;

	/* A walk of each settles what was left to do. */
	for (i = 0; i < NR_GROUPS; i++)
		test_walk(st->groups[i].memcg, st->nid);

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		bool is_leaf = i % (1 + NR_LEAVES);

		nr = subtree_has_objects(st, i);
		middle += nr;
		if (!is_leaf)
			nr = middle;
		race_expect(race,
			    shrinker_nr_nonidle(st->groups[i].memcg, st->nid) == nr,
			    shrinker_nr_nonidle(st->groups[i].memcg, st->nid),
			    nr);
		if (is_leaf)
			continue;
		total += middle;
		middle = 0;
	}
	race_expect(race, shrinker_nr_nonidle(st->top->memcg, st->nid) == total,
		    shrinker_nr_nonidle(st->top->memcg, st->nid), total);
}

static void subtree_check(struct race *race)
{
	struct subtree *st = race->priv;
	int i, k;

	race_expect(race, test_group_wait_offline(&st->groups[st->going]),
		    st->going, 0);
	synchronize_rcu();
	rcu_barrier();
	subtree_expect_exact(race);

	for (i = 0; i < race->nr_threads; i++)
		for (k = 0; k < NR_ITEMS; k++) {
			struct subtree_item *item = &st->items[i][k];

			if (list_empty(&item->lru))
				continue;
			/* Some went to the parent of the group that is gone. */
			list_lru_del(&st->ts->lru, &item->lru, st->nid,
				     item->memcg);
		}
	subtree_expect_exact(race);
	race_expect(race, !shrinker_nr_nonidle(st->top->memcg, st->nid),
		    shrinker_nr_nonidle(st->top->memcg, st->nid), 0);

	test_group_put(&st->groups[st->going]);
}

static void subtree_cleanup(void *data)
{
	struct subtree *st = data;
	int i;

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		if (!st->groups[i].memcg)
			continue;
		test_group_rmdir(&st->groups[i]);
		test_group_put(&st->groups[i]);
	}
}

static void subtree_race(struct kunit *test)
{
	struct subtree *st;
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
	st->top = test_group_top(test);
	st->ts = test_shrinker_new(test);
	st->ts->keep = true;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, subtree_cleanup, st), 0);
	for (i = 0; i < NR_GROUPS; i++)
		KUNIT_ASSERT_EQ(test, subtree_make(st, i), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			subtree_user, subtree_walker,
			subtree_user, subtree_user,
		},
		.nr_roles = 4,
		.prepare = subtree_prepare,
		.check = subtree_check,
		.counters = {
			[ADDED] = "objects added",
			[TRANSITIONS] = "of them to a group that had none",
			[WALKS] = "walks",
			[SEARCHES] = "searches for a group with an object",
			[GONE] = "groups went offline",
		},
		.min_hits = { 5000, 500, 5000, 1000, 50 },
		.priv = st,
	};
	race_run(race);
}

/* The root is always visited, and ends the walk if there is nothing below. */
static void subtree_skip(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct test_group *a = test_group_new(test, top, "a");
	struct test_group *aa = test_group_new(test, a, "aa");
	struct test_group *b = test_group_new(test, top, "b");
	struct test_shrinker *ts = test_shrinker_new(test);
	struct subtree st = { .nid = first_online_node };
	struct list_head item;

	INIT_LIST_HEAD(&item);
	KUNIT_EXPECT_TRUE(test, subtree_search(&st, root_mem_cgroup));
	KUNIT_EXPECT_FALSE(test, subtree_search(&st, a->memcg));

	KUNIT_ASSERT_EQ(test,
			memcg_list_lru_alloc(aa->memcg, &ts->lru, GFP_KERNEL), 0);
	list_lru_add(&ts->lru, &item, st.nid, aa->memcg);
	KUNIT_EXPECT_TRUE(test, subtree_search(&st, aa->memcg));
	/* It has nothing itself. */
	KUNIT_EXPECT_FALSE(test, subtree_search(&st, a->memcg));
	KUNIT_EXPECT_FALSE(test, subtree_search(&st, b->memcg));
	KUNIT_EXPECT_EQ(test, shrinker_nr_nonidle(a->memcg, st.nid), 1);

	list_lru_del(&ts->lru, &item, st.nid, aa->memcg);
	/* Only a walk finds out. */
	KUNIT_EXPECT_TRUE(test, subtree_search(&st, aa->memcg));
	test_walk(aa->memcg, st.nid);
	KUNIT_EXPECT_FALSE(test, subtree_search(&st, aa->memcg));
	KUNIT_EXPECT_EQ(test, shrinker_nr_nonidle(top->memcg, st.nid), 0);
}

static struct kunit_case subtree_cases[] = {
	KUNIT_CASE(subtree_skip),
	KUNIT_CASE_SLOW(subtree_race),
	{}
};

static struct kunit_suite subtree_suite = {
	.name = "mm_reclaim_subtree_race",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = subtree_cases,
};

kunit_test_suite(subtree_suite);
