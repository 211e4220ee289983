// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaims from a group with many below it, all of them empty but the last one: so
 * each walk passes all others. Several processes do so at once, and share the
 * position of their walks; then memory gets short, and kswapd walks alone.
 */
#include <string.h>
#include <sys/mman.h>

#include "scenario.h"

#define WALKERS		3	/* more than CPUs, so that they interrupt each other, too */
#define HELD		(64UL << 20)	/* in the last group */
#define EACH		"1M"		/* that each takes of it */

static int take_some(unsigned int worker, const void *arg)
{
	const struct bench_site *site = arg;
	char path[400];

	snprintf(path, sizeof(path), "%s/memory.reclaim", site->cgroup);
	if (bench_write(path, EACH))
		return bench_error("walker %u cannot reclaim from %s", worker, path);
	return 0;
}

static char *fill(const struct bench_site *site)
{
	char *held;

	if (bench_join(site, site->created - 1))
		return NULL;
	held = bench_map_piece(HELD);
	/* Else the walkers map it, too. */
	if (held && !madvise(held, HELD, MADV_DONTFORK) && !bench_go_home(site))
		return held;
	bench_error("cannot put memory into the last group");
	return NULL;
}

static int measure(const struct bench_site *site, struct bench_result *result)
{
	u64 reclaimed, filled;
	int ret;

	bench_note("%u groups; reclaiming from their parent\n", site->created);
	if (bench_run_workers(WALKERS, take_some, site, &reclaimed))
		return -1;
	bench_note("filling the memory\n");
	if (bench_join(site, site->created - 1))
		return -1;
	filled = bench_now();
	ret = bench_fill_memory();
	filled = bench_now() - filled;
	if (bench_go_home(site) || ret ||
	    bench_record_one(result, "reclaim", reclaimed) ||
	    bench_record_one(result, "fill", filled))
		return -1;
	return 0;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	char *held;
	int ret;

	if (strcmp(site->kind, "v2")) {
		bench_note("only cgroup v2 has memory.reclaim\n");
		return -1;
	}
	if (bench_create_all(site, opt->groups, &result->ns))
		return -1;
	if (!site->created)
		return bench_error("there is no group to put memory into");
	held = fill(site);
	if (!held)
		return -1;
	ret = measure(site, result);
	munmap(held, HELD);
	return ret;
}

const struct bench_scenario bench_siblings = {
	.name = "siblings",
	.about = "reclaim from a group with empty groups below it, all at once and with kswapd",
	.run = run,
};
