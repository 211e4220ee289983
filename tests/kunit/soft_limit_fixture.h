/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups with soft limits, for the suites that look at these.
 */
#ifndef _MM_RECLAIM_SOFT_LIMIT_FIXTURE_H
#define _MM_RECLAIM_SOFT_LIMIT_FIXTURE_H

#include "../../mm_reclaim_soft_limit.h"
#include "memcg_fixture.h"

/*
 * Groups are charged for what the kernel allocates for their children, and
 * some time later. Charge so much more that this never matters for a limit in
 * the middle between two multiples.
 */
#define UNIT		4096UL
#define ABOVE(units)	((units) * UNIT + UNIT / 2)

/* More than any walk of these trees can return. */
#define MAX_STEPS	10000

/**
 * struct soft_group - a group of a case without threads
 * @group: the group
 * @memcg: its memcg
 * @charged: how many pages were charged to it, not to its children
 */
struct soft_group {
	struct test_group	*group;
	struct mem_cgroup	*memcg;
	unsigned long		charged;
};

int soft_limit_init(struct kunit *test);
unsigned long soft_limit_usage(struct mem_cgroup *memcg);
bool soft_limit_exceeds(struct mem_cgroup *memcg);
void soft_limit_expect_none(struct kunit *test, long elsewhere);

void soft_group_charge(struct soft_group *sg, unsigned long nr);
void soft_group_uncharge(struct soft_group *sg);
void soft_group_cleanup(void *data);
struct soft_group *soft_group_new(struct kunit *test, struct soft_group *parent,
				  const char *name);

#endif /* _MM_RECLAIM_SOFT_LIMIT_FIXTURE_H */
