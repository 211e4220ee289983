// SPDX-License-Identifier: GPL-2.0
/*
 * Setting bits against a walk that clears them, while objects come and go.
 *
 * No bit may get lost: a group that has objects of a shrinker has its bit and
 * its summary set whenever nothing runs. And none may stay for ever: when the
 * objects are gone, one walk clears bit and summary.
 */
#include <linux/mm_reclaim.h>
#include <linux/module.h>
#include <linux/nodemask.h>

#include "memcg_fixture.h"
#include "race.h"

#define NR_SHRINKERS	3
#define NR_ITEMS	4

/* What the threads count. */
enum { SETS, CLEARS, WALKS, QUIETS };

struct set_clear_item {
	struct list_head	lru;
	bool			added;
};

/**
 * struct set_clear - the state of a race
 * @group: the group that has the objects
 * @nid: the node that has them
 * @ts: the shrinkers: 0 and 1 share a unit, 2 has another one whose bit in the
 *	summary is that of the first
 * @items: one set of objects for each thread
 */
struct set_clear {
	struct test_group	*group;
	int			nid;
	struct test_shrinker	*ts[NR_SHRINKERS];
	struct set_clear_item	items[RACE_MAX_THREADS][NR_SHRINKERS][NR_ITEMS];
};

static int set_clear_id(struct set_clear *sc, int i)
{
	return sc->ts[i]->shrinker->id;
}

static bool set_clear_has_bit(struct set_clear *sc, int i)
{
	return shrinker_bit_is_set(sc->group->memcg, sc->nid,
				   set_clear_id(sc, i));
}

static bool set_clear_has_summary(struct set_clear *sc, int i)
{
	return shrinker_summary_is_set(sc->group->memcg, sc->nid,
				       set_clear_id(sc, i));
}

static unsigned long set_clear_count(struct set_clear *sc, int i)
{
	return list_lru_count_one(&sc->ts[i]->lru, sc->nid, sc->group->memcg);
}

static bool set_clear_add(struct set_clear *sc, int i, struct list_head *item)
{
	return list_lru_add(&sc->ts[i]->lru, item, sc->nid, sc->group->memcg);
}

static bool set_clear_del(struct set_clear *sc, int i, struct list_head *item)
{
	return list_lru_del(&sc->ts[i]->lru, item, sc->nid, sc->group->memcg);
}

/* Objects come, and some go again. */
static void set_clear_owner(struct race_thread *thread)
{
	struct set_clear *sc = thread->race->priv;
	u32 n = 1 + race_random(thread, 3);

	race_jitter(thread);
	while (n--) {
		u32 i = race_random(thread, NR_SHRINKERS);
		u32 j = race_random(thread, NR_ITEMS);
		struct list_head *item = &sc->items[thread->nr][i][j].lru;

		if (race_random(thread, 4)) {
			thread->hits[SETS] += set_clear_add(sc, i, item);
			continue;
		}
		set_clear_del(sc, i, item);
	}
}

/* The walker takes all that it sees. */
static void set_clear_walker(struct race_thread *thread)
{
	struct set_clear *sc = thread->race->priv;
	int i;

	race_jitter(thread);
	test_settle(sc->group->memcg, sc->nid);
	thread->hits[WALKS]++;

	for (i = 0; i < NR_SHRINKERS; i++)
		thread->hits[CLEARS] += !set_clear_has_bit(sc, i);
}

/*
 * Leave a bit behind whose objects are gone, which is what a walk clears: only
 * then is the window open.
 */
static void set_clear_prepare(struct race *race)
{
	struct race_thread *thread = &race->threads[0];
	struct set_clear *sc = race->priv;
	u32 mask = race_random(thread, 1 << NR_SHRINKERS);
	struct list_head *item;
	int i, j, k;

	for (i = 0; i < NR_SHRINKERS; i++) {
		/* Set the bit for certain, which takes an empty list. */
		for (k = 0; k < race->nr_threads; k++)
			for (j = 0; j < NR_ITEMS; j++)
				set_clear_del(sc, i, &sc->items[k][i][j].lru);

		if (!(mask & BIT(i)))
			continue;
		item = &sc->items[0][i][0].lru;
		set_clear_add(sc, i, item);
		set_clear_del(sc, i, item);
		race_expect(race, set_clear_has_bit(sc, i), i, 0);
	}
}

static void set_clear_check(struct race *race)
{
	struct set_clear *sc = race->priv;
	int i, j, k;

	for (i = 0; i < NR_SHRINKERS; i++) {
		if (!set_clear_count(sc, i))
			continue;
		race_expect(race, set_clear_has_bit(sc, i), i,
			    set_clear_count(sc, i));
		race_expect(race, set_clear_has_summary(sc, i), i,
			    set_clear_count(sc, i));
	}

	if (race->round % 8)
		return;

	/* And when all is gone, that is found out. */
	for (i = 0; i < NR_SHRINKERS; i++)
		for (k = 0; k < race->nr_threads; k++)
			for (j = 0; j < NR_ITEMS; j++)
				set_clear_del(sc, i, &sc->items[k][i][j].lru);

	test_settle(sc->group->memcg, sc->nid);
	for (i = 0; i < NR_SHRINKERS; i++) {
		race_expect(race, !set_clear_count(sc, i), i, 0);
		race_expect(race, !set_clear_has_bit(sc, i), i, 0);
		race_expect(race, !set_clear_has_summary(sc, i), i, 0);
	}
	race->threads[0].hits[QUIETS]++;
}

static struct set_clear *set_clear_new(struct kunit *test)
{
	struct set_clear *sc;
	int i, j, k;

	sc = kunit_kzalloc(test, sizeof(*sc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sc);
	for (k = 0; k < RACE_MAX_THREADS; k++)
		for (i = 0; i < NR_SHRINKERS; i++)
			for (j = 0; j < NR_ITEMS; j++)
				INIT_LIST_HEAD(&sc->items[k][i][j].lru);

	sc->nid = first_online_node;
	sc->group = test_group_new(test, test_group_top(test), "owner");

	sc->ts[0] = test_shrinker_new(test);
	sc->ts[1] = test_shrinker_new(test);
	if (set_clear_id(sc, 0) / BITS_PER_LONG !=
	    set_clear_id(sc, 1) / BITS_PER_LONG) {
		/* The first id was the last one of its unit. */
		sc->ts[0] = test_shrinker_new(test);
	}
	/* Same bit in the summary, another unit. */
	test_fillers_until(test, round_down(set_clear_id(sc, 0), BITS_PER_LONG) +
				 BITS_PER_LONG * BITS_PER_LONG);
	sc->ts[2] = test_shrinker_new(test);

	for (i = 0; i < NR_SHRINKERS; i++)
		KUNIT_ASSERT_EQ(test,
				test_list_lru_alloc(sc->group->memcg,
						    &sc->ts[i]->lru), 0);
	return sc;
}

static void set_clear_race(struct kunit *test)
{
	struct set_clear *sc = set_clear_new(test);
	struct race *race;
	int i;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	*race = (struct race) {
		.test = test,
		.roles = {
			set_clear_owner, set_clear_walker,
			set_clear_owner, set_clear_walker,
		},
		.nr_roles = 4,
		.prepare = set_clear_prepare,
		.check = set_clear_check,
		.counters = {
			[SETS] = "objects added",
			[CLEARS] = "bits clear after a walk",
			[WALKS] = "walks",
			[QUIETS] = "times all was taken away",
		},
		.min_hits = { 2000, 2000, 2000, 200 },
		.priv = sc,
	};
	race_run(race);

	for (i = 0; i < NR_SHRINKERS; i++)
		KUNIT_EXPECT_EQ(test, atomic_long_read(&sc->ts[i]->late), 0);
}

/*
 * The same window by hand: an object comes after the shrinker was asked, and
 * before its bit is cleared.
 */
struct set_clear_late {
	struct set_clear	*sc;
	int			from;
	int			to;
	int			call;
	int			calls;
	bool			added;
};

static void set_clear_late_hook(struct test_shrinker *ts,
				struct shrink_control *control,
				unsigned long count)
{
	struct set_clear_late *late = ts->hook_arg;
	struct set_clear *sc = late->sc;

	if (late->calls++ == late->call)
		late->added = set_clear_add(sc, late->to,
					    &sc->items[0][late->to][0].lru);
}

static void set_clear_by_hand(struct kunit *test)
{
	struct set_clear *sc = set_clear_new(test);
	struct list_head *item;
	int from, to, call;

	/*
	 * In call 0 the bit of the shrinker that is asked is still set, in
	 * call 1 it is clear, and that of the summary is still set.
	 */
	for (from = 0; from < NR_SHRINKERS; from++)
		for (to = 0; to < NR_SHRINKERS; to++)
			for (call = 0; call < 2; call++) {
				struct set_clear_late late = {
					.sc = sc, .from = from, .to = to,
					.call = call,
				};

				item = &sc->items[0][from][0].lru;
				KUNIT_ASSERT_TRUE(test, set_clear_add(sc, from, item));
				KUNIT_ASSERT_TRUE(test, set_clear_del(sc, from, item));

				/*
				 * Do not let the walk come to the newcomer
				 * and take it.
				 */
				sc->ts[to]->keep = true;
				sc->ts[from]->hook_arg = &late;
				sc->ts[from]->hook = set_clear_late_hook;
				test_walk(sc->group->memcg, sc->nid);
				sc->ts[from]->hook = NULL;

				KUNIT_EXPECT_TRUE(test, late.added);
				KUNIT_EXPECT_EQ(test, set_clear_count(sc, to), 1);
				KUNIT_EXPECT_TRUE_MSG(test,
						      set_clear_has_bit(sc, to),
						      "%d to %d, call %d", from,
						      to, call);
				KUNIT_EXPECT_TRUE_MSG(test,
						      set_clear_has_summary(sc, to),
						      "%d to %d, call %d", from,
						      to, call);

				/* It is found, and then nothing is left. */
				sc->ts[to]->keep = false;
				test_walk(sc->group->memcg, sc->nid);
				KUNIT_EXPECT_EQ(test, set_clear_count(sc, to), 0);
				item = &sc->items[0][to][0].lru;
				set_clear_del(sc, to, item);
				test_settle(sc->group->memcg, sc->nid);
				KUNIT_EXPECT_FALSE(test, set_clear_has_bit(sc, from));
				KUNIT_EXPECT_FALSE(test, set_clear_has_bit(sc, to));
				KUNIT_EXPECT_FALSE(test, set_clear_has_summary(sc, from));
				KUNIT_EXPECT_FALSE(test, set_clear_has_summary(sc, to));
			}
}

/* A walk asks the shrinkers that have objects, and no others. */
static void set_clear_who_is_asked(struct kunit *test)
{
	struct set_clear *sc = set_clear_new(test);
	unsigned int mask;
	int i;

	for (i = 0; i < NR_SHRINKERS; i++)
		sc->ts[i]->keep = true;

	for (mask = 0; mask < BIT(NR_SHRINKERS); mask++) {
		for (i = 0; i < NR_SHRINKERS; i++) {
			if (mask & BIT(i))
				set_clear_add(sc, i, &sc->items[0][i][0].lru);
		}
		for (i = 0; i < NR_SHRINKERS; i++)
			atomic_long_set(&sc->ts[i]->counted, 0);
		test_walk(sc->group->memcg, sc->nid);
		for (i = 0; i < NR_SHRINKERS; i++)
			KUNIT_EXPECT_EQ_MSG(test,
					    atomic_long_read(&sc->ts[i]->counted),
					    !!(mask & BIT(i)), "mask %u, %d",
					    mask, i);

		for (i = 0; i < NR_SHRINKERS; i++)
			set_clear_del(sc, i, &sc->items[0][i][0].lru);
		test_walk(sc->group->memcg, sc->nid);
	}
}

/*
 * A bit for which there is no place is a bug, but nothing gets lost: there is
 * a warning, and walks ask the shrinker for as long as there are objects.
 */
static void set_clear_without_unit(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	struct test_group *group;
	int id = ts->shrinker->id, nid = first_online_node, i;

	group = test_group_new(test, test_group_top(test), "owner");
	ts->keep = true;
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&ts->counted), 0);

	/* As if an object had come. */
	kunit_warning_suppress(test) {
		test_set_bit(group->memcg, nid, id);
		KUNIT_EXPECT_EQ(test, KUNIT_SUPPRESSED_WARNING_COUNT(), 1);
	}
	ts->pretend = 1;
	for (i = 1; i < 4; i++) {
		atomic_long_set(&ts->counted, 0);
		test_walk(group->memcg, nid);
		KUNIT_EXPECT_GT(test, atomic_long_read(&ts->counted), 0);
	}

	/* As if it had gone: that is noticed, and then all is as before. */
	ts->pretend = 0;
	test_walk(group->memcg, nid);
	atomic_long_set(&ts->counted, 0);
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&ts->counted), 0);
}

/*
 * The one without a unit comes last of all: its warning comes only once, and a
 * case after it that caused it too would not be found out.
 */
static struct kunit_case set_clear_cases[] = {
	KUNIT_CASE(set_clear_by_hand),
	KUNIT_CASE(set_clear_who_is_asked),
	KUNIT_CASE_SLOW(set_clear_race),
	KUNIT_CASE(set_clear_without_unit),
	{}
};

static struct kunit_suite set_clear_suite = {
	.name = "mm_reclaim_set_clear",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = set_clear_cases,
};

kunit_test_suite(set_clear_suite);

MODULE_DESCRIPTION("Race suites of memory cgroup slab reclaim");
MODULE_LICENSE("GPL");
