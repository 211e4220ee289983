// SPDX-License-Identifier: GPL-2.0
/*
 * Who must not enter a file system has a work item reclaim from a memcg at its
 * limit, and waits for that, but not for ever.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/nodemask.h>
#include <linux/sched.h>

#include "../../mm_reclaim_retain.h"
#include "memcg_fixture.h"

/* How long the shrinker takes: a waiter that does not wait is back before. */
#define RELIEF_MS	50

/**
 * struct relief - a memcg, and a shrinker that has something of it
 * @memcg: the memcg
 * @began: a work item calls the shrinker, and may enter a file system
 * @may_end: that call ends then
 * @nr_ended: how many such calls have ended
 */
struct relief {
	struct mem_cgroup	*memcg;
	struct completion	began;
	struct completion	may_end;
	atomic_t		nr_ended;
};

/* Always has something, so that it is called again. */
static unsigned long relief_count(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	struct relief *relief = shrinker->private_data;

	if (sc->memcg != relief->memcg)
		return SHRINK_EMPTY;

	/* Not if kswapd comes by. */
	if (current->flags & PF_WQ_WORKER && sc->gfp_mask & __GFP_FS) {
		complete_all(&relief->began);
		wait_for_completion(&relief->may_end);
		msleep(RELIEF_MS);
		atomic_inc(&relief->nr_ended);
	}
	return 1;
}

static void relief_end(void *data)
{
	struct relief *relief = data;

	complete_all(&relief->may_end);
}

static struct relief *relief_new(struct kunit *test, struct test_group *group)
{
	struct shrinker *shrinker;
	struct relief *relief;

	relief = kunit_kzalloc(test, sizeof(*relief), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, relief);
	init_completion(&relief->began);
	init_completion(&relief->may_end);
	relief->memcg = group->memcg;
	shrinker = test_shrinker_without_list(test,
					      SHRINKER_MEMCG_AWARE | SHRINKER_NUMA_AWARE,
					      relief_count, relief, DEFAULT_SEEKS);
	KUNIT_ASSERT_TRUE(test, shrinker->flags & SHRINKER_MEMCG_AWARE);
	/* Before the shrinker goes, which waits for its calls. */
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, relief_end, relief), 0);
	KUNIT_ASSERT_EQ(test,
			test_install_unit(relief->memcg, shrinker->id, GFP_KERNEL),
			0);
	test_set_bit(relief->memcg, first_memory_node, shrinker->id);
	return relief;
}

/* It waits for the work item, or as long as it may, and that reclaims in the end. */
static void relief_expect(struct kunit *test, struct relief *relief)
{
	unsigned long end = jiffies + MEMCG_RETAIN_RELIEF_WAIT;

	memcg_retain_have_relieved(relief->memcg);
	KUNIT_EXPECT_TRUE(test,
			  atomic_read(&relief->nr_ended) ||
			  time_after_eq(jiffies, end));
	KUNIT_EXPECT_TRUE(test,
			  wait_for_completion_timeout(&relief->began,
						      msecs_to_jiffies(TEST_WAIT_MS)));
}

static void relief_by_others(struct kunit *test)
{
	struct test_group *group = test_group_new(test, test_group_top(test), "g");
	struct relief *relief = relief_new(test, group);

	relief_end(relief);
	relief_expect(test, relief);
}

/* Who waits may hold what the work item needs, and nobody else waits for it. */
static void relief_goes_on(struct kunit *test)
{
	struct test_group *first = test_group_new(test, test_group_top(test), "1");
	struct test_group *second = test_group_new(test, test_group_top(test), "2");
	struct relief *held = relief_new(test, first);
	struct relief *other = relief_new(test, second);

	relief_expect(test, held);
	relief_end(other);
	relief_expect(test, other);
	KUNIT_EXPECT_EQ(test, atomic_read(&held->nr_ended), 0);
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
