// SPDX-License-Identifier: GPL-2.0
/*
 * The test of the 2018 series "Improve shrink_slab() scalability": N groups,
 * each with its own tmpfs and one file in it, then five writes of 3 to
 * drop_caches. Five writes of 2 follow, which leave the page cache out.
 */
#include <unistd.h>

#include "main.h"

#define LOST_TRIES	40
#define LOST_POLL_US	250000

/* The timed drops still had every group on their way; these find nothing. */
static int time_empty(struct bench_result *result)
{
	int ret = bench_empty(NULL);

	if (ret)
		return 0;
	if (bench_drop("2", BENCH_DROPS, result->ns.empty2))
		return -1;
	result->emptied = true;
	return 0;
}

static void check_maps(struct bench_debugfs *debugfs)
{
	int ret = bench_map_debug(debugfs);

	if (ret > 0)
		bench_skip("there are no debugfs files of maps\n");
	else
		bench_check(!ret,
			    "the debugfs files of maps show %u maps and %llu ids\n",
			    debugfs->map_lines, debugfs->ids);
}

static int run_calls(struct bench_site *site, const struct bench_options *opt,
		     struct bench_result *result)
{
	const struct bench_debugfs *seen = &result->debugfs;
	int ret;

	if (bench_read_memory(&result->mounted))
		return -1;

	if (opt->shrinker_debug) {
		check_maps(&result->debugfs);
		ret = bench_shrinker_debug(&result->debugfs, "");
		bench_note("%u shrinkers, %u scans, %llu objects before and %llu after\n",
			   seen->shrinkers, seen->scans, seen->objects_before,
			   seen->objects_after);
		if (ret > 0)
			bench_skip("there are no shrinker debugfs files\n");
		else
			bench_check(!ret && seen->scans &&
				    seen->shrinkers >= opt->groups &&
				    seen->objects_after < seen->objects_before,
				    "the shrinkers' debugfs files count and scan\n");
	}

	if (bench_drop("3", BENCH_DROPS, result->ns.drop3) ||
	    bench_drop("2", BENCH_DROPS, result->ns.drop2))
		return -1;
	bench_check(bench_count_mounts(site) == (int)opt->groups &&
		    bench_count_groups(site) == (int)opt->groups,
		    "%u groups and %u mounts exist\n", opt->groups,
		    opt->groups);

	if (bench_settle(&result->dropped, NULL))
		return -1;
	bench_count_calls(result);
	return time_empty(result);
}

/*
 * Each unit is in the map of a group that is there. Whole slabs tell little: one
 * object that stays keeps a slab, and C's are shared with others.
 */
static void check_maps_removed(const struct bench_result *result)
{
	long long lost = -1;
	int ret, i;

	for (i = 0; i < LOST_TRIES; i++) {
		ret = bench_map_lost(&lost);
		if (ret || !lost)
			break;
		usleep(LOST_POLL_US);
	}
	bench_note("memory for shrinker maps: %llu KiB before, %llu with groups, %llu after\n",
		   bench_map_bytes(&result->start) / 1024,
		   bench_map_bytes(&result->dropped) / 1024,
		   bench_map_bytes(&result->removed) / 1024);
	if (ret > 0)
		bench_skip("this kernel does not count what maps take\n");
	else
		bench_check(!ret && !lost,
			    "%lld bytes of shrinker maps are left of groups that are gone\n",
			    lost);
}

int bench_run_drops(struct bench_site *site, const struct bench_options *opt,
		    struct bench_result *result)
{
	/* The first drop is the only one to find what the boot has left. */
	if (bench_settle(&result->start, NULL))
		return -1;

	if (bench_create(site, opt->groups, &result->ns) ||
	    bench_mount(site, opt, opt->groups, &result->ns) ||
	    run_calls(site, opt, result))
		return -1;

	if (opt->keep)
		return 0;

	if (bench_tear_down(site, result) ||
	    bench_settle(&result->removed, &result->start))
		return -1;
	check_maps_removed(result);
	return 0;
}
