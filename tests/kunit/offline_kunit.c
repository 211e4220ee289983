// SPDX-License-Identifier: GPL-2.0
/*
 * Groups that go offline, against threads that still use them.
 *
 * Deferred work moves to an ancestor: whatever threads add, and do not take
 * back, is somewhere in the tree afterwards, exactly. So are objects, with the
 * bits that lead to them. A group that is gone keeps no maps, and gets none.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>

#include "memcg_fixture.h"
#include "race.h"

#define NR_GROUPS	24
#define NR_ITEMS	64
#define NR_GROWN	32

/* How often a thread uses the groups before it looks at anything else. */
#define NR_USES		200

/* What the threads count. */
enum { GONE, DEFERRED, LATE, OBJECTS, INSTALLS, WALKS };

struct offline_item {
	struct list_head	lru;
	int			group;
};

/**
 * struct offline - the state of a race
 * @parent: the parent of the groups; its own parent is the top of the test
 * @groups: the groups that go offline
 * @nr_groups: how many were made in this round
 * @nr_offline: how many of them are offline
 * @serial: to name groups
 * @nid: the node that has objects
 * @ts: the shrinker that has objects
 * @work: another one, which has deferred work but never an object: scanning
 *	uses deferred work, and nobody could tell how much
 * @far: neither the groups nor their parent have a place for deferred work, the root
 *	is the nearest
 * @base: no shrinker has this id or a higher one; units for them are installed
 *	only to make tables grow
 * @deferred: what each thread added, less what it took away
 * @items: the objects of each thread
 */
struct offline {
	struct test_group	*parent;
	struct test_group	groups[NR_GROUPS];
	int			nr_groups;
	int			nr_offline;
	unsigned int		serial;
	int			nid;
	struct test_shrinker	*ts;
	struct test_shrinker	*work;
	bool			far;
	int			base;
	long			deferred[RACE_MAX_THREADS];
	struct offline_item	items[RACE_MAX_THREADS][NR_ITEMS];
};

static int offline_id(struct offline *off)
{
	return off->ts->shrinker->id;
}

/* A group that is gone has no maps, whichever shrinker one asks for. */
static void offline_expect_bare(struct race *race, struct mem_cgroup *memcg,
				int id)
{
	int nid;

	for_each_node(nid) {
		race_expect(race, !shrinker_unit_is_installed(memcg, nid, id),
			    id, nid);
		race_expect(race, !shrinker_nr_deferred(memcg, nid, id), id,
			    nid);
		race_expect(race, !shrinker_bit_is_set(memcg, nid, id), id, nid);
	}
}

static void offline_add_deferred(struct race_thread *thread, int i)
{
	struct offline *off = thread->race->priv;
	struct mem_cgroup *memcg = off->groups[i].memcg;
	long nr = 1 + race_random(thread, 1000);

	thread->hits[DEFERRED]++;
	thread->hits[LATE] += test_memcg_is_dying(memcg);
	shrinker_add_deferred(nr, off->nid, off->work->shrinker, memcg);
	off->deferred[thread->nr] += nr;
}

static void offline_use_one(struct race_thread *thread)
{
	struct offline *off = thread->race->priv;
	int i = race_random(thread, off->nr_groups);
	struct mem_cgroup *memcg = off->groups[i].memcg;
	struct offline_item *item;
	long nr;

	switch (race_random(thread, 6)) {
	case 0:
		offline_add_deferred(thread, i);
		break;
	case 1:
		nr = shrinker_take_deferred(off->nid, off->work->shrinker,
					    memcg);
		off->deferred[thread->nr] -= nr;
		race_expect(thread->race, nr >= 0, nr, i);
		break;
	case 2:
	case 3:
		item = &off->items[thread->nr][race_random(thread, NR_ITEMS)];
		/* Reparenting may just move it, or what is next to it. */
		if (!data_race(list_empty(&item->lru))) {
			list_lru_del(&off->ts->lru, &item->lru, off->nid,
				     off->groups[item->group].memcg);
			break;
		}
		item->group = i;
		if (test_list_lru_alloc(memcg, &off->ts->lru))
			race_fail(thread->race, "a list", i, 0);
		else
			thread->hits[OBJECTS] +=
				list_lru_add(&off->ts->lru, &item->lru,
					     off->nid, memcg);
		break;
	case 4:
		if (test_install_unit(memcg, off->base + BITS_PER_LONG *
				      race_random(thread, NR_GROWN), GFP_KERNEL))
			race_fail(thread->race, "a unit", i, 0);
		thread->hits[INSTALLS]++;
		break;
	case 5:
		test_walk(memcg, off->nid);
		thread->hits[WALKS]++;
		break;
	}
}

/*
 * Use all groups a little, and the one that goes offline next a lot: maps are
 * closed one after the other, and each of them in less than a microsecond.
 */
static void offline_use(struct race_thread *thread, int *next)
{
	struct offline *off = thread->race->priv;
	int i, n;

	for (i = 0; i < NR_USES; i++) {
		offline_use_one(thread);
		for (n = 0; n < 8; n++) {
			while (*next < off->nr_groups - 1 &&
			       !test_memcg_is_online(off->groups[*next].memcg))
				++*next;
			offline_add_deferred(thread, *next);
		}
		cond_resched();
	}
}

/* Use the groups for as long as one of them is not offline yet. */
static void offline_user(struct race_thread *thread)
{
	struct offline *off = thread->race->priv;
	unsigned int n = 0;
	int next = 0;

	do {
		offline_use(thread, &next);
		/* Grace periods are what everybody waits for. */
		if (++n % 16 == 0)
			usleep_range(10, 50);
	} while (READ_ONCE(off->nr_offline) < off->nr_groups &&
		 !race_failed(thread->race));

	/* And a little more, as some users are late. */
	offline_use(thread, &next);
}

static void offline_remover(struct race_thread *thread)
{
	struct offline *off = thread->race->priv;
	int i, n;

	for (i = 0; i < off->nr_groups; i++) {
		if (test_group_rmdir(&off->groups[i]))
			race_fail(thread->race, "an empty group", i, 0);
		for (n = 0; n < 8; n++)
			offline_use_one(thread);
	}
	/* Now leave this CPU to those who take them offline. */
	for (i = 0; i < off->nr_groups; i++) {
		if (!test_group_wait_offline(&off->groups[i]))
			race_fail(thread->race, "a group offline", i, 0);
		WRITE_ONCE(off->nr_offline, i + 1);
		thread->hits[GONE]++;
	}
}

static void offline_prepare(struct race *race)
{
	struct offline *off = race->priv;
	char name[16];
	int i;

	off->nr_groups = 0;
	off->nr_offline = 0;
	for (i = 0; i < NR_GROUPS; i++) {
		snprintf(name, sizeof(name), "o%u", off->serial++);
		if (test_group_make(off->parent, name, true, &off->groups[i])) {
			race_fail(race, "a new group", i, 0);
			return;
		}
		off->nr_groups++;
		/* As reclaim has found objects in all of them before. */
		if (test_list_lru_alloc(off->groups[i].memcg, &off->ts->lru) ||
		    (!off->far && test_install_unit(off->groups[i].memcg,
						    off->work->shrinker->id, GFP_KERNEL))) {
			race_fail(race, "a list", i, 0);
			return;
		}
	}
}

static long offline_take(struct offline *off, struct mem_cgroup *memcg)
{
	return shrinker_take_deferred(off->nid, off->work->shrinker, memcg);
}

static void offline_check(struct race *race)
{
	struct offline *off = race->priv;
	struct mem_cgroup *parent = off->parent->memcg;
	long put = 0, got = 0, items = 0;
	int i, k;

	/* What is to be moved moves after a grace period. */
	for (i = 0; i < off->nr_groups; i++)
		race_expect(race, test_group_wait_offline(&off->groups[i]), i, 0);
	synchronize_rcu();
	rcu_barrier();

	for (i = 0; i < off->nr_groups; i++) {
		struct mem_cgroup *memcg = off->groups[i].memcg;

		offline_expect_bare(race, memcg, offline_id(off));
		offline_expect_bare(race, memcg, off->work->shrinker->id);
		for (k = 0; k < NR_GROWN; k++)
			offline_expect_bare(race, memcg,
					    off->base + k * BITS_PER_LONG);
	}

	for (i = 0; i < race->nr_threads; i++) {
		put += off->deferred[i];
		off->deferred[i] = 0;
	}
	/*
	 * All must be at the nearest ancestor that had a unit, which was there
	 * all the time.
	 */
	got = offline_take(off, off->far ? root_mem_cgroup : parent);
	race_expect(race, put == got, put, got);

	for (i = 0; i < race->nr_threads; i++)
		for (k = 0; k < NR_ITEMS; k++)
			items += !list_empty(&off->items[i][k].lru);
	race_expect(race,
		    list_lru_count_one(&off->ts->lru, off->nid, parent) == items,
		    list_lru_count_one(&off->ts->lru, off->nid, parent), items);
	if (items) {
		race_expect(race,
			    shrinker_bit_is_set(parent, off->nid, offline_id(off)),
			    items, 0);
		race_expect(race,
			    shrinker_summary_is_set(parent, off->nid,
						    offline_id(off)),
			    items, 0);
	}
	for (i = 0; i < race->nr_threads; i++)
		for (k = 0; k < NR_ITEMS; k++)
			list_lru_del(&off->ts->lru, &off->items[i][k].lru,
				     off->nid, parent);

	for (i = 0; i < off->nr_groups; i++)
		test_group_put(&off->groups[i]);
}

static struct offline *offline_new(struct kunit *test, bool far)
{
	struct offline *off;
	int i, k;

	off = kunit_kzalloc(test, sizeof(*off), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, off);
	for (i = 0; i < RACE_MAX_THREADS; i++)
		for (k = 0; k < NR_ITEMS; k++)
			INIT_LIST_HEAD(&off->items[i][k].lru);

	off->nid = first_online_node;
	off->far = far;
	off->parent = test_group_new(test, test_group_top(test), "parent");
	off->ts = test_shrinker_new(test);
	off->ts->keep = true;
	/* Objects of the one must not bring the other's unit to the parent. */
	test_fillers_until(test, round_up(offline_id(off) + 1, BITS_PER_LONG));
	off->work = test_shrinker_new(test);
	off->base = BITS_PER_LONG * BITS_PER_LONG * BITS_PER_LONG;
	/* What an earlier shrinker with this id left to the root is not ours. */
	offline_take(off, root_mem_cgroup);

	KUNIT_ASSERT_EQ(test,
			test_list_lru_alloc(off->parent->memcg, &off->ts->lru), 0);
	if (!far)
		KUNIT_ASSERT_EQ(test,
				test_install_unit(off->parent->memcg,
						  off->work->shrinker->id,
						  GFP_KERNEL), 0);
	return off;
}

static void offline_run(struct kunit *test, bool far)
{
	struct offline *off = offline_new(test, far);
	struct race *race;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	*race = (struct race) {
		.test = test,
		.roles = {
			offline_remover, offline_user,
			offline_user, offline_user,
		},
		.nr_roles = 4,
		.prepare = offline_prepare,
		.check = offline_check,
		.counters = {
			[GONE] = "groups went offline",
			[DEFERRED] = "times deferred work was added",
			[LATE] = "of them to groups that were going",
			[OBJECTS] = "objects added",
			[INSTALLS] = "installs",
			[WALKS] = "walks",
		},
		.min_hits = { 100, 20000, 5000, 2000, 1000, 1000 },
		.priv = off,
	};
	race_run(race);
}

static void offline_race_near(struct kunit *test)
{
	offline_run(test, false);
}

static void offline_race_far(struct kunit *test)
{
	offline_run(test, true);
}

/* Deferred work climbs one level at a time, and arrives. */
static void offline_chain(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	struct test_group *top = test_group_top(test);
	struct shrinker *shrinker = ts->shrinker;
	struct test_group chain[4];
	long sum = 0;
	int i, nid;

	for (i = 0; i < ARRAY_SIZE(chain); i++)
		KUNIT_ASSERT_EQ(test,
				test_group_make(i ? &chain[i - 1] : top, "chain",
						false, &chain[i]), 0);
	KUNIT_EXPECT_EQ(test,
			test_install_unit(chain[3].memcg, shrinker->id, GFP_KERNEL), 0);

	for_each_online_node(nid) {
		KUNIT_EXPECT_EQ(test,
				shrinker_add_deferred(10 + nid, nid, shrinker,
						      chain[3].memcg), 10 + nid);
		KUNIT_EXPECT_EQ(test,
				shrinker_add_deferred(100, nid, shrinker,
						      chain[0].memcg), 100);
		sum += 110 + nid;
	}

	for (i = ARRAY_SIZE(chain) - 1; i > 0; i--) {
		KUNIT_EXPECT_EQ(test, test_group_rmdir(&chain[i]), 0);
		KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&chain[i]));
		synchronize_rcu();
		rcu_barrier();
		for_each_online_node(nid) {
			KUNIT_EXPECT_FALSE(test,
					   shrinker_unit_is_installed(chain[i].memcg,
								      nid, shrinker->id));
			KUNIT_EXPECT_EQ(test,
					shrinker_nr_deferred(chain[i - 1].memcg, nid,
							     shrinker->id),
					i == 1 ? 110 + nid : 10 + nid);
		}
	}
	for_each_online_node(nid)
		sum -= shrinker_take_deferred(nid, shrinker, chain[0].memcg);
	KUNIT_EXPECT_EQ(test, sum, 0);

	KUNIT_EXPECT_EQ(test, test_group_rmdir(&chain[0]), 0);
	for (i = 0; i < ARRAY_SIZE(chain); i++)
		test_group_put(&chain[i]);
}

/* A group that is offline gets no units, however one asks. */
static void offline_refuses(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	struct test_group *top = test_group_top(test);
	int id = ts->shrinker->id, nid = first_online_node;
	struct test_group group;
	LIST_HEAD(item);

	KUNIT_ASSERT_EQ(test, test_group_make(top, "gone", true, &group), 0);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&group), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&group));

	/* Whether it says so or not. Freeing checks that nothing is left. */
	test_install_unit(group.memcg, id, GFP_KERNEL);
	for_each_node(nid)
		KUNIT_EXPECT_FALSE(test,
				   shrinker_unit_is_installed(group.memcg, nid, id));

	/* Objects that come late go to the parent, and are found there. */
	nid = first_online_node;
	ts->keep = true;
	KUNIT_EXPECT_EQ(test,
			test_list_lru_alloc(top->memcg, &ts->lru), 0);
	KUNIT_EXPECT_EQ(test,
			test_list_lru_alloc(group.memcg, &ts->lru), 0);
	KUNIT_EXPECT_TRUE(test, list_lru_add(&ts->lru, &item, nid, group.memcg));
	KUNIT_EXPECT_FALSE(test,
			   shrinker_unit_is_installed(group.memcg, nid, id));
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(top->memcg, nid, id));
	KUNIT_EXPECT_TRUE(test, shrinker_summary_is_set(top->memcg, nid, id));
	KUNIT_EXPECT_TRUE(test, list_lru_del(&ts->lru, &item, nid, group.memcg));

	/* Nor does a walk find anything, or trip. */
	KUNIT_EXPECT_EQ(test, test_walk(group.memcg, nid), 0);
	test_group_put(&group);
}

static struct kunit_case offline_cases[] = {
	KUNIT_CASE(offline_chain),
	KUNIT_CASE(offline_refuses),
	KUNIT_CASE_SLOW(offline_race_near),
	KUNIT_CASE_SLOW(offline_race_far),
	{}
};

static struct kunit_suite offline_suite = {
	.name = "mm_reclaim_offline",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = offline_cases,
};

kunit_test_suite(offline_suite);
