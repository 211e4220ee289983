// SPDX-License-Identifier: GPL-2.0
/*
 * Soft limits, against usage and limits that change at the same time.
 *
 * Marks are compared with usage and limits, and counts with marks. Counts must
 * be exact whenever all is quiet; marks, once whoever changed something has
 * brought them up to date.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>

#include "race.h"
#include "soft_limit_fixture.h"

/* Two threads change the same group once, at the same moment. */
#define NR_CROSSED	8

/* What the threads count. */
enum { LIMITS, CHARGES, MARKED, UNMARKED };

/**
 * struct soft_cross - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups
 * @charged: which of them each thread has charged
 * @marked: which of them were marked when the round began
 * @elsewhere: how many groups of others are in excess
 */
struct soft_cross {
	struct soft_group	*parent;
	struct soft_group	*groups[NR_CROSSED];
	bool			charged[RACE_MAX_THREADS][NR_CROSSED];
	bool			marked[NR_CROSSED];
	long			elsewhere;
};

static void soft_cross_change(struct race_thread *thread)
{
	struct soft_cross *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_CROSSED; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool *charged = &st->charged[thread->nr][i];

		race_jitter(thread);
		/* Mostly limits: a charge takes so long that it meets nothing. */
		if (race_random(thread, 4)) {
			mem_cgroup_set_excess_limit(memcg,
						    race_random(thread, 2) ?
						    ABOVE(0) : PAGE_COUNTER_MAX);
			thread->hits[LIMITS]++;
			continue;
		}
		if (*charged)
			page_counter_uncharge(&memcg->memory, UNIT);
		else
			page_counter_charge(&memcg->memory, UNIT);
		*charged = !*charged;
		mem_cgroup_update_excess(memcg);
		thread->hits[CHARGES]++;
	}
}

/*
 * Each thread has looked after its change: so the marks must be right without
 * anybody looking again.
 */
static void soft_cross_check(struct race *race)
{
	struct soft_cross *st = race->priv;
	struct race_thread *thread = &race->threads[0];
	struct mem_cgroup *top = test_group_top(race->test)->memcg;
	long nr = 0;
	int i;

	for (i = 0; i < NR_CROSSED; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool marked = mem_cgroup_is_in_excess(memcg);

		race_expect(race, marked == soft_limit_exceeds(memcg), i, marked);
		nr += marked;
		thread->hits[MARKED] += marked && !st->marked[i];
		thread->hits[UNMARKED] += !marked && st->marked[i];
		st->marked[i] = marked;
	}
	race_expect(race, mem_cgroup_nr_excess(st->parent->memcg) == nr,
		    mem_cgroup_nr_excess(st->parent->memcg), nr);
	race_expect(race, mem_cgroup_nr_excess(top) == nr,
		    mem_cgroup_nr_excess(top), nr);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == nr + st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), nr);
}

static void soft_limit_race_cross(struct kunit *test)
{
	struct soft_cross *st;
	struct race *race;
	char name[8];
	int i, k;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	for (i = 0; i < NR_CROSSED; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		st->groups[i] = soft_group_new(test, st->parent, name);
		/* In excess whenever there is a limit, for a start. */
		if (i % 2)
			soft_group_charge(st->groups[i], UNIT);
	}

	/*
	 * More than two could keep one busy for longer than it looks again, and
	 * then the mark may be wrong until somebody else looks.
	 */
	*race = (struct race) {
		.test = test,
		.roles = { soft_cross_change, soft_cross_change },
		.nr_roles = 2,
		.check = soft_cross_check,
		.counters = {
			[LIMITS] = "limits set",
			[CHARGES] = "charges",
			[MARKED] = "groups marked",
			[UNMARKED] = "groups unmarked",
		},
		.min_hits = { 20000, 10000, 5000, 5000 },
		.priv = st,
	};
	race_run(race);

	for (i = 0; i < NR_CROSSED; i++)
		for (k = 0; k < RACE_MAX_THREADS; k++)
			st->groups[i]->charged += st->charged[k][i] * UNIT;
	for (i = 0; i < NR_CROSSED; i++)
		soft_group_cleanup(st->groups[i]);
	soft_limit_expect_none(test, st->elsewhere);
}

#define NR_INNER	2
#define NR_LEAVES	3
#define NR_GROUPS	(NR_INNER * (1 + NR_LEAVES))
#define NR_USES		100

/* What the threads count. */
enum {
	TREE_CHARGES, TREE_LIMITS, TREE_WALKS, TREE_VISITS, TREE_GONE, TREE_LATE
};

/**
 * struct soft_race - the state of a race
 * @top: the parent of the inner groups
 * @groups: each inner group, followed by its leaves
 * @charged: what each thread has charged to each of them, in pages
 * @serial: to name groups
 * @going: the group that goes offline in this round, always a leaf
 * @elsewhere: how many groups of others are in excess
 */
struct soft_race {
	struct test_group	*top;
	struct test_group	groups[NR_GROUPS];
	unsigned long		charged[RACE_MAX_THREADS][NR_GROUPS];
	unsigned int		serial;
	int			going;
	long			elsewhere;
};

static int soft_race_inner(int i)
{
	return i - i % (1 + NR_LEAVES);
}

static int soft_race_make(struct soft_race *st, int i)
{
	int inner = soft_race_inner(i);
	char name[16];

	snprintf(name, sizeof(name), "t%u", st->serial++);
	return test_group_make(i == inner ? st->top : &st->groups[inner], name,
			       i != inner, &st->groups[i]);
}

static void soft_race_uncharge(struct soft_race *st, int thread, int i)
{
	if (st->charged[thread][i])
		page_counter_uncharge(&st->groups[i].memcg->memory,
				      st->charged[thread][i]);
	st->charged[thread][i] = 0;
}

static void soft_race_walk(struct race_thread *thread, struct mem_cgroup *root,
			   struct mem_cgroup_reclaim_cookie *cookie)
{
	struct mem_cgroup *memcg = NULL;
	u32 leave = race_random(thread, 16);
	unsigned int walked = 0;
	int steps = 0;

	while ((memcg = mem_cgroup_iter_excess(root, memcg, cookie, &walked))) {
		thread->hits[TREE_VISITS]++;
		/* It is referenced, so this must be safe. */
		if (!race_expect(thread->race,
				 mem_cgroup_is_descendant(memcg, root), 0, 0) ||
		    !race_expect(thread->race, steps < MAX_STEPS, steps, 0) ||
		    ++steps == leave) {
			mem_cgroup_iter_break(root, memcg);
			break;
		}
	}
	thread->hits[TREE_WALKS]++;
}

static void soft_race_use_one(struct race_thread *thread, int i)
{
	struct soft_race *st = thread->race->priv;
	struct mem_cgroup *memcg = st->groups[i].memcg;
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	unsigned long nr;

	thread->hits[TREE_LATE] += test_memcg_is_dying(memcg);

	switch (race_random(thread, 8)) {
	case 0:
	case 1:
	case 2:
		if (st->charged[thread->nr][i]) {
			soft_race_uncharge(st, thread->nr, i);
		} else {
			nr = (1 + race_random(thread, 3)) * UNIT;
			page_counter_charge(&memcg->memory, nr);
			st->charged[thread->nr][i] = nr;
		}
		mem_cgroup_update_excess(memcg);
		thread->hits[TREE_CHARGES]++;
		break;
	case 3:
	case 4:
		/* What an inner group uses, its leaves use together. */
		nr = race_random(thread, i == soft_race_inner(i) ? 12 : 4);
		mem_cgroup_set_excess_limit(memcg, ABOVE(nr));
		thread->hits[TREE_LIMITS]++;
		break;
	case 5:
		mem_cgroup_reset_excess_limit(memcg);
		thread->hits[TREE_LIMITS]++;
		break;
	case 6:
		soft_race_walk(thread, st->top->memcg,
			       race_random(thread, 2) ? &cookie : NULL);
		break;
	case 7:
		/* All groups are walked in another order than a part of them. */
		soft_race_walk(thread,
			       race_random(thread, 2) ? memcg : root_mem_cgroup,
			       race_random(thread, 2) ? &cookie : NULL);
		break;
	}
}

static void soft_race_use(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_USES; i++) {
		soft_race_use_one(thread, race_random(thread, NR_GROUPS));
		soft_race_use_one(thread, st->going);
		race_jitter(thread);
	}
	cond_resched();
}

static void soft_race_user(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;
	unsigned int n = 0;

	do {
		soft_race_use(thread);
		if (++n % 16 == 0)
			usleep_range(10, 50);
	} while (test_memcg_is_online(st->groups[st->going].memcg) &&
		 !race_failed(thread->race));

	/* And a little more, as some users are late. */
	soft_race_use(thread);
}

static void soft_race_remover(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;

	soft_race_use(thread);
	race_expect(thread->race, !test_group_rmdir(&st->groups[st->going]),
		    st->going, 0);
	soft_race_use(thread);
	race_expect(thread->race,
		    test_group_wait_offline(&st->groups[st->going]),
		    st->going, 0);
	thread->hits[TREE_GONE]++;
	soft_race_use(thread);
}

static void soft_race_prepare(struct race *race)
{
	struct soft_race *st = race->priv;
	struct race_thread *thread = &race->threads[0];

	if (race->round && soft_race_make(st, st->going)) {
		race_fail(race, "a new group", st->going, 0);
		return;
	}
	st->going = race_random(thread, NR_INNER) * (1 + NR_LEAVES) + 1 +
		    race_random(thread, NR_LEAVES);
}

static bool soft_race_is_marked(struct soft_race *st, int i)
{
	return mem_cgroup_is_in_excess(st->groups[i].memcg);
}

static void soft_race_check_counts(struct race *race)
{
	struct soft_race *st = race->priv;
	long nr[NR_INNER] = {}, sum = 0;
	int i;

	for (i = 0; i < NR_GROUPS; i++) {
		int inner = soft_race_inner(i);

		sum += soft_race_is_marked(st, i);
		if (i != inner)
			nr[inner / (1 + NR_LEAVES)] += soft_race_is_marked(st, i);
	}
	for (i = 0; i < NR_GROUPS; i++) {
		long found = mem_cgroup_nr_excess(st->groups[i].memcg);

		if (i != soft_race_inner(i))
			race_expect(race, !found, i, found);
		else
			race_expect(race, found == nr[i / (1 + NR_LEAVES)], i,
				    found);
	}
	race_expect(race, !mem_cgroup_is_in_excess(st->top->memcg), 0, 0);
	race_expect(race, mem_cgroup_nr_excess(st->top->memcg) == sum,
		    mem_cgroup_nr_excess(st->top->memcg), sum);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == sum + st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), sum);
}

static void soft_race_check_walk(struct race *race, struct mem_cgroup *root)
{
	struct soft_race *st = race->priv;
	struct mem_cgroup *memcg = NULL;
	unsigned int visited = 0, walked = 0;
	int i;

	while ((memcg = mem_cgroup_iter_excess(root, memcg, NULL, &walked)))
		for (i = 0; i < NR_GROUPS; i++)
			if (st->groups[i].memcg == memcg)
				visited |= BIT(i);

	for (i = 0; i < NR_GROUPS; i++) {
		bool taken_from = soft_race_is_marked(st, i) ||
				  soft_race_is_marked(st, soft_race_inner(i));

		/* It is in no walk any more. */
		if (i == st->going)
			continue;
		if (!taken_from)
			race_expect(race, !(visited & BIT(i)), i, visited);
		else if (soft_limit_usage(st->groups[i].memcg) >= UNIT)
			race_expect(race, visited & BIT(i), i, visited);
	}
}

static void soft_race_check(struct race *race)
{
	struct soft_race *st = race->priv;
	int i;

	soft_race_check_counts(race);

	/* Whoever was interrupted may have left a mark that is out of date. */
	for (i = 0; i < NR_GROUPS; i++)
		mem_cgroup_update_excess(st->groups[i].memcg);
	for (i = 0; i < NR_GROUPS; i++) {
		bool marked = soft_race_is_marked(st, i);
		bool exceeds = i != st->going &&
			       soft_limit_exceeds(st->groups[i].memcg);

		race_expect(race, marked == exceeds, i, marked);
	}
	soft_race_check_counts(race);
	soft_race_check_walk(race, st->top->memcg);
	soft_race_check_walk(race, NULL);

	for (i = 0; i < race->nr_threads; i++)
		soft_race_uncharge(st, i, st->going);
	mem_cgroup_update_excess(st->groups[st->going].memcg);
	test_group_put(&st->groups[st->going]);
}

/* Remove all, while they are in excess, and return how many stay counted. */
static long soft_race_dissolve(struct soft_race *st)
{
	long nr;
	int i, k;

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		if (!st->groups[i].memcg)
			continue;
		test_group_rmdir(&st->groups[i]);
		test_group_wait_offline(&st->groups[i]);
	}
	nr = mem_cgroup_nr_excess(st->top->memcg);

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		if (!st->groups[i].memcg)
			continue;
		for (k = 0; k < RACE_MAX_THREADS; k++)
			soft_race_uncharge(st, k, i);
		mem_cgroup_reset_excess_limit(st->groups[i].memcg);
		test_group_put(&st->groups[i]);
	}
	return nr;
}

static void soft_race_cleanup(void *data)
{
	soft_race_dissolve(data);
}

static void soft_limit_race(struct kunit *test)
{
	struct soft_race *st;
	struct race *race;
	int i;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->top = test_group_top(test);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, soft_race_cleanup, st),
			0);
	for (i = 0; i < NR_GROUPS; i++)
		KUNIT_ASSERT_EQ(test, soft_race_make(st, i), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			soft_race_remover, soft_race_user,
			soft_race_user, soft_race_user,
		},
		.nr_roles = 4,
		.prepare = soft_race_prepare,
		.check = soft_race_check,
		.counters = {
			[TREE_CHARGES] = "charges",
			[TREE_LIMITS] = "limits set",
			[TREE_WALKS] = "walks",
			[TREE_VISITS] = "groups visited",
			[TREE_GONE] = "groups went offline",
			[TREE_LATE] = "uses of groups that were going",
		},
		.min_hits = { 10000, 10000, 5000, 5000, 20, 5000 },
		.priv = st,
	};
	race_run(race);

	KUNIT_EXPECT_EQ(test, soft_race_dissolve(st), 0);
	soft_limit_expect_none(test, st->elsewhere);
}

static struct kunit_case soft_limit_race_cases[] = {
	KUNIT_CASE_SLOW(soft_limit_race_cross),
	KUNIT_CASE_SLOW(soft_limit_race),
	{}
};

static struct kunit_suite soft_limit_race_suite = {
	.name = "mm_reclaim_soft_limit_race",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = soft_limit_init,
	.test_cases = soft_limit_race_cases,
};

kunit_test_suite(soft_limit_race_suite);
