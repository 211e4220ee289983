// SPDX-License-Identifier: GPL-2.0
/*
 * The knobs of soft limits by predicate: whether they are used at all, and the
 * limit of each memory cgroup. What reclaim makes of them is decided in
 * rust/mm_reclaim/soft_limit.rs.
 */
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/memcontrol.h>
#include <linux/sysctl.h>

#include "memcontrol-v1.h"
#include "mm_reclaim_soft_limit.h"

u8 memcg_soft_limit_enabled __read_mostly;

/*
 * The C implementation keeps its limit, which nothing can set any more, in
 * mem_cgroup::soft_limit: as long as that stays at the maximum, its tree stays
 * empty, and nothing comes of it.
 */
unsigned long mem_cgroup_excess_limit(struct mem_cgroup *memcg)
{
	if (!memcg_soft_limit_is_enabled())
		return PAGE_COUNTER_MAX;
	return READ_ONCE(memcg->excess_limit);
}

static void mem_cgroup_change_excess_limit(struct mem_cgroup *memcg,
					   unsigned long nr_pages)
{
	/*
	 * The limit is visible before the mark is read. Or else whoever marks
	 * the group by the old limit at the same time may look again too early,
	 * and be seen too late.
	 */
	smp_store_mb(memcg->excess_limit, nr_pages);
	mem_cgroup_update_excess(memcg);
}

/**
 * mem_cgroup_set_excess_limit - set the soft limit of a memcg
 * @memcg: the memory cgroup
 * @nr_pages: the limit
 *
 * Context: Does not sleep.
 * Return: 0, -EINVAL for the root, or -EOPNOTSUPP if soft limits are off.
 */
int mem_cgroup_set_excess_limit(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	if (!memcg_soft_limit_is_enabled())
		return -EOPNOTSUPP;
	if (mem_cgroup_is_root(memcg))
		return -EINVAL;

	mem_cgroup_change_excess_limit(memcg, nr_pages);
	return 0;
}

void mem_cgroup_reset_excess_limit(struct mem_cgroup *memcg)
{
	mem_cgroup_change_excess_limit(memcg, PAGE_COUNTER_MAX);
}

#ifdef CONFIG_SYSCTL
/* What happened while they were off was not noted. */
static void mem_cgroup_update_all(void)
{
	struct mem_cgroup *memcg;

	for_each_mem_cgroup_tree(memcg, NULL)
		mem_cgroup_update_excess(memcg);
}

static int memcg_soft_limit_handler(const struct ctl_table *table, int write,
				    void *buffer, size_t *lenp, loff_t *ppos)
{
	int ret = proc_dou8vec_minmax(table, write, buffer, lenp, ppos);

	if (!ret && write && memcg_soft_limit_is_enabled())
		mem_cgroup_update_all();
	return ret;
}

static const struct ctl_table memcg_soft_limit_table[] = {
	{
		.procname	= "memcg_soft_limit",
		.data		= &memcg_soft_limit_enabled,
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= memcg_soft_limit_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init memcg_soft_limit_init(void)
{
	register_sysctl_init("vm", memcg_soft_limit_table);
	return 0;
}
late_initcall(memcg_soft_limit_init);
#endif

static int __init memcg_soft_limit_setup(char *str)
{
	bool enabled;

	if (kstrtobool(str, &enabled))
		pr_warn("memcg_soft_limit='%s': use 0 or 1\n", str);
	else
		memcg_soft_limit_enabled = enabled;
	return 1;
}
__setup("memcg_soft_limit=", memcg_soft_limit_setup);
