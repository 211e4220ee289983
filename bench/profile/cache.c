// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "cache.h"

/* 2^64 divided by the square of the golden ratio, as hash_64() of the kernel has it. */
#define GOLDEN_RATIO	0x61C8864680B583EBULL

/* More buckets than lines, so that most have one line. */
static unsigned int nr_buckets(__u32 lines)
{
	return lines * 2;
}

bool cache_init(struct cache *cache, __u32 lines)
{
	*cache = (struct cache){
		.lines = lines,
		.shift = 64 - __builtin_ctz(nr_buckets(lines)),
		.buckets = calloc(nr_buckets(lines), sizeof(*cache->buckets)),
		.entries = calloc(lines + 1, sizeof(*cache->entries)),
	};
	return cache->buckets && cache->entries;
}

void cache_free(struct cache *cache)
{
	free(cache->buckets);
	free(cache->entries);
}

static __u32 *bucket_of(const struct cache *cache, __u64 line)
{
	return cache->buckets + (line * GOLDEN_RATIO >> cache->shift);
}

struct entry *cache_find(const struct cache *cache, __u64 line)
{
	__u32 at;

	for (at = *bucket_of(cache, line); at; at = cache->entries[at].next)
		if (cache->entries[at].line == line)
			return cache->entries + at;
	return NULL;
}

static void take_out_of_order(struct cache *cache, const struct entry *entry)
{
	cache->entries[entry->newer].older = entry->older;
	cache->entries[entry->older].newer = entry->newer;
}

static void make_newest(struct cache *cache, struct entry *entry)
{
	__u32 at = entry - cache->entries;

	entry->newer = 0;
	entry->older = cache->entries[0].older;
	cache->entries[entry->older].newer = at;
	cache->entries[0].older = at;
}

/* Its place can be used again then. */
static void forget(struct cache *cache, struct entry *entry)
{
	__u32 *at = bucket_of(cache, entry->line);

	while (*at != entry - cache->entries)
		at = &cache->entries[*at].next;
	*at = entry->next;
	take_out_of_order(cache, entry);
	entry->next = cache->unused;
	cache->unused = entry - cache->entries;
}

static struct entry *add(struct cache *cache, __u64 line)
{
	__u32 at = cache->unused, *bucket = bucket_of(cache, line);
	struct entry *entry;

	if (!at)
		at = ++cache->used;
	entry = cache->entries + at;
	cache->unused = entry->next;
	entry->line = line;
	entry->flags = 0;
	entry->next = *bucket;
	*bucket = at;
	return entry;
}

struct entry *cache_use(struct cache *cache, __u64 line, __u64 *dropped)
{
	struct entry *entry = cache->entries + cache->entries[0].older;

	*dropped = NO_LINE;
	/* Most often it was the last one, too. */
	if (entry != cache->entries && entry->line == line)
		return entry;
	entry = cache_find(cache, line);
	if (entry) {
		take_out_of_order(cache, entry);
	} else {
		if (!cache->unused && cache->used == cache->lines) {
			entry = cache->entries + cache->entries[0].newer;
			*dropped = entry->line;
			forget(cache, entry);
		}
		entry = add(cache, line);
	}
	make_newest(cache, entry);
	return entry;
}

void cache_drop(struct cache *cache, __u64 line)
{
	struct entry *entry = cache_find(cache, line);

	if (entry)
		forget(cache, entry);
}
