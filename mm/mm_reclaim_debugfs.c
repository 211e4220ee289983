// SPDX-License-Identifier: GPL-2.0
/*
 * What memory cgroup slab reclaim in Rust shows in debugfs, in mm_reclaim/:
 *
 * summary	a table for people
 * stats	totals, one "name value" on each line
 * maps		one line for each memory cgroup and node that has a map
 * map		those of one memory cgroup, after the id of its cgroup (the inode
 *		number of its directory) was written to the open file
 *
 * All but the last one can be read while the kernel is locked down, which goes by
 * their modes.
 */
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmstat.h>

#include "mm_reclaim_dying.h"
#include "mm_reclaim_priority.h"

#define COUNTS_EVENTS	IS_ENABLED(CONFIG_VM_EVENT_COUNTERS)

/* Sums of VM events, less those of what is gone. */
static const struct {
	const char *name;
	int event, less;
} mm_reclaim_sums[] = {
	{ "ids", SHRINKER_ID_ALLOC, SHRINKER_ID_FREE },
	{ "maps", SHRINKER_MAP_OPEN, SHRINKER_MAP_CLOSE },
	{ "tables", SHRINKER_TABLE_ALLOC, SHRINKER_TABLE_FREE },
	{ "table_bytes", SHRINKER_TABLE_BYTES_ALLOC, SHRINKER_TABLE_BYTES_FREE },
	{ "units", SHRINKER_UNIT_ALLOC, SHRINKER_UNIT_FREE },
	{ "installs", SHRINKER_UNIT_INSTALL, -1 },
	{ "growths", SHRINKER_TABLE_GROW, -1 },
	{ "memcgs_visited", SHRINKER_MEMCG_WALK, -1 },
	{ "bits_visited", SHRINKER_BIT_VISIT, -1 },
	{ "bits_spurious", SHRINKER_BIT_SPURIOUS, -1 },
#ifdef CONFIG_MEMCG_V1
	{ "excess_passes", MEMCG_EXCESS_PASS, -1 },
	{ "excess_passes_in_vain", MEMCG_EXCESS_PASS_IN_VAIN, -1 },
#endif
};

/* What goes while CPUs are summed up may be counted before what came. */
static long mm_reclaim_sum(const unsigned long *events, int event, int less)
{
	return max((long)(events[event] - (less < 0 ? 0 : events[less])), 0L);
}

static long mm_reclaim_unit_bytes(const unsigned long *events)
{
	return mm_reclaim_sum(events, SHRINKER_UNIT_ALLOC, SHRINKER_UNIT_FREE) *
	       SHRINKER_UNIT_SIZE;
}

static long mm_reclaim_table_bytes(const unsigned long *events)
{
	return mm_reclaim_sum(events, SHRINKER_TABLE_BYTES_ALLOC, SHRINKER_TABLE_BYTES_FREE);
}

static long mm_reclaim_map_bytes(const unsigned long *events)
{
	return mm_reclaim_table_bytes(events) + mm_reclaim_unit_bytes(events);
}

/* For kfree(). */
static unsigned long *mm_reclaim_events(void)
{
	unsigned long *events = kcalloc(NR_VM_EVENT_ITEMS, sizeof(*events), GFP_KERNEL);

	if (events)
		all_vm_events(events);
	return events;
}

static void memcg_dying_show(struct seq_file *m)
{
	struct memcg_dying_counts counts = memcg_dying_count(root_mem_cgroup);

	seq_printf(m, "dying %ld\n", counts.dying);
	seq_printf(m, "draining %ld\n", counts.draining);
	seq_printf(m, "drained %ld\n", counts.drained);
	seq_printf(m, "drained_bytes %ld\n", counts.drained_bytes);
}

static int mm_reclaim_stats_show(struct seq_file *m, void *v)
{
	unsigned long *events __free(kfree) = mm_reclaim_events();
	int i;

	if (!events)
		return -ENOMEM;
	for (i = 0; COUNTS_EVENTS && i < ARRAY_SIZE(mm_reclaim_sums); i++)
		seq_printf(m, "%s %ld\n", mm_reclaim_sums[i].name,
			   mm_reclaim_sum(events, mm_reclaim_sums[i].event,
					  mm_reclaim_sums[i].less));
	if (COUNTS_EVENTS)
		seq_printf(m, "bytes %ld\n", mm_reclaim_map_bytes(events));
	memcg_dying_show(m);
	seq_printf(m, "memcgs_with_priority %d\n", memcg_nr_priorities());
#ifdef CONFIG_MEMCG_V1
	if (!mem_cgroup_disabled())
		seq_printf(m, "memcgs_in_excess %ld\n",
			   mem_cgroup_nr_excess(root_mem_cgroup));
#endif
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mm_reclaim_stats);

static void summary_line(struct seq_file *m, const char *name, long now, long ever,
			 long bytes)
{
	seq_printf(m, "%-28s %12ld %12ld %10ld KiB\n", name, now, ever,
		   DIV_ROUND_UP(bytes, SZ_1K));
}

static int mm_reclaim_summary_show(struct seq_file *m, void *v)
{
	unsigned long *events __free(kfree) = mm_reclaim_events();
	struct memcg_dying_counts dying;

	if (!events)
		return -ENOMEM;
	if (!COUNTS_EVENTS) {
		seq_puts(m, "The kernel was built without CONFIG_VM_EVENT_COUNTERS.\n");
		return 0;
	}
	seq_printf(m, "%-28s %12s %12s %14s\n", "", "now", "since boot", "memory");
	seq_printf(m, "%-28s %12ld %12lu\n", "shrinkers with an id",
		   mm_reclaim_sum(events, SHRINKER_ID_ALLOC, SHRINKER_ID_FREE),
		   events[SHRINKER_ID_ALLOC]);
	summary_line(m, "memcgs with a map",
		     mm_reclaim_sum(events, SHRINKER_MAP_OPEN, SHRINKER_MAP_CLOSE),
		     events[SHRINKER_MAP_OPEN], mm_reclaim_map_bytes(events));
	summary_line(m, "- their tables",
		     mm_reclaim_sum(events, SHRINKER_TABLE_ALLOC, SHRINKER_TABLE_FREE),
		     events[SHRINKER_TABLE_ALLOC], mm_reclaim_table_bytes(events));
	summary_line(m, "- their units",
		     mm_reclaim_sum(events, SHRINKER_UNIT_ALLOC, SHRINKER_UNIT_FREE),
		     events[SHRINKER_UNIT_ALLOC], mm_reclaim_unit_bytes(events));

	seq_printf(m, "\n%-28s %25lu\n", "walks that called a shrinker",
		   events[SHRINKER_MEMCG_WALK]);
	seq_printf(m, "%-28s %25lu\n", "- calls", events[SHRINKER_BIT_VISIT]);
	seq_printf(m, "%-28s %25lu\n", "- of them in vain", events[SHRINKER_BIT_SPURIOUS]);

	dying = memcg_dying_count(root_mem_cgroup);
	seq_printf(m, "\n%-28s %12ld\n", "removed and still referenced", dying.dying);
	summary_line(m, "- gave statistics back", dying.drained, events[MEMCG_STATS_DRAIN],
		     dying.drained_bytes);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mm_reclaim_summary);

/**
 * struct maps_file - an open file of maps
 * @all: whether all are shown
 * @only: or else the id of the cgroup to show, 0 for none
 */
struct maps_file {
	bool all;
	u64 only;
};

static bool maps_wanted(struct seq_file *m, struct mem_cgroup *memcg)
{
	struct maps_file *file = m->private;

	return file->all || file->only == mem_cgroup_id(memcg);
}

/* Groups come and go between two reads: some may be missed, or shown twice. */
static void *maps_start(struct seq_file *m, loff_t *pos)
{
	struct mem_cgroup *memcg = mem_cgroup_iter(NULL, NULL, NULL);
	loff_t i;

	for (i = 0; memcg && i < *pos; i++)
		memcg = mem_cgroup_iter(NULL, memcg, NULL);
	return memcg;
}

static void *maps_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return mem_cgroup_iter(NULL, v, NULL);
}

static void maps_stop(struct seq_file *m, void *v)
{
	if (v)
		mem_cgroup_iter_break(NULL, v);
}

static int maps_show(struct seq_file *m, void *v)
{
	struct mem_cgroup *memcg = v;
	int nid;

	if (!maps_wanted(m, memcg))
		return SEQ_SKIP;

	for_each_node(nid)
		show_shrinker_map(m, memcg, nid);
	return 0;
}

static const struct seq_operations maps_ops = {
	.start	= maps_start,
	.next	= maps_next,
	.stop	= maps_stop,
	.show	= maps_show,
};

static int maps_open(struct inode *inode, struct file *file)
{
	struct maps_file *maps = __seq_open_private(file, &maps_ops, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->all = true;
	return 0;
}

static const struct file_operations maps_fops = {
	.owner		= THIS_MODULE,
	.open		= maps_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

static int map_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &maps_ops, sizeof(struct maps_file));
}

/* What is read afterwards begins anew. */
static ssize_t map_write(struct file *file, const char __user *buf,
			 size_t size, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	struct maps_file *maps = m->private;
	struct mem_cgroup *memcg = NULL;
	u64 id;
	int ret;

	ret = kstrtou64_from_user(buf, size, 0, &id);
	if (ret)
		return ret;
	if (id) {
		memcg = mem_cgroup_get_from_id(id);
		if (!memcg)
			return -ENOENT;
		mem_cgroup_put(memcg);
	}

	mutex_lock(&m->lock);
	maps->only = id;
	mutex_unlock(&m->lock);
	*pos = 0;
	return size;
}

static const struct file_operations map_fops = {
	.owner		= THIS_MODULE,
	.open		= map_open,
	.read		= seq_read,
	.write		= map_write,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

static int __init mm_reclaim_debugfs_init(void)
{
	struct dentry *dir;

	if (mem_cgroup_disabled())
		return 0;

	dir = debugfs_create_dir("mm_reclaim", NULL);
	debugfs_create_file("stats", 0400, dir, NULL, &mm_reclaim_stats_fops);
	debugfs_create_file("summary", 0400, dir, NULL, &mm_reclaim_summary_fops);
	debugfs_create_file("maps", 0400, dir, NULL, &maps_fops);
	debugfs_create_file("map", 0600, dir, NULL, &map_fops);
	return 0;
}
late_initcall(mm_reclaim_debugfs_init);
