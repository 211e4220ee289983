/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that run against each other, round by round.
 */
#ifndef _MM_RECLAIM_RACE_H
#define _MM_RECLAIM_RACE_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/prandom.h>

#define RACE_MAX_THREADS	8
#define RACE_MAX_COUNTERS	6

struct race;
struct task_struct;

/**
 * struct race_thread - one of the threads
 * @race: the race that it is part of
 * @nr: its number, from 0
 * @rnd: its source of random numbers
 * @hits: what it counted, see &race.counters
 * @busy: the rounds in which it counted anything
 * @task: the thread
 */
struct race_thread {
	struct race		*race;
	unsigned int		nr;
	struct rnd_state	rnd;
	unsigned long		hits[RACE_MAX_COUNTERS];
	unsigned long		busy;
	struct task_struct	*task;
};

/**
 * struct race - threads that run against each other, round by round
 * @test: the test case
 * @roles: what each thread does in a round; with fewer CPUs than roles only
 *	the first ones run (but never fewer than two), because threads which
 *	share a CPU do not race
 * @nr_roles: how many
 * @prepare: optional, one thread runs it before each round, while the others
 *	wait; may sleep
 * @check: one thread runs it after each round, while the others wait; may
 *	sleep; calls race_fail() if something is wrong
 * @counters: names for what the threads count, in the report; each role has to
 *	count something in a good part of the rounds
 * @min_hits: what the sum of each counter must reach for the race to count as
 *	run; it goes on for up to forty times its duration to get there
 * @priv: for the suite
 * @nr_threads: how many threads run
 * @round: the number of the round
 *
 * The rest is private.
 */
struct race {
	struct kunit		*test;
	void			(*roles[RACE_MAX_THREADS])(struct race_thread *thread);
	unsigned int		nr_roles;
	void			(*prepare)(struct race *race);
	void			(*check)(struct race *race);
	const char		*counters[RACE_MAX_COUNTERS];
	unsigned long		min_hits[RACE_MAX_COUNTERS];
	void			*priv;
	unsigned int		nr_threads;
	unsigned long		round;

	struct race_thread	threads[RACE_MAX_THREADS];
	unsigned long		start;
	bool			crowded;
	bool			stop;
	atomic_t		arrived;
	atomic_t		phase;
	atomic_t		failed;
	const char		*failure;
	unsigned long		failed_round;
	long			detail[2];
};

void race_run(struct race *race);
bool race_fail(struct race *race, const char *what, long detail0, long detail1);

/* As a statement: note the failure and go on. */
#define race_expect(race, cond, detail0, detail1)			\
	((cond) || race_fail(race, #cond, detail0, detail1))

static inline bool race_failed(struct race *race)
{
	return atomic_read(&race->failed);
}

static inline u32 race_random(struct race_thread *thread, u32 below)
{
	return prandom_u32_state(&thread->rnd) % below;
}

void race_jitter(struct race_thread *thread);
void race_delay(struct race_thread *thread, u32 max);

#endif /* _MM_RECLAIM_RACE_H */
