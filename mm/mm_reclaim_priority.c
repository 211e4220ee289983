// SPDX-License-Identifier: GPL-2.0
/*
 * The knobs of priorities between memory cgroups, and what is counted of them. What
 * reclaim makes of a value is decided in rust/mm_reclaim/priority.rs.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/memcontrol.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "mm_reclaim_priority.h"
#include "mm_reclaim_stat.h"

/*
 * On while a memcg has a value, and while one has a value that counts only if it is
 * active. Groups come and go: code is not patched back for each.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(memcg_priority_key, HZ);
DEFINE_STATIC_KEY_DEFERRED_FALSE(memcg_priority_active_key, HZ);

/*
 * Where walks of all memcgs are that others share, on a node, by priority of reclaim.
 * Those who reclaim on different nodes don't take cache lines from each other.
 */
struct memcg_priority_iters {
	struct mem_cgroup_reclaim_iter iter[DEF_PRIORITY + 1];
} ____cacheline_aligned_in_smp;

static struct memcg_priority_iters *priority_iters __ro_after_init;

/* For changes of values, and of what is granted by them, in all memcgs. */
static DEFINE_MUTEX(memcg_priority_mutex);

static int nr_priorities;

/**
 * memcg_nr_priorities - count the memcgs that have a value
 *
 * Return: how many there are.
 */
int memcg_nr_priorities(void)
{
	return READ_ONCE(nr_priorities);
}

static void memcg_priority_change(struct mem_cgroup *memcg, int value, bool active)
{
	bool was_active, was_set, is_set = value != MEMCG_PRIORITY_UNSET;
	int old;

	lockdep_assert_held(&memcg_priority_mutex);

	old = memcg_priority_get(memcg, &was_active);
	was_set = old != MEMCG_PRIORITY_UNSET;
	if (old == value && was_active == active)
		return;

	/* The keys are on before there is a value, and until it is gone. */
	if (is_set && !was_set)
		static_branch_deferred_inc(&memcg_priority_key);
	if (active && !was_active)
		static_branch_deferred_inc(&memcg_priority_active_key);

	memcg_priority_set(memcg, value, active);
	WRITE_ONCE(nr_priorities, nr_priorities + is_set - was_set);

	if (was_active && !active)
		static_branch_slow_dec_deferred(&memcg_priority_active_key);
	if (was_set && !is_set)
		static_branch_slow_dec_deferred(&memcg_priority_key);
}

/**
 * memcg_priority_online - have a memcg get what those above it grant
 * @memcg: a memcg that is linked to its parent
 *
 * Whoever sets a value later, and has turned the key on, finds the memcg.
 *
 * Context: May sleep.
 */
void memcg_priority_online(struct mem_cgroup *memcg)
{
	if (!memcg_priority_is_used())
		return;

	guard(mutex)(&memcg_priority_mutex);

	memcg_priority_update(memcg);
}

/**
 * memcg_priority_reset - take the value of a memcg away
 * @memcg: a memcg, which may have none
 *
 * Context: May sleep.
 */
void memcg_priority_reset(struct mem_cgroup *memcg)
{
	/* A value would be there since before the last write to its file ended. */
	if (!memcg_priority_is_used())
		return;

	guard(mutex)(&memcg_priority_mutex);

	memcg_priority_change(memcg, MEMCG_PRIORITY_UNSET, false);
}

/**
 * memcg_priority_count - count what happened to a memcg because of a priority
 * @memcg: the memcg
 * @event: what happened
 *
 * Per-CPU counters would cost each memcg bytes on each CPU, with a value or without.
 *
 * Context: Any.
 */
void memcg_priority_count(struct mem_cgroup *memcg, enum memcg_priority_event event)
{
	static_assert(MEMCG_GSP_OVERRIDE - MEMCG_GSP_SKIPPED == MEMCG_PRIORITY_OVERRIDE);

	count_vm_event(MEMCG_GSP_SKIPPED + event);
	atomic64_inc(&memcg->priority_events.local[event]);
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		atomic64_inc(&memcg->priority_events.total[event]);
}

/**
 * memcg_priority_iter - find where walks with one priority are
 * @nid: the node from which they reclaim
 * @priority: the priority of reclaim, up to DEF_PRIORITY
 *
 * Context: Any.
 * Return: the position that they share, for struct mem_cgroup_reclaim_cookie; NULL,
 * for that of the root memcg, if there was no memory for others at boot.
 */
struct mem_cgroup_reclaim_iter *memcg_priority_iter(int nid, int priority)
{
	return priority_iters ? &priority_iters[nid].iter[priority] : NULL;
}

/**
 * memcg_priority_invalidate_iters - have walks begin anew that are at a memcg
 * @dead_memcg: a memcg without references, before the grace period that ends it
 *
 * Walks that got to the memcg had a reference on it: what they stored is seen here.
 *
 * Context: Any.
 */
void memcg_priority_invalidate_iters(struct mem_cgroup *dead_memcg)
{
	int nid, priority;

	if (!priority_iters)
		return;

	for_each_node(nid) {
		for (priority = 0; priority <= DEF_PRIORITY; priority++) {
			struct mem_cgroup **position = &priority_iters[nid].iter[priority].position;

			/* Nobody else's cache line is taken for nothing. */
			if (READ_ONCE(*position) == dead_memcg)
				cmpxchg(position, dead_memcg, NULL);
		}
	}
}

static const char *const memcg_priority_event_names[] = {
	[MEMCG_PRIORITY_SKIPPED]	= "gsp_skipped",
	[MEMCG_PRIORITY_OVERRIDE]	= "gsp_override",
};

static void priority_print_events(struct seq_buf *s, const char *prefix,
				  const atomic64_t *events)
{
	BUILD_BUG_ON(ARRAY_SIZE(memcg_priority_event_names) != NR_MEMCG_PRIORITY_EVENTS);

	memcg_stat_print_events(s, prefix, memcg_priority_event_names, events,
				NR_MEMCG_PRIORITY_EVENTS);
}

/**
 * memcg_priority_stat_format - print what memory.stat says of priorities
 * @memcg: the memcg, which is counted with those below it
 * @s: where to
 */
void memcg_priority_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
	priority_print_events(s, "", memcg->priority_events.total);
}

/**
 * memcg1_priority_stat_format - print what memory.stat of cgroup v1 says of them
 * @memcg: the memcg, which is counted alone, and with those below it
 * @s: where to
 */
void memcg1_priority_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
	priority_print_events(s, "", memcg->priority_events.local);
	priority_print_events(s, "total_", memcg->priority_events.total);
}

static int memcg_priority_show(struct seq_file *m, void *v)
{
	bool active;
	int value = memcg_priority_get(mem_cgroup_from_seq(m), &active);

	if (value == MEMCG_PRIORITY_UNSET)
		seq_puts(m, "default\n");
	else
		seq_printf(m, "%d%s\n", value, active ? " active" : "");
	return 0;
}

static int memcg_priority_effective_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%d\n", memcg_priority_effective(mem_cgroup_from_seq(m)));
	return 0;
}

/* "default", or a number and perhaps "active" */
static int memcg_priority_parse(char *buf, int *value, bool *active)
{
	unsigned int number;
	char *first;
	int ret;

	buf = strim(buf);
	*active = false;
	if (!strcmp(buf, "default")) {
		*value = MEMCG_PRIORITY_UNSET;
		return 0;
	}

	first = strsep(&buf, " \t");
	if (buf) {
		if (strcmp(skip_spaces(buf), "active"))
			return -EINVAL;
		*active = true;
	}
	ret = kstrtouint(first, 10, &number);
	if (ret)
		return ret;
	if (number > DEF_PRIORITY)
		return -EINVAL;
	*value = number;
	return 0;
}

static ssize_t memcg_priority_write(struct kernfs_open_file *of, char *buf,
				    size_t nbytes, loff_t off)
{
	struct mem_cgroup *memcg = mem_cgroup_from_css(of_css(of));
	bool active;
	int value, ret;

	/*
	 * Below memcgs without a value, whoever owns a memcg would spare it, and even a
	 * value that spares nothing turns the keys on, for all.
	 */
	if (!file_ns_capable(of->file, &init_user_ns, CAP_SYS_RESOURCE))
		return -EPERM;

	ret = memcg_priority_parse(buf, &value, &active);
	if (ret)
		return ret;

	guard(mutex)(&memcg_priority_mutex);
	memcg_priority_change(memcg, value, active);
	return nbytes;
}

/* The same on cgroup v2 and v1; what is registered can't be so twice. */
static struct cftype memcg_priority_files[][3] = {
	[0 ... 1] = {
		{
			.name = "global_shrink_priority",
			.flags = CFTYPE_NOT_ON_ROOT,
			.seq_show = memcg_priority_show,
			.write = memcg_priority_write,
		},
		{
			.name = "global_shrink_priority.effective",
			.flags = CFTYPE_NOT_ON_ROOT,
			.seq_show = memcg_priority_effective_show,
		},
		{ }	/* terminate */
	},
};

static int __init memcg_priority_init(void)
{
	if (mem_cgroup_disabled())
		return 0;

	priority_iters = kcalloc(nr_node_ids, sizeof(*priority_iters), GFP_KERNEL);
	WARN_ON(cgroup_add_dfl_cftypes(&memory_cgrp_subsys, memcg_priority_files[0]));
#ifdef CONFIG_MEMCG_V1
	WARN_ON(cgroup_add_legacy_cftypes(&memory_cgrp_subsys,
					  memcg_priority_files[1]));
#endif
	return 0;
}
subsys_initcall(memcg_priority_init);
