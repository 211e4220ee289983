// SPDX-License-Identifier: GPL-2.0
/*
 * Groups in which there is nothing to reclaim. One group in the same machine
 * comes first, as what an idle drop_caches takes there does not depend on how
 * many there are.
 */
#include "scenario.h"

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	if (bench_make_idle(site, opt, 1, result) ||
	    bench_sample_drops(result, "one"))
		return -1;

	if (bench_make_idle(site, opt, opt->groups, result) ||
	    bench_read_memory(&result->mounted) ||
	    bench_sample_drops(result, "idle"))
		return -1;

	if (bench_settle(&result->dropped, NULL))
		return -1;
	bench_count_calls(result);
	return 0;
}

const struct bench_scenario bench_idle = {
	.name = "idle",
	.about = "drop_caches with nothing to reclaim, for one group and for all",
	.run = run,
	.mounts = 1,
};
