// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cgroups that were removed and are still referenced: the list of those
 * whose per-CPU statistics are still to be given back, and what Rust does to these
 * (rust/mm_reclaim/dying.rs has the rules).
 */
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/seq_buf.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "memcontrol-v1.h"
#include "mm_reclaim_stat.h"

/*
 * Most memcgs are freed within a few grace periods after they were removed. Only
 * those that are still there after this time are worth the work.
 */
#define MEMCG_DYING_DELAY	HZ

static unsigned long memcg_dying_delay __read_mostly = MEMCG_DYING_DELAY;

/* Oldest first; without a reference, and so only until css_released. */
static LIST_HEAD(memcg_dying_list);
static DEFINE_SPINLOCK(memcg_dying_lock);

static void memcg_dying_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(memcg_dying_work, memcg_dying_work_fn);

/* Has only one instance at a time, which all that is said in Rust relies on. */
static void memcg_dying_work_fn(struct work_struct *work)
{
	struct mem_cgroup *oldest;

	drain_dying_memcgs();

	spin_lock(&memcg_dying_lock);
	oldest = list_first_entry_or_null(&memcg_dying_list, struct mem_cgroup,
					  dying.list);
	if (oldest) {
		u64 due = oldest->dying.since + READ_ONCE(memcg_dying_delay);
		u64 now = get_jiffies_64();

		queue_delayed_work(system_dfl_wq, &memcg_dying_work,
				   time_after64(due, now) ? due - now : 0);
	}
	spin_unlock(&memcg_dying_lock);
}

/* Adds to the counts of all above. */
static void memcg_dying_note(struct mem_cgroup *memcg, unsigned int state, int nr)
{
	struct mem_cgroup *above = memcg;

	while ((above = parent_mem_cgroup(above)))
		atomic_add(nr, &above->dying.below[state]);
}

/* Called before anybody writes statistics of the memcg. */
void memcg_dying_init(struct mem_cgroup *memcg)
{
	INIT_LIST_HEAD(&memcg->dying.list);
	memcg_redirect_stats(memcg, memcg);
}

/**
 * memcg_dying_add - note that a memcg was removed
 * @memcg: a memcg that is offline, and so are all below it
 *
 * Context: Process context, under cgroup_mutex.
 */
void memcg_dying_add(struct mem_cgroup *memcg)
{
	struct memcg_dying *dying = &memcg->dying;

	memcg_dying_note(memcg, MEMCG_STATS_ACTIVE, 1);
	dying->since = get_jiffies_64();

	spin_lock(&memcg_dying_lock);
	list_add_tail(&dying->list, &memcg_dying_list);
	queue_delayed_work(system_dfl_wq, &memcg_dying_work,
			   READ_ONCE(memcg_dying_delay));
	spin_unlock(&memcg_dying_lock);
}

/* The last reference is gone: from here on, its state does not change any more. */
void memcg_dying_remove(struct mem_cgroup *memcg)
{
	spin_lock(&memcg_dying_lock);
	list_del_init(&memcg->dying.list);
	spin_unlock(&memcg_dying_lock);

	memcg_dying_note(memcg, memcg->dying.state, -1);
}

/**
 * memcg_dying_take - take a memcg off the list
 *
 * Return: one that is still referenced a while after it was removed, with another
 * reference, or NULL if there is none.
 *
 * Context: May sleep.
 */
struct mem_cgroup *memcg_dying_take(void)
{
	u64 until = get_jiffies_64() - READ_ONCE(memcg_dying_delay);
	struct mem_cgroup *memcg, *taken = NULL;

	spin_lock(&memcg_dying_lock);
	while (!taken) {
		memcg = list_first_entry_or_null(&memcg_dying_list,
						 struct mem_cgroup, dying.list);
		if (!memcg || time_after64(memcg->dying.since, until))
			break;
		list_del_init(&memcg->dying.list);
		if (css_tryget(&memcg->css))
			taken = memcg;
		else
			cond_resched_lock(&memcg_dying_lock);
	}
	spin_unlock(&memcg_dying_lock);
	return taken;
}

/**
 * memcg_redirect_stats - choose whose per-CPU statistics a memcg writes
 * @memcg: any memcg
 * @to: itself, or one above it
 *
 * Writers read the pointers with preemption disabled: once a grace period has
 * passed, all of them write there.
 */
void memcg_redirect_stats(struct mem_cgroup *memcg, struct mem_cgroup *to)
{
	int nid;

	WRITE_ONCE(memcg->vmstats_target, to->vmstats_percpu);
#ifdef CONFIG_MEMCG_V1
	WRITE_ONCE(memcg->events_target, to->events_percpu);
#endif
	for_each_node(nid)
		WRITE_ONCE(memcg->nodeinfo[nid]->lruvec_stats_target,
			   to->nodeinfo[nid]->lruvec_stats_percpu);
}

/**
 * memcg_note_own_stats - have a flush look at the per-CPU statistics of a memcg
 * @memcg: a memcg whose per-CPU statistics nobody writes any more
 *
 * On each CPU: a change that could not be noted, in an NMI, must not be lost.
 * __css_rstat_updated() asks for a barrier before it where a change must not be
 * missed by a flush that is under way. A grace period is one, and the second one
 * has all such flushes end.
 *
 * Context: May sleep.
 */
void memcg_note_own_stats(struct mem_cgroup *memcg)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		preempt_disable();
		__css_rstat_updated(&memcg->css, cpu);
		preempt_enable();
	}
}

/**
 * memcg_flush_noted_stats - add per-CPU statistics to those of the parents
 * @memcg: the memcg below which, and in which, they are noted
 *
 * Context: May sleep.
 */
void memcg_flush_noted_stats(struct mem_cgroup *memcg)
{
	css_rstat_flush(&memcg->css);
}

/**
 * memcg_free_own_stats - free the statistics of a memcg
 * @memcg: a memcg whose per-CPU statistics nobody uses any more, and whose sums
 *	nobody adds to
 *
 * Context: Any, but where interrupts are disabled.
 */
void memcg_free_own_stats(struct mem_cgroup *memcg)
{
	int nid;

	free_percpu(memcg->vmstats_percpu);
	memcg->vmstats_percpu = NULL;
#ifdef CONFIG_MEMCG_V1
	memcg1_free_events(memcg);
	memcg->events_percpu = NULL;
#endif
	for_each_node(nid) {
		struct mem_cgroup_per_node *pn = memcg->nodeinfo[nid];

		free_percpu(pn->lruvec_stats_percpu);
		pn->lruvec_stats_percpu = NULL;
	}
	memcg_free_own_sums(memcg);
	count_vm_event(MEMCG_STATS_DRAIN);
}

/**
 * memcg_dying_count - count the removed memcgs below one
 * @memcg: the memcg
 *
 * Return: how many there are, and how much they gave back.
 */
struct memcg_dying_counts memcg_dying_count(struct mem_cgroup *memcg)
{
	long below[NR_MEMCG_STATS_STATES];
	int i;

	for (i = 0; i < NR_MEMCG_STATS_STATES; i++)
		below[i] = atomic_read(&memcg->dying.below[i]);
	return (struct memcg_dying_counts) {
		.dying = below[MEMCG_STATS_ACTIVE] + below[MEMCG_STATS_DRAINING] +
			 below[MEMCG_STATS_FLUSHED] + below[MEMCG_STATS_FREED],
		.draining = below[MEMCG_STATS_DRAINING] + below[MEMCG_STATS_FLUSHED],
		.drained = below[MEMCG_STATS_FREED],
		.drained_bytes = below[MEMCG_STATS_FREED] *
				 (memcg_own_stats_size() * num_possible_cpus() +
				  memcg_own_sums_size()),
	};
}

/**
 * memcg_dying_stat_format - print what memory.stat says of removed memcgs
 * @memcg: the memcg below which they were
 * @s: where to
 */
void memcg_dying_stat_format(struct mem_cgroup *memcg, struct seq_buf *s)
{
	struct memcg_dying_counts counts = memcg_dying_count(memcg);

	memcg_stat_print(s, "dying_memcgs", counts.dying);
	memcg_stat_print(s, "draining_memcgs", counts.draining);
	memcg_stat_print(s, "drained_memcgs", counts.drained);
	memcg_stat_print(s, "drained_bytes", counts.drained_bytes);
}

#ifdef CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST
/* Drains all that are offline by now, and from now on without any delay. */
void memcg_dying_drain(void)
{
	WRITE_ONCE(memcg_dying_delay, 0);
	mod_delayed_work(system_dfl_wq, &memcg_dying_work, 0);
	flush_delayed_work(&memcg_dying_work);
}
#endif
