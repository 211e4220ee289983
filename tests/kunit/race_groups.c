// SPDX-License-Identifier: GPL-2.0
/*
 * Groups for races, of which one goes offline in each round.
 */
#include "race_groups.h"

static int race_groups_make(struct race_groups *rg, int i)
{
	struct test_group *parent = i % (1 + RACE_LEAVES) ?
		&rg->groups[i - i % (1 + RACE_LEAVES)] : rg->top;
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "s%u", rg->serial++);
	ret = test_group_make(parent, name, false, &rg->groups[i]);
	if (!ret)
		rg->ids[i] = mem_cgroup_private_id(rg->groups[i].memcg);
	return ret;
}

static void race_groups_exit(void *data)
{
	struct race_groups *rg = data;
	int i;

	for (i = RACE_GROUPS - 1; i >= 0; i--) {
		if (!rg->groups[i].memcg)
			continue;
		test_group_rmdir(&rg->groups[i]);
		test_group_put(&rg->groups[i]);
	}
}

int race_groups_init(struct kunit *test, struct race_groups *rg)
{
	int i, ret;

	rg->top = test_group_top(test);
	ret = kunit_add_action_or_reset(test, race_groups_exit, rg);
	for (i = 0; i < RACE_GROUPS && !ret; i++)
		ret = race_groups_make(rg, i);
	return ret;
}

void race_groups_prepare(struct race *race, struct race_groups *rg)
{
	struct race_thread *thread = &race->threads[0];

	if (race->round && race_groups_make(rg, rg->going)) {
		race_fail(race, "a new group", rg->going, 0);
		return;
	}
	rg->going = race_random(thread, RACE_MIDDLES) * (1 + RACE_LEAVES) + 1 +
		    race_random(thread, RACE_LEAVES);
}

void race_groups_remove(struct race_thread *thread, struct race_groups *rg)
{
	race_expect(thread->race, !test_group_rmdir(&rg->groups[rg->going]), rg->going, 0);
}

void race_groups_wait(struct race *race, struct race_groups *rg)
{
	race_expect(race, test_group_wait_offline(&rg->groups[rg->going]), rg->going, 0);
}
