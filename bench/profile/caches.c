// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "cache.h"
#include "caches.h"

#define LINES(kib)	((kib) << (10 - LINE_SHIFT))
#define L1_KIB		32
#define L2_KIB		1024
#define L3_KIB		16384

/*
 * The flags of an entry. In the L3 they are the CPUs that may have the line, too: they
 * don't say when one of them drops it.
 */
#define VALID		0x1
/*
 * Another CPU wrote the line. It keeps its place as if it were there, so that it is a miss
 * for this reason alone if it is used again before it would have been dropped.
 */
#define LOST		0x2
/* In an L1: no other CPU has it. */
#define OWNED		0x4
#define HAS(cpu)	(0x100U << (cpu))
#define ALL_CPUS	(HAS(MAX_CPUS) - HAS(0))

struct own {
	struct cache l1, l2;
};

struct caches {
	unsigned int cpus;
	struct own own[MAX_CPUS];
	struct cache l3;
};

void caches_free(struct caches *caches)
{
	unsigned int cpu;

	for (cpu = 0; cpu < caches->cpus; cpu++) {
		cache_free(&caches->own[cpu].l1);
		cache_free(&caches->own[cpu].l2);
	}
	cache_free(&caches->l3);
	free(caches);
}

struct caches *caches_new(unsigned int cpus)
{
	struct caches *caches = calloc(1, sizeof(*caches));
	unsigned int cpu;
	bool made;

	if (!caches || cpus > MAX_CPUS) {
		free(caches);
		return NULL;
	}
	caches->cpus = cpus;
	made = cache_init(&caches->l3, LINES(L3_KIB));
	for (cpu = 0; cpu < cpus; cpu++)
		made = made && cache_init(&caches->own[cpu].l1, LINES(L1_KIB)) &&
		       cache_init(&caches->own[cpu].l2, LINES(L2_KIB));
	if (made)
		return caches;
	caches_free(caches);
	return NULL;
}

/* Returns the flags as they were, which are 0 if the line was not there. */
static unsigned int bring(struct cache *cache, __u64 line, __u64 *dropped)
{
	struct entry *entry = cache_use(cache, line, dropped);
	unsigned int was = entry->flags;

	entry->flags = (was & ~LOST) | VALID;
	return was;
}

static bool is_there(unsigned int flags)
{
	return flags && !(flags & LOST);
}

/* Returns whether it was there. */
static bool lose(struct cache *cache, __u64 line)
{
	struct entry *entry = cache_find(cache, line);
	bool had = entry && is_there(entry->flags);

	if (entry)
		entry->flags = (entry->flags & ~OWNED) | LOST;
	return had;
}

static void share(struct cache *cache, __u64 line)
{
	struct entry *entry = cache_find(cache, line);

	if (entry)
		entry->flags &= ~OWNED;
}

static unsigned int fetch_from_l3(struct caches *caches, unsigned int cpu, __u64 line)
{
	__u64 dropped;
	struct entry *entry = cache_use(&caches->l3, line, &dropped);
	unsigned int was = entry->flags, other;

	for (other = 0; other < caches->cpus; other++) {
		if (!was) {
			cache_drop(&caches->own[other].l1, dropped);
			cache_drop(&caches->own[other].l2, dropped);
		}
		if (other != cpu && was & HAS(other))
			share(&caches->own[other].l1, line);
	}
	entry->flags |= VALID | HAS(cpu);
	return was ? 0 : MISSED_L3;
}

static unsigned int fetch(struct caches *caches, unsigned int cpu, __u64 line)
{
	struct own *own = &caches->own[cpu];
	__u64 dropped;
	unsigned int was = bring(&own->l2, line, &dropped);

	if (is_there(was))
		return MISSED_L1;
	if (!was)
		cache_drop(&own->l1, dropped);
	return MISSED_L1 | MISSED_L2 | (was ? LOST_LINE : 0) |
	       fetch_from_l3(caches, cpu, line);
}

static unsigned int take(struct caches *caches, unsigned int cpu, __u64 line)
{
	struct entry *entry = cache_find(&caches->l3, line);
	unsigned int other, took = 0;

	for (other = 0; other < caches->cpus; other++) {
		if (other == cpu || !(entry->flags & HAS(other)))
			continue;
		lose(&caches->own[other].l1, line);
		if (lose(&caches->own[other].l2, line))
			took = TOOK_LINE;
	}
	entry->flags = (entry->flags & ~ALL_CPUS) | HAS(cpu);
	cache_find(&caches->own[cpu].l1, line)->flags |= OWNED;
	return took;
}

unsigned int caches_access(struct caches *caches, unsigned int cpu, __u64 line,
			   bool store)
{
	struct cache *l1 = &caches->own[cpu].l1;
	__u64 dropped;
	unsigned int was = bring(l1, line, &dropped), found = 0;

	if (!is_there(was))
		found = fetch(caches, cpu, line);
	if (store && !(was & OWNED))
		found |= take(caches, cpu, line);
	return found;
}
