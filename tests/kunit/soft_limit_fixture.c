// SPDX-License-Identifier: GPL-2.0
/*
 * Groups with soft limits, for the suites that look at these.
 */
#include <linux/page_counter.h>

#include "soft_limit_fixture.h"

static void soft_limit_restore(void *data)
{
	WRITE_ONCE(memcg_soft_limit_enabled, (bool)(unsigned long)data);
}

int soft_limit_init(struct kunit *test)
{
	bool enabled = READ_ONCE(memcg_soft_limit_enabled);
	int ret;

	ret = test_fixture_init(test);
	if (ret)
		return ret;

	WRITE_ONCE(memcg_soft_limit_enabled, true);
	return kunit_add_action_or_reset(test, soft_limit_restore,
					 (void *)(unsigned long)enabled);
}

unsigned long soft_limit_usage(struct mem_cgroup *memcg)
{
	return page_counter_read(&memcg->memory);
}

/* Whether the group should be marked. */
bool soft_limit_exceeds(struct mem_cgroup *memcg)
{
	return soft_limit_usage(memcg) > mem_cgroup_excess_limit(memcg);
}

void soft_group_charge(struct soft_group *sg, unsigned long nr)
{
	page_counter_charge(&sg->memcg->memory, nr);
	sg->charged += nr;
	mem_cgroup_update_excess(sg->memcg);
}

void soft_group_uncharge(struct soft_group *sg)
{
	if (sg->charged)
		page_counter_uncharge(&sg->memcg->memory, sg->charged);
	sg->charged = 0;
	mem_cgroup_update_excess(sg->memcg);
}

void soft_group_cleanup(void *data)
{
	struct soft_group *sg = data;

	soft_group_uncharge(sg);
	mem_cgroup_reset_excess_limit(sg->memcg);
}

struct soft_group *soft_group_new(struct kunit *test, struct soft_group *parent,
				  const char *name)
{
	struct soft_group *sg;

	sg = kunit_kzalloc(test, sizeof(*sg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sg);
	sg->group = test_group_new(test, parent ? parent->group :
				   test_group_top(test), name);
	sg->memcg = sg->group->memcg;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, soft_group_cleanup, sg),
			0);
	return sg;
}

/* Nothing is in excess, but for what may be so elsewhere in the system. */
void soft_limit_expect_none(struct kunit *test, long elsewhere)
{
	struct mem_cgroup *top = test_group_top(test)->memcg;

	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(top));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(top), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup), elsewhere);
}
