// SPDX-License-Identifier: GPL-2.0
/* What several scenarios do. */
#include "scenario.h"

int bench_make_idle(struct bench_site *site, const struct bench_options *opt,
		    unsigned int n, struct bench_result *result)
{
	int ret;

	if (bench_create(site, n, &result->ns) ||
	    bench_mount(site, opt, n * opt->mounts, &result->ns))
		return -1;

	/* What the set-up left in the page cache and elsewhere. */
	if (bench_drop("3", 2, NULL) || bench_drop("2", 2, NULL))
		return -1;
	ret = bench_empty(NULL);
	if (ret > 0)
		bench_note("without the shrinkers' debugfs files something may be left\n");
	result->emptied = !ret;
	return ret < 0 ? -1 : 0;
}

int bench_sample_drops(struct bench_result *result, const char *name)
{
	u64 ns[BENCH_SAMPLES];

	if (bench_drop("2", 1, NULL) || bench_drop("2", BENCH_SAMPLES, ns))
		return -1;
	return bench_record(result, name, ns, BENCH_SAMPLES);
}
