// SPDX-License-Identifier: GPL-2.0
/*
 * Installing units against each other, in the same slot and in others.
 *
 * Whoever wins, and whoever is refused memory on the way, each id that was
 * installed has exactly one unit afterwards: a bit or deferred work that a thread
 * put into the unit, as it saw it after its own install, is found by all.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "memcg_fixture.h"
#include "race.h"

/* Rounds with one group; each uses up to one new unit for each thread. */
#define NR_ROUNDS	64

/* What the threads count. */
enum { SAME, OTHERS, WITHOUT_WAITING, REFUSED };

enum install_kind { SAME_ID, SAME_UNIT, NEXT_UNIT, NR_KINDS };

/**
 * struct install - the state of a race
 * @top: where the groups are
 * @group: the group that gets units
 * @serial: to name groups
 * @rounds: rounds that this group was used
 * @nr_units: units on each node that this group must have
 * @poor: the group is not allowed any memory until it was refused some
 * @kind: of this round
 * @first: the lowest id that is used; no shrinker has one as high
 * @id: what each thread installs, in each round
 * @added: the deferred work that each thread added
 */
struct install {
	struct test_group	*top;
	struct test_group	group;
	unsigned int		serial;
	int			rounds;
	unsigned long		nr_units;
	bool			poor;
	enum install_kind	kind;
	int			first;
	int			id[NR_ROUNDS][RACE_MAX_THREADS];
	long			added[NR_ROUNDS][RACE_MAX_THREADS];
};

static void install_one(struct race_thread *thread)
{
	struct install *in = thread->race->priv;
	struct mem_cgroup *memcg = in->group.memcg;
	int id = in->id[in->rounds][thread->nr];
	struct shrinker shrinker = { .id = id, .flags = SHRINKER_NUMA_AWARE };
	long nr = 1 + race_random(thread, 1000);
	int ret = -ENOMEM, nid;

	race_jitter(thread);
	if (in->poor || !race_random(thread, 4)) {
		/* Without waiting it may fail, but then it must work again. */
		ret = test_install_unit(memcg, id, GFP_NOWAIT | __GFP_NOWARN);
		thread->hits[WITHOUT_WAITING]++;
		thread->hits[REFUSED] += !!ret;
		/* The others are at it: they may still be refused, or not. */
		if (in->poor)
			page_counter_set_max(&memcg->memory, PAGE_COUNTER_MAX);
	}
	if (ret)
		ret = test_install_unit(memcg, id, GFP_KERNEL);
	race_expect(thread->race, !ret, ret, id);
	if (ret)
		return;

	for_each_node_state(nid, N_MEMORY) {
		race_expect(thread->race,
			    shrinker_unit_is_installed(memcg, nid, id), id, nid);
		test_set_bit(memcg, nid, id);
		shrinker_add_deferred(nr, nid, &shrinker, memcg);
	}
	in->added[in->rounds][thread->nr] = nr;
	thread->hits[in->kind == NEXT_UNIT ? OTHERS : SAME]++;
}

static void install_check_round(struct race *race, int round)
{
	struct install *in = race->priv;
	struct mem_cgroup *memcg = in->group.memcg;
	int i, k, nid;

	for (i = 0; i < race->nr_threads; i++) {
		int id = in->id[round][i];
		long nr = 0;

		/* Those that had the same id added to the same counter. */
		for (k = 0; k < race->nr_threads; k++)
			if (in->id[round][k] == id)
				nr += in->added[round][k];

		for_each_node_state(nid, N_MEMORY) {
			race_expect(race,
				    shrinker_unit_is_installed(memcg, nid, id),
				    id, nid);
			race_expect(race, shrinker_bit_is_set(memcg, nid, id),
				    id, nid);
			race_expect(race,
				    shrinker_summary_is_set(memcg, nid, id),
				    id, nid);
			race_expect(race,
				    shrinker_nr_deferred(memcg, nid, id) == nr,
				    shrinker_nr_deferred(memcg, nid, id), nr);
		}
	}
}

/* How many different units the threads installed in this round. */
static int install_nr_new(struct race *race)
{
	struct install *in = race->priv;
	int i, k, nr = 0;

	for (i = 0; i < race->nr_threads; i++) {
		int index = in->id[in->rounds][i] / BITS_PER_LONG;

		for (k = 0; k < i; k++)
			if (in->id[in->rounds][k] / BITS_PER_LONG == index)
				break;
		nr += k == i;
	}
	return nr;
}

static void install_check(struct race *race)
{
	struct install *in = race->priv;
	int round;

	in->nr_units += install_nr_new(race);
	race_expect(race,
		    shrinker_nr_units(in->group.memcg) ==
		    in->nr_units * num_node_state(N_MEMORY),
		    shrinker_nr_units(in->group.memcg), in->nr_units);
	install_check_round(race, in->rounds);
	if (++in->rounds < NR_ROUNDS || race_failed(race))
		return;

	/* What came first is still there after all that came later. */
	for (round = 0; round < NR_ROUNDS; round++)
		install_check_round(race, round);
	race_expect(race, !test_group_rmdir(&in->group), 0, 0);
	test_group_put(&in->group);
}

static void install_prepare(struct race *race)
{
	struct race_thread *thread = &race->threads[0];
	struct install *in = race->priv;
	struct page_counter *memory;
	int i, base, index;
	char name[16];

	if (!in->group.memcg) {
		snprintf(name, sizeof(name), "i%u", in->serial++);
		if (test_group_make(in->top, name, true, &in->group)) {
			race_fail(race, "a new group", 0, 0);
			return;
		}
		in->rounds = 0;
		in->nr_units = 0;
		memset(in->added, 0, sizeof(in->added));
		/*
		 * Its units are charged to it: at a limit of what it has, what
		 * cannot wait for reclaim gets no memory. Only in the first
		 * round, as then each CPU has some charged in advance.
		 */
		memory = &in->group.memcg->memory;
		in->poor = !page_counter_set_max(memory,
						 page_counter_read(memory));
	} else {
		in->poor = false;
	}

	/*
	 * Go up in one group and down in the next, so that what is new stands
	 * last in the table, or first.
	 */
	index = in->serial % 2 ? in->rounds : NR_ROUNDS - 1 - in->rounds;
	base = in->first + index * RACE_MAX_THREADS * BITS_PER_LONG;
	in->kind = race_random(thread, NR_KINDS);
	for (i = 0; i < race->nr_threads; i++) {
		int id = base;

		if (in->kind == SAME_UNIT)
			id += i;
		if (in->kind == NEXT_UNIT)
			id += (race->nr_threads - i) * BITS_PER_LONG;
		in->id[in->rounds][i] = id;
	}
}

static void install_cleanup(void *data)
{
	struct install *in = data;

	if (in->group.memcg) {
		test_group_rmdir(&in->group);
		test_group_put(&in->group);
	}
}

static void install_race(struct kunit *test)
{
	struct install *in;
	struct race *race;

	in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, in);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	in->top = test_group_top(test);
	in->first = BITS_PER_LONG * BITS_PER_LONG * BITS_PER_LONG;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, install_cleanup, in), 0);

	*race = (struct race) {
		.test = test,
		.roles = { install_one, install_one, install_one, install_one },
		.nr_roles = 4,
		.prepare = install_prepare,
		.check = install_check,
		.counters = {
			[SAME] = "installs of the same unit",
			[OTHERS] = "installs of other units",
			[WITHOUT_WAITING] = "of them that could not wait",
			[REFUSED] = "of these that were refused",
		},
		.min_hits = { 5000, 2500, 1000, 20 },
		.priv = in,
	};
	race_run(race);
}

/*
 * The way in which the kernel does it: threads make lists for leaves of the
 * same tree, and all groups up to the top need the unit.
 */
#define NR_LEAVES	4

struct install_tree {
	struct test_group	*top;
	struct test_group	middle;
	struct test_group	leaf[NR_LEAVES];
	struct test_shrinker	ts;
	struct list_head	items[RACE_MAX_THREADS];
	unsigned int		serial;
	int			nid;
};

static void install_tree_clear(struct install_tree *tree)
{
	int i;

	test_shrinker_exit(&tree->ts);
	for (i = 0; i < NR_LEAVES; i++) {
		if (!tree->leaf[i].memcg)
			continue;
		test_group_rmdir(&tree->leaf[i]);
		test_group_put(&tree->leaf[i]);
	}
	if (tree->middle.memcg) {
		test_group_rmdir(&tree->middle);
		test_group_put(&tree->middle);
	}
}

static void install_tree_prepare(struct race *race)
{
	struct install_tree *tree = race->priv;
	char name[16];
	int i, ret;

	snprintf(name, sizeof(name), "t%u", tree->serial++);
	ret = test_group_make(tree->top, name, false, &tree->middle);
	for (i = 0; i < NR_LEAVES && !ret; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		ret = test_group_make(&tree->middle, name, true, &tree->leaf[i]);
	}
	if (!ret)
		ret = test_shrinker_init(&tree->ts);
	if (ret)
		race_fail(race, "a new tree", ret, 0);
	for (i = 0; i < RACE_MAX_THREADS; i++)
		INIT_LIST_HEAD(&tree->items[i]);
}

static void install_tree_one(struct race_thread *thread)
{
	struct install_tree *tree = thread->race->priv;
	struct mem_cgroup *memcg = tree->leaf[thread->nr % NR_LEAVES].memcg;
	int ret, nid, id = tree->ts.shrinker->id;

	race_jitter(thread);
	ret = test_list_lru_alloc(memcg, &tree->ts.lru);
	race_expect(thread->race, !ret, ret, 0);
	if (ret)
		return;

	/* Each ancestor may get the objects one day, and must be ready. */
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		for_each_node_state(nid, N_MEMORY)
			race_expect(thread->race,
				    shrinker_unit_is_installed(memcg, nid, id),
				    id, nid);

	list_lru_add(&tree->ts.lru, &tree->items[thread->nr], tree->nid,
		     tree->leaf[thread->nr % NR_LEAVES].memcg);
	thread->hits[SAME]++;
}

static void install_tree_check(struct race *race)
{
	struct install_tree *tree = race->priv;
	int i, id = tree->ts.shrinker->id;

	for (i = 0; i < race->nr_threads; i++) {
		struct mem_cgroup *memcg = tree->leaf[i % NR_LEAVES].memcg;

		race_expect(race, shrinker_bit_is_set(memcg, tree->nid, id), i,
			    0);
		race_expect(race, shrinker_summary_is_set(memcg, tree->nid, id),
			    i, 0);
	}
	/* Ready is not the same as in use. */
	race_expect(race,
		    !shrinker_bit_is_set(tree->middle.memcg, tree->nid, id), 0,
		    0);
	/* Who has no object in reach has no unit. */
	for (i = race->nr_threads; i < NR_LEAVES; i++)
		race_expect(race,
			    !shrinker_unit_is_installed(tree->leaf[i].memcg,
							tree->nid, id),
			    i, 0);
	install_tree_clear(tree);
}

static void install_tree_cleanup(void *data)
{
	install_tree_clear(data);
}

static void install_tree_race(struct kunit *test)
{
	struct install_tree *tree;
	struct race *race;

	tree = kunit_kzalloc(test, sizeof(*tree), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tree);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	tree->top = test_group_top(test);
	tree->nid = first_online_node;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, install_tree_cleanup,
						  tree), 0);
	*race = (struct race) {
		.test = test,
		.roles = {
			install_tree_one, install_tree_one,
			install_tree_one, install_tree_one,
		},
		.nr_roles = 4,
		.prepare = install_tree_prepare,
		.check = install_tree_check,
		.counters = { [SAME] = "lists made" },
		.min_hits = { 200 },
		.priv = tree,
	};
	race_run(race);
}

/* More than a CPU charges ahead. */
#define NR_FILLERS	(2 * MEMCG_CHARGE_BATCH)

struct install_limit {
	struct folio	*large;
	struct folio	*filler[NR_FILLERS];
};

static void install_limit_cleanup(void *data)
{
	struct install_limit *limit = data;
	int i;

	for (i = 0; i < NR_FILLERS && limit->filler[i]; i++)
		folio_put(limit->filler[i]);
	if (limit->large)
		folio_put(limit->large);
}

/* Charges a folio to @memcg, or returns NULL. */
static struct folio *install_charged(struct mem_cgroup *memcg, gfp_t gfp,
				     unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_COMP, order);
	struct mem_cgroup *old;
	int ret;

	if (!folio)
		return NULL;

	old = set_active_memcg(memcg);
	ret = mem_cgroup_charge(folio, NULL, gfp);
	set_active_memcg(old);
	if (!ret)
		return folio;

	folio_put(folio);
	return NULL;
}

/*
 * A group at its limit has a large folio, but no unit for the list of those that
 * can be split. Whoever asks for that can do with small ones, and nobody must
 * be killed for it.
 */
static void install_at_limit(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "l");
	struct mem_cgroup *memcg = group->memcg;
	struct install_limit *limit;
	long nr_oom;
	int i;

	if (!IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
		kunit_skip(test, "there are no huge pages");

	limit = kunit_kzalloc(test, sizeof(*limit), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, limit);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, install_limit_cleanup,
						  limit), 0);

	/* What was charged ahead is on this CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	limit->large = install_charged(memcg, GFP_KERNEL, 2);
	KUNIT_ASSERT_NOT_NULL(test, limit->large);
	KUNIT_ASSERT_EQ(test,
			page_counter_set_max(&memcg->memory,
					     page_counter_read(&memcg->memory)),
			0);
	for (i = 0; i < NR_FILLERS; i++) {
		limit->filler[i] = install_charged(memcg, GFP_NOWAIT, 0);
		if (!limit->filler[i])
			break;
	}
	KUNIT_ASSERT_LT_MSG(test, i, NR_FILLERS, "the group is not at its limit");

	nr_oom = atomic_long_read(&memcg->memory_events[MEMCG_OOM]);
	KUNIT_EXPECT_EQ(test, folio_memcg_alloc_deferred(limit->large), -ENOMEM);
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(memcg), 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&memcg->memory_events[MEMCG_OOM]),
			nr_oom);

	/* It was for the limit only. */
	page_counter_set_max(&memcg->memory, PAGE_COUNTER_MAX);
	KUNIT_EXPECT_EQ(test, folio_memcg_alloc_deferred(limit->large), 0);
	/* It may be migrated. */
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(memcg), num_node_state(N_MEMORY));
}

static struct kunit_case install_cases[] = {
	KUNIT_CASE(install_at_limit),
	KUNIT_CASE_SLOW(install_race),
	KUNIT_CASE_SLOW(install_tree_race),
	{}
};

static struct kunit_suite install_suite = {
	.name = "mm_reclaim_install",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = install_cases,
};

kunit_test_suite(install_suite);
