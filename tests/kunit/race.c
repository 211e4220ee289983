// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that run against each other, round by round.
 *
 * In each round all threads start at the same moment, do a little, and meet
 * again, and then one of them looks at the state while all is quiet. So what
 * went wrong shows in the round in which it did, and is not repaired by what
 * comes later.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm_reclaim.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched.h>

#include "race.h"

/* Each role has to count something in one of so many rounds. */
#define RACE_MAX_IDLE	10

/* How often a race may take its duration to see enough, where the host is slow. */
#define RACE_MAX_DURATIONS	40

static unsigned int duration_ms = 1500;
module_param(duration_ms, uint, 0400);
MODULE_PARM_DESC(duration_ms, "how long each race runs");

static unsigned int hits_percent = 100;
module_param(hits_percent, uint, 0400);
MODULE_PARM_DESC(hits_percent, "how many of its hits a race must have; fewer for slow kernels");

static bool all_roles;
module_param(all_roles, bool, 0400);
MODULE_PARM_DESC(all_roles, "fail a race that has more roles than there are CPUs");

static unsigned int seed;
module_param(seed, uint, 0400);
MODULE_PARM_DESC(seed, "seed of the random numbers, 0 for any");

/* The seed for one test, also of the suites in Rust. */
u32 mm_reclaim_test_seed(void)
{
	return seed ?: get_random_u32();
}

/**
 * race_fail - note that something is wrong
 * @race: the race
 * @what: what should have been true
 * @detail0: a number that helps
 * @detail1: another
 *
 * Only the first failure is kept, and ends the race after the round. To be
 * called from any thread, also under locks: an assertion would end the thread.
 */
bool race_fail(struct race *race, const char *what, long detail0, long detail1)
{
	if (!atomic_xchg(&race->failed, 1)) {
		race->failure = what;
		race->failed_round = race->round;
		race->detail[0] = detail0;
		race->detail[1] = detail1;
	}

	return false;
}

/* Wait for a random time of up to about a microsecond. */
void race_jitter(struct race_thread *thread)
{
	u32 n = prandom_u32_state(&thread->rnd);

	/* Mostly short: what races is a few dozen instructions long. */
	n = (n & 0x100) ? n & 0xff : n & 0xf;
	while (n--)
		barrier();
}

/* Wait for a random time of up to @max turns of an empty loop. */
void race_delay(struct race_thread *thread, u32 max)
{
	u32 n = race_random(thread, max);

	while (n--)
		barrier();
}

static void race_meet(struct race *race)
{
	int phase = atomic_read(&race->phase);
	unsigned long start = jiffies, spins = 0;

	if (atomic_inc_return(&race->arrived) == race->nr_threads) {
		atomic_set(&race->arrived, 0);
		atomic_inc_return(&race->phase);
		return;
	}

	while (atomic_read_acquire(&race->phase) == phase) {
		spins++;
		/* The tick would let the others run, in much too long a time. */
		if (race->crowded)
			schedule();
		else if (spins % 1024)
			cpu_relax();
		else
			cond_resched();
		/* One of us sleeps: do not be in the way of its wakeup. */
		if (time_after(jiffies, start + 2))
			usleep_range(20, 50);
	}
}

static unsigned long race_sum(struct race *race, int counter)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < race->nr_threads; i++)
		sum += race->threads[i].hits[counter];

	return sum;
}

static unsigned long race_thread_sum(struct race_thread *thread)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < RACE_MAX_COUNTERS; i++)
		sum += thread->hits[i];

	return sum;
}

static unsigned long race_min_hits(struct race *race, int counter)
{
	return DIV_ROUND_UP(race->min_hits[counter] * hits_percent, 100);
}

static bool race_is_over(struct race *race)
{
	unsigned int ms = jiffies_to_msecs(jiffies - race->start);
	int i;

	if (race_failed(race) || ms > RACE_MAX_DURATIONS * duration_ms)
		return true;
	if (ms < duration_ms)
		return false;

	for (i = 0; i < RACE_MAX_COUNTERS; i++)
		if (race_sum(race, i) < race_min_hits(race, i))
			return false;

	return true;
}

static int race_loop(void *data)
{
	struct race_thread *thread = data;
	struct race *race = thread->race;
	unsigned long hits;

	for (;;) {
		if (!thread->nr) {
			WRITE_ONCE(race->stop, race_is_over(race));
			if (!race->stop && race->prepare)
				race->prepare(race);
			/* Nothing to race with if that went wrong. */
			if (race_failed(race))
				WRITE_ONCE(race->stop, true);
		}
		race_meet(race);
		if (race->stop)
			break;

		hits = race_thread_sum(thread);
		race->roles[thread->nr](thread);
		if (race_thread_sum(thread) != hits)
			thread->busy++;

		race_meet(race);
		if (!thread->nr) {
			race->check(race);
			race->round++;
		}
		cond_resched();
	}

	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

/*
 * Say what each role has counted. One that was idle in most rounds means that
 * the others raced without it.
 */
static void race_report_roles(struct race *race)
{
	struct kunit *test = race->test;
	unsigned int nr;
	char line[256];
	int i, len;

	for (nr = 0; nr < race->nr_threads; nr++) {
		struct race_thread *thread = &race->threads[nr];

		len = 0;
		line[0] = '\0';
		for (i = 0; i < RACE_MAX_COUNTERS; i++)
			if (race->counters[i] && thread->hits[i])
				len += scnprintf(line + len, sizeof(line) - len,
						 ", %lu %s", thread->hits[i],
						 race->counters[i]);
		kunit_info(test, "role %u of %u, %ps: busy in %lu rounds%s\n",
			   nr + 1, race->nr_roles, race->roles[nr],
			   thread->busy, line);
		if (!race_failed(race))
			KUNIT_EXPECT_GE_MSG(test, thread->busy * RACE_MAX_IDLE,
					    race->round, "role %u was idle",
					    nr + 1);
	}

	if (all_roles)
		KUNIT_EXPECT_TRUE_MSG(test,
				      race->nr_threads == race->nr_roles &&
				      !race->crowded,
				      "too few CPUs for %u roles",
				      race->nr_roles);
}

/**
 * race_run - run a race to its end and report
 * @race: the race; all but its private fields and the numbers are set
 */
void race_run(struct race *race)
{
	unsigned int cpus = num_online_cpus();
	struct kunit *test = race->test;
	unsigned int i, cpu, started;
	u32 my_seed = mm_reclaim_test_seed();

	race->nr_threads = clamp(cpus, 2U, race->nr_roles);
	race->crowded = race->nr_threads > cpus;
	race->start = jiffies;
	kunit_info(test, "%u threads on %u CPUs, mm_reclaim_test.seed=%u\n",
		   race->nr_threads, cpus, my_seed);

	cpu = cpumask_first(cpu_online_mask);
	for (started = 0; started < race->nr_threads; started++) {
		struct race_thread *thread = &race->threads[started];
		struct task_struct *task;

		thread->race = race;
		thread->nr = started;
		prandom_seed_state(&thread->rnd, my_seed + started);
		task = kthread_create(race_loop, thread, "mm_reclaim_race/%u",
				      started);
		if (IS_ERR(task))
			break;
		/* One each, so that they do run at the same time. */
		if (!race->crowded) {
			kthread_bind(task, cpu);
			cpu = cpumask_next(cpu, cpu_online_mask);
			if (cpu >= nr_cpu_ids)
				cpu = cpumask_first(cpu_online_mask);
		}
		thread->task = task;
	}

	if (started < race->nr_threads) {
		/* None of them was woken: stopping ends them at once. */
		for (i = 0; i < started; i++)
			kthread_stop(race->threads[i].task);
		KUNIT_FAIL(test, "cannot start threads");
		return;
	}

	for (i = 0; i < race->nr_threads; i++)
		wake_up_process(race->threads[i].task);

	/* Only the loop sets this, and only when it is over. */
	while (!READ_ONCE(race->stop))
		msleep(20);
	for (i = 0; i < race->nr_threads; i++)
		kthread_stop(race->threads[i].task);

	kunit_info(test, "%lu rounds in %u ms\n", race->round,
		   jiffies_to_msecs(jiffies - race->start));
	for (i = 0; i < RACE_MAX_COUNTERS; i++) {
		if (!race->counters[i])
			continue;
		kunit_info(test, "%lu %s\n", race_sum(race, i),
			   race->counters[i]);
		/* A race that hardly happened proves nothing. */
		if (!race_failed(race))
			KUNIT_EXPECT_GE_MSG(test, race_sum(race, i),
					    race_min_hits(race, i), "too few %s",
					    race->counters[i]);
	}

	race_report_roles(race);

	if (race_failed(race))
		KUNIT_FAIL(test, "round %lu: expected %s (%ld, %ld)",
			   race->failed_round, race->failure, race->detail[0],
			   race->detail[1]);
}
