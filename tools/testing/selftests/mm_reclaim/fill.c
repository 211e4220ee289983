// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is written, and given up at once with MADV_FREE: it then is on the
 * list of file pages and can be taken as pages that were written back can. Thus no
 * disk is needed, whose speed would be measured, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

/* Reclaim may be slow once it has begun. */
#define SMALL_PIECE	(1024UL * 1024)

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

int bench_read_usage(struct bench_usage *usage)
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

u64 bench_twice_the_memory(void)
{
	return (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) * 2;
}

int bench_map_pieces(unsigned int pieces, size_t size, const struct bench_usage *before)
{
	struct bench_usage now;
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
		if (bench_interrupted() || (before && bench_read_usage(&now)))
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
	struct bench_usage before;

	if (bench_read_usage(&before))
		return -1;
	return bench_map_pieces(bench_twice_the_memory() / SMALL_PIECE, SMALL_PIECE, &before);
}
