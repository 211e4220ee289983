// SPDX-License-Identifier: GPL-2.0
/*
 * Soft limits: the knobs, who is in excess, and who reclaim visits first.
 */
#include <linux/mm_reclaim.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>
#include <linux/rcupdate.h>

#include "soft_limit_fixture.h"

/* Nothing is in force unless it was asked for. */
static void soft_limit_knob(struct kunit *test)
{
	struct soft_group *a = soft_group_new(test, NULL, "a");

	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(a->memcg),
			(unsigned long)PAGE_COUNTER_MAX);
	soft_group_charge(a, UNIT);

	WRITE_ONCE(memcg_soft_limit_enabled, false);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(a->memcg, 5),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(a->memcg),
			(unsigned long)PAGE_COUNTER_MAX);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(root_mem_cgroup, 5),
			-EOPNOTSUPP);

	/* Nor was it kept for later. */
	WRITE_ONCE(memcg_soft_limit_enabled, true);
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(a->memcg),
			(unsigned long)PAGE_COUNTER_MAX);
	mem_cgroup_update_excess(a->memcg);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(a->memcg));

	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(a->memcg, 5), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(a->memcg), 5UL);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(a->memcg));
	KUNIT_EXPECT_TRUE(test, mem_cgroup_has_excess(NULL));
	/* All below it have the same rank, it being in excess itself. */
	KUNIT_EXPECT_FALSE(test, mem_cgroup_has_excess(a->memcg));

	WRITE_ONCE(memcg_soft_limit_enabled, false);
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(a->memcg),
			(unsigned long)PAGE_COUNTER_MAX);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_has_excess(a->memcg));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_has_excess(NULL));

	/* Charging looks at usage only if limits are in force. */
	page_counter_uncharge(&a->memcg->memory, a->charged);
	a->charged = 0;
	mem_cgroup_check_excess(a->memcg);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(a->memcg));
	WRITE_ONCE(memcg_soft_limit_enabled, true);
	mem_cgroup_check_excess(a->memcg);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(a->memcg));
}

static void soft_limit_root(struct kunit *test)
{
	unsigned long limit = mem_cgroup_excess_limit(root_mem_cgroup);

	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(root_mem_cgroup, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(root_mem_cgroup), limit);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(root_mem_cgroup));
}

/* Each ancestor counts what is marked below it, and nobody else does. */
static void soft_limit_counts(struct kunit *test)
{
	long elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	struct soft_group *a = soft_group_new(test, NULL, "a");
	struct soft_group *aa = soft_group_new(test, a, "aa");
	struct soft_group *aaa = soft_group_new(test, aa, "aaa");
	struct soft_group *b = soft_group_new(test, NULL, "b");
	struct mem_cgroup *top = test_group_top(test)->memcg;

	/* As much as the limit is not more than it. */
	soft_group_charge(aaa, UNIT);
	KUNIT_EXPECT_EQ(test,
			mem_cgroup_set_excess_limit(aaa->memcg,
						    soft_limit_usage(aaa->memcg)),
			0);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aaa->memcg));
	soft_limit_expect_none(test, elsewhere);

	soft_group_charge(aaa, 1);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(aaa->memcg));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aa->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(aaa->memcg), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(aa->memcg), 1);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 1);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(b->memcg), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(top), 1);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup),
			elsewhere + 1);

	/* Once, however often one looks. */
	mem_cgroup_update_excess(aaa->memcg);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 1);

	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(a->memcg, 0), 0);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(a->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 1);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(top), 2);

	mem_cgroup_reset_excess_limit(aaa->memcg);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aaa->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_excess_limit(aaa->memcg),
			(unsigned long)PAGE_COUNTER_MAX);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(aa->memcg), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(top), 1);

	/* Also while limits are not in force. */
	WRITE_ONCE(memcg_soft_limit_enabled, false);
	mem_cgroup_reset_excess_limit(a->memcg);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(a->memcg));
	soft_limit_expect_none(test, elsewhere);
}

/* What is charged to a child may put its ancestors in excess, and only them. */
static void soft_limit_parent(struct kunit *test)
{
	long elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	struct soft_group *a = soft_group_new(test, NULL, "a");
	struct soft_group *aa = soft_group_new(test, a, "aa");
	struct soft_group *aaa = soft_group_new(test, aa, "aaa");

	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(a->memcg, ABOVE(1)), 0);
	soft_group_charge(aaa, UNIT);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(a->memcg));

	soft_group_charge(aaa, UNIT);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(a->memcg));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aa->memcg));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aaa->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup),
			elsewhere + 1);

	soft_group_uncharge(aaa);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(a->memcg));
	soft_limit_expect_none(test, elsewhere);
}

/*
 * The tree of the walks:
 *
 *	0 -+- 1 -+- 2
 *	   |     `- 3
 *	   `- 4 --- 5
 */
#define NR_NODES	6

static const int soft_tree_parent[NR_NODES] = { -1, 0, 1, 1, 0, 4 };

struct soft_tree {
	struct soft_group	*groups[NR_NODES];
};

static struct soft_tree *soft_tree_new(struct kunit *test)
{
	struct soft_tree *tree;
	char name[8];
	int i;

	tree = kunit_kzalloc(test, sizeof(*tree), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tree);
	for (i = 0; i < NR_NODES; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		tree->groups[i] =
			soft_group_new(test, i ? tree->groups[soft_tree_parent[i]] :
				       NULL, name);
		soft_group_charge(tree->groups[i], UNIT);
	}

	return tree;
}

static void soft_tree_mark(struct kunit *test, struct soft_tree *tree, int i,
			   bool mark)
{
	KUNIT_EXPECT_EQ(test,
			mem_cgroup_set_excess_limit(tree->groups[i]->memcg,
						    mark ? 0 : PAGE_COUNTER_MAX),
			0);
}

/* Whether @i is @root or below. */
static bool soft_tree_is_below(int i, int root)
{
	while (i > root)
		i = soft_tree_parent[i];
	return i == root;
}

/* Which groups a walk from @root must return: those in excess, and below. */
static unsigned int soft_tree_model(unsigned int marks, int root)
{
	unsigned int model = 0;
	int i;

	for (i = root; i < NR_NODES; i++) {
		if (!soft_tree_is_below(i, root))
			continue;
		if (marks & BIT(i) ||
		    (i > root && model & BIT(soft_tree_parent[i])))
			model |= BIT(i);
	}

	return model;
}

/* Walk once, and return which groups were visited; ~0 if out of order. */
static unsigned int soft_tree_walk(struct soft_tree *tree, int root,
				   bool shared)
{
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup *top = tree->groups[root]->memcg, *memcg = NULL;
	unsigned int visited = 0, walked = 0;
	int i = root;

	while ((memcg = mem_cgroup_iter_excess(top, memcg,
					       shared ? &cookie : NULL,
					       &walked))) {
		while (i < NR_NODES && tree->groups[i]->memcg != memcg)
			i++;
		if (i == NR_NODES) {
			mem_cgroup_iter_break(top, memcg);
			return ~0U;
		}
		visited |= BIT(i++);
	}

	return visited;
}

static void soft_limit_walk(struct kunit *test)
{
	struct soft_tree *tree = soft_tree_new(test);
	unsigned int marks, model;
	int root, i, nr;

	/* The first combination refuses all: that must end, too. */
	for (marks = 0; marks < BIT(NR_NODES); marks++) {
		for (i = 0; i < NR_NODES; i++)
			soft_tree_mark(test, tree, i, marks & BIT(i));

		for (root = 0; root < NR_NODES; root++) {
			for (i = root + 1, nr = 0; i < NR_NODES; i++)
				nr += marks & BIT(i) && soft_tree_is_below(i, root);
			KUNIT_EXPECT_EQ(test,
					mem_cgroup_nr_excess(tree->groups[root]->memcg),
					nr);

			model = soft_tree_model(marks, root);
			KUNIT_EXPECT_EQ(test,
					mem_cgroup_has_excess(tree->groups[root]->memcg),
					nr && !(marks & BIT(root)));
			KUNIT_EXPECT_EQ_MSG(test,
					    soft_tree_walk(tree, root, false),
					    model, "marks %x, root %d", marks,
					    root);
			/* The second round begins where the first one did. */
			for (i = 0; i < 2; i++)
				KUNIT_EXPECT_EQ_MSG(test,
						    soft_tree_walk(tree, root, true),
						    model,
						    "marks %x, root %d, shared",
						    marks, root);
		}
	}
}

/* A second pass leaves out those that the first one visits, and nobody else. */
static void soft_limit_pass_skips(struct kunit *test)
{
	struct soft_tree *tree = soft_tree_new(test);
	unsigned int marks, model;
	struct mem_cgroup *top, *memcg;
	int root, i;

	for (marks = 0; marks < BIT(NR_NODES); marks++) {
		for (i = 0; i < NR_NODES; i++)
			soft_tree_mark(test, tree, i, marks & BIT(i));

		for (root = 0; root < NR_NODES; root++) {
			top = tree->groups[root]->memcg;
			model = soft_tree_model(marks, root);
			for (i = root; i < NR_NODES; i++) {
				if (!soft_tree_is_below(i, root))
					continue;
				memcg = tree->groups[i]->memcg;
				KUNIT_EXPECT_EQ_MSG(test,
						    mem_cgroup_pass_skips(MEM_CGROUP_PASS_OTHERS,
									  top, memcg),
						    !!(model & BIT(i)),
						    "marks %x, root %d, group %d",
						    marks, root, i);
				KUNIT_EXPECT_FALSE(test,
						   mem_cgroup_pass_skips(MEM_CGROUP_PASS_ALL,
									 top, memcg));
			}
		}
		for (i = 0, model = soft_tree_model(marks, 0); i < NR_NODES; i++)
			KUNIT_EXPECT_EQ(test,
					mem_cgroup_pass_skips(MEM_CGROUP_PASS_OTHERS, NULL,
							      tree->groups[i]->memcg),
					!!(model & BIT(i)));
	}
}

/* A group from which nothing can be taken is not visited. */
static void soft_limit_walk_uncharged(struct kunit *test)
{
	struct soft_tree *tree = soft_tree_new(test);

	soft_tree_mark(test, tree, 1, true);
	soft_group_uncharge(tree->groups[3]);
	KUNIT_ASSERT_EQ(test, soft_limit_usage(tree->groups[3]->memcg), 0UL);
	KUNIT_EXPECT_EQ(test, soft_tree_walk(tree, 0, false), BIT(1) | BIT(2));
}

/* The position is that of no other walk, and not kept when all are refused. */
static void soft_limit_walk_shared(struct kunit *test)
{
	struct soft_tree *tree = soft_tree_new(test);
	struct mem_cgroup *top = tree->groups[0]->memcg;
	struct mem_cgroup_reclaim_cookie one = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup_reclaim_cookie two = one;
	struct mem_cgroup *memcg;
	unsigned int walked = 0;

	memcg = mem_cgroup_iter(top, NULL, &one);
	KUNIT_EXPECT_PTR_EQ(test, memcg, top);
	mem_cgroup_iter_break(top, memcg);

	soft_tree_mark(test, tree, 4, true);
	memcg = mem_cgroup_iter_excess(top, NULL, &two, &walked);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[4]->memcg);
	mem_cgroup_iter_break(top, memcg);

	memcg = mem_cgroup_iter(top, NULL, &one);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[1]->memcg);
	mem_cgroup_iter_break(top, memcg);

	/* The walk that was left goes on. */
	memcg = mem_cgroup_iter_excess(top, NULL, &two, &walked);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[5]->memcg);
	mem_cgroup_iter_break(top, memcg);

	soft_tree_mark(test, tree, 4, false);
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter_excess(top, NULL, &two, &walked));
}

/*
 * Take one step of the walk of all that reclaimers of a node share. A walker that
 * arrives at the end begins the next round.
 */
static struct mem_cgroup *soft_limit_join_all(struct kunit *test)
{
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup *memcg;
	unsigned int walked = 0;

	memcg = mem_cgroup_iter_excess(NULL, NULL, &cookie, &walked);
	mem_cgroup_iter_break(NULL, memcg);
	/* This is for walks that are not shared. */
	KUNIT_EXPECT_EQ(test, walked, 0U);

	return memcg;
}

/*
 * A walker that joins goes on below the top that the others reached, though that
 * one has lost its mark, and then to the next top by id, not by the hierarchy.
 */
static void soft_limit_walk_all_shared(struct kunit *test)
{
	struct soft_group *a, *b, *aa, *ba;

	KUNIT_ASSERT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup), 0);
	a = soft_group_new(test, NULL, "a");
	b = soft_group_new(test, NULL, "b");
	aa = soft_group_new(test, a, "aa");
	ba = soft_group_new(test, b, "ba");
	/* In the hierarchy, aa comes before b. */
	KUNIT_ASSERT_LT(test, mem_cgroup_private_id(b->memcg),
			mem_cgroup_private_id(aa->memcg));
	KUNIT_ASSERT_LT(test, mem_cgroup_private_id(aa->memcg),
			mem_cgroup_private_id(ba->memcg));

	soft_group_charge(aa, UNIT);
	soft_group_charge(ba, UNIT);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(aa->memcg, 0), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(ba->memcg, 0), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(b->memcg, 0), 0);

	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), b->memcg);
	mem_cgroup_reset_excess_limit(b->memcg);
	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), ba->memcg);
	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), aa->memcg);

	/* The next round has two tops. */
	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), aa->memcg);
	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), ba->memcg);
	KUNIT_EXPECT_PTR_EQ(test, soft_limit_join_all(test), aa->memcg);
}

/* Where a shared walk stands is not a reference. */
static void soft_limit_walk_group_goes(struct kunit *test)
{
	struct soft_group *a = soft_group_new(test, NULL, "a");
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup_per_node *pn = a->memcg->nodeinfo[first_online_node];
	struct mem_cgroup *memcg;
	struct test_group gone;
	unsigned int walked = 0;

	KUNIT_ASSERT_EQ(test, test_group_make(a->group, "gone", true, &gone), 0);
	page_counter_charge(&gone.memcg->memory, UNIT);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(gone.memcg, 0), 0);
	memcg = mem_cgroup_iter_excess(a->memcg, NULL, &cookie, &walked);
	KUNIT_EXPECT_PTR_EQ(test, memcg, gone.memcg);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(pn->excess_iter.position), memcg);
	mem_cgroup_iter_break(a->memcg, memcg);

	page_counter_uncharge(&gone.memcg->memory, UNIT);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&gone), 0);
	test_group_put(&gone);
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(a->group));
	rcu_barrier();

	/* To walk on from there would be fatal. */
	KUNIT_ASSERT_NULL(test, READ_ONCE(pn->excess_iter.position));
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter_excess(a->memcg, NULL, &cookie, &walked));
}

/* A group that goes is counted no more, and never again. */
static void soft_limit_rmdir(struct kunit *test)
{
	long elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	struct soft_group *a = soft_group_new(test, NULL, "a");
	struct soft_group *aa = soft_group_new(test, a, "aa");

	soft_group_charge(aa, 2 * UNIT);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(aa->memcg, UNIT), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 1);

	KUNIT_EXPECT_EQ(test, test_group_rmdir(aa->group), 0);
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(aa->group));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aa->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 0);
	soft_limit_expect_none(test, elsewhere);

	/* What is left in it puts its parent in excess still, but not itself. */
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(a->memcg, ABOVE(2)), 0);
	soft_group_charge(aa, UNIT);
	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(aa->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(a->memcg), 0);
	KUNIT_EXPECT_TRUE(test, mem_cgroup_is_in_excess(a->memcg));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup),
			elsewhere + 1);

	soft_group_uncharge(aa);
	soft_limit_expect_none(test, elsewhere);
}

/* What C passes arrives. */
static void soft_limit_in_vain(struct kunit *test)
{
	const struct mem_cgroup_excess_pass enough = {
		.scanned = 64,
		.reclaimed = 16,
		.wanted = 32,
		.priority = 1,
	};
	struct mem_cgroup_excess_pass pass = enough;

	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_in_vain(&pass));

	pass.scanned = 128;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(&pass));
	pass = enough;
	pass.reclaimed = 15;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(&pass));
	pass = enough;
	pass.wanted = 34;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(&pass));
	pass = enough;
	pass.priority = 0;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(&pass));

	pass = enough;
	pass.reclaimed = 0;
	pass.priority = DEF_PRIORITY;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(&pass));
	pass.waiting = 16;
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_in_vain(&pass));
}

/* What C passes arrives. */
static void soft_limit_has_more(struct kunit *test)
{
	struct mem_cgroup_excess_pass pass = {
		.scanned = 64,
		.reclaimed = 9,
		.wanted = 1 << DEF_PRIORITY,
		.size = 1 << DEF_PRIORITY,
		.priority = 2,
	};

	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_has_more(&pass));
	pass.priority = 1;
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_has_more(&pass));
	pass.priority = 2;
	pass.reclaimed = 8;
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_has_more(&pass));

	pass.priority = DEF_PRIORITY;
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_has_more(&pass));
	pass.waiting = 1;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_has_more(&pass));
	pass.waiting = 0;
	pass.scanned = 31;
	pass.reclaimed = 0;
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_has_more(&pass));
	pass.size--;
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_has_more(&pass));
}

static struct kunit_case soft_limit_cases[] = {
	KUNIT_CASE(soft_limit_knob),
	KUNIT_CASE(soft_limit_root),
	KUNIT_CASE(soft_limit_counts),
	KUNIT_CASE(soft_limit_parent),
	KUNIT_CASE(soft_limit_walk),
	KUNIT_CASE(soft_limit_pass_skips),
	KUNIT_CASE(soft_limit_walk_uncharged),
	KUNIT_CASE(soft_limit_walk_shared),
	KUNIT_CASE(soft_limit_walk_all_shared),
	KUNIT_CASE(soft_limit_walk_group_goes),
	KUNIT_CASE(soft_limit_rmdir),
	KUNIT_CASE(soft_limit_in_vain),
	KUNIT_CASE(soft_limit_has_more),
	{}
};

static struct kunit_suite soft_limit_suite = {
	.name = "mm_reclaim_soft_limit",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = soft_limit_init,
	.test_cases = soft_limit_cases,
};

kunit_test_suite(soft_limit_suite);
