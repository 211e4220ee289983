// SPDX-License-Identifier: GPL-2.0
/*
 * First and last objects of groups that were created one after the other, from a CPU
 * each: what is kept for neighbours shares cache lines.
 */
#include <fcntl.h>
#include <unistd.h>

#include "scenario.h"

#define REPEATS		5

struct share {
	const struct bench_site *site;
	unsigned int each;
};

static int work(unsigned int worker, const void *arg)
{
	const struct share *share = arg;
	int fds, ret;

	if (bench_join(share->site, worker))
		return -1;
	fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds < 0)
		return bench_error("cannot open /proc/self/fd");
	ret = bench_come_and_go(fds, share->each);
	close(fds);
	return ret;
}

static int measure(const struct share *share, unsigned int workers, const char *name,
		   struct bench_result *result)
{
	u64 took[REPEATS];
	unsigned int i;

	for (i = 0; i < REPEATS; i++)
		if (bench_run_workers(workers, work, share, &took[i]) || bench_interrupted())
			return -1;
	return bench_record(result, name, took, REPEATS);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	struct share share = { .site = site, .each = opt->count };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int workers = opt->groups;
	u64 ignored;

	if (workers > BENCH_MAX_WORKERS)
		workers = BENCH_MAX_WORKERS;
	if (workers > cpus)
		workers = cpus;
	/* What comes first is slower. */
	if (bench_create(site, opt->groups, &result->ns) ||
	    bench_run_workers(workers, work, &share, &ignored) ||
	    measure(&share, 1, "one", result) || measure(&share, workers, "all", result) ||
	    bench_record_one(result, "each", share.each))
		return -1;
	return bench_record_one(result, "workers", workers);
}

const struct bench_scenario bench_share = {
	.name = "share",
	.about = "first and last objects of neighbours, from a CPU each",
	.run = run,
	.count = 2000,
	.counted = "how often in each group (default 2000)",
};
