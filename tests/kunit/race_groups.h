/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups for races, of which one goes offline in each round.
 */
#ifndef _MM_RECLAIM_RACE_GROUPS_H
#define _MM_RECLAIM_RACE_GROUPS_H

#include "memcg_fixture.h"
#include "race.h"

#define RACE_MIDDLES	2
#define RACE_LEAVES	3
#define RACE_GROUPS	(RACE_MIDDLES * (1 + RACE_LEAVES))

/**
 * struct race_groups - groups, of which one goes offline in each round
 * @top: the parent of the middle groups
 * @groups: each middle group, followed by its leaves
 * @ids: their private ids, which go back when a group is offline
 * @serial: to name groups
 * @going: the group that goes offline in this round, always a leaf
 */
struct race_groups {
	struct test_group	*top;
	struct test_group	groups[RACE_GROUPS];
	int			ids[RACE_GROUPS];
	unsigned int		serial;
	int			going;
};

int race_groups_init(struct kunit *test, struct race_groups *rg);

/* Before a round: makes another group for the one that went, and chooses one. */
void race_groups_prepare(struct race *race, struct race_groups *rg);

/* In a round, by one thread */
void race_groups_remove(struct race_thread *thread, struct race_groups *rg);

/* After a round: returns when the group is offline; then race_groups_put(). */
void race_groups_wait(struct race *race, struct race_groups *rg);

static inline void race_groups_put(struct race_groups *rg)
{
	test_group_put(&rg->groups[rg->going]);
}

static inline struct mem_cgroup *race_groups_choose(struct race_thread *thread,
						    struct race_groups *rg)
{
	return rg->groups[race_random(thread, RACE_GROUPS)].memcg;
}

static inline bool race_groups_is_going(struct race_groups *rg, struct mem_cgroup *memcg)
{
	return memcg == rg->groups[rg->going].memcg;
}

#endif /* _MM_RECLAIM_RACE_GROUPS_H */
