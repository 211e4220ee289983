// SPDX-License-Identifier: GPL-2.0
/*
 * Real memory cgroups and shrinkers for the race suites.
 *
 * The groups are made as user space makes them, through a kernel mount of
 * cgroup2, so that online, offline, release and free run as they always do.
 */
#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm_reclaim.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/nodemask.h>
#include <linux/panic.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../internal.h"
#include "memcg_fixture.h"

static struct vfsmount *test_mnt;

/**
 * struct test_fixture - what a test case has
 * @top: the group that holds all groups of the case
 * @warned: the kernel had already warned about something before the case
 */
struct test_fixture {
	struct test_group	top;
	bool			warned;
};

static int test_write(struct dentry *dir, const char *name, const char *text)
{
	struct path path = { .mnt = test_mnt, .dentry = dir };
	struct file *file;
	loff_t pos = 0;
	ssize_t ret;

	file = file_open_root(&path, name, O_WRONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);

	ret = kernel_write(file, text, strlen(text), &pos);
	fput(file);

	return ret < 0 ? ret : 0;
}

int test_suite_init(struct kunit_suite *suite)
{
	struct file_system_type *type;
	int ret;

	if (mem_cgroup_disabled())
		return -EOPNOTSUPP;

	type = get_fs_type("cgroup2");
	if (!type)
		return -ENODEV;

	test_mnt = kern_mount(type);
	put_filesystem(type);
	if (IS_ERR(test_mnt)) {
		ret = PTR_ERR(test_mnt);
		test_mnt = NULL;
		return ret;
	}

	return test_write(test_mnt->mnt_root, "cgroup.subtree_control",
			  "+memory");
}

void test_suite_exit(struct kunit_suite *suite)
{
	if (!test_mnt)
		return;

	/* A later mount of cgroup v1 must find the controller unused. */
	test_write(test_mnt->mnt_root, "cgroup.subtree_control", "-memory");
	kern_unmount(test_mnt);
	test_mnt = NULL;
}

static int test_group_make_in(struct dentry *parent, const char *name,
			      bool leaf, struct test_group *group)
{
	struct qstr qname = QSTR(name);
	struct cgroup_subsys_state *css;
	struct dentry *dentry;
	int ret;

	ret = mnt_want_write(test_mnt);
	if (ret)
		return ret;

	dentry = start_creating(&nop_mnt_idmap, parent, &qname);
	if (!IS_ERR(dentry) && d_really_is_positive(dentry)) {
		end_creating(dentry);
		dentry = ERR_PTR(-EEXIST);
	}
	if (!IS_ERR(dentry)) {
		dentry = vfs_mkdir(&nop_mnt_idmap, d_inode(parent), dentry,
				   0755, NULL);
		end_creating(dentry);
	}
	/* kernfs leaves the dentry negative: it fills it in when looked up. */
	if (!IS_ERR(dentry))
		dentry = lookup_one_unlocked(&nop_mnt_idmap, &qname, parent);
	mnt_drop_write(test_mnt);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);

	group->dentry = dentry;
	group->memcg = NULL;

	css = css_tryget_online_from_dir(dentry, &memory_cgrp_subsys);
	if (IS_ERR(css)) {
		ret = PTR_ERR(css);
		goto remove;
	}
	group->memcg = mem_cgroup_from_css(css);

	if (!leaf) {
		ret = test_write(dentry, "cgroup.subtree_control", "+memory");
		if (ret)
			goto remove;
	}

	return 0;

remove:
	test_group_rmdir(group);
	test_group_put(group);
	return ret;
}

/**
 * test_group_make - make a group
 * @parent: a group that was not made as a leaf, or NULL for the root
 * @name: its name in @parent
 * @leaf: the group will have no groups below it
 * @group: set on success
 */
int test_group_make(struct test_group *parent, const char *name, bool leaf,
		    struct test_group *group)
{
	return test_group_make_in(parent ? parent->dentry : test_mnt->mnt_root,
				  name, leaf, group);
}

/**
 * test_group_rmdir - remove a group
 * @group: the group; the reference on its memcg stays
 *
 * It goes offline some time after this returned.
 */
int test_group_rmdir(struct test_group *group)
{
	struct dentry *parent, *dentry;
	int ret;

	if (!group->dentry)
		return 0;

	ret = mnt_want_write(test_mnt);
	if (ret)
		return ret;

	parent = dget_parent(group->dentry);
	dentry = start_removing_dentry(parent, group->dentry);
	if (IS_ERR(dentry)) {
		ret = PTR_ERR(dentry);
	} else {
		ret = vfs_rmdir(&nop_mnt_idmap, d_inode(parent), dentry, NULL);
		end_removing(dentry);
	}
	dput(parent);
	mnt_drop_write(test_mnt);
	if (ret)
		return ret;

	dput(group->dentry);
	group->dentry = NULL;
	return 0;
}

void test_group_put(struct test_group *group)
{
	if (group->memcg)
		css_put(&group->memcg->css);
	group->memcg = NULL;
}

int test_install_unit(struct mem_cgroup *memcg, int shrinker_id, gfp_t gfp)
{
	int nid, ret;

	/* Both in one step and one by one are done by the kernel itself. */
	if (shrinker_id & 1)
		return install_shrinker_unit(memcg, NUMA_NO_NODE, shrinker_id, gfp);

	for_each_node_state(nid, N_MEMORY) {
		ret = install_shrinker_unit(memcg, nid, shrinker_id, gfp);
		if (ret)
			return ret;
	}
	return 0;
}

int test_list_lru_alloc(struct mem_cgroup *memcg, struct list_lru *lru)
{
	int nid, ret;

	for_each_node_state(nid, N_MEMORY) {
		ret = memcg_list_lru_alloc_node(memcg, lru, nid, GFP_KERNEL);
		if (ret)
			return ret;
	}
	return 0;
}

/* Is called often: true if all went well, which is what tests expect. */
bool test_group_wait_offline(struct test_group *group)
{
	int ms;

	/*
	 * CSS_ONLINE is cleared under cgroup_mutex after css_offline() ran, on
	 * another CPU perhaps: take the mutex to see all that it did.
	 */
	for (ms = 0; ms < TEST_WAIT_MS; ms += 2) {
		if (!test_memcg_is_online(group->memcg)) {
			cgroup_lock();
			cgroup_unlock();
			return true;
		}
		usleep_range(1000, 2000);
	}

	return false;
}

/**
 * test_group_wait_released - wait until no removed group is left below a group
 * @top: the group
 *
 * Return: whether the last reference on each of them was dropped.
 */
bool test_group_wait_released(struct test_group *top)
{
	struct cgroup *cgrp = top->memcg->css.cgroup;
	int ms, nr;

	for (ms = 0; ms < TEST_WAIT_MS; ms += 20) {
		cgroup_lock();
		nr = cgrp->nr_dying_subsys[memory_cgrp_id];
		cgroup_unlock();
		if (!nr)
			return true;
		msleep(20);
	}

	return false;
}

static void test_group_cleanup(void *data)
{
	struct test_group *group = data;

	/* Its children were removed before: actions run in reverse order. */
	test_group_rmdir(group);
	test_group_put(group);
}

static void test_fixture_cleanup(void *data)
{
	struct kunit *test = data;
	struct test_fixture *fixture = test->priv;

	/* A reference that was lost, by us or by the code under test. */
	KUNIT_EXPECT_TRUE_MSG(test, test_group_wait_released(&fixture->top),
			      "a removed group is still referenced");
	KUNIT_EXPECT_EQ(test, test_group_rmdir(&fixture->top), 0);
	/*
	 * Its id must not come free, and be given again, in the middle of
	 * the next case.
	 */
	KUNIT_EXPECT_TRUE(test, test_group_wait_offline(&fixture->top));
	test_group_put(&fixture->top);

	/*
	 * Freeing runs in work items behind grace periods. Whatever it warns
	 * about belongs to this case.
	 */
	rcu_barrier();
	KUNIT_EXPECT_TRUE_MSG(test, fixture->warned || !test_taint(TAINT_WARN),
			      "the kernel warned, see its log");
}

/**
 * test_fixture_init - the init of a suite whose cases need groups
 * @test: the case
 */
int test_fixture_init(struct kunit *test)
{
	struct test_fixture *fixture;
	int ret;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	if (!fixture)
		return -ENOMEM;

	fixture->warned = test_taint(TAINT_WARN);
	ret = test_group_make_in(test_mnt->mnt_root, "mm_reclaim_test", false,
				 &fixture->top);
	if (ret)
		return ret;

	test->priv = fixture;
	return kunit_add_action_or_reset(test, test_fixture_cleanup, test);
}

struct test_group *test_group_top(struct kunit *test)
{
	struct test_fixture *fixture = test->priv;

	return &fixture->top;
}

/**
 * test_group_new - make a group that goes when the test case ends
 * @test: the case
 * @parent: where to make it
 * @name: its name in @parent
 */
struct test_group *test_group_new(struct kunit *test, struct test_group *parent,
				  const char *name)
{
	struct test_group *group;

	group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, group);
	KUNIT_ASSERT_EQ(test, test_group_make(parent, name, false, group), 0);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, test_group_cleanup,
						  group), 0);
	return group;
}

static unsigned long test_count(struct shrinker *shrinker,
				struct shrink_control *sc)
{
	struct test_shrinker *ts = shrinker->private_data;
	unsigned long count;

	if (!READ_ONCE(ts->live)) {
		atomic_long_inc(&ts->late);
		return SHRINK_EMPTY;
	}

	atomic_long_inc(&ts->counted);
	count = list_lru_shrink_count(&ts->lru, sc) + ts->pretend;
	if (ts->hook)
		ts->hook(ts, sc, count);

	return count ?: SHRINK_EMPTY;
}

static enum lru_status test_isolate(struct list_head *item,
				    struct list_lru_one *list, void *arg)
{
	struct test_shrinker *ts = arg;

	if (ts->keep)
		return LRU_ROTATE;

	list_lru_isolate(list, item);
	return LRU_REMOVED;
}

static unsigned long test_scan(struct shrinker *shrinker,
			       struct shrink_control *sc)
{
	struct test_shrinker *ts = shrinker->private_data;

	if (!READ_ONCE(ts->live)) {
		atomic_long_inc(&ts->late);
		return SHRINK_STOP;
	}

	return list_lru_shrink_walk(&ts->lru, sc, test_isolate, ts);
}

int test_shrinker_init(struct test_shrinker *ts)
{
	int ret;

	ts->shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE | SHRINKER_NUMA_AWARE,
				      "mm_reclaim_test");
	if (!ts->shrinker)
		return -ENOMEM;

	ret = list_lru_init_memcg(&ts->lru, ts->shrinker);
	if (ret) {
		shrinker_free(ts->shrinker);
		ts->shrinker = NULL;
		return ret;
	}

	ts->shrinker->count_objects = test_count;
	ts->shrinker->scan_objects = test_scan;
	ts->shrinker->private_data = ts;
	WRITE_ONCE(ts->live, true);
	shrinker_register(ts->shrinker);
	return 0;
}

void test_shrinker_exit(struct test_shrinker *ts)
{
	if (!ts->shrinker)
		return;

	shrinker_free(ts->shrinker);
	WRITE_ONCE(ts->live, false);
	list_lru_destroy(&ts->lru);
	ts->shrinker = NULL;
}

static void test_shrinker_cleanup(void *data)
{
	test_shrinker_exit(data);
}

/**
 * test_shrinker_new - register a shrinker that goes when the test case ends
 * @test: the case
 */
struct test_shrinker *test_shrinker_new(struct kunit *test)
{
	struct test_shrinker *ts;

	ts = kunit_kzalloc(test, sizeof(*ts), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ts);
	KUNIT_ASSERT_EQ(test, test_shrinker_init(ts), 0);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, test_shrinker_cleanup,
						  ts), 0);
	KUNIT_ASSERT_TRUE_MSG(test,
			      ts->shrinker->flags & SHRINKER_MEMCG_AWARE,
			      "memory cgroups do not account kernel memory");
	return ts;
}

static void test_free_shrinker(void *data)
{
	shrinker_free(data);
}

static unsigned long test_scan_nothing(struct shrinker *shrinker,
				       struct shrink_control *sc)
{
	return SHRINK_STOP;
}

/**
 * test_shrinker_without_list - register a shrinker that goes when the test case ends
 * @test: the case
 * @flags: of the shrinker
 * @count: its count_objects; nothing is ever scanned
 * @data: its private_data
 * @seeks: its seeks
 */
struct shrinker *
test_shrinker_without_list(struct kunit *test, unsigned int flags,
			   unsigned long (*count)(struct shrinker *shrinker,
						  struct shrink_control *sc),
			   void *data, int seeks)
{
	struct shrinker *shrinker;

	shrinker = shrinker_alloc(flags, "mm_reclaim_no_list");
	KUNIT_ASSERT_NOT_NULL(test, shrinker);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, test_free_shrinker,
						  shrinker), 0);
	shrinker->count_objects = count;
	shrinker->scan_objects = test_scan_nothing;
	shrinker->private_data = data;
	shrinker->seeks = seeks;
	shrinker_register(shrinker);
	return shrinker;
}

/**
 * test_fillers_until - take all shrinker ids below some id
 * @test: the case; they are given back when it ends
 * @id: the next shrinker gets an id of at least this one
 *
 * Return: how many ids were taken.
 */
int test_fillers_until(struct kunit *test, int id)
{
	struct shrinker *filler;
	int nr = 0;

	do {
		filler = shrinker_alloc(SHRINKER_MEMCG_AWARE, "mm_reclaim_fill");
		KUNIT_ASSERT_NOT_NULL(test, filler);
		if (filler->id >= id) {
			shrinker_free(filler);
			return nr;
		}
		KUNIT_ASSERT_EQ(test,
				kunit_add_action_or_reset(test,
							  test_free_shrinker,
							  filler), 0);
		nr++;
	} while (true);
}

/* As __list_lru_add() does, which has a spinlock for it. */
void test_set_bit(struct mem_cgroup *memcg, int nid, int id)
{
	guard(rcu)();
	set_shrinker_bit(memcg, nid, id);
}

/* What reclaim does for one group on one node when it is desperate. */
unsigned long test_walk(struct mem_cgroup *memcg, int nid)
{
	return shrink_slab(GFP_KERNEL, nid, memcg, 0);
}

/* A walk clears the bits of what is empty, and the next one what they leave. */
unsigned long test_settle(struct mem_cgroup *memcg, int nid)
{
	return test_walk(memcg, nid) + test_walk(memcg, nid);
}
