// SPDX-License-Identifier: GPL-2.0
/*
 * Which implementation reclaims slab of memory cgroups, in the log of the boot and in
 * /sys/kernel/mm/mm_reclaim/: see Documentation/ABI/testing/sysfs-kernel-mm-mm_reclaim.
 */
#define pr_fmt(fmt) "mm_reclaim: " fmt

#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_reclaim.h>
#include <linux/sysfs.h>

/* Of the series: what scripts/series puts into the subjects of its mails. */
#define MM_RECLAIM_VERSION "1"

static const char *implementation(void)
{
	if (mem_cgroup_disabled())
		return "none";
#ifdef CONFIG_MEMCG_SHRINKER_RUST_VERIFY
	if (mm_reclaim_mode == MM_RECLAIM_VERIFY)
		return "rust verify";
	if (mm_reclaim_mode == MM_RECLAIM_EXHAUSTIVE)
		return "rust exhaustive";
#endif
	return "rust";
}

static ssize_t implementation_show(struct kobject *kobj, struct kobj_attribute *attr,
				   char *buf)
{
	return sysfs_emit(buf, "%s\n", implementation());
}
static struct kobj_attribute implementation_attr = __ATTR_RO(implementation);

static ssize_t version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", MM_RECLAIM_VERSION);
}
static struct kobj_attribute version_attr = __ATTR_RO(version);

static struct attribute *mm_reclaim_attrs[] = {
	&implementation_attr.attr,
	&version_attr.attr,
	NULL
};

static const struct attribute_group mm_reclaim_group = {
	.name = "mm_reclaim",
	.attrs = mm_reclaim_attrs,
};

static int __init mm_reclaim_sysfs_init(void)
{
	pr_info("version %s, memory cgroup reclaim: %s\n", MM_RECLAIM_VERSION,
		implementation());
	return sysfs_create_group(mm_kobj, &mm_reclaim_group);
}
subsys_initcall(mm_reclaim_sysfs_init);
