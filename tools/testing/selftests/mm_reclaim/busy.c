// SPDX-License-Identifier: GPL-2.0
/*
 * Some groups of many have an object. It is a dentry of the cgroup file system,
 * that of a file which nobody has looked at before. It belongs to the group of
 * the process that looks, and drop_caches counts it each time but never frees
 * it, see join_for_mount(), so that each write has the same to do.
 */
#include <string.h>
#include <unistd.h>

#include "scenario.h"

#define SETTLING	6	/* writes; each frees half of what there is */

/* Evenly spread, so that no group is near another one if there are few. */
static int touch(const struct bench_site *site, unsigned int i)
{
	bool v1 = !strcmp(site->kind, "v1");
	char path[400];

	if (bench_go_home(site) || bench_join(site, i))
		return -1;
	bench_group_path(site, i, v1 ? "/tasks" : "/cgroup.type", path,
			 sizeof(path));
	if (access(path, F_OK))
		return bench_error("cannot look up %s", path);
	return 0;
}

static int measure(const struct bench_site *site, unsigned int k,
		   struct bench_result *result)
{
	struct bench_debugfs found = {};
	char name[32];
	unsigned int i;

	for (i = 0; i < k; i++)
		if (touch(site, (u64)i * site->created / k))
			return -1;
	if (bench_go_home(site))
		return -1;
	/* Joining has left dentries that are the root's, and are freed. */
	if (bench_drop("2", SETTLING, NULL))
		return -1;

	snprintf(name, sizeof(name), "busy%u", k);
	if (bench_sample_drops(result, name))
		return -1;
	snprintf(name, sizeof(name), "calls%u", k);
	if (bench_record_calls(result, name))
		return -1;

	/* The next k starts with none. */
	if (bench_empty(&found) < 0)
		return -1;
	if (!result->emptied)
		return 0;
	if (found.memcg_lines < k) {
		bench_note("only %u of %u groups had an object\n",
			   found.memcg_lines, k);
		return -1;
	}
	snprintf(name, sizeof(name), "found%u", k);
	return bench_record_one(result, name, found.memcg_lines);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	unsigned int k;

	if (bench_make_idle(site, opt, opt->groups, result) ||
	    bench_sample_drops(result, "busy0"))
		return -1;

	for (k = 1; k < opt->groups; k *= 10)
		if (measure(site, k, result))
			return -1;
	return measure(site, opt->groups, result);
}

const struct bench_scenario bench_busy = {
	.name = "busy",
	.about = "drop_caches with an object in 1, 10, 100, ... of the groups",
	.run = run,
	.mounts = 1,
};
