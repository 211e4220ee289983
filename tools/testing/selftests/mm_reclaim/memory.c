// SPDX-License-Identifier: GPL-2.0
/* What /proc says about kernel memory. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

/* Name, pages of a slab, and number of slabs. */
#define SLABINFO	"%63s %*u %*u %*u %*u %llu : tunables %*u %*u %*u" \
			" : slabdata %*u %llu"

static bool starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool is_own_cache(const char *name)
{
	return starts_with(name, "shrinker_unit") || starts_with(name, "mm_reclaim");
}

/*
 * struct shrinker_info_unit is 520 bytes: the C implementation has its units
 * in kmalloc-1k (kmalloc-rnd-XX-1k with RANDOM_KMALLOC_CACHES), ours in a
 * cache of its own. The accounted kmalloc-cg-1k never holds maps.
 */
bool bench_is_map_cache(const char *name)
{
	size_t len = strlen(name);

	if (is_own_cache(name))
		return true;
	return len > 3 && !strcmp(name + len - 3, "-1k") &&
	       (!strcmp(name, "kmalloc-1k") || starts_with(name, "kmalloc-rnd-"));
}

u64 bench_map_bytes(const struct bench_memory *memory)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < memory->nr_caches; i++)
		if (bench_is_map_cache(memory->caches[i].name))
			sum += memory->caches[i].bytes;
	return sum;
}

/*
 * Makes the allocator give back the slabs that it keeps although no object is
 * in them, so that what stays is what somebody holds.
 */
void bench_shrink_caches(const struct bench_memory *memory)
{
	char path[128];
	unsigned int i;

	for (i = 0; i < memory->nr_caches; i++) {
		if (!bench_is_map_cache(memory->caches[i].name))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
			 memory->caches[i].name);
		/* Best effort: without it only the check is less sharp. */
		bench_write(path, "1");
	}
}

static int read_meminfo(struct bench_memory *memory)
{
	char line[128], key[40];
	unsigned int found = 0;
	u64 kib;
	FILE *f;

	f = fopen("/proc/meminfo", "re");
	if (!f)
		return bench_error("cannot read /proc/meminfo");

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%39[^:]: %llu", key, &kib) != 2)
			continue;
		if (!strcmp(key, "Slab"))
			memory->slab = kib * 1024;
		else if (!strcmp(key, "SUnreclaim"))
			memory->sunreclaim = kib * 1024;
		else if (!strcmp(key, "Percpu"))
			memory->percpu = kib * 1024;
		else
			continue;
		found++;
	}
	fclose(f);
	if (found == 3)
		return 0;

	errno = ENODATA;
	return bench_error("/proc/meminfo lacks Slab, SUnreclaim or Percpu");
}

/* Whole slabs, as that is what a cache takes from the system. */
static int read_slabinfo(struct bench_memory *memory)
{
	long page = sysconf(_SC_PAGESIZE);
	char line[512];
	FILE *f;

	f = fopen("/proc/slabinfo", "re");
	if (!f) {
		if (errno == ENOENT)	/* a kernel without SLUB_DEBUG */
			return 0;
		return bench_error("cannot read /proc/slabinfo");
	}

	while (fgets(line, sizeof(line), f)) {
		struct bench_cache *cache = &memory->caches[memory->nr_caches];
		u64 pages, slabs;

		if (sscanf(line, SLABINFO, cache->name, &pages, &slabs) != 3)
			continue;
		if (!starts_with(cache->name, "kmalloc") &&
		    !is_own_cache(cache->name))
			continue;
		if (memory->nr_caches == BENCH_MAX_CACHES - 1) {
			fclose(f);
			errno = E2BIG;
			return bench_error("more kmalloc caches than expected");
		}
		cache->bytes = slabs * pages * page;
		memory->nr_caches++;
	}
	fclose(f);
	return 0;
}

int bench_read_memory(struct bench_memory *memory)
{
	memset(memory, 0, sizeof(*memory));
	if (read_meminfo(memory))
		return -1;
	return read_slabinfo(memory);
}
