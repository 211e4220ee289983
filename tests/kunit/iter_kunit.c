// SPDX-License-Identifier: GPL-2.0
/*
 * Iterating over groups, alone and with a shared cookie, while groups come and
 * go.
 */
#include <linux/mm_reclaim.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>

#include "../../mm_reclaim_priority.h"
#include "memcg_fixture.h"
#include "race.h"

/* More than any walk of these trees can return. */
#define MAX_STEPS	100000

/*
 * The static tree:
 *
 *	0 -+- 1 -+- 2
 *	   |     `- 3
 *	   `- 4 --- 5
 */
#define NR_NODES	6

static const int iter_parent[NR_NODES] = { -1, 0, 1, 1, 0, 4 };

/**
 * struct iter_tree - a tree whose groups do not change
 * @groups: the groups, in the order of a walk
 * @verdict: what the filter answers for each of them
 * @asked: how often the filter was asked for each of them
 * @strange: the filter was asked for a group that is not in the tree
 */
struct iter_tree {
	struct test_group	*groups[NR_NODES];
	int			verdict[NR_NODES];
	int			asked[NR_NODES];
	int			strange;
};

static int iter_find(struct iter_tree *tree, struct mem_cgroup *memcg)
{
	int i;

	for (i = 0; i < NR_NODES; i++)
		if (tree->groups[i]->memcg == memcg)
			return i;

	return -1;
}

static int iter_filter(struct mem_cgroup *memcg, void *arg)
{
	struct iter_tree *tree = arg;
	int i = iter_find(tree, memcg);

	if (i < 0) {
		tree->strange++;
		return MEM_CGROUP_SKIP_TREE;
	}

	tree->asked[i]++;
	return tree->verdict[i];
}

static struct iter_tree *iter_tree_new(struct kunit *test)
{
	struct iter_tree *tree;
	char name[8];
	int i;

	tree = kunit_kzalloc(test, sizeof(*tree), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tree);
	for (i = 0; i < NR_NODES; i++) {
		struct test_group *parent;

		parent = i ? tree->groups[iter_parent[i]] : test_group_top(test);
		snprintf(name, sizeof(name), "g%d", i);
		tree->groups[i] = test_group_new(test, parent, name);
	}

	return tree;
}

/* What a walk from @root must return, the obvious way. */
static void iter_model(const int *verdict, int at, int root, int *seq, int *len)
{
	int i;

	if (verdict[at] == MEM_CGROUP_VISIT)
		seq[(*len)++] = at;
	if (verdict[at] == MEM_CGROUP_SKIP_TREE)
		return;
	for (i = 0; i < NR_NODES; i++)
		if (iter_parent[i] == at)
			iter_model(verdict, i, root, seq, len);
}

static struct mem_cgroup *iter_next(struct iter_tree *tree, int root,
				    struct mem_cgroup *prev,
				    struct mem_cgroup_reclaim_cookie *cookie)
{
	return mem_cgroup_iter_cond(tree->groups[root]->memcg, prev, cookie,
				    iter_filter, tree);
}

/* Walk once, and compare; true if equal. */
static bool iter_walk_is(struct iter_tree *tree, int root, const int *seq,
			 int len, bool shared)
{
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup *memcg = NULL;
	int n = 0;

	while ((memcg = iter_next(tree, root, memcg, shared ? &cookie : NULL))) {
		if (n == len || iter_find(tree, memcg) != seq[n]) {
			mem_cgroup_iter_break(tree->groups[root]->memcg, memcg);
			return false;
		}
		n++;
	}

	return n == len;
}

static void iter_cond_all_verdicts(struct kunit *test)
{
	struct iter_tree *tree = iter_tree_new(test);
	int combination, combinations = 1, root, i, rest;

	for (i = 0; i < NR_NODES; i++)
		combinations *= 3;

	for (combination = 0; combination < combinations; combination++) {
		for (i = 0, rest = combination; i < NR_NODES; i++, rest /= 3)
			tree->verdict[i] = rest % 3;

		for (root = 0; root < NR_NODES; root++) {
			int seq[NR_NODES], len = 0;

			iter_model(tree->verdict, root, root, seq, &len);
			memset(tree->asked, 0, sizeof(tree->asked));
			KUNIT_EXPECT_TRUE_MSG(test,
					      iter_walk_is(tree, root, seq, len,
							   false),
					      "verdicts %d, root %d",
					      combination, root);
			/* Nobody is asked twice in one walk. */
			for (i = 0; i < NR_NODES; i++)
				KUNIT_EXPECT_LE(test, tree->asked[i], 1);

			KUNIT_EXPECT_TRUE_MSG(test,
					      iter_walk_is(tree, root, seq, len,
							   true),
					      "verdicts %d, root %d, shared",
					      combination, root);
			/* The second round begins where the first one did. */
			KUNIT_EXPECT_TRUE_MSG(test,
					      iter_walk_is(tree, root, seq, len,
							   true),
					      "verdicts %d, root %d, again",
					      combination, root);
		}
	}
	KUNIT_EXPECT_EQ(test, tree->strange, 0);
}

/* Leave a walk early: no reference stays, and the next one begins anew. */
static void iter_cond_break(struct kunit *test)
{
	struct iter_tree *tree = iter_tree_new(test);
	struct mem_cgroup *memcg;
	int stop, n;

	for (stop = 1; stop <= NR_NODES; stop++) {
		memcg = NULL;
		for (n = 0; n < stop; n++) {
			memcg = iter_next(tree, 0, memcg, NULL);
			KUNIT_EXPECT_EQ(test, iter_find(tree, memcg), n);
		}
		mem_cgroup_iter_break(tree->groups[0]->memcg, memcg);
	}
}

/* With a cookie, whoever comes next goes on where the last one stopped. */
static void iter_cookie_is_shared(struct kunit *test)
{
	struct iter_tree *tree = iter_tree_new(test);
	struct mem_cgroup *root = tree->groups[0]->memcg;
	struct mem_cgroup_reclaim_cookie one = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup_reclaim_cookie two = one;
	struct mem_cgroup *a = NULL, *b = NULL;
	int i;

	for (i = 0; i < NR_NODES; i++) {
		if (i % 2)
			b = mem_cgroup_iter(root, b, &two);
		else
			a = mem_cgroup_iter(root, a, &one);
		KUNIT_EXPECT_EQ(test, iter_find(tree, i % 2 ? b : a), i);
	}

	/* One of them ends the round, and so both are done. */
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter(root, a, &one));
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter(root, b, &two));

	/* A round begins where the root is. */
	a = mem_cgroup_iter(root, NULL, &one);
	KUNIT_EXPECT_EQ(test, iter_find(tree, a), 0);
	mem_cgroup_iter_break(root, a);

	/* Broken off: the next one still gets the rest. */
	b = NULL;
	for (i = 1; i < NR_NODES; i++) {
		b = mem_cgroup_iter(root, b, &two);
		KUNIT_EXPECT_EQ(test, iter_find(tree, b), i);
	}
	mem_cgroup_iter_break(root, b);

	/* Who comes when no group is left gets a whole round nevertheless. */
	a = NULL;
	for (i = 0; i < NR_NODES; i++) {
		a = mem_cgroup_iter(root, a, &one);
		KUNIT_EXPECT_EQ(test, iter_find(tree, a), i);
	}
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter(root, a, &one));
}

/*
 * Where a shared walk stands is not a reference: the group may go, and then
 * the walk begins anew.
 */
static void iter_cookie_group_goes(struct kunit *test)
{
	struct iter_tree *tree = iter_tree_new(test);
	struct mem_cgroup *root = tree->groups[0]->memcg;
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup *memcg = NULL;
	struct test_group gone;
	int i;

	KUNIT_ASSERT_EQ(test,
			test_group_make(tree->groups[0], "gone", true, &gone),
			0);
	for (i = 0; i < NR_NODES + 1; i++)
		memcg = mem_cgroup_iter(root, memcg, &cookie);
	KUNIT_EXPECT_PTR_EQ(test, memcg, gone.memcg);
	mem_cgroup_iter_break(root, memcg);

	KUNIT_EXPECT_EQ(test, test_group_rmdir(&gone), 0);
	test_group_put(&gone);
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(tree->groups[0]));
	rcu_barrier();

	memcg = NULL;
	for (i = 0; i < NR_NODES; i++) {
		memcg = mem_cgroup_iter(root, memcg, &cookie);
		KUNIT_EXPECT_EQ(test, iter_find(tree, memcg), i);
	}
	KUNIT_EXPECT_NULL(test, mem_cgroup_iter(root, memcg, &cookie));
}

/* A group with something charged, so that a walk visits it */
static struct test_group *iter_group_charged(struct kunit *test, struct test_group *parent,
					     const char *name)
{
	struct test_group *group = test_group_new(test, parent, name);

	page_counter_charge(&group->memcg->memory, 1);
	return group;
}

/* Walk on until @memcg, or to the end. */
static struct mem_cgroup *iter_charged_until(struct mem_cgroup *memcg,
					     struct mem_cgroup_reclaim_cookie *cookie)
{
	struct mem_cgroup *found = NULL;

	do {
		found = mem_cgroup_iter_charged(NULL, found, cookie);
	} while (found && found != memcg);

	return found;
}

/* Walks with other priorities don't move that of one, and nor do those without. */
static void iter_cookie_by_priority(struct kunit *test)
{
	struct mem_cgroup_reclaim_cookie plain = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup_reclaim_cookie four = plain, twelve = plain;
	struct mem_cgroup_reclaim_cookie elsewhere = plain;
	struct test_group *top = test_group_top(test);
	struct test_group *a, *b;
	struct mem_cgroup *memcg;
	int other = next_online_node(first_online_node);

	four.iter = memcg_priority_iter(first_online_node, 4);
	twelve.iter = memcg_priority_iter(first_online_node, DEF_PRIORITY);
	if (other < MAX_NUMNODES) {
		elsewhere.pgdat = NODE_DATA(other);
		elsewhere.iter = memcg_priority_iter(other, 4);
	}
	KUNIT_ASSERT_NOT_NULL(test, four.iter);
	KUNIT_ASSERT_PTR_NE(test, four.iter, twelve.iter);
	KUNIT_ASSERT_PTR_NE(test, four.iter, elsewhere.iter);
	a = iter_group_charged(test, top, "a");
	b = iter_group_charged(test, top, "b");

	/* From wherever they are, to their ends. */
	KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &four));
	KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &twelve));

	memcg = iter_charged_until(a->memcg, &four);
	KUNIT_EXPECT_PTR_EQ(test, memcg, a->memcg);
	mem_cgroup_iter_break(NULL, memcg);
	KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &twelve));
	KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &plain));
	if (elsewhere.iter)
		KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &elsewhere));

	memcg = mem_cgroup_iter_charged(NULL, NULL, &four);
	KUNIT_EXPECT_PTR_EQ(test, memcg, b->memcg);
	mem_cgroup_iter_break(NULL, memcg);
	memcg = mem_cgroup_iter_charged(NULL, NULL, &twelve);
	KUNIT_EXPECT_PTR_EQ(test, memcg, root_mem_cgroup);
	mem_cgroup_iter_break(NULL, memcg);

	page_counter_uncharge(&b->memcg->memory, 1);
	page_counter_uncharge(&a->memcg->memory, 1);
}

/* These positions are no references, either. */
static void iter_by_priority_group_goes(struct kunit *test)
{
	struct test_group *top = test_group_top(test);
	struct mem_cgroup *memcg;
	struct test_group gone;
	int nid, priority;

	KUNIT_ASSERT_NOT_NULL(test, memcg_priority_iter(first_online_node, 0));
	KUNIT_ASSERT_EQ(test, test_group_make(top, "gone", true, &gone), 0);
	page_counter_charge(&gone.memcg->memory, 1);
	for_each_online_node(nid) {
		for (priority = 0; priority <= DEF_PRIORITY; priority++) {
			struct mem_cgroup_reclaim_cookie cookie = {
				.pgdat = NODE_DATA(nid),
				.iter = memcg_priority_iter(nid, priority),
			};

			KUNIT_EXPECT_NULL(test, iter_charged_until(NULL, &cookie));
			memcg = iter_charged_until(gone.memcg, &cookie);
			KUNIT_EXPECT_PTR_EQ(test, memcg, gone.memcg);
			mem_cgroup_iter_break(NULL, memcg);
			KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(cookie.iter->position), gone.memcg);
		}
	}

	page_counter_uncharge(&gone.memcg->memory, 1);
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&gone), 0);
	test_group_put(&gone);
	KUNIT_EXPECT_TRUE(test, test_group_wait_released(top));
	rcu_barrier();

	for_each_online_node(nid) {
		for (priority = 0; priority <= DEF_PRIORITY; priority++) {
			memcg = READ_ONCE(memcg_priority_iter(nid, priority)->position);
			KUNIT_EXPECT_NULL_MSG(test, memcg, "node %d, priority %d", nid, priority);
		}
	}
}

/* More than a walk skips in one RCU read-side critical section, but not twice. */
#define NR_MANY		100

/**
 * struct iter_many - many siblings, of which few pass the filter
 * @top: their parent
 * @groups: the groups
 * @asked: how often the filter was asked
 */
struct iter_many {
	struct test_group	*top;
	struct test_group	*groups[NR_MANY];
	int			asked;
};

static int iter_many_filter(struct mem_cgroup *memcg, void *arg)
{
	struct iter_many *many = arg;

	many->asked++;
	if (memcg == many->groups[10]->memcg ||
	    memcg == many->groups[NR_MANY - 1]->memcg)
		return MEM_CGROUP_VISIT;

	return memcg == many->top->memcg ? MEM_CGROUP_SKIP : MEM_CGROUP_SKIP_TREE;
}

/* A walk that leaves RCU on its way neither forgets nor repeats a group. */
static void iter_cond_skips_many(struct kunit *test)
{
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	struct mem_cgroup_reclaim_cookie *cookies[] = { NULL, &cookie };
	struct mem_cgroup *memcg, *top;
	struct iter_many *many;
	char name[8];
	int i;

	many = kunit_kzalloc(test, sizeof(*many), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, many);
	many->top = test_group_new(test, test_group_top(test), "many");
	for (i = 0; i < NR_MANY; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		many->groups[i] = test_group_new(test, many->top, name);
	}
	top = many->top->memcg;

	for (i = 0; i < ARRAY_SIZE(cookies); i++) {
		many->asked = 0;
		memcg = mem_cgroup_iter_cond(top, NULL, cookies[i],
					     iter_many_filter, many);
		KUNIT_EXPECT_PTR_EQ(test, memcg, many->groups[10]->memcg);
		memcg = mem_cgroup_iter_cond(top, memcg, cookies[i],
					     iter_many_filter, many);
		KUNIT_EXPECT_PTR_EQ(test, memcg,
				    many->groups[NR_MANY - 1]->memcg);
		memcg = mem_cgroup_iter_cond(top, memcg, cookies[i],
					     iter_many_filter, many);
		KUNIT_EXPECT_NULL(test, memcg);
		KUNIT_EXPECT_EQ(test, many->asked, NR_MANY + 1);
	}
}

/* What the threads count. */
enum { WALKS, VISITS, GROUPS, ROUNDS };

#define NR_PINNED	512

/**
 * struct iter_race - the state of a race
 * @tree: groups that stay, which all walks must return
 * @middle: a group that stays; below it, others come and go
 * @last: the same, behind all others
 * @cookie: walks share their position
 * @skip: walks skip all groups but those that stay, and @middle has many
 * @visits: how often all shared walks together returned each group that stays,
 *	the last two being @middle and @last
 * @generation: of the shared walk, at the start
 * @pinned: groups that were removed, but are still referenced
 * @nr_pinned: how many
 * @serial: to name groups
 * @skipped: the filter was asked for something below @middle or @last
 */
struct iter_race {
	struct iter_tree	*tree;
	struct test_group	*middle;
	struct test_group	*last;
	bool			cookie;
	bool			skip;
	atomic_long_t		visits[NR_NODES + 2];
	int			generation;
	struct test_group	pinned[NR_PINNED];
	int			nr_pinned;
	unsigned int		serial;
	atomic_t		skipped;
};

static struct mem_cgroup *iter_race_root(struct iter_race *ir)
{
	return ir->tree->groups[0]->memcg;
}

static int iter_race_find(struct iter_race *ir, struct mem_cgroup *memcg)
{
	if (memcg == ir->middle->memcg)
		return NR_NODES;
	if (memcg == ir->last->memcg)
		return NR_NODES + 1;

	return iter_find(ir->tree, memcg);
}

static int iter_race_generation(struct iter_race *ir)
{
	struct mem_cgroup_per_node *pn;

	pn = iter_race_root(ir)->nodeinfo[first_online_node];
	return atomic_read(&pn->iter.generation);
}

/* Groups come and go. */
static void iter_race_churn(struct race_thread *thread)
{
	struct iter_race *ir = thread->race->priv;
	int n;

	for (n = 0; n < 4; n++) {
		struct test_group made[2];
		char name[16];
		int i;

		for (i = 0; i < 2; i++) {
			snprintf(name, sizeof(name), "c%u", ir->serial++);
			if (test_group_make(i ? ir->last : ir->middle, name,
					    true, &made[i])) {
				race_fail(thread->race, "a new group", i, 0);
				return;
			}
		}
		race_jitter(thread);
		for (i = 0; i < 2; i++) {
			race_expect(thread->race, !test_group_rmdir(&made[i]),
				    i, 0);
			thread->hits[GROUPS]++;
		}

		/*
		 * If the group where a shared walk stands is released, the
		 * walk begins anew, and groups before it are returned twice.
		 * That is as it should be, but cannot be counted: keep those
		 * in the middle, see iter_race_unpin(). Behind the last one
		 * that is counted, it does not matter.
		 */
		test_group_put(&made[1]);
		if (ir->nr_pinned < NR_PINNED)
			ir->pinned[ir->nr_pinned++] = made[0];
		else
			race_fail(thread->race, "room for groups", 0, 0);
	}
}

static void iter_race_visit(struct race_thread *thread, struct mem_cgroup *memcg)
{
	struct iter_race *ir = thread->race->priv;
	int i = iter_race_find(ir, memcg);

	thread->hits[VISITS]++;
	if (i >= 0)
		atomic_long_inc(&ir->visits[i]);
	/* It is referenced, so this must be safe. */
	else
		race_expect(thread->race,
			    mem_cgroup_is_descendant(memcg, iter_race_root(ir)),
			    0, 0);
}

/* Of all groups, those that stay. */
static int iter_race_skip(struct mem_cgroup *memcg, void *arg)
{
	struct iter_race *ir = arg;

	if (!ir->skip || iter_race_find(ir, memcg) >= 0)
		return MEM_CGROUP_VISIT;

	return MEM_CGROUP_SKIP;
}

static void iter_race_walk_shared(struct race_thread *thread)
{
	struct iter_race *ir = thread->race->priv;
	struct mem_cgroup *root = iter_race_root(ir), *memcg = NULL;
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	unsigned long steps = 0;
	u32 leave = race_random(thread, 64);

	while ((memcg = mem_cgroup_iter_cond(root, memcg, &cookie,
					     iter_race_skip, ir))) {
		iter_race_visit(thread, memcg);
		race_jitter(thread);
		if (++steps == leave) {
			mem_cgroup_iter_break(root, memcg);
			break;
		}
		if (!race_expect(thread->race, steps < MAX_STEPS, steps, 0)) {
			mem_cgroup_iter_break(root, memcg);
			break;
		}
	}
	thread->hits[WALKS]++;
}

static int iter_race_filter(struct mem_cgroup *memcg, void *arg)
{
	struct iter_race *ir = arg;

	if (memcg == ir->middle->memcg || memcg == ir->last->memcg)
		return MEM_CGROUP_SKIP_TREE;
	/* Nothing below a skipped subtree may be asked for. */
	if (iter_find(ir->tree, memcg) < 0)
		atomic_inc(&ir->skipped);
	return MEM_CGROUP_VISIT;
}

/* Without a cookie, each walk by itself returns each group that stays once. */
static void iter_race_walk_alone(struct race_thread *thread)
{
	struct iter_race *ir = thread->race->priv;
	struct mem_cgroup *root = iter_race_root(ir), *memcg = NULL;
	bool all = race_random(thread, 2);
	int seen[NR_NODES + 2] = {};
	unsigned long steps = 0;
	int i;

	for (;;) {
		if (all)
			memcg = mem_cgroup_iter(root, memcg, NULL);
		else
			memcg = mem_cgroup_iter_cond(root, memcg, NULL,
						     iter_race_filter, ir);
		if (!memcg)
			break;

		i = iter_race_find(ir, memcg);
		if (i >= 0)
			seen[i]++;
		else
			race_expect(thread->race, all, 0, 0);
		thread->hits[VISITS]++;
		if (!race_expect(thread->race, ++steps < MAX_STEPS, steps, 0)) {
			mem_cgroup_iter_break(root, memcg);
			return;
		}
		race_jitter(thread);
	}
	for (i = 0; i < NR_NODES; i++)
		race_expect(thread->race, seen[i] == 1, i, seen[i]);
	for (; i < NR_NODES + 2; i++)
		race_expect(thread->race, seen[i] == all, i, seen[i]);
	thread->hits[WALKS]++;
}

/* Many walks, so that they go on while groups come and go. */
static void iter_race_walker(struct race_thread *thread)
{
	struct iter_race *ir = thread->race->priv;
	int i;

	for (i = 0; i < 16; i++) {
		if (ir->cookie)
			iter_race_walk_shared(thread);
		else
			iter_race_walk_alone(thread);
		cond_resched();
	}
}

/* In most rounds all threads walk, which is when walks meet. */
static void iter_race_first_walker(struct race_thread *thread)
{
	if (race_random(thread, 8))
		iter_race_walker(thread);
	else
		iter_race_churn(thread);
}

/*
 * Let go of the removed groups that are offline. Ours is the last reference
 * then, so that no walk finds the group again, and as this is called between
 * two rounds none stands there. Before it is offline, walks still return it.
 */
static void iter_race_unpin(struct iter_race *ir, int most)
{
	int i, kept = 0;

	for (i = 0; i < ir->nr_pinned; i++) {
		struct test_group *group = &ir->pinned[i];
		bool full = ir->nr_pinned - i > most;

		if ((full || !test_memcg_is_online(group->memcg)) &&
		    test_group_wait_offline(group))
			test_group_put(group);
		else
			ir->pinned[kept++] = *group;
	}
	ir->nr_pinned = kept;
}

static void iter_race_check(struct race *race)
{
	struct race_thread *thread = &race->threads[0];
	struct iter_race *ir = race->priv;
	struct mem_cgroup *root = iter_race_root(ir), *memcg = NULL;
	struct mem_cgroup_reclaim_cookie cookie = {
		.pgdat = NODE_DATA(first_online_node),
	};
	long visits = atomic_long_read(&ir->visits[0]);
	int i;

	if (ir->cookie) {
		/* Take the shared walk to its end, from wherever it stands. */
		while ((memcg = mem_cgroup_iter_cond(root, memcg, &cookie,
						     iter_race_skip, ir)))
			iter_race_visit(thread, memcg);

		visits = atomic_long_read(&ir->visits[0]);
		for (i = 1; i < NR_NODES + 2; i++)
			race_expect(race,
				    atomic_long_read(&ir->visits[i]) == visits,
				    i, atomic_long_read(&ir->visits[i]) - visits);
		thread->hits[ROUNDS] = visits;
	}
	race_expect(race, !atomic_read(&ir->skipped), 0, 0);
	race_expect(race, !ir->tree->strange, 0, 0);

	iter_race_unpin(ir, NR_PINNED / 2);
}

/*
 * With those that come and go behind them, and are in the hierarchy until they
 * are released, a walk leaves RCU now at one and now at another.
 */
#define NR_SKIPPED	60

static void iter_race_run(struct kunit *test, bool cookie, bool skip)
{
	struct iter_race *ir;
	struct race *race;
	char name[8];
	int i;

	ir = kunit_kzalloc(test, sizeof(*ir), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ir);
	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);

	ir->tree = iter_tree_new(test);
	/* New groups stand behind their siblings: 3 is followed by these. */
	ir->middle = test_group_new(test, ir->tree->groups[1], "middle");
	ir->last = test_group_new(test, ir->tree->groups[0], "last");
	ir->cookie = cookie;
	ir->skip = skip;
	for (i = 0; skip && i < NR_SKIPPED; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		test_group_new(test, ir->middle, name);
	}
	ir->generation = iter_race_generation(ir);

	*race = (struct race) {
		.test = test,
		.roles = {
			iter_race_first_walker, iter_race_walker,
			iter_race_walker, iter_race_walker,
		},
		.nr_roles = 4,
		.check = iter_race_check,
		.counters = {
			[WALKS] = "walks",
			[VISITS] = "visits",
			[GROUPS] = "groups came and went",
			[ROUNDS] = "rounds of the shared walk",
		},
		.min_hits = { 5000, 50000, 300, cookie ? 2000 : 0 },
		.priv = ir,
	};
	/* Each round is many times as long. */
	for (i = 0; skip && i < RACE_MAX_COUNTERS; i++)
		race->min_hits[i] /= 10;
	race_run(race);
	iter_race_unpin(ir, 0);

	/*
	 * Each round was announced to those that wait for its end, but for
	 * those, very few, that began anew as a group in @last was released.
	 */
	if (cookie && !race_failed(race)) {
		long rounds = iter_race_generation(ir) - ir->generation;
		long visits = atomic_long_read(&ir->visits[0]);

		KUNIT_EXPECT_LE(test, rounds, visits);
		KUNIT_EXPECT_GE(test, rounds, visits - visits / 100);
	}
}

static void iter_race_shared(struct kunit *test)
{
	iter_race_run(test, true, false);
}

static void iter_race_shared_skips(struct kunit *test)
{
	iter_race_run(test, true, true);
}

static void iter_race_alone(struct kunit *test)
{
	iter_race_run(test, false, false);
}

static struct kunit_case iter_cases[] = {
	KUNIT_CASE(iter_cond_all_verdicts),
	KUNIT_CASE(iter_cond_break),
	KUNIT_CASE(iter_cond_skips_many),
	KUNIT_CASE(iter_cookie_is_shared),
	KUNIT_CASE(iter_cookie_group_goes),
	KUNIT_CASE(iter_cookie_by_priority),
	KUNIT_CASE(iter_by_priority_group_goes),
	KUNIT_CASE_SLOW(iter_race_shared),
	KUNIT_CASE_SLOW(iter_race_shared_skips),
	KUNIT_CASE_SLOW(iter_race_alone),
	{}
};

static struct kunit_suite iter_suite = {
	.name = "mm_reclaim_iter_race",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = iter_cases,
};

kunit_test_suite(iter_suite);
