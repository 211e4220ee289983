// SPDX-License-Identifier: GPL-2.0
/*
 * Which implementation reclaims slab of memory cgroups, and in which mode: that of the boot
 * parameter mm_reclaim=. It is in the boot log and in /sys/kernel/mm/mm_reclaim/, see
 * Documentation/ABI/testing/sysfs-kernel-mm-mm_reclaim.
 */
#define pr_fmt(fmt) "mm_reclaim: " fmt

#include <linux/array_size.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/memcontrol.h>
#include <linux/mm_reclaim.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

/* Of the series: what scripts/series puts into the subjects of its mails. */
#define MM_RECLAIM_VERSION "1"

static const char *implementation(void)
{
	return mem_cgroup_disabled() ? "none" : "rust";
}

#ifdef CONFIG_MEMCG_SHRINKER_RUST_VERIFY
int mm_reclaim_mode __ro_after_init;

static const char * const modes[] = {
	[MM_RECLAIM_MAPS] = "maps",
	[MM_RECLAIM_VERIFY] = "verify",
	[MM_RECLAIM_EXHAUSTIVE] = "exhaustive",
};

static const char *mode(void)
{
	return modes[mm_reclaim_mode];
}

static int __init mm_reclaim_setup(char *str)
{
	int found = match_string(modes, ARRAY_SIZE(modes), str);

	/* The default needs no parameter. */
	if (found > MM_RECLAIM_MAPS)
		mm_reclaim_mode = found;
	else
		pr_warn("unknown mode '%s': use verify or exhaustive\n", str);
	return 1;
}
__setup("mm_reclaim=", mm_reclaim_setup);
#else
static const char *mode(void)
{
	return "maps";
}
#endif

static ssize_t implementation_show(struct kobject *kobj, struct kobj_attribute *attr,
				   char *buf)
{
	return sysfs_emit(buf, "%s\n", implementation());
}

static struct kobj_attribute implementation_attr = __ATTR_RO(implementation);

static ssize_t mode_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", mode());
}

static struct kobj_attribute mode_attr = __ATTR_RO(mode);

static ssize_t version_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", MM_RECLAIM_VERSION);
}

static struct kobj_attribute version_attr = __ATTR_RO(version);

static struct attribute *mm_reclaim_attrs[] = {
	&implementation_attr.attr,
	&mode_attr.attr,
	&version_attr.attr,
	NULL
};

static const struct attribute_group mm_reclaim_group = {
	.name = "mm_reclaim",
	.attrs = mm_reclaim_attrs,
};

static int __init mm_reclaim_sysfs_init(void)
{
	pr_info("version %s, memory cgroup reclaim: %s, mode %s\n", MM_RECLAIM_VERSION,
		implementation(), mode());
	return sysfs_create_group(mm_kobj, &mm_reclaim_group);
}
subsys_initcall(mm_reclaim_sysfs_init);
