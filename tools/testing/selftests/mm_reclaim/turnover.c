// SPDX-License-Identifier: GPL-2.0
/*
 * Where containers begin and end: a process joins each new group from the one
 * before, which gets its first object by that, and file systems are unmounted
 * lazily.
 */
#include <sys/mount.h>

#include "scenario.h"

/* Opening cgroup.procs makes a dentry that belongs to the group one is in. */
static int join_all(const struct bench_site *site, u64 *ns)
{
	unsigned int i;

	*ns = bench_now();
	for (i = 0; i < site->created; i++)
		if (bench_join(site, i) || bench_interrupted())
			return -1;
	if (bench_go_home(site))
		return -1;
	*ns = bench_now() - *ns;
	return 0;
}

/* As container runtimes do: it never fails because a file is still open. */
static int detach_all(struct bench_site *site, u64 *ns)
{
	char path[400];

	*ns = bench_now();
	while (site->mounted) {
		bench_mount_path(site, site->mounted - 1, "", path, sizeof(path));
		if (umount2(path, MNT_DETACH))
			return bench_error("cannot unmount %s", path);
		site->mounted--;
		if (bench_interrupted())
			return -1;
	}
	*ns = bench_now() - *ns;
	return 0;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	u64 join, detach;

	if (bench_create(site, opt->groups, &result->ns) ||
	    join_all(site, &join) ||
	    bench_mount(site, opt, opt->groups * opt->mounts, &result->ns) ||
	    detach_all(site, &detach))
		return -1;

	if (bench_record_one(result, "join", join) ||
	    bench_record_one(result, "detach", detach) ||
	    bench_record_one(result, "detached", opt->groups * opt->mounts))
		return -1;
	return 0;
}

const struct bench_scenario bench_turnover = {
	.name = "turnover",
	.about = "join new groups one from the other, and unmount with MNT_DETACH",
	.run = run,
	.mounts = 1,
};
