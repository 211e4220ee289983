// SPDX-License-Identifier: GPL-2.0
/*
 * Starts containers one after the other: creates a group, mounts some file
 * systems from inside it, and creates a file in each.
 */
#include "scenario.h"

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	u64 start = bench_now();
	unsigned int i;

	for (i = 1; i <= opt->groups; i++)
		if (bench_create(site, i, &result->ns) ||
		    bench_mount(site, opt, i * opt->mounts, &result->ns))
			return -1;
	if (bench_record_one(result, "start", bench_now() - start) ||
	    bench_read_memory(&result->mounted))
		return -1;

	/* Without what reclaim would take. */
	return bench_settle(&result->dropped, NULL);
}

const struct bench_scenario bench_start = {
	.name = "start",
	.about = "create each group, with ten mounts made from inside it",
	.run = run,
	.mounts = 10,
};
