// SPDX-License-Identifier: GPL-2.0
/*
 * What memory cgroup slab reclaim in Rust shows in debugfs, in mm_reclaim/:
 *
 * stats	totals, one "name value" on each line
 * maps		one line for each memory cgroup and node that has a map; after the
 *		id of a cgroup was written to the open file (the inode number of
 *		its directory), only its lines
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "mm_reclaim_dying.h"
#include "mm_reclaim_priority.h"

struct mm_reclaim_stats {
	long values[NR_MM_RECLAIM_STATS];
};

static DEFINE_PER_CPU(struct mm_reclaim_stats, mm_reclaim_stats);

static const char * const mm_reclaim_stat_names[] = {
	[MM_RECLAIM_IDS] = "ids",
	[MM_RECLAIM_MAPS_OPEN] = "maps",
	[MM_RECLAIM_TABLES] = "tables",
	[MM_RECLAIM_TABLE_BYTES] = "table_bytes",
	[MM_RECLAIM_UNITS] = "units",
	[MM_RECLAIM_INSTALLS] = "installs",
	[MM_RECLAIM_GROWTHS] = "growths",
	[MM_RECLAIM_MEMCGS_VISITED] = "memcgs_visited",
	[MM_RECLAIM_BITS_VISITED] = "bits_visited",
	[MM_RECLAIM_BITS_SPURIOUS] = "bits_spurious",
	[MM_RECLAIM_EXCESS_PASSES] = "excess_passes",
	[MM_RECLAIM_EXCESS_IN_VAIN] = "excess_passes_in_vain",
};

void mm_reclaim_stat_add(enum mm_reclaim_stat stat, long nr)
{
	this_cpu_add(mm_reclaim_stats.values[stat], nr);
}

void mm_reclaim_stat_add_walk(unsigned long bits, unsigned long spurious)
{
	this_cpu_inc(mm_reclaim_stats.values[MM_RECLAIM_MEMCGS_VISITED]);
	this_cpu_add(mm_reclaim_stats.values[MM_RECLAIM_BITS_VISITED], bits);
	if (spurious)
		this_cpu_add(mm_reclaim_stats.values[MM_RECLAIM_BITS_SPURIOUS], spurious);
}

static long mm_reclaim_stat_sum(enum mm_reclaim_stat stat)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(mm_reclaim_stats, cpu).values[stat]);
	return sum;
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
	int i;

	for (i = 0; i < NR_MM_RECLAIM_STATS; i++)
		seq_printf(m, "%s %ld\n", mm_reclaim_stat_names[i],
			   mm_reclaim_stat_sum(i));
	seq_printf(m, "bytes %ld\n",
		   mm_reclaim_stat_sum(MM_RECLAIM_TABLE_BYTES) +
		   mm_reclaim_stat_sum(MM_RECLAIM_UNITS) * SHRINKER_UNIT_SIZE);
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

/**
 * struct maps_file - an open file of maps
 * @only: the id of the cgroup to show, 0 for all
 */
struct maps_file {
	u64 only;
};

static bool maps_wanted(struct seq_file *m, struct mem_cgroup *memcg)
{
	struct maps_file *file = m->private;

	return !file->only || file->only == mem_cgroup_id(memcg);
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
	return seq_open_private(file, &maps_ops, sizeof(struct maps_file));
}

/* What is read afterwards begins anew. */
static ssize_t maps_write(struct file *file, const char __user *buf,
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

static const struct file_operations maps_fops = {
	.owner		= THIS_MODULE,
	.open		= maps_open,
	.read		= seq_read,
	.write		= maps_write,
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
	debugfs_create_file("maps", 0600, dir, NULL, &maps_fops);
	return 0;
}
late_initcall(mm_reclaim_debugfs_init);
