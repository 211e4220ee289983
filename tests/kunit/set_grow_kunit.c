// SPDX-License-Identifier: GPL-2.0
/*
 * Setting bits while the table that leads to them is replaced again and again,
 * and clearing them.
 *
 * A bit that was set is found from then on, and so is deferred work, whichever
 * table is the current one. Where walks clear bits, those of shrinkers that have
 * objects stay, and whatever is set is found by way of summary and list.
 */
#include <linux/bitmap.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/slab.h>

#include "memcg_fixture.h"
#include "race.h"

/* Units per group; the summary has a bit for each 64th of them. */
#define NR_UNITS	192
#define NR_BITS		(NR_UNITS * BITS_PER_LONG)

/* Sparse, so that new entries of the table land between old ones. */
#define UNIT_STRIDE	3

/* With walks: the same bit in the summary for all. */
#define WALKED_STRIDE	BITS_PER_LONG

/*
 * The shrinkers that have objects there; between the unit of one and that of the
 * next is another, which comes later.
 */
#define NR_LISTS	3
#define NR_BETWEEN	(NR_LISTS - 1)
#define NR_ITEMS	2

/* What the threads count. */
enum { REPLACED, SETS, DEFERRED, WALKS, CLEARS };

/**
 * struct set_grow - the state of a race
 * @top: where the groups are
 * @group: the group whose table grows
 * @serial: to name groups
 * @nid: the node that has objects
 * @order: in which order the units are installed
 * @nr_installed: how many of them are, before this round
 * @bits: the bits that were set
 * @deferred: the deferred work that was added
 * @first: the lowest id that is used; no shrinker has one as high
 * @stride: the distance between the units from there on
 *
 * If there are walks, also:
 *
 * @nr_between: how many of the units have their place between the shrinkers'
 * @ts: the shrinkers
 * @items: their objects, one set for each thread
 * @has_list: the shrinkers of which the group can have objects
 */
struct set_grow {
	struct test_group	*top;
	struct test_group	group;
	unsigned int		serial;
	int			nid;
	int			order[NR_UNITS];
	int			nr_installed;
	DECLARE_BITMAP(bits, NR_BITS);
	atomic_long_t		deferred[NR_UNITS];
	int			first;
	int			stride;

	int			nr_between;
	struct test_shrinker	*ts[NR_LISTS];
	struct list_head	items[RACE_MAX_THREADS][NR_LISTS][NR_ITEMS];
	unsigned long		has_list;
};

/* Whether the unit that is installed as number @i is one of shrinkers' ids. */
static bool set_grow_is_between(struct set_grow *grow, int i)
{
	return grow->order[i] < grow->nr_between;
}

/* The id at @offset of the unit that is installed as number @i. */
static int set_grow_id(struct set_grow *grow, int i, int offset)
{
	int id = grow->first + grow->order[i] * grow->stride * BITS_PER_LONG;

	if (set_grow_is_between(grow, i))
		id = round_up(grow->ts[grow->order[i]]->shrinker->id + 1,
			      BITS_PER_LONG);
	return id + offset;
}

static void set_grow_set(struct race_thread *thread, int i)
{
	struct set_grow *grow = thread->race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int offset = race_random(thread, BITS_PER_LONG);
	int id = set_grow_id(grow, i, offset);

	set_bit(i * BITS_PER_LONG + offset, grow->bits);
	test_set_bit(memcg, grow->nid, id);
	/* Nobody clears bits here, so it is there to stay. */
	race_expect(thread->race, shrinker_bit_is_set(memcg, grow->nid, id),
		    id, i);
	race_expect(thread->race, shrinker_summary_is_set(memcg, grow->nid, id),
		    id, i);
	thread->hits[SETS]++;
}

static void set_grow_defer(struct race_thread *thread, int i)
{
	struct set_grow *grow = thread->race->priv;
	/* Deferred work is that of an id; nothing else is looked at. */
	struct shrinker shrinker = {
		.id = set_grow_id(grow, i, 0),
		.flags = SHRINKER_NUMA_AWARE,
	};
	long nr = 1 + race_random(thread, 100);

	shrinker_add_deferred(nr, grow->nid, &shrinker, grow->group.memcg);
	atomic_long_add(nr, &grow->deferred[i]);
	thread->hits[DEFERRED]++;
}

static void set_grow_grower(struct race_thread *thread)
{
	struct set_grow *grow = thread->race->priv;
	int i = grow->nr_installed;

	race_jitter(thread);
	if (test_install_unit(grow->group.memcg, set_grow_id(grow, i, 0), GFP_KERNEL)) {
		race_fail(thread->race, "a new unit", i, 0);
		return;
	}
	thread->hits[REPLACED]++;
	/* From here on it may be used. */
	set_grow_set(thread, i);
}

static void set_grow_setter(struct race_thread *thread)
{
	struct set_grow *grow = thread->race->priv;
	int n;

	if (!grow->nr_installed)
		return;

	race_jitter(thread);
	for (n = 0; n < 3; n++) {
		set_grow_set(thread, race_random(thread, grow->nr_installed));
		set_grow_defer(thread, race_random(thread, grow->nr_installed));
	}
}

/* Look at each bit of the group, and let it go. */
static void set_grow_finish(struct race *race)
{
	struct set_grow *grow = race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	DECLARE_BITMAP(summary, BITS_PER_LONG);
	int i, offset, id, nid;

	bitmap_zero(summary, BITS_PER_LONG);
	for (i = 0; i < NR_UNITS; i++) {
		for_each_node_state(nid, N_MEMORY)
			race_expect(race,
				    shrinker_unit_is_installed(memcg, nid,
							       set_grow_id(grow, i, 0)),
				    i, nid);
		/* There is no unit between two of them. */
		race_expect(race,
			    !shrinker_unit_is_installed(memcg, grow->nid,
							set_grow_id(grow, i, 0) +
							BITS_PER_LONG),
			    i, 0);

		for (offset = 0; offset < BITS_PER_LONG; offset++) {
			bool set = test_bit(i * BITS_PER_LONG + offset,
					    grow->bits);

			id = set_grow_id(grow, i, offset);
			race_expect(race,
				    shrinker_bit_is_set(memcg, grow->nid, id) == set,
				    id, set);
			if (set)
				__set_bit(id / BITS_PER_LONG % BITS_PER_LONG,
					  summary);
		}

		id = set_grow_id(grow, i, 0);
		race_expect(race,
			    shrinker_nr_deferred(memcg, grow->nid, id) ==
			    atomic_long_read(&grow->deferred[i]),
			    shrinker_nr_deferred(memcg, grow->nid, id),
			    atomic_long_read(&grow->deferred[i]));
	}
	for (i = 0; i < BITS_PER_LONG; i++) {
		id = grow->first + i * BITS_PER_LONG;
		race_expect(race,
			    shrinker_summary_is_set(memcg, grow->nid, id) ==
			    test_bit(id / BITS_PER_LONG % BITS_PER_LONG, summary),
			    id, 0);
	}

	race_expect(race, !test_group_rmdir(&grow->group), 0, 0);
	test_group_put(&grow->group);
}

/* A group whose table is still empty. */
static void set_grow_begin(struct race *race)
{
	struct race_thread *thread = &race->threads[0];
	struct set_grow *grow = race->priv;
	char name[16];
	int i;

	snprintf(name, sizeof(name), "s%u", grow->serial++);
	if (test_group_make(grow->top, name, true, &grow->group)) {
		race_fail(race, "a new group", 0, 0);
		return;
	}

	grow->nr_installed = 0;
	bitmap_zero(grow->bits, NR_BITS);
	for (i = 0; i < NR_UNITS; i++) {
		int j = race_random(thread, i + 1);

		/* Shuffle. */
		grow->order[i] = grow->order[j];
		grow->order[j] = i;
		atomic_long_set(&grow->deferred[i], 0);
	}
}

static void set_grow_prepare(struct race *race)
{
	struct set_grow *grow = race->priv;

	if (!grow->group.memcg)
		set_grow_begin(race);
}

static void set_grow_check(struct race *race)
{
	struct set_grow *grow = race->priv;

	if (race_failed(race))
		return;

	grow->nr_installed++;
	if (grow->nr_installed == NR_UNITS)
		set_grow_finish(race);
}

static void set_grow_cleanup(void *data)
{
	struct set_grow *grow = data;

	if (grow->group.memcg) {
		test_group_rmdir(&grow->group);
		test_group_put(&grow->group);
	}
}

static void set_grow_race(struct kunit *test)
{
	struct set_grow *grow;
	struct race *race;

	grow = kunit_kzalloc(test, sizeof(*grow), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, grow);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	grow->top = test_group_top(test);
	grow->nid = first_online_node;
	grow->first = BITS_PER_LONG * BITS_PER_LONG * BITS_PER_LONG;
	grow->stride = UNIT_STRIDE;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, set_grow_cleanup,
						  grow), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			set_grow_grower, set_grow_setter,
			set_grow_setter, set_grow_setter,
		},
		.nr_roles = 4,
		.prepare = set_grow_prepare,
		.check = set_grow_check,
		.counters = {
			[REPLACED] = "table replacements",
			[SETS] = "bits set",
			[DEFERRED] = "times deferred work was added",
		},
		.min_hits = { 5000, 15000, 15000 },
		.priv = grow,
	};
	race_run(race);
}

static int set_grow_list_id(struct set_grow *grow, int k)
{
	return grow->ts[k]->shrinker->id;
}

/* An object comes, the first of a shrinker with a unit of its own, or goes. */
static void set_grow_toggle(struct race_thread *thread)
{
	struct set_grow *grow = thread->race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int k = race_random(thread, NR_LISTS);
	struct list_head *item =
		&grow->items[thread->nr][k][race_random(thread, NR_ITEMS)];
	struct list_lru *lru = &grow->ts[k]->lru;

	if (test_list_lru_alloc(memcg, lru)) {
		race_fail(thread->race, "a list", k, 0);
		return;
	}
	set_bit(k, &grow->has_list);
	if (race_random(thread, 4))
		thread->hits[SETS] += list_lru_add(lru, item, grow->nid, memcg);
	else
		list_lru_del(lru, item, grow->nid, memcg);
}

static void set_grow_walk_grower(struct race_thread *thread)
{
	struct set_grow *grow = thread->race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int i = grow->nr_installed;
	int id = set_grow_id(grow, i, 0);

	race_jitter(thread);
	if (test_install_unit(memcg, id, GFP_KERNEL)) {
		race_fail(thread->race, "a new unit", i, 0);
		return;
	}
	thread->hits[REPLACED]++;
	/* Nobody has the id: a walk that sees the bit clears it. */
	if (!set_grow_is_between(grow, i))
		test_set_bit(memcg, grow->nid, id);
	set_grow_defer(thread, i);
	set_grow_toggle(thread);
}

static void set_grow_walk_owner(struct race_thread *thread)
{
	u32 n = 1 + race_random(thread, 3);

	race_jitter(thread);
	while (n--)
		set_grow_toggle(thread);
}

static void set_grow_walker(struct race_thread *thread)
{
	struct set_grow *grow = thread->race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int k;

	/* Installing takes longer than to begin a walk. */
	race_delay(thread, 2048);
	test_settle(memcg, grow->nid);
	thread->hits[WALKS]++;

	for (k = 0; k < NR_LISTS; k++)
		thread->hits[CLEARS] +=
			!shrinker_bit_is_set(memcg, grow->nid,
					     set_grow_list_id(grow, k));
}

/* Take all objects away. Returns whether the group could have any. */
static bool set_grow_take_all(struct set_grow *grow, int k)
{
	int i, n;

	if (!test_bit(k, &grow->has_list))
		return false;
	for (i = 0; i < RACE_MAX_THREADS; i++)
		for (n = 0; n < NR_ITEMS; n++)
			list_lru_del(&grow->ts[k]->lru, &grow->items[i][k][n],
				     grow->nid, grow->group.memcg);
	return true;
}

/*
 * Leave bits behind whose objects are gone, which is what a walk clears, or
 * only the summary, as a walk does that has cleared bits.
 */
static void set_grow_walk_prepare(struct race *race)
{
	struct race_thread *thread = &race->threads[0];
	struct set_grow *grow = race->priv;
	struct mem_cgroup *memcg;
	u32 mask = race_random(thread, 1 << NR_LISTS);
	struct list_head *item;
	int k;

	set_grow_prepare(race);
	memcg = grow->group.memcg;
	if (race_failed(race))
		return;

	for (k = 0; k < NR_LISTS; k++) {
		item = &grow->items[0][k][0];
		if (!(mask & BIT(k)) || !set_grow_take_all(grow, k))
			continue;
		list_lru_add(&grow->ts[k]->lru, item, grow->nid, memcg);
		list_lru_del(&grow->ts[k]->lru, item, grow->nid, memcg);
		race_expect(race,
			    shrinker_bit_is_set(memcg, grow->nid,
						set_grow_list_id(grow, k)),
			    k, 0);
	}
	if (race_random(thread, 2))
		test_walk(memcg, grow->nid);
}

/* A bit that is set is found. */
static void set_grow_expect_found(struct race *race, int id)
{
	struct set_grow *grow = race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;

	if (!shrinker_bit_is_set(memcg, grow->nid, id))
		return;
	race_expect(race, shrinker_summary_is_set(memcg, grow->nid, id), id, 0);
	race_expect(race,
		    shrinker_id_is_listed(mem_cgroup_private_id(memcg),
					  grow->nid),
		    id, 0);
}

/* Nothing is lost, and when all is gone, that is found out. */
static void set_grow_walk_finish(struct race *race)
{
	struct set_grow *grow = race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int i, k, id;

	for (k = 0; k < NR_LISTS; k++) {
		set_grow_take_all(grow, k);
		race_expect(race, test_bit(k, &grow->has_list), k, 0);
	}
	test_settle(memcg, grow->nid);

	race_expect(race,
		    shrinker_nr_units(memcg) ==
		    (NR_UNITS + NR_LISTS) * num_node_state(N_MEMORY),
		    shrinker_nr_units(memcg), 0);
	for (k = 0; k < NR_LISTS; k++) {
		id = set_grow_list_id(grow, k);
		race_expect(race, !shrinker_bit_is_set(memcg, grow->nid, id), id,
			    k);
		race_expect(race, !shrinker_summary_is_set(memcg, grow->nid, id),
			    id, k);
	}
	for (i = 0; i < NR_UNITS; i++) {
		id = set_grow_id(grow, i, 0);
		race_expect(race, !shrinker_bit_is_set(memcg, grow->nid, id), id,
			    i);
		race_expect(race, !shrinker_summary_is_set(memcg, grow->nid, id),
			    id, i);
		race_expect(race,
			    shrinker_nr_deferred(memcg, grow->nid, id) ==
			    atomic_long_read(&grow->deferred[i]),
			    shrinker_nr_deferred(memcg, grow->nid, id),
			    atomic_long_read(&grow->deferred[i]));
	}
	race_expect(race,
		    !shrinker_id_is_listed(mem_cgroup_private_id(memcg),
					   grow->nid), 0, 0);

	grow->has_list = 0;
	race_expect(race, !test_group_rmdir(&grow->group), 0, 0);
	test_group_put(&grow->group);
}

static void set_grow_walk_check(struct race *race)
{
	struct set_grow *grow = race->priv;
	struct mem_cgroup *memcg = grow->group.memcg;
	int k;

	if (race_failed(race))
		return;

	for (k = 0; k < NR_LISTS; k++) {
		int id = set_grow_list_id(grow, k);

		if (list_lru_count_one(&grow->ts[k]->lru, grow->nid, memcg))
			race_expect(race,
				    shrinker_bit_is_set(memcg, grow->nid, id),
				    id, k);
		set_grow_expect_found(race, id);
	}
	set_grow_expect_found(race, set_grow_id(grow, grow->nr_installed, 0));

	grow->nr_installed++;
	if (grow->nr_installed == NR_UNITS)
		set_grow_walk_finish(race);
}

/* A walk clears, a setter sets, and the table makes way for another one. */
static void set_grow_walk_race(struct kunit *test)
{
	struct set_grow *grow;
	struct race *race;
	int i, k, n;

	grow = kunit_kzalloc(test, sizeof(*grow), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, grow);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	for (i = 0; i < RACE_MAX_THREADS; i++)
		for (k = 0; k < NR_LISTS; k++)
			for (n = 0; n < NR_ITEMS; n++)
				INIT_LIST_HEAD(&grow->items[i][k][n]);
	grow->top = test_group_top(test);
	grow->nid = first_online_node;
	for (k = 0; k < NR_LISTS; k++) {
		grow->ts[k] = test_shrinker_new(test);
		/* With a unit between this one and the next. */
		if (k < NR_BETWEEN)
			test_fillers_until(test,
					   round_down(set_grow_list_id(grow, k),
						      BITS_PER_LONG) +
					   2 * BITS_PER_LONG);
	}
	grow->nr_between = NR_BETWEEN;
	grow->stride = WALKED_STRIDE;
	/* They have the bit of the first shrinker in the summary. */
	grow->first = BITS_PER_LONG * BITS_PER_LONG * BITS_PER_LONG +
		      round_down(set_grow_list_id(grow, 0), BITS_PER_LONG);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, set_grow_cleanup,
						  grow), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			set_grow_walk_grower, set_grow_walker,
			set_grow_walk_owner, set_grow_walker,
		},
		.nr_roles = 4,
		.prepare = set_grow_walk_prepare,
		.check = set_grow_walk_check,
		.counters = {
			[REPLACED] = "table replacements",
			[SETS] = "objects added",
			[DEFERRED] = "times deferred work was added",
			[WALKS] = "walks",
			[CLEARS] = "bits clear after a walk",
		},
		.min_hits = { 2000, 2000, 2000, 2000, 2000 },
		.priv = grow,
	};
	race_run(race);

	for (k = 0; k < NR_LISTS; k++)
		KUNIT_EXPECT_EQ(test, atomic_long_read(&grow->ts[k]->late), 0);
}

static void set_grow_expect_unit(struct kunit *test, struct test_group *group,
				 int nid, int id, bool installed)
{
	KUNIT_EXPECT_EQ_MSG(test,
			    shrinker_unit_is_installed(group->memcg, nid, id),
			    installed, "id %d", id);
}

/* Nothing is there before the first install, and only what was asked after. */
static void set_grow_sparse(struct kunit *test)
{
	static const int indices[] = { 5, 69, 0, 1000000, 64, 4 };
	struct test_group *group;
	int i, k, nid;

	group = test_group_new(test, test_group_top(test), "sparse");
	for (i = 0; i < ARRAY_SIZE(indices); i++) {
		int id = indices[i] * BITS_PER_LONG + i;

		for_each_node_state(nid, N_MEMORY)
			set_grow_expect_unit(test, group, nid, id, false);
		KUNIT_EXPECT_EQ(test,
				test_install_unit(group->memcg, id, GFP_KERNEL), 0);
		/* It may be asked for again. */
		KUNIT_EXPECT_EQ(test,
				test_install_unit(group->memcg, id ^ 1, GFP_NOWAIT), 0);
		for_each_node_state(nid, N_MEMORY) {
			for (k = 0; k < ARRAY_SIZE(indices); k++)
				set_grow_expect_unit(test, group, nid,
						     indices[k] * BITS_PER_LONG,
						     k <= i);
			KUNIT_EXPECT_FALSE(test,
					   shrinker_bit_is_set(group->memcg, nid,
							       id));
			KUNIT_EXPECT_EQ(test,
					shrinker_nr_deferred(group->memcg, nid,
							     id), 0);
		}
	}
	/* An install sets no bit. */
	for_each_node_state(nid, N_MEMORY)
		for (k = 0; k < BITS_PER_LONG; k++)
			KUNIT_EXPECT_FALSE(test,
					   shrinker_summary_is_set(group->memcg, nid,
								   k * BITS_PER_LONG));
}

static struct kunit_case set_grow_cases[] = {
	KUNIT_CASE(set_grow_sparse),
	KUNIT_CASE_SLOW(set_grow_race),
	KUNIT_CASE_SLOW(set_grow_walk_race),
	{}
};

static struct kunit_suite set_grow_suite = {
	.name = "mm_reclaim_set_grow",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = set_grow_cases,
};

kunit_test_suite(set_grow_suite);
