// SPDX-License-Identifier: GPL-2.0
/*
 * The root memory cgroup: shrinkers that have ids are called for it where its
 * map says so, all others always.
 */
#include <linux/mm_reclaim.h>

#include "memcg_fixture.h"

/* How often a walk of the root calls the shrinker. */
static long root_walk(struct test_shrinker *ts, int nid)
{
	atomic_long_set(&ts->counted, 0);
	test_walk(root_mem_cgroup, nid);
	return atomic_long_read(&ts->counted);
}

/* A new shrinker may have anything, until it says that it has nothing. */
static void root_new_shrinker(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		KUNIT_EXPECT_TRUE(test,
				  shrinker_bit_is_set(root_mem_cgroup, nid,
						      ts->shrinker->id));
		KUNIT_EXPECT_GT(test, root_walk(ts, nid), 0);
		KUNIT_EXPECT_FALSE(test,
				   shrinker_bit_is_set(root_mem_cgroup, nid,
						       ts->shrinker->id));
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
	}
}

/* An object that is charged to nobody is the root's. */
static void root_object(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	struct mem_cgroup *owners[] = { NULL, root_mem_cgroup };
	int i, nid = first_memory_node;
	struct list_head item;

	for (i = 0; i < ARRAY_SIZE(owners); i++) {
		INIT_LIST_HEAD(&item);
		root_walk(ts, nid);
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);

		list_lru_add(&ts->lru, &item, nid, owners[i]);
		KUNIT_EXPECT_GT(test, root_walk(ts, nid), 0);
		KUNIT_EXPECT_TRUE(test, list_empty(&item));
		root_walk(ts, nid);
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
	}
}

/* Objects that are in no list are announced for all nodes at once. */
static void root_announced(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	int nid;

	for_each_node_state(nid, N_MEMORY)
		root_walk(ts, nid);
	ts->pretend = 1;
	for_each_node_state(nid, N_MEMORY)
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);

	set_shrinker_bits_root(ts->shrinker);
	for_each_node_state(nid, N_MEMORY) {
		KUNIT_EXPECT_GT(test, root_walk(ts, nid), 0);
		/* As long as there is something, the bit stays. */
		KUNIT_EXPECT_GT(test, root_walk(ts, nid), 0);
	}
	ts->pretend = 0;
	for_each_node_state(nid, N_MEMORY) {
		root_walk(ts, nid);
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
	}
}

/*
 * One that answers SHRINK_EMPTY for the root, although its objects set no bits,
 * breaks what include/linux/shrinker.h asks for. The oracle notices.
 */
static void root_unannounced(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	int nid = first_memory_node;

	if (!IS_ENABLED(CONFIG_MEMCG_SHRINKER_RUST_VERIFY))
		kunit_skip(test, "there is no oracle");

	root_walk(ts, nid);
	KUNIT_EXPECT_FALSE(test,
			   shrinker_bit_is_set(root_mem_cgroup, nid,
					       ts->shrinker->id));
	kunit_warning_suppress(test) {
		shrinker_verify(root_mem_cgroup, nid);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 0);

		ts->pretend = 1;
		KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
		shrinker_verify(root_mem_cgroup, nid);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);

		set_shrinker_bits_root(ts->shrinker);
		shrinker_verify(root_mem_cgroup, nid);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
		ts->pretend = 0;
	}
}

/* What the parent inherits when the parent is the root. */
static void root_inherits(struct kunit *test)
{
	struct test_shrinker *ts = test_shrinker_new(test);
	int nid = first_memory_node;
	struct test_group group;
	struct list_head item;
	int memcg_id;

	INIT_LIST_HEAD(&item);
	ts->keep = true;
	KUNIT_ASSERT_EQ(test,
			test_group_make(NULL, "mm_reclaim_heir", true, &group),
			0);
	KUNIT_ASSERT_EQ(test,
			test_list_lru_alloc(group.memcg, &ts->lru),
			0);
	/* It has none any more when it is offline. */
	memcg_id = mem_cgroup_private_id(group.memcg);
	list_lru_add(&ts->lru, &item, nid, group.memcg);
	root_walk(ts, nid);
	KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
	KUNIT_EXPECT_TRUE(test, shrinker_id_is_listed(memcg_id, nid));

	KUNIT_EXPECT_EQ(test, test_group_rmdir(&group), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&group));
	synchronize_rcu();
	rcu_barrier();
	KUNIT_EXPECT_FALSE(test, shrinker_id_is_listed(memcg_id, nid));
	KUNIT_EXPECT_GT(test, root_walk(ts, nid), 0);

	test_group_put(&group);

	list_lru_del(&ts->lru, &item, nid, root_mem_cgroup);
	root_walk(ts, nid);
	KUNIT_EXPECT_EQ(test, root_walk(ts, nid), 0);
}

static unsigned long root_count(struct shrinker *shrinker,
				struct shrink_control *sc)
{
	atomic_long_inc(shrinker->private_data);
	return SHRINK_EMPTY;
}

/* A shrinker that is not memcg-aware has no bit, and is called for the root only. */
static void root_without_id(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	int i, nid = first_memory_node;
	atomic_long_t *calls;

	calls = kunit_kzalloc(test, sizeof(*calls), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, calls);
	test_shrinker_without_list(test, SHRINKER_NUMA_AWARE, root_count, calls,
				   DEFAULT_SEEKS);

	for (i = 1; i <= 3; i++) {
		test_walk(root_mem_cgroup, nid);
		KUNIT_EXPECT_EQ(test, atomic_long_read(calls), i);
		test_walk(group->memcg, nid);
		KUNIT_EXPECT_EQ(test, atomic_long_read(calls), i);
	}
}

static struct kunit_case root_cases[] = {
	KUNIT_CASE(root_new_shrinker),
	KUNIT_CASE(root_object),
	KUNIT_CASE(root_announced),
	KUNIT_CASE(root_unannounced),
	KUNIT_CASE(root_inherits),
	KUNIT_CASE(root_without_id),
	{}
};

static struct kunit_suite root_suite = {
	.name = "mm_reclaim_root",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = root_cases,
};

kunit_test_suite(root_suite);
