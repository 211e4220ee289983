// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a stream of memory that is larger than what there is, so that the
 * whole machine is under reclaim, which asks every group.
 */
#include <stdio.h>

#include "scenario.h"

#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define REPEATS		3
#define PIECE		(16UL << 20)
#define MIB_PER_PIECE	(PIECE >> 20)

static int measure(unsigned int pieces, const char *name,
		   struct bench_result *result)
{
	u64 took[REPEATS], system[REPEATS], taken[REPEATS], slabs[REPEATS];
	struct bench_usage before, after;
	char text[32];
	int i;

	for (i = 0; i < REPEATS; i++) {
		u64 start;

		if (bench_read_usage(&before))
			return -1;
		start = bench_now();
		if (bench_map_pieces(pieces, PIECE, NULL))
			return -1;
		took[i] = bench_now() - start;
		if (bench_read_usage(&after))
			return -1;
		system[i] = after.system - before.system;
		taken[i] = after.taken - before.taken;
		slabs[i] = after.slabs - before.slabs;
		if (!taken[i]) {
			bench_note("no memory was reclaimed: give a larger --count\n");
			return -1;
		}
	}

	snprintf(text, sizeof(text), "%s_wall", name);
	if (bench_record(result, text, took, REPEATS))
		return -1;
	snprintf(text, sizeof(text), "%s_system", name);
	if (bench_record(result, text, system, REPEATS))
		return -1;
	snprintf(text, sizeof(text), "%s_pages", name);
	if (bench_record(result, text, taken, REPEATS))
		return -1;
	snprintf(text, sizeof(text), "%s_slabs", name);
	return bench_record(result, text, slabs, REPEATS);
}

/* The value that was there, or nothing where the kernel has no MGLRU. */
static bool read_lru_gen(char *value, size_t size)
{
	bool found;
	FILE *f;

	f = fopen(LRU_GEN, "re");
	if (!f)
		return false;
	found = fgets(value, size, f);
	fclose(f);
	return found;
}

static int measure_both(unsigned int pieces, struct bench_result *result)
{
	char old[32];
	int ret;

	if (!read_lru_gen(old, sizeof(old)))
		return measure(pieces, "classic", result);

	if (bench_write(LRU_GEN, "n"))
		return bench_error("cannot write %s", LRU_GEN);
	ret = measure(pieces, "classic", result);
	if (!ret && bench_write(LRU_GEN, "y"))
		ret = bench_error("cannot write %s", LRU_GEN);
	if (!ret)
		ret = measure(pieces, "mglru", result);
	if (bench_write(LRU_GEN, old))
		return bench_error("cannot restore %s", LRU_GEN);
	return ret;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	u64 mib = opt->count ? opt->count : bench_twice_the_memory() >> 20;
	unsigned int pieces = mib < MIB_PER_PIECE ? 1 : mib / MIB_PER_PIECE;

	if (bench_make_idle(site, opt, opt->groups, result) ||
	    bench_record_one(result, "mib", pieces * MIB_PER_PIECE))
		return -1;
	return measure_both(pieces, result);
}

const struct bench_scenario bench_pressure = {
	.name = "pressure",
	.about = "a stream of writes larger than memory, with idle groups; classic LRU and MGLRU",
	.run = run,
	.mounts = 1,
	.counted = "MiB to write (default: twice the memory)",
};
