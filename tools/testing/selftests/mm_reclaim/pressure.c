// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a stream of memory that is larger than what there is, so that the
 * whole machine is under reclaim, which asks every group. Each piece is given
 * up with MADV_FREE when it is written: it then is on the list of file pages
 * and can be taken at once, as pages that were written back can. Thus no disk
 * is needed, whose speed would be measured, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define REPEATS		3
#define PIECE		(16UL << 20)
#define MIB_PER_PIECE	(PIECE >> 20)
/* Of what is written until reclaim begins, which may be slow then. */
#define SMALL_PIECE	(PIECE / 16)

/* Of all CPUs: reclaim in the background is part of it. */
struct usage {
	u64 system;	/* in ns */
	u64 taken;	/* pages */
	u64 slabs;	/* objects that shrinkers looked at */
};

static int read_system_time(u64 *ns)
{
	u64 system, irq, softirq;
	int ret = -1;
	FILE *f;

	f = fopen("/proc/stat", "re");
	if (!f)
		return bench_error("cannot read /proc/stat");
	if (fscanf(f, "cpu %*u %*u %llu %*u %*u %llu %llu", &system, &irq,
		   &softirq) == 3) {
		*ns = (system + irq + softirq) *
		      (1000000000ULL / sysconf(_SC_CLK_TCK));
		ret = 0;
	} else {
		bench_note("/proc/stat cannot be parsed\n");
	}
	fclose(f);
	return ret;
}

static int read_usage(struct usage *usage)
{
	char key[64];
	u64 value;
	FILE *f;

	memset(usage, 0, sizeof(*usage));
	f = fopen("/proc/vmstat", "re");
	if (!f)
		return bench_error("cannot read /proc/vmstat");
	while (fscanf(f, "%63s %llu", key, &value) == 2) {
		if (!strcmp(key, "pgsteal_kswapd") ||
		    !strcmp(key, "pgsteal_direct"))
			usage->taken += value;
		else if (!strcmp(key, "slabs_scanned"))
			usage->slabs = value;
	}
	fclose(f);
	return read_system_time(&usage->system);
}

char *bench_map_piece(size_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	char *piece, *at;

	piece = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (piece == MAP_FAILED) {
		bench_error("cannot map a piece of memory");
		return NULL;
	}
	/* Huge pages would be fewer for reclaim to take. */
	madvise(piece, size, MADV_NOHUGEPAGE);
	for (at = piece; at < piece + size; at += page)
		*at = 1;
	if (madvise(piece, size, MADV_FREE)) {
		bench_error("cannot give memory up with MADV_FREE");
		munmap(piece, size);
		return NULL;
	}
	return piece;
}

static u64 twice_the_memory(void)
{
	return (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) * 2;
}

/*
 * With what was used before, only until something is reclaimed, which it then has
 * to be.
 */
static int stream(unsigned int pieces, size_t size, const struct usage *before)
{
	struct usage now;
	unsigned int i, mapped;
	bool taken = false;
	char **piece;
	int ret = 0;

	piece = calloc(pieces, sizeof(*piece));
	if (!piece)
		return bench_error("no memory for a list of %u pieces", pieces);
	for (mapped = 0; mapped < pieces && !ret && !taken; mapped++) {
		piece[mapped] = bench_map_piece(size);
		if (!piece[mapped]) {
			ret = -1;
			break;
		}
		if (bench_interrupted() || (before && read_usage(&now)))
			ret = -1;
		else
			taken = before && now.taken > before->taken;
	}
	if (!ret && before && !taken) {
		bench_note("no memory was reclaimed\n");
		ret = -1;
	}
	for (i = 0; i < mapped; i++)
		munmap(piece[i], size);
	free(piece);
	return ret;
}

int bench_fill_memory(void)
{
	struct usage before;

	if (read_usage(&before))
		return -1;
	return stream(twice_the_memory() / SMALL_PIECE, SMALL_PIECE, &before);
}

static int measure(unsigned int pieces, const char *name,
		   struct bench_result *result)
{
	u64 took[REPEATS], system[REPEATS], taken[REPEATS], slabs[REPEATS];
	struct usage before, after;
	char text[32];
	int i;

	for (i = 0; i < REPEATS; i++) {
		u64 start;

		if (read_usage(&before))
			return -1;
		start = bench_now();
		if (stream(pieces, PIECE, NULL))
			return -1;
		took[i] = bench_now() - start;
		if (read_usage(&after))
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
	u64 mib = opt->count ? opt->count : twice_the_memory() >> 20;
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
