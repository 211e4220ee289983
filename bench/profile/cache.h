/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One cache of lines. Any line can be in any place, and the one that was used least
 * recently gives way: what two kernels miss differs by what they use, and not by which
 * of it has an address that shares a set.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <linux/types.h>

/* What is no line. */
#define NO_LINE		(~0ULL)

struct entry {
	__u64 line;
	/* Whatever the owner of the cache says of it. */
	__u32 flags;
	/* Of those with the same hash, the next one; places in the cache, 0 is none. */
	__u32 next;
	__u32 older, newer;
};

struct cache {
	__u32 lines, used;
	unsigned int shift;		/* of a hash, so that a bucket is left */
	__u32 *buckets;
	/* The first one has what was used last as its older one, and first as its newer. */
	struct entry *entries;
	__u32 unused;			/* those that were dropped, by their next */
};

/* With room for so many, a power of two; false if there is no memory for it. */
bool cache_init(struct cache *cache, __u32 lines);
void cache_free(struct cache *cache);

struct entry *cache_find(const struct cache *cache, __u64 line);
/*
 * Makes a line the one that was used last, and returns its entry. If it was not there, it
 * is with no flags, *@dropped is the one that gave way to it, or NO_LINE.
 */
struct entry *cache_use(struct cache *cache, __u64 line, __u64 *dropped);
void cache_drop(struct cache *cache, __u64 line);

#endif /* CACHE_H */
