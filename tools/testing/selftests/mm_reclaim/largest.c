// SPDX-License-Identifier: GPL-2.0
/* As many groups as the kernel has ids for, and few mounts. */
#include "scenario.h"

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	unsigned int mounts;

	if (bench_create_all(site, opt->groups, &result->ns))
		return -1;
	bench_note("%u groups created, of %u wanted\n", site->created,
		   opt->groups);

	mounts = opt->count < site->created ? opt->count : site->created;
	if (bench_mount(site, opt, mounts, &result->ns) ||
	    bench_read_memory(&result->mounted))
		return -1;

	if (bench_drop("3", 2, NULL) || bench_drop("2", 2, NULL))
		return -1;
	result->emptied = !bench_empty(NULL);
	if (bench_sample_drops(result, "idle"))
		return -1;
	return bench_settle(&result->dropped, NULL);
}

const struct bench_scenario bench_largest = {
	.name = "largest",
	.about = "as many groups as there are ids for, and few mounts",
	.run = run,
	.mounts = 1,
	.count = 200,
	.counted = "mounts, each in a group of its own (default 200)",
};
