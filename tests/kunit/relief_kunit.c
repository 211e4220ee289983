// SPDX-License-Identifier: GPL-2.0
/*
 * Who may not enter a file system has a work item reclaim from a memcg at its
 * limit, and waits for that, but not for ever.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/nodemask.h>
#include <linux/sched.h>

#include "../../mm_reclaim_retain.h"
#include "memcg_fixture.h"

/**
 * struct relief - a memcg, and a shrinker that has something of it
 * @memcg: the memcg
 * @shrinker: the shrinker
 * @caller: who waits
 * @nr_calls: how often others have called it who may enter a file system
 * @nr_other_calls: how often anybody else has
 * @may_end: the call ends then
 */
struct relief {
	struct mem_cgroup	*memcg;
	struct shrinker		*shrinker;
	struct task_struct	*caller;
	atomic_t		nr_calls;
	atomic_t		nr_other_calls;
	struct completion	may_end;
};

static unsigned long relief_count(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	struct relief *relief = shrinker->private_data;

	if (sc->memcg != relief->memcg)
		return SHRINK_EMPTY;

	if (current != relief->caller && sc->gfp_mask & __GFP_FS)
		atomic_inc(&relief->nr_calls);
	else
		atomic_inc(&relief->nr_other_calls);
	wait_for_completion(&relief->may_end);
	return SHRINK_EMPTY;
}

static void relief_end(void *data)
{
	struct relief *relief = data;

	complete_all(&relief->may_end);
}

static struct relief *relief_new(struct kunit *test, struct test_group *group)
{
	struct relief *relief;

	relief = kunit_kzalloc(test, sizeof(*relief), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, relief);
	init_completion(&relief->may_end);
	relief->memcg = group->memcg;
	relief->caller = current;
	relief->shrinker = test_shrinker_without_list(test,
						      SHRINKER_MEMCG_AWARE |
						      SHRINKER_NUMA_AWARE,
						      relief_count, relief,
						      DEFAULT_SEEKS);
	/* Before the shrinker goes, which waits for its calls. */
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, relief_end, relief), 0);
	KUNIT_ASSERT_EQ(test,
			install_shrinker_unit(relief->memcg,
					      relief->shrinker->id, GFP_KERNEL),
			0);
	set_shrinker_bit(relief->memcg, first_memory_node, relief->shrinker->id);
	return relief;
}

static void relief_by_others(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct relief *relief = relief_new(test, group);

	relief_end(relief);
	memcg_retain_wait_for_relief(group->memcg);
	KUNIT_EXPECT_GT(test, atomic_read(&relief->nr_calls), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&relief->nr_other_calls), 0);
}

/* Who waits may hold what the work item needs, and others what they need. */
static void relief_goes_on(struct kunit *test)
{
	struct test_group *first = test_group_new(test, test_group_top(test), "1");
	struct test_group *second = test_group_new(test, test_group_top(test), "2");
	struct relief *held = relief_new(test, first);
	struct relief *next = relief_new(test, second);

	relief_end(next);
	memcg_retain_wait_for_relief(first->memcg);
	KUNIT_EXPECT_EQ(test, atomic_read(&held->nr_calls), 1);
	memcg_retain_wait_for_relief(first->memcg);
	memcg_retain_wait_for_relief(second->memcg);
	KUNIT_EXPECT_EQ(test, atomic_read(&held->nr_calls), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&next->nr_calls), 0);

	relief_end(held);
	memcg_retain_wait_for_relief(second->memcg);
	KUNIT_EXPECT_GT(test, atomic_read(&next->nr_calls), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&held->nr_other_calls), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&next->nr_other_calls), 0);
}

static struct kunit_case relief_cases[] = {
	KUNIT_CASE(relief_by_others),
	KUNIT_CASE(relief_goes_on),
	{}
};

static struct kunit_suite relief_suite = {
	.name = "mm_reclaim_relief",
	.suite_init = test_suite_init,
	.suite_exit = test_suite_exit,
	.init = test_fixture_init,
	.test_cases = relief_cases,
};

kunit_test_suite(relief_suite);
