// SPDX-License-Identifier: GPL-2.0
/*
 * The statistics of groups that are removed, against those who still write them.
 *
 * Nothing may be lost or counted twice: whoever removed what, the group above
 * has all that was written, as soon as it is flushed.
 */
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_reclaim.h>

#include "memcg_fixture.h"
#include "race.h"

/* A chain: each is the parent of the next one. */
#define NR_CHAIN	3

/* How long freeing may take. */
#define DYING_WAIT_MS	5000

/* What the threads count. */
enum { EVENTS, STATES, LATE, READS, FLUSHES, DRAINED };

/**
 * struct dying_race - the state of a race
 * @top: what the chain hangs below
 * @chain: the groups, from the parent to the last child
 * @events: what each thread has counted in this round
 * @before: what @top had before it
 * @states: the sum of what each thread has added to a state in this round
 * @state_before: what @top had before it
 * @serial: to name groups
 * @removed: set when all are removed
 */
struct dying_race {
	struct test_group	*top;
	struct test_group	chain[NR_CHAIN];
	unsigned long		events[RACE_MAX_THREADS];
	unsigned long		before;
	long			states[RACE_MAX_THREADS];
	long			state_before;
	unsigned int		serial;
	bool			removed;
};

/* Nothing else counts these in a group without pages. */
#define DYING_EVENT	PGLAZYFREED
#define DYING_STATE	WORKINGSET_NODERECLAIM

static struct lruvec *dying_lruvec(struct mem_cgroup *memcg)
{
	return mem_cgroup_lruvec(memcg, NODE_DATA(first_online_node));
}

/* One that is still linked, perhaps without a reference; under RCU. */
static struct mem_cgroup *dying_find(struct race_thread *thread)
{
	struct dying_race *st = thread->race->priv;
	struct cgroup_subsys_state *css, *found = NULL;
	int nr = race_random(thread, NR_CHAIN);

	css_for_each_descendant_pre(css, &st->top->memcg->css) {
		if (css == &st->top->memcg->css)
			continue;
		found = css;
		if (!nr--)
			break;
	}
	return found ? mem_cgroup_from_css(found) : NULL;
}

static void dying_write(struct race_thread *thread)
{
	struct dying_race *st = thread->race->priv;
	int nr = 1 + race_random(thread, 100);
	struct mem_cgroup *memcg;

	guard(rcu)();
	memcg = dying_find(thread);
	if (!memcg)
		return;
	race_jitter(thread);
	thread->hits[LATE] += test_memcg_is_dying(memcg);
	if (race_random(thread, 2)) {
		count_memcg_events(memcg, DYING_EVENT, nr);
		st->events[thread->nr] += nr;
		thread->hits[EVENTS]++;
	} else {
		mod_memcg_lruvec_state(dying_lruvec(memcg), DYING_STATE, nr);
		st->states[thread->nr] += nr;
		thread->hits[STATES]++;
	}
}

/* KASAN looks: what is there may be anything until it is given back. */
static void dying_read(struct race_thread *thread)
{
	struct mem_cgroup *memcg;
	struct lruvec *lruvec;

	guard(rcu)();
	memcg = dying_find(thread);
	if (!memcg)
		return;
	lruvec = dying_lruvec(memcg);
	memcg_events(memcg, DYING_EVENT);
	memcg_page_state(memcg, DYING_STATE);
	lruvec_page_state(lruvec, DYING_STATE);
	lruvec_page_state_local(lruvec, DYING_STATE);
	thread->hits[READS]++;
}

static void dying_writer(struct race_thread *thread)
{
	struct dying_race *st = thread->race->priv;

	do {
		dying_write(thread);
		dying_read(thread);
		race_jitter(thread);
		cond_resched();
	} while (!READ_ONCE(st->removed) && !race_failed(thread->race));

	/* And a little more, as some are late. */
	dying_write(thread);
}

static void dying_flusher(struct race_thread *thread)
{
	struct dying_race *st = thread->race->priv;

	do {
		struct mem_cgroup *memcg;

		dying_write(thread);
		dying_read(thread);
		rcu_read_lock();
		memcg = dying_find(thread);
		if (memcg && !css_tryget(&memcg->css))
			memcg = NULL;
		rcu_read_unlock();
		if (memcg) {
			css_rstat_flush(&memcg->css);
			css_put(&memcg->css);
			thread->hits[FLUSHES]++;
		}
		cond_resched();
	} while (!READ_ONCE(st->removed) && !race_failed(thread->race));
}

/* Child and parent at once, or one after the other, or one without a reference. */
static void dying_remover(struct race_thread *thread)
{
	struct dying_race *st = thread->race->priv;
	int i;

	for (i = NR_CHAIN - 1; i >= 0; i--) {
		race_expect(thread->race, !test_group_rmdir(&st->chain[i]), i, 0);
		race_expect(thread->race, test_group_wait_offline(&st->chain[i]), i, 0);
		dying_write(thread);
		if (!race_random(thread, 3))
			test_group_put(&st->chain[i]);
		if (race_random(thread, 2))
			memcg_dying_drain();
	}
	memcg_dying_drain();
	dying_write(thread);
	WRITE_ONCE(st->removed, true);
}

static void dying_prepare(struct race *race)
{
	struct dying_race *st = race->priv;
	struct test_group *parent = st->top;
	char name[16];
	int i;

	for (i = 0; i < NR_CHAIN; i++) {
		snprintf(name, sizeof(name), "d%u", st->serial++);
		if (test_group_make(parent, name, false, &st->chain[i])) {
			race_fail(race, "a new group", i, 0);
			return;
		}
		parent = &st->chain[i];
	}
	memset(st->events, 0, sizeof(st->events));
	memset(st->states, 0, sizeof(st->states));
	css_rstat_flush(&st->top->memcg->css);
	st->before = memcg_events(st->top->memcg, DYING_EVENT);
	st->state_before = lruvec_page_state(dying_lruvec(st->top->memcg), DYING_STATE);
	st->removed = false;
}

/* What others wrote to the top was noted by their names: it is noted here. */
static void dying_flush(struct mem_cgroup *top)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		preempt_disable();
		__css_rstat_updated(&top->css, cpu);
		preempt_enable();
	}
	css_rstat_flush(&top->css);
}

/* A group without a reference is flushed once more when it is freed. */
static void dying_expect(struct race *race, unsigned long events, long states)
{
	struct dying_race *st = race->priv;
	struct mem_cgroup *top = st->top->memcg;
	unsigned long found;
	long state;
	int ms;

	for (ms = 0; ms < DYING_WAIT_MS; ms += 20) {
		dying_flush(top);
		found = memcg_events(top, DYING_EVENT) - st->before;
		state = lruvec_page_state(dying_lruvec(top), DYING_STATE) -
			st->state_before;
		if (found == events && state == states)
			return;
		msleep(20);
	}
	race_expect(race, found == events, found, events);
	race_expect(race, state == states, state, states);
}

/* One that has given back what it had. */
static void dying_check_drained(struct race *race, struct mem_cgroup *memcg, int nr)
{
	unsigned int state = READ_ONCE(memcg->dying.state);

	race_expect(race, state == MEMCG_STATS_FREED, nr, state);
	race->threads[0].hits[DRAINED]++;
	if (IS_ENABLED(CONFIG_MEMCG_NMI_SAFETY_REQUIRES_ATOMIC))
		return;
	race_expect(race, !memcg_has_own_sums(memcg), nr, state);
	race_expect(race, !memcg_events(memcg, DYING_EVENT), nr, state);
	race_expect(race, !lruvec_page_state(dying_lruvec(memcg), DYING_STATE), nr,
		    state);
}

static void dying_check(struct race *race)
{
	struct dying_race *st = race->priv;
	unsigned long events = 0;
	long states = 0;
	int i;

	for (i = 0; i < race->nr_threads; i++) {
		events += st->events[i];
		states += st->states[i];
	}
	for (i = 0; i < NR_CHAIN; i++) {
		if (st->chain[i].memcg)
			dying_check_drained(race, st->chain[i].memcg, i);
	}

	/* Parents first: their children keep them. */
	for (i = 0; i < NR_CHAIN; i++)
		test_group_put(&st->chain[i]);
	dying_expect(race, events, states);
}

static void dying_race(struct kunit *test)
{
	struct dying_race *st;
	struct race *race;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->top = test_group_top(test);
	*race = (struct race) {
		.test = test,
		.roles = {
			dying_remover, dying_flusher, dying_writer, dying_writer,
		},
		.nr_roles = 4,
		.prepare = dying_prepare,
		.check = dying_check,
		.counters = {
			[EVENTS] = "events",
			[STATES] = "states",
			[LATE] = "writes to groups that are removed",
			[READS] = "reads",
			[FLUSHES] = "flushes",
			[DRAINED] = "groups drained",
		},
		.min_hits = { 2000, 2000, 1000, 2000, 100, 60 },
		.priv = st,
	};
	race_run(race);
}

static struct kunit_case dying_cases[] = {
	KUNIT_CASE_SLOW(dying_race),
	{}
};

static struct kunit_suite dying_suite = {
	.name = "mm_reclaim_dying_race",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = dying_cases,
};

kunit_test_suite(dying_suite);
