// SPDX-License-Identifier: GPL-2.0
/*
 * Soft limits, against groups that go offline.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/page_counter.h>

#include "race.h"
#include "soft_limit_fixture.h"

/* Groups that go while their limits change: the mark may come too late. */
#define NR_CLOSED	24
#define NR_TOGGLES	200

/* What the threads count. */
enum { GONE, TOGGLES, LATE };

/**
 * struct soft_close - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups that go offline
 * @nr_groups: how many were made in this round
 * @nr_offline: how many of them are offline
 * @serial: to name groups
 * @elsewhere: how many groups of others are in excess
 */
struct soft_close {
	struct soft_group	*parent;
	struct test_group	groups[NR_CLOSED];
	int			nr_groups;
	int			nr_offline;
	unsigned int		serial;
	long			elsewhere;
};

/* Change the limit of the one that goes offline next, all the time. */
static void soft_close_toggle(struct race_thread *thread, int *next)
{
	struct soft_close *st = thread->race->priv;
	struct mem_cgroup *memcg;
	int i;

	for (i = 0; i < NR_TOGGLES; i++) {
		while (*next < st->nr_groups - 1 &&
		       !test_memcg_is_online(st->groups[*next].memcg))
			++*next;
		memcg = st->groups[*next].memcg;
		thread->hits[LATE] += test_memcg_is_dying(memcg);
		mem_cgroup_set_excess_limit(memcg, i % 2 ? 0 : PAGE_COUNTER_MAX);
		thread->hits[TOGGLES]++;
	}
}

static void soft_close_user(struct race_thread *thread)
{
	struct soft_close *st = thread->race->priv;
	unsigned int n = 0;
	int i, next = 0;

	do {
		soft_close_toggle(thread, &next);
		cond_resched();
		/* Grace periods are what everybody waits for. */
		if (++n % 64 == 0)
			usleep_range(10, 50);
	} while (READ_ONCE(st->nr_offline) < st->nr_groups &&
		 !race_failed(thread->race));

	/* In excess by what they use, and yet not to be marked. */
	for (i = 0; i < st->nr_groups; i++)
		mem_cgroup_set_excess_limit(st->groups[i].memcg, 0);
}

static void soft_close_remover(struct race_thread *thread)
{
	struct soft_close *st = thread->race->priv;
	int i;

	for (i = 0; i < st->nr_groups; i++)
		race_expect(thread->race, !test_group_rmdir(&st->groups[i]), i,
			    0);
	/* Now leave this CPU to those who take them offline. */
	for (i = 0; i < st->nr_groups; i++) {
		race_expect(thread->race,
			    test_group_wait_offline(&st->groups[i]), i, 0);
		WRITE_ONCE(st->nr_offline, i + 1);
		thread->hits[GONE]++;
	}
}

static void soft_close_prepare(struct race *race)
{
	struct soft_close *st = race->priv;
	char name[16];
	int i;

	st->nr_groups = 0;
	st->nr_offline = 0;
	for (i = 0; i < NR_CLOSED; i++) {
		snprintf(name, sizeof(name), "x%u", st->serial++);
		if (test_group_make(st->parent->group, name, true,
				    &st->groups[i])) {
			race_fail(race, "a new group", i, 0);
			return;
		}
		st->nr_groups++;
		page_counter_charge(&st->groups[i].memcg->memory, UNIT);
	}
}

static void soft_close_release(struct soft_close *st)
{
	int i;

	for (i = 0; i < NR_CLOSED; i++) {
		if (!st->groups[i].memcg)
			continue;
		page_counter_uncharge(&st->groups[i].memcg->memory, UNIT);
		test_group_rmdir(&st->groups[i]);
		test_group_put(&st->groups[i]);
	}
}

static void soft_close_check(struct race *race)
{
	struct soft_close *st = race->priv;
	struct mem_cgroup *parent = st->parent->memcg;
	int i;

	for (i = 0; i < st->nr_groups; i++)
		race_expect(race,
			    !mem_cgroup_is_in_excess(st->groups[i].memcg), i, 0);
	race_expect(race, !mem_cgroup_nr_excess(parent),
		    mem_cgroup_nr_excess(parent), 0);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), st->elsewhere);
	soft_close_release(st);
}

static void soft_close_cleanup(void *data)
{
	soft_close_release(data);
}

static void soft_limit_race_close(struct kunit *test)
{
	struct soft_close *st;
	struct race *race;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, soft_close_cleanup, st),
			0);

	*race = (struct race) {
		.test = test,
		.roles = {
			soft_close_remover, soft_close_user,
			soft_close_user, soft_close_user,
		},
		.nr_roles = 4,
		.prepare = soft_close_prepare,
		.check = soft_close_check,
		.counters = {
			[GONE] = "groups went offline",
			[TOGGLES] = "limits set",
			[LATE] = "of them of groups that were going",
		},
		.min_hits = { 200, 100000, 20000 },
		.priv = st,
	};
	race_run(race);
}

/*
 * The same with the function that closes a group, and a group that is opened
 * again: a hundred times as often, and both threads are there at the moment.
 */

#define NR_SHUT		32

/* How long a thread waits for another one, in turns of a loop. */
#define MAX_SPINS	20000

/* What the threads count. */
enum { SHUT, SHUT_MARKED, UPDATES };

/**
 * struct soft_shut - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups; all of them use something
 * @arrived: how often a thread has arrived at a group, in this round
 * @elsewhere: how many groups of others are in excess
 */
struct soft_shut {
	struct soft_group	*parent;
	struct soft_group	*groups[NR_SHUT];
	atomic_t		arrived;
	long			elsewhere;
};

/* Wait until all threads are at the same group. */
static void soft_shut_meet(struct race_thread *thread, int i)
{
	struct soft_shut *st = thread->race->priv;
	int all = (i + 1) * thread->race->nr_threads;
	u32 delay = race_random(thread, 24);
	int spins = 0;

	atomic_inc(&st->arrived);
	while (atomic_read(&st->arrived) < all && spins++ < MAX_SPINS)
		cpu_relax();
	while (delay--)
		barrier();
}

static void soft_shut_closer(struct race_thread *thread)
{
	struct soft_shut *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_SHUT; i++) {
		soft_shut_meet(thread, i);
		mem_cgroup_close_excess(st->groups[i]->memcg);
		thread->hits[SHUT]++;
	}
}

static void soft_shut_user(struct race_thread *thread)
{
	struct soft_shut *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_SHUT; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool marked = mem_cgroup_is_in_excess(memcg);

		soft_shut_meet(thread, i);
		mem_cgroup_set_excess_limit(memcg, marked ? PAGE_COUNTER_MAX :
					    ABOVE(0));
		thread->hits[UPDATES]++;
	}
}

static void soft_shut_prepare(struct race *race)
{
	struct soft_shut *st = race->priv;
	struct race_thread *thread = &race->threads[0];
	int i;

	atomic_set(&st->arrived, 0);
	for (i = 0; i < NR_SHUT; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool mark = !race_random(thread, 4);

		memset(&memcg->excess, 0, sizeof(memcg->excess));
		mem_cgroup_set_excess_limit(memcg, mark ? ABOVE(0) :
					    PAGE_COUNTER_MAX);
		race_expect(race, mem_cgroup_is_in_excess(memcg) == mark, i,
			    mark);
		thread->hits[SHUT_MARKED] += mark;
	}
}

static void soft_shut_check(struct race *race)
{
	struct soft_shut *st = race->priv;
	struct mem_cgroup *parent = st->parent->memcg;
	int i;

	for (i = 0; i < NR_SHUT; i++)
		race_expect(race,
			    !mem_cgroup_is_in_excess(st->groups[i]->memcg), i, 0);
	race_expect(race, !mem_cgroup_nr_excess(parent),
		    mem_cgroup_nr_excess(parent), 0);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), st->elsewhere);
}

static void soft_limit_race_shut(struct kunit *test)
{
	struct soft_shut *st;
	struct race *race;
	char name[8];
	int i;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	for (i = 0; i < NR_SHUT; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		st->groups[i] = soft_group_new(test, st->parent, name);
		soft_group_charge(st->groups[i], UNIT);
	}

	*race = (struct race) {
		.test = test,
		.roles = { soft_shut_closer, soft_shut_user, soft_shut_user },
		.nr_roles = 3,
		.prepare = soft_shut_prepare,
		.check = soft_shut_check,
		.counters = {
			[SHUT] = "groups closed",
			[SHUT_MARKED] = "of them marked before",
			[UPDATES] = "limits set",
		},
		.min_hits = { 20000, 4000, 20000 },
		.priv = st,
	};
	race_run(race);
}

static struct kunit_case soft_limit_close_cases[] = {
	KUNIT_CASE_SLOW(soft_limit_race_close),
	KUNIT_CASE_SLOW(soft_limit_race_shut),
	{}
};

static struct kunit_suite soft_limit_close_suite = {
	.name = "mm_reclaim_soft_limit_close",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = soft_limit_init,
	.test_cases = soft_limit_close_cases,
};

kunit_test_suite(soft_limit_close_suite);
