// SPDX-License-Identifier: GPL-2.0
/*
 * Registering and freeing shrinkers, whose ids are reused at once, against
 * walks that look ids up.
 *
 * The lowest free id is always taken. No callback runs after shrinker_free()
 * returned. And a bit that the new owner of an id set is not cleared by a walk
 * which looked the id up before.
 */
#include <linux/bitmap.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "memcg_fixture.h"
#include "race.h"

#define NR_IDS	200

/* What the threads count. */
enum { OWNERS, WALKS, OVERLAPS };

static void id_lowest_free(struct kunit *test)
{
	struct shrinker **s;
	struct rnd_state rnd;
	int ids[NR_IDS];
	int i, freed;

	s = kunit_kcalloc(test, NR_IDS, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	prandom_seed_state(&rnd, 1);

	for (i = 0; i < NR_IDS; i++) {
		s[i] = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_id");
		if (!s[i])
			break;
		ids[i] = s[i]->id;
	}
	if (i < NR_IDS) {
		while (i--)
			shrinker_free(s[i]);
		KUNIT_FAIL_AND_ABORT(test, "no memory");
	}

	/* They fill the holes that others left, and are dense behind these. */
	for (i = 1; i < NR_IDS; i++)
		KUNIT_EXPECT_LT(test, ids[i - 1], ids[i]);
	KUNIT_EXPECT_EQ(test, ids[NR_IDS - 1] - ids[NR_IDS / 2],
			NR_IDS - 1 - NR_IDS / 2);

	/* Free some, in any order; the lowest come back first. */
	for (freed = 0; freed < NR_IDS; freed++) {
		i = prandom_u32_state(&rnd) % NR_IDS;
		shrinker_free(s[i]);
		s[i] = NULL;
	}
	for (i = 0; i < NR_IDS; i++) {
		if (s[i])
			continue;
		s[i] = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_id");
		KUNIT_EXPECT_NOT_NULL(test, s[i]);
		if (s[i])
			KUNIT_EXPECT_EQ(test, s[i]->id, ids[i]);
	}

	for (i = 0; i < NR_IDS; i++)
		shrinker_free(s[i]);
}

/**
 * struct id_reuse - the state of a race
 * @group: the group that has the objects
 * @nid: the node that has them
 * @id: the id that is reused
 * @ts: the owners of the id: the one of this round and the one of the last
 * @now: which one owns it
 * @item: what the owner has in the group
 * @owned: the new owner is in place
 */
struct id_reuse {
	struct test_group	*group;
	int			nid;
	int			id;
	struct test_shrinker	ts[2];
	int			now;
	struct list_head	item;
	bool			owned;
};

/* The id changes hands, and its new owner gets an object at once. */
static void id_reuse_owner(struct race_thread *thread)
{
	struct id_reuse *reuse = thread->race->priv;
	struct test_shrinker *ts = &reuse->ts[!reuse->now];

	test_shrinker_exit(&reuse->ts[reuse->now]);
	reuse->now = !reuse->now;
	if (test_shrinker_init(ts)) {
		race_fail(thread->race, "a new shrinker", 0, 0);
	} else {
		race_expect(thread->race, ts->shrinker->id == reuse->id,
			    ts->shrinker->id, reuse->id);
		if (test_list_lru_alloc(reuse->group->memcg, &ts->lru))
			race_fail(thread->race, "a new list", 0, 0);
		else
			list_lru_add(&ts->lru, &reuse->item, reuse->nid,
				     reuse->group->memcg);
		thread->hits[OWNERS]++;
	}
	WRITE_ONCE(reuse->owned, true);
}

static void id_reuse_walker(struct race_thread *thread)
{
	struct id_reuse *reuse = thread->race->priv;
	struct mem_cgroup *memcg = reuse->group->memcg;

	/*
	 * Keep a bit set for the walk to look up: the id has no owner for most
	 * of the time, so it is cleared at once.
	 */
	while (!READ_ONCE(reuse->owned) && !race_failed(thread->race)) {
		test_set_bit(memcg, reuse->nid, reuse->id);
		race_jitter(thread);
		test_walk(memcg, reuse->nid);
		thread->hits[WALKS]++;
		if (!shrinker_bit_is_set(memcg, reuse->nid, reuse->id))
			thread->hits[OVERLAPS]++;
		cond_resched();
	}
}

static void id_reuse_prepare(struct race *race)
{
	struct id_reuse *reuse = race->priv;
	struct test_shrinker *ts = &reuse->ts[reuse->now];

	list_lru_del(&ts->lru, &reuse->item, reuse->nid, reuse->group->memcg);
	reuse->owned = false;
}

static void id_reuse_check(struct race *race)
{
	struct id_reuse *reuse = race->priv;
	struct test_shrinker *ts = &reuse->ts[reuse->now];
	struct mem_cgroup *memcg = reuse->group->memcg;

	race_expect(race, !atomic_long_read(&reuse->ts[0].late), 0, 0);
	race_expect(race, !atomic_long_read(&reuse->ts[1].late), 1, 0);
	if (race_failed(race))
		return;

	/* The new owner keeps its object, so its bit must be there. */
	race_expect(race, list_lru_count_one(&ts->lru, reuse->nid, memcg) == 1,
		    0, 0);
	race_expect(race, shrinker_bit_is_set(memcg, reuse->nid, reuse->id),
		    reuse->id, 0);
	race_expect(race, shrinker_summary_is_set(memcg, reuse->nid, reuse->id),
		    reuse->id, 0);
}

static void id_reuse_cleanup(void *data)
{
	struct id_reuse *reuse = data;

	test_shrinker_exit(&reuse->ts[0]);
	test_shrinker_exit(&reuse->ts[1]);
}

static void id_reuse_race(struct kunit *test)
{
	struct id_reuse *reuse;
	struct race *race;

	reuse = kunit_kzalloc(test, sizeof(*reuse), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reuse);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	reuse->group = test_group_new(test, test_group_top(test), "owner");
	reuse->nid = first_online_node;
	INIT_LIST_HEAD(&reuse->item);
	/* A walk asks for all objects, and must leave this one. */
	reuse->ts[0].keep = true;
	reuse->ts[1].keep = true;

	KUNIT_ASSERT_EQ(test, test_shrinker_init(&reuse->ts[0]), 0);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, id_reuse_cleanup,
						  reuse), 0);
	reuse->id = reuse->ts[0].shrinker->id;
	KUNIT_ASSERT_EQ(test,
			test_list_lru_alloc(reuse->group->memcg, &reuse->ts[0].lru), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			id_reuse_owner, id_reuse_walker,
			id_reuse_walker, id_reuse_walker,
		},
		.nr_roles = 4,
		.prepare = id_reuse_prepare,
		.check = id_reuse_check,
		.counters = {
			[OWNERS] = "new owners",
			[WALKS] = "walks",
			[OVERLAPS] = "walks that cleared the bit",
		},
		.min_hits = { 1000, 2000, 1000 },
		.priv = reuse,
	};
	race_run(race);
}

/**
 * struct id_lookup - the state of a race
 * @group: the group that has the bit
 * @nid: the node that has it
 * @id: the lowest free id
 * @shrinker: gets and gives back the id; never registered, so that whoever
 *	looks it up leaves its bit alone
 */
struct id_lookup {
	struct test_group	*group;
	int			nid;
	int			id;
	struct shrinker		*shrinker;
};

static void id_lookup_release(struct id_lookup *lookup)
{
	if (lookup->shrinker->id < 0)
		return;

	mutex_lock(&shrinker_mutex);
	shrinker_id_free(lookup->shrinker);
	mutex_unlock(&shrinker_mutex);
	lookup->shrinker->id = -1;
}

/* The id has no owner, and a bit that the next walk clears. */
static void id_lookup_prepare(struct race *race)
{
	struct id_lookup *lookup = race->priv;

	id_lookup_release(lookup);
	test_set_bit(lookup->group->memcg, lookup->nid, lookup->id);
}

/* Someone takes the id and sets the bit, as fast as can be. */
static void id_lookup_owner(struct race_thread *thread)
{
	struct id_lookup *lookup = thread->race->priv;
	struct mem_cgroup *memcg = lookup->group->memcg;
	int ret;

	mutex_lock(&shrinker_mutex);
	/* The walk has a longer way to go until it looks the id up. */
	race_delay(thread, 2048);
	ret = shrinker_id_alloc(lookup->shrinker);
	test_set_bit(memcg, lookup->nid, lookup->id);
	mutex_unlock(&shrinker_mutex);
	race_expect(thread->race, ret == lookup->id, ret, lookup->id);
	if (ret >= 0)
		lookup->shrinker->id = ret;
	thread->hits[OWNERS]++;
}

static void id_lookup_walker(struct race_thread *thread)
{
	struct id_lookup *lookup = thread->race->priv;
	struct mem_cgroup *memcg = lookup->group->memcg;

	race_jitter(thread);
	test_walk(memcg, lookup->nid);
	thread->hits[WALKS]++;
	thread->hits[OVERLAPS] += !shrinker_bit_is_set(memcg, lookup->nid,
						       lookup->id);
}

static void id_lookup_check(struct race *race)
{
	struct id_lookup *lookup = race->priv;
	struct mem_cgroup *memcg = lookup->group->memcg;

	race_expect(race, lookup->shrinker->id == lookup->id,
		    lookup->shrinker->id, lookup->id);
	race_expect(race, shrinker_bit_is_set(memcg, lookup->nid, lookup->id),
		    lookup->id, 0);
	race_expect(race,
		    shrinker_summary_is_set(memcg, lookup->nid, lookup->id),
		    lookup->id, 0);
}

static void id_lookup_cleanup(void *data)
{
	struct id_lookup *lookup = data;

	id_lookup_release(lookup);
	/* The memory of the shrinker goes next, and someone may look at it. */
	synchronize_rcu();
}

static void id_lookup_race(struct kunit *test)
{
	struct id_lookup *lookup;
	struct shrinker *probe;
	struct race *race;

	lookup = kunit_kzalloc(test, sizeof(*lookup), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lookup);
	lookup->shrinker = kunit_kzalloc(test, sizeof(*lookup->shrinker),
					 GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lookup->shrinker);
	lookup->shrinker->id = -1;
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	lookup->group = test_group_new(test, test_group_top(test), "owner");
	lookup->nid = first_online_node;
	probe = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_probe");
	KUNIT_ASSERT_NOT_NULL(test, probe);
	lookup->id = probe->id;
	shrinker_free(probe);
	KUNIT_ASSERT_EQ(test,
			test_install_unit(lookup->group->memcg, lookup->id,
					  GFP_KERNEL), 0);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, id_lookup_cleanup,
						  lookup), 0);

	*race = (struct race) {
		.test = test,
		.roles = { id_lookup_owner, id_lookup_walker },
		.nr_roles = 2,
		.prepare = id_lookup_prepare,
		.check = id_lookup_check,
		.counters = {
			[OWNERS] = "new owners",
			[WALKS] = "walks",
			[OVERLAPS] = "walks that cleared the bit",
		},
		.min_hits = { 5000, 5000, 100 },
		.priv = lookup,
	};
	race_run(race);
}

/**
 * struct id_crowd - the state of a race with several registering threads
 * @group: the group that is walked
 * @nid: the node that is walked
 * @ts: the shrinkers of each thread
 * @items: an object for each of them
 * @base: all ids from this one on are theirs
 */
struct id_crowd {
	struct test_group	*group;
	int			nid;
	struct test_shrinker	ts[RACE_MAX_THREADS][NR_IDS];
	struct list_head	items[RACE_MAX_THREADS][NR_IDS];
	int			base;
};

static void id_crowd_owner(struct race_thread *thread)
{
	struct id_crowd *crowd = thread->race->priv;
	struct mem_cgroup *memcg = crowd->group->memcg;
	struct list_head *item;
	struct test_shrinker *ts;
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 n = race_random(thread, NR_IDS);

		ts = &crowd->ts[thread->nr][n];
		item = &crowd->items[thread->nr][n];
		if (ts->shrinker) {
			list_lru_del(&ts->lru, item, crowd->nid, memcg);
			test_shrinker_exit(ts);
			continue;
		}
		ts->keep = true;
		if (test_shrinker_init(ts) ||
		    test_list_lru_alloc(memcg, &ts->lru)) {
			race_fail(thread->race, "a new shrinker", n, 0);
			return;
		}
		list_lru_add(&ts->lru, item, crowd->nid, memcg);
		thread->hits[OWNERS]++;
	}
	test_walk(memcg, crowd->nid);
	thread->hits[WALKS]++;
}

static void id_crowd_check(struct race *race)
{
	struct id_crowd *crowd = race->priv;
	struct mem_cgroup *memcg = crowd->group->memcg;
	DECLARE_BITMAP(taken, 2 * RACE_MAX_THREADS * NR_IDS);
	struct shrinker *probe;
	unsigned int k, n, lowest;
	int id;

	bitmap_zero(taken, 2 * RACE_MAX_THREADS * NR_IDS);
	for (k = 0; k < race->nr_threads; k++) {
		for (n = 0; n < NR_IDS; n++) {
			struct test_shrinker *ts = &crowd->ts[k][n];

			race_expect(race, !atomic_long_read(&ts->late), k, n);
			if (!ts->shrinker)
				continue;
			id = ts->shrinker->id;
			race_expect(race,
				    shrinker_bit_is_set(memcg, crowd->nid, id),
				    id, 0);
			race_expect(race,
				    shrinker_summary_is_set(memcg, crowd->nid, id),
				    id, 0);
			/* Each has one of its own, and none is wasted. */
			id -= crowd->base;
			if (!race_expect(race, id >= 0 &&
					 id < 2 * RACE_MAX_THREADS * NR_IDS,
					 id, 0))
				return;
			race_expect(race, !__test_and_set_bit(id, taken), id, 0);
		}
	}

	lowest = find_first_zero_bit(taken, 2 * RACE_MAX_THREADS * NR_IDS);
	probe = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_probe");
	if (!probe) {
		race_fail(race, "a new shrinker", 0, 0);
		return;
	}
	race_expect(race, probe->id == crowd->base + lowest, probe->id,
		    crowd->base + lowest);
	shrinker_free(probe);
}

static void id_crowd_cleanup(void *data)
{
	struct id_crowd *crowd = data;
	int k, n;

	for (k = 0; k < RACE_MAX_THREADS; k++)
		for (n = 0; n < NR_IDS; n++)
			test_shrinker_exit(&crowd->ts[k][n]);
}

static void id_crowd_race(struct kunit *test)
{
	struct id_crowd *crowd;
	struct shrinker *probe;
	struct race *race;
	int k, n;

	crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	crowd->group = test_group_new(test, test_group_top(test), "owner");
	crowd->nid = first_online_node;
	for (k = 0; k < RACE_MAX_THREADS; k++)
		for (n = 0; n < NR_IDS; n++)
			INIT_LIST_HEAD(&crowd->items[k][n]);

	/*
	 * Others may have left holes: fill them up to a round number, so that
	 * all ids from there on are ours.
	 */
	test_fillers_until(test, 2048);
	probe = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_probe");
	KUNIT_ASSERT_NOT_NULL(test, probe);
	crowd->base = probe->id;
	shrinker_free(probe);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, id_crowd_cleanup,
						  crowd), 0);

	*race = (struct race) {
		.test = test,
		.roles = { id_crowd_owner, id_crowd_owner, id_crowd_owner },
		.nr_roles = 3,
		.check = id_crowd_check,
		.counters = {
			[OWNERS] = "new owners",
			[WALKS] = "walks",
		},
		.min_hits = { 1000, 500 },
		.priv = crowd,
	};
	race_run(race);
}

/* A bit whose id has no owner goes with the next walk. */
static void id_without_owner(struct kunit *test)
{
	struct test_group *group;
	struct shrinker *shrinker;
	int id, nid = first_online_node;
	struct list_lru lru;

	group = test_group_new(test, test_group_top(test), "owner");
	shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_id");
	KUNIT_ASSERT_NOT_NULL(test, shrinker);
	id = shrinker->id;

	if (list_lru_init_memcg(&lru, shrinker)) {
		shrinker_free(shrinker);
		KUNIT_FAIL_AND_ABORT(test, "no memory");
	}
	KUNIT_EXPECT_EQ(test,
			test_list_lru_alloc(group->memcg, &lru), 0);
	list_lru_destroy(&lru);
	shrinker_free(shrinker);

	test_set_bit(group->memcg, nid, id);
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(group->memcg, nid, id));
	KUNIT_EXPECT_TRUE(test, shrinker_summary_is_set(group->memcg, nid, id));
	KUNIT_EXPECT_EQ(test, test_settle(group->memcg, nid), 0);
	KUNIT_EXPECT_FALSE(test, shrinker_bit_is_set(group->memcg, nid, id));
	KUNIT_EXPECT_FALSE(test, shrinker_summary_is_set(group->memcg, nid, id));
}

static struct kunit_case id_reuse_cases[] = {
	KUNIT_CASE(id_lowest_free),
	KUNIT_CASE(id_without_owner),
	KUNIT_CASE_SLOW(id_lookup_race),
	KUNIT_CASE_SLOW(id_reuse_race),
	KUNIT_CASE_SLOW(id_crowd_race),
	{}
};

static struct kunit_suite id_reuse_suite = {
	.name = "mm_reclaim_id_reuse",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = id_reuse_cases,
};

kunit_test_suite(id_reuse_suite);
