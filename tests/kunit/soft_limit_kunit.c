// SPDX-License-Identifier: GPL-2.0
/*
 * Soft limits, against usage and limits that change and groups that go.
 *
 * Marks are compared with usage and limits, and counts with marks. Counts must
 * be exact whenever all is quiet; marks, once whoever changed something has
 * brought them up to date.
 */
#include <linux/delay.h>
#include <linux/mm_reclaim.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>
#include <linux/rcupdate.h>

#include "../../mm_reclaim_soft_limit.h"
#include "memcg_fixture.h"
#include "race.h"

/*
 * Groups are charged for what the kernel allocates for their children, and
 * some time later. Charge so much more that this never matters for a limit in
 * the middle between two multiples.
 */
#define UNIT		4096UL
#define ABOVE(units)	((units) * UNIT + UNIT / 2)

/* More than any walk of these trees can return. */
#define MAX_STEPS	10000

static void soft_limit_restore(void *data)
{
	WRITE_ONCE(memcg_soft_limit_enabled, (bool)(unsigned long)data);
}

static int soft_limit_init(struct kunit *test)
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

static unsigned long soft_limit_usage(struct mem_cgroup *memcg)
{
	return page_counter_read(&memcg->memory);
}

/* Whether the group should be marked. */
static bool soft_limit_exceeds(struct mem_cgroup *memcg)
{
	return soft_limit_usage(memcg) > mem_cgroup_excess_limit(memcg);
}

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

static void soft_group_charge(struct soft_group *sg, unsigned long nr)
{
	page_counter_charge(&sg->memcg->memory, nr);
	sg->charged += nr;
	mem_cgroup_update_excess(sg->memcg);
}

static void soft_group_uncharge(struct soft_group *sg)
{
	if (sg->charged)
		page_counter_uncharge(&sg->memcg->memory, sg->charged);
	sg->charged = 0;
	mem_cgroup_update_excess(sg->memcg);
}

static void soft_group_cleanup(void *data)
{
	struct soft_group *sg = data;

	soft_group_uncharge(sg);
	mem_cgroup_reset_excess_limit(sg->memcg);
}

static struct soft_group *soft_group_new(struct kunit *test,
					 struct soft_group *parent,
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
static void soft_limit_expect_none(struct kunit *test, long elsewhere)
{
	struct mem_cgroup *top = test_group_top(test)->memcg;

	KUNIT_EXPECT_FALSE(test, mem_cgroup_is_in_excess(top));
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(top), 0);
	KUNIT_EXPECT_EQ(test, mem_cgroup_nr_excess(root_mem_cgroup), elsewhere);
}

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
	KUNIT_EXPECT_TRUE(test, mem_cgroup_has_excess(a->memcg));

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
	unsigned int visited = 0;
	int i = root;

	while ((memcg = mem_cgroup_iter_excess(top, memcg,
					       shared ? &cookie : NULL))) {
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
					!!model);
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

	memcg = mem_cgroup_iter(top, NULL, &one);
	KUNIT_EXPECT_PTR_EQ(test, memcg, top);
	mem_cgroup_iter_break(top, memcg);

	soft_tree_mark(test, tree, 4, true);
	memcg = mem_cgroup_iter_excess(top, NULL, &two);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[4]->memcg);
	mem_cgroup_iter_break(top, memcg);

	memcg = mem_cgroup_iter(top, NULL, &one);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[1]->memcg);
	mem_cgroup_iter_break(top, memcg);

	/* The walk that was left goes on. */
	memcg = mem_cgroup_iter_excess(top, NULL, &two);
	KUNIT_EXPECT_PTR_EQ(test, memcg, tree->groups[5]->memcg);
	mem_cgroup_iter_break(top, memcg);

	soft_tree_mark(test, tree, 4, false);
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter_excess(top, NULL, &two));
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

	KUNIT_ASSERT_EQ(test, test_group_make(a->group, "gone", true, &gone), 0);
	page_counter_charge(&gone.memcg->memory, UNIT);
	KUNIT_EXPECT_EQ(test, mem_cgroup_set_excess_limit(gone.memcg, 0), 0);
	memcg = mem_cgroup_iter_excess(a->memcg, NULL, &cookie);
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
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter_excess(a->memcg, NULL, &cookie));
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

/* What C passes arrives, and is counted. */
static void soft_limit_in_vain(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(0, 0, DEF_PRIORITY,
							  false));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_in_vain(1, 0, DEF_PRIORITY,
							   false));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_in_vain(1, 0,
							   DEF_PRIORITY - 2,
							   false));
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(1, 0,
							  DEF_PRIORITY - 3,
							  false));
	KUNIT_EXPECT_FALSE(test, mem_cgroup_excess_in_vain(1, 1, 0, false));
	KUNIT_EXPECT_TRUE(test, mem_cgroup_excess_in_vain(1, 0, DEF_PRIORITY,
							  true));
}

/* Two threads change the same group once, at the same moment. */
#define NR_CROSSED	8

/* What the threads count. */
enum { LIMITS, CHARGES, MARKED, UNMARKED };

/**
 * struct soft_cross - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups
 * @charged: which of them each thread has charged
 * @marked: which of them were marked when the round began
 * @elsewhere: how many groups of others are in excess
 */
struct soft_cross {
	struct soft_group	*parent;
	struct soft_group	*groups[NR_CROSSED];
	bool			charged[RACE_MAX_THREADS][NR_CROSSED];
	bool			marked[NR_CROSSED];
	long			elsewhere;
};

static void soft_cross_change(struct race_thread *thread)
{
	struct soft_cross *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_CROSSED; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool *charged = &st->charged[thread->nr][i];

		race_jitter(thread);
		/* Mostly limits: a charge takes so long that it meets nothing. */
		if (race_random(thread, 4)) {
			mem_cgroup_set_excess_limit(memcg,
						    race_random(thread, 2) ?
						    ABOVE(0) : PAGE_COUNTER_MAX);
			thread->hits[LIMITS]++;
			continue;
		}
		if (*charged)
			page_counter_uncharge(&memcg->memory, UNIT);
		else
			page_counter_charge(&memcg->memory, UNIT);
		*charged = !*charged;
		mem_cgroup_update_excess(memcg);
		thread->hits[CHARGES]++;
	}
}

/*
 * Each thread has looked after its change: so the marks must be right without
 * anybody looking again.
 */
static void soft_cross_check(struct race *race)
{
	struct soft_cross *st = race->priv;
	struct race_thread *thread = &race->threads[0];
	struct mem_cgroup *top = test_group_top(race->test)->memcg;
	long nr = 0;
	int i;

	for (i = 0; i < NR_CROSSED; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool marked = mem_cgroup_is_in_excess(memcg);

		race_expect(race, marked == soft_limit_exceeds(memcg), i, marked);
		nr += marked;
		thread->hits[MARKED] += marked && !st->marked[i];
		thread->hits[UNMARKED] += !marked && st->marked[i];
		st->marked[i] = marked;
	}
	race_expect(race, mem_cgroup_nr_excess(st->parent->memcg) == nr,
		    mem_cgroup_nr_excess(st->parent->memcg), nr);
	race_expect(race, mem_cgroup_nr_excess(top) == nr,
		    mem_cgroup_nr_excess(top), nr);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == nr + st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), nr);
}

static void soft_limit_race_cross(struct kunit *test)
{
	struct soft_cross *st;
	struct race *race;
	char name[8];
	int i, k;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	for (i = 0; i < NR_CROSSED; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		st->groups[i] = soft_group_new(test, st->parent, name);
		/* In excess whenever there is a limit, for a start. */
		if (i % 2)
			soft_group_charge(st->groups[i], UNIT);
	}

	/*
	 * More than two could keep one busy for longer than it looks again, and
	 * then the mark may be wrong until somebody else looks.
	 */
	*race = (struct race) {
		.test = test,
		.roles = { soft_cross_change, soft_cross_change },
		.nr_roles = 2,
		.check = soft_cross_check,
		.counters = {
			[LIMITS] = "limits set",
			[CHARGES] = "charges",
			[MARKED] = "groups marked",
			[UNMARKED] = "groups unmarked",
		},
		.min_hits = { 20000, 10000, 5000, 5000 },
		.priv = st,
	};
	race_run(race);

	for (i = 0; i < NR_CROSSED; i++)
		for (k = 0; k < RACE_MAX_THREADS; k++)
			st->groups[i]->charged += st->charged[k][i] * UNIT;
	for (i = 0; i < NR_CROSSED; i++)
		soft_group_cleanup(st->groups[i]);
	soft_limit_expect_none(test, st->elsewhere);
}

/* Groups that go while their limits change: the mark may come too late. */
#define NR_CLOSED	24
#define NR_TOGGLES	200

/* What the threads count. */
enum { GONE, TOGGLES, LATE };

/**
 * struct soft_close - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups that go offline
 * @nr_groups: how many were made in this round
 * @nr_offline: how many of them are offline
 * @serial: to name groups
 * @elsewhere: how many groups of others are in excess
 */
struct soft_close {
	struct soft_group	*parent;
	struct test_group	groups[NR_CLOSED];
	int			nr_groups;
	int			nr_offline;
	unsigned int		serial;
	long			elsewhere;
};

/* Change the limit of the one that goes offline next, all the time. */
static void soft_close_toggle(struct race_thread *thread, int *next)
{
	struct soft_close *st = thread->race->priv;
	struct mem_cgroup *memcg;
	int i;

	for (i = 0; i < NR_TOGGLES; i++) {
		while (*next < st->nr_groups - 1 &&
		       !css_is_online(&st->groups[*next].memcg->css))
			++*next;
		memcg = st->groups[*next].memcg;
		thread->hits[LATE] += css_is_dying(&memcg->css);
		mem_cgroup_set_excess_limit(memcg, i % 2 ? 0 : PAGE_COUNTER_MAX);
		thread->hits[TOGGLES]++;
	}
}

static void soft_close_user(struct race_thread *thread)
{
	struct soft_close *st = thread->race->priv;
	unsigned int n = 0;
	int i, next = 0;

	do {
		soft_close_toggle(thread, &next);
		cond_resched();
		/* Grace periods are what everybody waits for. */
		if (++n % 64 == 0)
			usleep_range(10, 50);
	} while (READ_ONCE(st->nr_offline) < st->nr_groups &&
		 !race_failed(thread->race));

	/* In excess by what they use, and yet not to be marked. */
	for (i = 0; i < st->nr_groups; i++)
		mem_cgroup_set_excess_limit(st->groups[i].memcg, 0);
}

static void soft_close_remover(struct race_thread *thread)
{
	struct soft_close *st = thread->race->priv;
	int i;

	for (i = 0; i < st->nr_groups; i++)
		race_expect(thread->race, !test_group_rmdir(&st->groups[i]), i,
			    0);
	/* Now leave this CPU to those who take them offline. */
	for (i = 0; i < st->nr_groups; i++) {
		race_expect(thread->race,
			    test_group_wait_offline(&st->groups[i]), i, 0);
		WRITE_ONCE(st->nr_offline, i + 1);
		thread->hits[GONE]++;
	}
}

static void soft_close_prepare(struct race *race)
{
	struct soft_close *st = race->priv;
	char name[16];
	int i;

	st->nr_groups = 0;
	st->nr_offline = 0;
	for (i = 0; i < NR_CLOSED; i++) {
		snprintf(name, sizeof(name), "x%u", st->serial++);
		if (test_group_make(st->parent->group, name, true,
				    &st->groups[i])) {
			race_fail(race, "a new group", i, 0);
			return;
		}
		st->nr_groups++;
		page_counter_charge(&st->groups[i].memcg->memory, UNIT);
	}
}

static void soft_close_release(struct soft_close *st)
{
	int i;

	for (i = 0; i < NR_CLOSED; i++) {
		if (!st->groups[i].memcg)
			continue;
		page_counter_uncharge(&st->groups[i].memcg->memory, UNIT);
		test_group_rmdir(&st->groups[i]);
		test_group_put(&st->groups[i]);
	}
}

static void soft_close_check(struct race *race)
{
	struct soft_close *st = race->priv;
	struct mem_cgroup *parent = st->parent->memcg;
	int i;

	for (i = 0; i < st->nr_groups; i++)
		race_expect(race,
			    !mem_cgroup_is_in_excess(st->groups[i].memcg), i, 0);
	race_expect(race, !mem_cgroup_nr_excess(parent),
		    mem_cgroup_nr_excess(parent), 0);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), st->elsewhere);
	soft_close_release(st);
}

static void soft_close_cleanup(void *data)
{
	soft_close_release(data);
}

static void soft_limit_race_close(struct kunit *test)
{
	struct soft_close *st;
	struct race *race;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, soft_close_cleanup, st),
			0);

	*race = (struct race) {
		.test = test,
		.roles = {
			soft_close_remover, soft_close_user,
			soft_close_user, soft_close_user,
		},
		.nr_roles = 4,
		.prepare = soft_close_prepare,
		.check = soft_close_check,
		.counters = {
			[GONE] = "groups went offline",
			[TOGGLES] = "limits set",
			[LATE] = "of them of groups that were going",
		},
		.min_hits = { 200, 100000, 20000 },
		.priv = st,
	};
	race_run(race);
}

/*
 * The same with the function that closes a group, and a group that is opened
 * again: a hundred times as often, and both threads are there at the moment.
 */

#define NR_SHUT		32

/* How long a thread waits for another one, in turns of a loop. */
#define MAX_SPINS	20000

/* What the threads count. */
enum { SHUT, SHUT_MARKED, UPDATES };

/**
 * struct soft_shut - the state of a race
 * @parent: the parent of the groups
 * @groups: the groups; all of them use something
 * @arrived: how often a thread has arrived at a group, in this round
 * @elsewhere: how many groups of others are in excess
 */
struct soft_shut {
	struct soft_group	*parent;
	struct soft_group	*groups[NR_SHUT];
	atomic_t		arrived;
	long			elsewhere;
};

/* Wait until all threads are at the same group. */
static void soft_shut_meet(struct race_thread *thread, int i)
{
	struct soft_shut *st = thread->race->priv;
	int all = (i + 1) * thread->race->nr_threads;
	u32 delay = race_random(thread, 24);
	int spins = 0;

	atomic_inc(&st->arrived);
	while (atomic_read(&st->arrived) < all && spins++ < MAX_SPINS)
		cpu_relax();
	while (delay--)
		barrier();
}

static void soft_shut_closer(struct race_thread *thread)
{
	struct soft_shut *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_SHUT; i++) {
		soft_shut_meet(thread, i);
		mem_cgroup_close_excess(st->groups[i]->memcg);
		thread->hits[SHUT]++;
	}
}

static void soft_shut_user(struct race_thread *thread)
{
	struct soft_shut *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_SHUT; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool marked = mem_cgroup_is_in_excess(memcg);

		soft_shut_meet(thread, i);
		mem_cgroup_set_excess_limit(memcg, marked ? PAGE_COUNTER_MAX :
					    ABOVE(0));
		thread->hits[UPDATES]++;
	}
}

static void soft_shut_prepare(struct race *race)
{
	struct soft_shut *st = race->priv;
	struct race_thread *thread = &race->threads[0];
	int i;

	atomic_set(&st->arrived, 0);
	for (i = 0; i < NR_SHUT; i++) {
		struct mem_cgroup *memcg = st->groups[i]->memcg;
		bool mark = !race_random(thread, 4);

		memset(&memcg->excess, 0, sizeof(memcg->excess));
		mem_cgroup_set_excess_limit(memcg, mark ? ABOVE(0) :
					    PAGE_COUNTER_MAX);
		race_expect(race, mem_cgroup_is_in_excess(memcg) == mark, i,
			    mark);
		thread->hits[SHUT_MARKED] += mark;
	}
}

static void soft_shut_check(struct race *race)
{
	struct soft_shut *st = race->priv;
	struct mem_cgroup *parent = st->parent->memcg;
	int i;

	for (i = 0; i < NR_SHUT; i++)
		race_expect(race,
			    !mem_cgroup_is_in_excess(st->groups[i]->memcg), i, 0);
	race_expect(race, !mem_cgroup_nr_excess(parent),
		    mem_cgroup_nr_excess(parent), 0);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), st->elsewhere);
}

static void soft_limit_race_shut(struct kunit *test)
{
	struct soft_shut *st;
	struct race *race;
	char name[8];
	int i;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->parent = soft_group_new(test, NULL, "parent");
	for (i = 0; i < NR_SHUT; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		st->groups[i] = soft_group_new(test, st->parent, name);
		soft_group_charge(st->groups[i], UNIT);
	}

	*race = (struct race) {
		.test = test,
		.roles = { soft_shut_closer, soft_shut_user, soft_shut_user },
		.nr_roles = 3,
		.prepare = soft_shut_prepare,
		.check = soft_shut_check,
		.counters = {
			[SHUT] = "groups closed",
			[SHUT_MARKED] = "of them marked before",
			[UPDATES] = "limits set",
		},
		.min_hits = { 20000, 4000, 20000 },
		.priv = st,
	};
	race_run(race);
}

/* Everything at once. */
#define NR_INNER	2
#define NR_LEAVES	3
#define NR_GROUPS	(NR_INNER * (1 + NR_LEAVES))
#define NR_USES		100

/* What the threads count. */
enum {
	TREE_CHARGES, TREE_LIMITS, TREE_WALKS, TREE_VISITS, TREE_GONE, TREE_LATE
};

/**
 * struct soft_race - the state of a race
 * @top: the parent of the inner groups
 * @groups: each inner group, followed by its leaves
 * @charged: what each thread has charged to each of them, in pages
 * @serial: to name groups
 * @going: the group that goes offline in this round, always a leaf
 * @elsewhere: how many groups of others are in excess
 */
struct soft_race {
	struct test_group	*top;
	struct test_group	groups[NR_GROUPS];
	unsigned long		charged[RACE_MAX_THREADS][NR_GROUPS];
	unsigned int		serial;
	int			going;
	long			elsewhere;
};

static int soft_race_inner(int i)
{
	return i - i % (1 + NR_LEAVES);
}

static int soft_race_make(struct soft_race *st, int i)
{
	int inner = soft_race_inner(i);
	char name[16];

	snprintf(name, sizeof(name), "t%u", st->serial++);
	return test_group_make(i == inner ? st->top : &st->groups[inner], name,
			       i != inner, &st->groups[i]);
}

static void soft_race_uncharge(struct soft_race *st, int thread, int i)
{
	if (st->charged[thread][i])
		page_counter_uncharge(&st->groups[i].memcg->memory,
				      st->charged[thread][i]);
	st->charged[thread][i] = 0;
}

static void soft_race_walk(struct race_thread *thread, struct mem_cgroup *root,
			   struct mem_cgroup_reclaim_cookie *cookie)
{
	struct mem_cgroup *memcg = NULL;
	u32 leave = race_random(thread, 16);
	int steps = 0;

	while ((memcg = mem_cgroup_iter_excess(root, memcg, cookie))) {
		thread->hits[TREE_VISITS]++;
		/* It is referenced, so this must be safe. */
		if (!race_expect(thread->race,
				 mem_cgroup_is_descendant(memcg, root), 0, 0) ||
		    !race_expect(thread->race, steps < MAX_STEPS, steps, 0) ||
		    ++steps == leave) {
			mem_cgroup_iter_break(root, memcg);
			break;
		}
	}
	thread->hits[TREE_WALKS]++;
}

static void soft_race_use_one(struct race_thread *thread, int i)
{
	struct soft_race *st = thread->race->priv;
	struct mem_cgroup *memcg = st->groups[i].memcg;
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	unsigned long nr;

	thread->hits[TREE_LATE] += css_is_dying(&memcg->css);

	switch (race_random(thread, 8)) {
	case 0:
	case 1:
	case 2:
		if (st->charged[thread->nr][i]) {
			soft_race_uncharge(st, thread->nr, i);
		} else {
			nr = (1 + race_random(thread, 3)) * UNIT;
			page_counter_charge(&memcg->memory, nr);
			st->charged[thread->nr][i] = nr;
		}
		mem_cgroup_update_excess(memcg);
		thread->hits[TREE_CHARGES]++;
		break;
	case 3:
	case 4:
		/* What an inner group uses, its leaves use together. */
		nr = race_random(thread, i == soft_race_inner(i) ? 12 : 4);
		mem_cgroup_set_excess_limit(memcg, ABOVE(nr));
		thread->hits[TREE_LIMITS]++;
		break;
	case 5:
		mem_cgroup_reset_excess_limit(memcg);
		thread->hits[TREE_LIMITS]++;
		break;
	case 6:
		soft_race_walk(thread, st->top->memcg,
			       race_random(thread, 2) ? &cookie : NULL);
		break;
	case 7:
		soft_race_walk(thread, memcg,
			       race_random(thread, 2) ? &cookie : NULL);
		break;
	}
}

static void soft_race_use(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;
	int i;

	for (i = 0; i < NR_USES; i++) {
		soft_race_use_one(thread, race_random(thread, NR_GROUPS));
		soft_race_use_one(thread, st->going);
		race_jitter(thread);
	}
	cond_resched();
}

static void soft_race_user(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;
	unsigned int n = 0;

	do {
		soft_race_use(thread);
		if (++n % 16 == 0)
			usleep_range(10, 50);
	} while (css_is_online(&st->groups[st->going].memcg->css) &&
		 !race_failed(thread->race));

	/* And a little more, as some users are late. */
	soft_race_use(thread);
}

static void soft_race_remover(struct race_thread *thread)
{
	struct soft_race *st = thread->race->priv;

	soft_race_use(thread);
	race_expect(thread->race, !test_group_rmdir(&st->groups[st->going]),
		    st->going, 0);
	soft_race_use(thread);
	race_expect(thread->race,
		    test_group_wait_offline(&st->groups[st->going]),
		    st->going, 0);
	thread->hits[TREE_GONE]++;
	soft_race_use(thread);
}

static void soft_race_prepare(struct race *race)
{
	struct soft_race *st = race->priv;
	struct race_thread *thread = &race->threads[0];

	if (race->round && soft_race_make(st, st->going)) {
		race_fail(race, "a new group", st->going, 0);
		return;
	}
	st->going = race_random(thread, NR_INNER) * (1 + NR_LEAVES) + 1 +
		    race_random(thread, NR_LEAVES);
}

static bool soft_race_is_marked(struct soft_race *st, int i)
{
	return mem_cgroup_is_in_excess(st->groups[i].memcg);
}

static void soft_race_check_counts(struct race *race)
{
	struct soft_race *st = race->priv;
	long nr[NR_INNER] = {}, sum = 0;
	int i;

	for (i = 0; i < NR_GROUPS; i++) {
		int inner = soft_race_inner(i);

		sum += soft_race_is_marked(st, i);
		if (i != inner)
			nr[inner / (1 + NR_LEAVES)] += soft_race_is_marked(st, i);
	}
	for (i = 0; i < NR_GROUPS; i++) {
		long found = mem_cgroup_nr_excess(st->groups[i].memcg);

		if (i != soft_race_inner(i))
			race_expect(race, !found, i, found);
		else
			race_expect(race, found == nr[i / (1 + NR_LEAVES)], i,
				    found);
	}
	race_expect(race, !mem_cgroup_is_in_excess(st->top->memcg), 0, 0);
	race_expect(race, mem_cgroup_nr_excess(st->top->memcg) == sum,
		    mem_cgroup_nr_excess(st->top->memcg), sum);
	race_expect(race,
		    mem_cgroup_nr_excess(root_mem_cgroup) == sum + st->elsewhere,
		    mem_cgroup_nr_excess(root_mem_cgroup), sum);
}

static void soft_race_check_walk(struct race *race)
{
	struct soft_race *st = race->priv;
	struct mem_cgroup *memcg = NULL;
	unsigned int visited = 0;
	int i;

	while ((memcg = mem_cgroup_iter_excess(st->top->memcg, memcg, NULL)))
		for (i = 0; i < NR_GROUPS; i++)
			if (st->groups[i].memcg == memcg)
				visited |= BIT(i);

	for (i = 0; i < NR_GROUPS; i++) {
		bool taken_from = soft_race_is_marked(st, i) ||
				  soft_race_is_marked(st, soft_race_inner(i));

		/* It is in no walk any more. */
		if (i == st->going)
			continue;
		if (!taken_from)
			race_expect(race, !(visited & BIT(i)), i, visited);
		else if (soft_limit_usage(st->groups[i].memcg) >= UNIT)
			race_expect(race, visited & BIT(i), i, visited);
	}
}

static void soft_race_check(struct race *race)
{
	struct soft_race *st = race->priv;
	int i;

	soft_race_check_counts(race);

	/* Whoever was interrupted may have left a mark that is out of date. */
	for (i = 0; i < NR_GROUPS; i++)
		mem_cgroup_update_excess(st->groups[i].memcg);
	for (i = 0; i < NR_GROUPS; i++) {
		bool marked = soft_race_is_marked(st, i);
		bool exceeds = i != st->going &&
			       soft_limit_exceeds(st->groups[i].memcg);

		race_expect(race, marked == exceeds, i, marked);
	}
	soft_race_check_counts(race);
	soft_race_check_walk(race);

	for (i = 0; i < race->nr_threads; i++)
		soft_race_uncharge(st, i, st->going);
	mem_cgroup_update_excess(st->groups[st->going].memcg);
	test_group_put(&st->groups[st->going]);
}

/* Remove all, while they are in excess, and return how many stay counted. */
static long soft_race_dissolve(struct soft_race *st)
{
	long nr;
	int i, k;

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		if (!st->groups[i].memcg)
			continue;
		test_group_rmdir(&st->groups[i]);
		test_group_wait_offline(&st->groups[i]);
	}
	nr = mem_cgroup_nr_excess(st->top->memcg);

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		if (!st->groups[i].memcg)
			continue;
		for (k = 0; k < RACE_MAX_THREADS; k++)
			soft_race_uncharge(st, k, i);
		mem_cgroup_reset_excess_limit(st->groups[i].memcg);
		test_group_put(&st->groups[i]);
	}
	return nr;
}

static void soft_race_cleanup(void *data)
{
	soft_race_dissolve(data);
}

static void soft_limit_race(struct kunit *test)
{
	struct soft_race *st;
	struct race *race;
	int i;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	st->elsewhere = mem_cgroup_nr_excess(root_mem_cgroup);
	st->top = test_group_top(test);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, soft_race_cleanup, st),
			0);
	for (i = 0; i < NR_GROUPS; i++)
		KUNIT_ASSERT_EQ(test, soft_race_make(st, i), 0);

	*race = (struct race) {
		.test = test,
		.roles = {
			soft_race_remover, soft_race_user,
			soft_race_user, soft_race_user,
		},
		.nr_roles = 4,
		.prepare = soft_race_prepare,
		.check = soft_race_check,
		.counters = {
			[TREE_CHARGES] = "charges",
			[TREE_LIMITS] = "limits set",
			[TREE_WALKS] = "walks",
			[TREE_VISITS] = "groups visited",
			[TREE_GONE] = "groups went offline",
			[TREE_LATE] = "uses of groups that were going",
		},
		.min_hits = { 10000, 10000, 5000, 5000, 20, 5000 },
		.priv = st,
	};
	race_run(race);

	KUNIT_EXPECT_EQ(test, soft_race_dissolve(st), 0);
	soft_limit_expect_none(test, st->elsewhere);
}

static struct kunit_case soft_limit_cases[] = {
	KUNIT_CASE(soft_limit_knob),
	KUNIT_CASE(soft_limit_root),
	KUNIT_CASE(soft_limit_counts),
	KUNIT_CASE(soft_limit_parent),
	KUNIT_CASE(soft_limit_walk),
	KUNIT_CASE(soft_limit_walk_uncharged),
	KUNIT_CASE(soft_limit_walk_shared),
	KUNIT_CASE(soft_limit_walk_group_goes),
	KUNIT_CASE(soft_limit_rmdir),
	KUNIT_CASE(soft_limit_in_vain),
	KUNIT_CASE_SLOW(soft_limit_race_cross),
	KUNIT_CASE_SLOW(soft_limit_race_close),
	KUNIT_CASE_SLOW(soft_limit_race_shut),
	KUNIT_CASE_SLOW(soft_limit_race),
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
