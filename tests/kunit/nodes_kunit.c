// SPDX-License-Identifier: GPL-2.0
/*
 * A node that gets memory after groups have objects elsewhere. Nothing here
 * needs real hotplug: the code is made to forget a node that has memory.
 */
#include <linux/atomic.h>
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

/* Shared work has another home from then on, which makes no difference. */
static void nodes_remember(void *data)
{
	shrinker_add_node((long)data);
}

/*
 * Puts an object of @group on @nid as if that were a device, whose memory no
 * unit is installed for. The node is remembered when the case ends, if not
 * before.
 */
static void nodes_add_stray(struct kunit *test, struct test_group *group,
			    struct test_shrinker *ts, int nid,
			    struct list_head *item)
{
	shrinker_forget_node(nid);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, nodes_remember,
						  (void *)(long)nid), 0);
	KUNIT_ASSERT_EQ(test,
			memcg_list_lru_alloc(group->memcg, &ts->lru, GFP_KERNEL),
			0);
	INIT_LIST_HEAD(item);
	list_lru_add(&ts->lru, item, nid, group->memcg);
	KUNIT_ASSERT_FALSE(test,
			   shrinker_unit_is_installed(group->memcg, nid,
						      ts->shrinker->id));
}

/* While the shrinker is asked: a unit for another one that shares it. */
static void nodes_install_neighbour(struct test_shrinker *ts,
				    struct shrink_control *sc,
				    unsigned long count)
{
	int *ret = ts->hook_arg;

	ts->hook = NULL;
	*ret = shrinker_add_node(sc->nid) ?:
	       install_shrinker_unit(sc->memcg, ts->shrinker->id ^ 1, GFP_KERNEL);
}

static void nodes_stray_gets_unit(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	int id = ts->shrinker->id, nid = nodes_last(), ret = -EINVAL;
	struct list_head item;

	nodes_add_stray(test, group, ts, nid, &item);
	ts->keep = true;
	ts->hook_arg = &ret;
	ts->hook = nodes_install_neighbour;
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(group->memcg, nid, id));
	KUNIT_EXPECT_FALSE(test, list_empty(&item));
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(group->memcg, nid, id));

	ts->keep = false;
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_TRUE(test, list_empty(&item));
	list_lru_del(&ts->lru, &item, nid, group->memcg);
}

static atomic_t nodes_asked;

/* Like zswap, which has nothing to say if it is off. */
static unsigned long nodes_count_zero(struct shrinker *shrinker,
				      struct shrink_control *sc)
{
	atomic_inc(&nodes_asked);
	return 0;
}

/* A shrinker that never says that it is empty keeps nobody else being asked. */
static void nodes_stray_ends(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	struct shrinker *zero;
	struct list_head item;
	int nid = nodes_last();

	zero = test_shrinker_without_list(test,
					  SHRINKER_MEMCG_AWARE | SHRINKER_NUMA_AWARE,
					  nodes_count_zero, NULL, DEFAULT_SEEKS);
	KUNIT_ASSERT_NE(test, zero->id % BITS_PER_LONG,
			ts->shrinker->id % BITS_PER_LONG);

	nodes_add_stray(test, group, ts, nid, &item);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_id_is_listed(mem_cgroup_private_id(group->memcg),
						nid));
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_TRUE(test, list_empty(&item));

	/* It may have been called, but that must have an end. */
	test_settle(group->memcg, nid);
	KUNIT_EXPECT_FALSE(test,
			   shrinker_id_is_listed(mem_cgroup_private_id(group->memcg),
						 nid));
	atomic_set(&nodes_asked, 0);
	test_walk(group->memcg, nid);
	KUNIT_EXPECT_EQ(test, atomic_read(&nodes_asked), 0);
	list_lru_del(&ts->lru, &item, nid, group->memcg);
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

	/* As on a device: found without a unit, and not reported. */
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

/* What nodes_count() says of the group that is private_data. */
#define NODES_OBJECTS	100

static unsigned long nodes_count(struct shrinker *shrinker,
				 struct shrink_control *sc)
{
	return sc->memcg == shrinker->private_data ? NODES_OBJECTS : SHRINK_EMPTY;
}

/* A shrinker that does not tell nodes apart, and never gets done. */
static struct shrinker *nodes_shrinker_new(struct kunit *test,
					   struct mem_cgroup *memcg)
{
	struct shrinker *shrinker;

	shrinker = test_shrinker_without_list(test, SHRINKER_MEMCG_AWARE,
					      nodes_count, memcg, 0);
	KUNIT_ASSERT_EQ(test,
			install_shrinker_unit(memcg, shrinker->id, GFP_KERNEL),
			0);
	return shrinker;
}

/* Without seeks, half of the objects should be scanned at a time. */
static void nodes_leave_work(struct shrinker *shrinker, int nid)
{
	test_set_bit(shrinker->private_data, nid, shrinker->id);
	test_walk(shrinker->private_data, nid);
}

/*
 * What a shrinker leaves over that does not tell nodes apart is the same on all
 * of them. C keeps it with node 0: here without memory at first.
 */
static void nodes_shared_work(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct mem_cgroup *memcg = group->memcg;
	int first = first_memory_node, last = nodes_last();
	struct shrinker *shrinker;

	if (num_node_state(N_MEMORY) < 2)
		kunit_skip(test, "there is only one node with memory");

	shrinker_forget_node(first);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, nodes_remember,
						  (void *)(long)first), 0);
	shrinker = nodes_shrinker_new(test, memcg);
	KUNIT_EXPECT_FALSE(test,
			   shrinker_unit_is_installed(memcg, first, shrinker->id));

	nodes_leave_work(shrinker, last);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg),
			NODES_OBJECTS / 2);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg), 0);

	/* It stays where it is found when there is a unit on node 0, too. */
	nodes_leave_work(shrinker, last);
	KUNIT_EXPECT_EQ(test, shrinker_add_node(first), 0);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(memcg, first, shrinker->id));
	nodes_leave_work(shrinker, first);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg),
			NODES_OBJECTS);

	/* And goes to the nearest ancestor that has a unit. */
	nodes_leave_work(shrinker, last);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(group), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(group));
	KUNIT_EXPECT_EQ(test,
			shrinker_take_deferred(0, shrinker,
					       test_group_top(test)->memcg) +
			shrinker_take_deferred(0, shrinker, root_mem_cgroup),
			NODES_OBJECTS / 2);
}

/* A walk goes on with what others left over, and leaves that when there is nothing. */
static void nodes_work_kept(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct mem_cgroup *memcg = group->memcg;
	struct shrinker *shrinker = nodes_shrinker_new(test, memcg);
	int nid = shrinker_home_node();

	nodes_leave_work(shrinker, nid);
	KUNIT_EXPECT_EQ(test, shrinker_nr_deferred(memcg, nid, shrinker->id),
			NODES_OBJECTS / 2);
	nodes_leave_work(shrinker, nid);
	KUNIT_EXPECT_EQ(test, shrinker_nr_deferred(memcg, nid, shrinker->id),
			NODES_OBJECTS);

	shrinker->private_data = NULL;
	test_walk(memcg, nid);
	KUNIT_EXPECT_FALSE(test, shrinker_bit_is_set(memcg, nid, shrinker->id));
	KUNIT_EXPECT_EQ(test, shrinker_nr_deferred(memcg, nid, shrinker->id),
			NODES_OBJECTS);
}

static struct kunit_case nodes_cases[] = {
	KUNIT_CASE(nodes_added),
	KUNIT_CASE(nodes_stray_gets_unit),
	KUNIT_CASE(nodes_stray_ends),
	KUNIT_CASE(nodes_shared_work),
	KUNIT_CASE(nodes_work_kept),
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
