// SPDX-License-Identifier: GPL-2.0
/*
 * Units on the nodes where a group has objects, and on one that gets memory later.
 * Nothing here needs real hotplug: the code is made to forget a node that has memory.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>

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
 * Puts an object of @group on @nid without a unit, as if that were a device whose
 * objects are not accounted for. The node is remembered when the case ends, if not
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
	*ret = install_shrinker_unit(sc->memcg, sc->nid, ts->shrinker->id ^ 1,
				     GFP_KERNEL);
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
			memcg_list_lru_alloc_node(group->memcg, &ts->lru,
						  first_memory_node, GFP_KERNEL),
			0);
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
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg), 2);
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(test_group_top(test)->memcg), 2);
}

/* What is wanted on all nodes, as it can be migrated, is there on those with memory. */
static void nodes_everywhere(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	int id = ts->shrinker->id, nid;

	KUNIT_EXPECT_EQ(test,
			install_shrinker_unit(group->memcg, NUMA_NO_NODE, id, GFP_KERNEL), 0);
	for_each_node_state(nid, N_MEMORY)
		KUNIT_EXPECT_TRUE(test,
				  shrinker_unit_is_installed(group->memcg, nid, id));
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg), num_node_state(N_MEMORY));
}

/* Whoever has an object on a node has a unit there, and so have all above. */
static void nodes_on_demand(struct kunit *test)
{
	struct test_group *parent = test_group_new(test, test_group_top(test), "p");
	struct test_group *group = test_group_new(test, parent, "g");
	struct test_group *other = test_group_new(test, parent, "o");
	struct test_shrinker *ts = test_shrinker_new(test);
	int id = ts->shrinker->id, nid, nr = 0;
	struct list_head item;

	for_each_node_state(nid, N_MEMORY) {
		KUNIT_EXPECT_EQ(test,
				memcg_list_lru_alloc_node(group->memcg, &ts->lru, nid,
							  GFP_KERNEL), 0);
		nr++;
		KUNIT_EXPECT_TRUE(test,
				  shrinker_unit_is_installed(group->memcg, nid, id));
		KUNIT_EXPECT_TRUE(test,
				  shrinker_unit_is_installed(parent->memcg, nid, id));
		KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg), nr);
		KUNIT_EXPECT_EQ(test, shrinker_nr_units(parent->memcg), nr);
	}
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(other->memcg), 0);

	/* A parent that has the unit says nothing of another child. */
	nid = nodes_last();
	KUNIT_EXPECT_EQ(test,
			memcg_list_lru_alloc_node(other->memcg, &ts->lru, nid, GFP_KERNEL),
			0);
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(other->memcg), 1);

	/* Who inherits the object can have its bit set. */
	INIT_LIST_HEAD(&item);
	list_lru_add(&ts->lru, &item, nid, other->memcg);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(other), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(other));
	KUNIT_EXPECT_TRUE(test, shrinker_bit_is_set(parent->memcg, nid, id));
	list_lru_del(&ts->lru, &item, nid, parent->memcg);
}

/* A list without a unit, as that was refused, is not enough for the next one. */
static void nodes_refused(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	struct page_counter *memory = &group->memcg->memory;
	int nid = first_memory_node;

	KUNIT_ASSERT_EQ(test, page_counter_set_max(memory, page_counter_read(memory)), 0);
	KUNIT_EXPECT_EQ(test,
			memcg_list_lru_alloc_node(group->memcg, &ts->lru, nid,
						  GFP_NOWAIT | __GFP_NOWARN), -ENOMEM);
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg), 0);
	KUNIT_EXPECT_EQ(test, page_counter_set_max(memory, PAGE_COUNTER_MAX), 0);
	KUNIT_EXPECT_EQ(test,
			memcg_list_lru_alloc_node(group->memcg, &ts->lru, nid, GFP_KERNEL),
			0);
	KUNIT_EXPECT_TRUE(test,
			  shrinker_unit_is_installed(group->memcg, nid, ts->shrinker->id));
}

/* As the kernel's own objects, of which the node is known when they are there. */
static void nodes_of_slab(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct test_shrinker *ts = test_shrinker_new(test);
	struct list_head *items[8] = {};
	const struct cpumask *cpus;
	struct kmem_cache *cache;
	struct mem_cgroup *outer;
	nodemask_t used = {};
	int i, nid;

	cache = kmem_cache_create("mm_reclaim_test", sizeof(*items[0]), 0,
				  SLAB_ACCOUNT | SLAB_NO_MERGE, NULL);
	KUNIT_ASSERT_NOT_NULL(test, cache);
	outer = set_active_memcg(group->memcg);
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		/* Where it is allocated it is, as a rule. */
		cpus = cpumask_of_node(i % 2 ? nodes_last() : first_memory_node);
		if (!cpumask_empty(cpus))
			set_cpus_allowed_ptr(current, cpus);
		items[i] = kmem_cache_alloc_lru(cache, &ts->lru, GFP_KERNEL);
		if (!items[i])
			break;
		node_set(page_to_nid(virt_to_page(items[i])), used);
		INIT_LIST_HEAD(items[i]);
		list_lru_add_obj(&ts->lru, items[i]);
	}
	set_active_memcg(outer);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, i, ARRAY_SIZE(items));

	for_each_node_state(nid, N_MEMORY) {
		KUNIT_EXPECT_EQ(test, node_isset(nid, used),
				shrinker_unit_is_installed(group->memcg, nid,
							   ts->shrinker->id));
		KUNIT_EXPECT_EQ(test, node_isset(nid, used),
				shrinker_bit_is_set(group->memcg, nid, ts->shrinker->id));
	}
	KUNIT_EXPECT_EQ(test, shrinker_nr_units(group->memcg), nodes_weight(used));

	while (i--) {
		list_lru_del_obj(&ts->lru, items[i]);
		kmem_cache_free(cache, items[i]);
	}
	kmem_cache_destroy(cache);
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
					   struct mem_cgroup *memcg, int nid)
{
	struct shrinker *shrinker;

	shrinker = test_shrinker_without_list(test, SHRINKER_MEMCG_AWARE,
					      nodes_count, memcg, 0);
	KUNIT_ASSERT_EQ(test,
			install_shrinker_unit(memcg, nid, shrinker->id, GFP_KERNEL),
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
	shrinker = nodes_shrinker_new(test, memcg, last);
	KUNIT_EXPECT_FALSE(test,
			   shrinker_unit_is_installed(memcg, first, shrinker->id));

	nodes_leave_work(shrinker, last);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg),
			NODES_OBJECTS / 2);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg), 0);

	/* It stays where it is found when there is a unit on node 0, too. */
	nodes_leave_work(shrinker, last);
	KUNIT_EXPECT_EQ(test, shrinker_add_node(first), 0);
	KUNIT_EXPECT_EQ(test,
			install_shrinker_unit(memcg, first, shrinker->id, GFP_KERNEL), 0);
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

/* Where the group has no unit on the node that keeps it, the work goes further up. */
static void nodes_work_elsewhere(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct mem_cgroup *memcg = group->memcg;
	int home = shrinker_home_node(), nid;
	struct shrinker *shrinker;

	if (num_node_state(N_MEMORY) < 2)
		kunit_skip(test, "there is only one node with memory");

	nid = home == first_memory_node ? nodes_last() : first_memory_node;
	shrinker = nodes_shrinker_new(test, memcg, nid);
	KUNIT_EXPECT_FALSE(test, shrinker_unit_is_installed(memcg, home, shrinker->id));
	shrinker_take_deferred(0, shrinker, root_mem_cgroup);
	nodes_leave_work(shrinker, nid);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, memcg), 0);
	KUNIT_EXPECT_EQ(test, shrinker_take_deferred(0, shrinker, root_mem_cgroup),
			NODES_OBJECTS / 2);
}

/* A walk goes on with what others left over, and leaves that when there is nothing. */
static void nodes_work_kept(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct mem_cgroup *memcg = group->memcg;
	int nid = shrinker_home_node();
	struct shrinker *shrinker = nodes_shrinker_new(test, memcg, nid);

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
	KUNIT_CASE(nodes_on_demand),
	KUNIT_CASE(nodes_refused),
	KUNIT_CASE(nodes_of_slab),
	KUNIT_CASE(nodes_everywhere),
	KUNIT_CASE(nodes_added),
	KUNIT_CASE(nodes_stray_gets_unit),
	KUNIT_CASE(nodes_stray_ends),
	KUNIT_CASE(nodes_shared_work),
	KUNIT_CASE(nodes_work_elsewhere),
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
