/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Real memory cgroups and shrinkers for the race suites.
 */
#ifndef _MM_RECLAIM_MEMCG_FIXTURE_H
#define _MM_RECLAIM_MEMCG_FIXTURE_H

#include <kunit/test.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/shrinker.h>

/*
 * For what comes in the end. Offline and release take a few grace periods; a
 * slow emulator, seconds.
 */
#define TEST_WAIT_MS	30000

/* Of mm/shrinker.c: whoever gives out ids holds it. */
extern struct mutex shrinker_mutex;

/**
 * struct test_group - a memory cgroup that a test made
 * @dentry: its directory, NULL once removed
 * @memcg: the group; a reference is held until test_group_put()
 */
struct test_group {
	struct dentry		*dentry;
	struct mem_cgroup	*memcg;
};

int test_suite_init(struct kunit_suite *suite);
void test_suite_exit(struct kunit_suite *suite);
int test_fixture_init(struct kunit *test);

struct test_group *test_group_top(struct kunit *test);
struct test_group *test_group_new(struct kunit *test, struct test_group *parent,
				  const char *name);

/* For threads: these report errors, and nothing cleans up after them. */
int test_group_make(struct test_group *parent, const char *name, bool leaf,
		    struct test_group *group);
int test_group_rmdir(struct test_group *group);
void test_group_put(struct test_group *group);

/* On all nodes with memory; 0 or an errno. */
int test_install_unit(struct mem_cgroup *memcg, int shrinker_id, gfp_t gfp);
int test_list_lru_alloc(struct mem_cgroup *memcg, struct list_lru *lru);

/* Both may be outdated at once. */
static inline bool test_memcg_is_online(struct mem_cgroup *memcg)
{
	/* The flags are in one word, which changes without a lock of ours. */
	return data_race(css_is_online(&memcg->css));
}

static inline bool test_memcg_is_dying(struct mem_cgroup *memcg)
{
	/* As above */
	return data_race(css_is_dying(&memcg->css));
}

bool test_group_wait_offline(struct test_group *group);
bool test_group_wait_released(struct test_group *top);

/**
 * struct test_shrinker - a shrinker whose objects are on a list_lru
 * @shrinker: what is registered
 * @lru: where the objects are
 * @live: cleared when shrinker_free() has returned: no callback may run then
 * @keep: objects stay when they are scanned
 * @pretend: count this many objects that are on no list
 * @counted: calls of count_objects
 * @late: calls of either callback while not @live
 * @hook: runs in count_objects() after the objects were counted, to put
 *	something where a race would have to; its argument is the count
 * @hook_arg: for @hook
 */
struct test_shrinker {
	struct shrinker	*shrinker;
	struct list_lru	lru;
	bool		live;
	bool		keep;
	unsigned long	pretend;
	atomic_long_t	counted;
	atomic_long_t	late;
	void		(*hook)(struct test_shrinker *ts,
				struct shrink_control *sc, unsigned long count);
	void		*hook_arg;
};

int test_shrinker_init(struct test_shrinker *ts);
void test_shrinker_exit(struct test_shrinker *ts);
struct test_shrinker *test_shrinker_new(struct kunit *test);

struct shrinker *
test_shrinker_without_list(struct kunit *test, unsigned int flags,
			   unsigned long (*count)(struct shrinker *shrinker,
						  struct shrink_control *sc),
			   void *data, int seeks);

int test_fillers_until(struct kunit *test, int id);

void test_set_bit(struct mem_cgroup *memcg, int nid, int id);
unsigned long test_walk(struct mem_cgroup *memcg, int nid);
unsigned long test_settle(struct mem_cgroup *memcg, int nid);

#endif /* _MM_RECLAIM_MEMCG_FIXTURE_H */
