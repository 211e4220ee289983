// SPDX-License-Identifier: GPL-2.0
/*
 * A node that gets memory after groups have objects elsewhere. Nothing here
 * needs real hotplug: the code is made to forget a node that has memory.
 */
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>

#include "memcg_fixture.h"

static int nodes_last(void)
{
	int nid, last = NUMA_NO_NODE;

	for_each_node_state(nid, N_MEMORY)
		last = nid;
	return last;
}

static void nodes_remember(void *data)
{
	shrinker_add_node((long)data);
}

static void nodes_added(struct kunit *test)
{
	struct test_group *parent = test_group_new(test, test_group_top(test), "p");
	struct test_group *group = test_group_new(test, parent, "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	int id = ts->shrinker->id, nid = nodes_last();
	struct list_head item;

	if (num_node_state(N_MEMORY) < 2)
		kunit_skip(test, "there is only one node with memory");

	shrinker_forget_node(nid);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, nodes_remember,
						  (void *)(long)nid), 0);
	KUNIT_ASSERT_EQ(test,
			memcg_list_lru_alloc(group->memcg, &ts->lru, GFP_KERNEL),
			0);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(group->memcg,
						     first_memory_node, id));
	KUNIT_EXPECT_FALSE(test,
			   shrinker_unit_is_installed(group->memcg, nid, id));

	/* As on a device: found by looking everywhere, and not reported. */
	INIT_LIST_HEAD(&item);
	list_lru_add(&ts->lru, &item, nid, group->memcg);
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_TRUE(test, list_empty(&item));
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_FALSE(test,
			   shrinker_id_is_listed(mem_cgroup_private_id(group->memcg),
						 nid));

	KUNIT_EXPECT_EQ(test, shrinker_add_node(nid), 0);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(group->memcg, nid, id));
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(parent->memcg, nid, id));
	/* The root may have something there of any shrinker. */
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(root_mem_cgroup, nid, id));

	INIT_LIST_HEAD(&item);
	list_lru_add(&ts->lru, &item, nid, group->memcg);
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(group->memcg, nid, id));
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_TRUE(test, list_empty(&item));

	/* Once more changes nothing. */
	KUNIT_EXPECT_EQ(test, shrinker_add_node(nid), 0);
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg),
			num_node_state(N_MEMORY));
}

static struct kunit_case nodes_cases[] = {
	KUNIT_CASE(nodes_added),
	{}
};

static struct kunit_suite nodes_suite = {
	.name = "mm_reclaim_nodes",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = nodes_cases,
};

kunit_test_suite(nodes_suite);
