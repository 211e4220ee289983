// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "caches.h"

#define KIB		1024
#define L1_KIB		32
#define L1_WAYS		8
#define L2_KIB		1024
#define L2_WAYS		16
#define L3_KIB		16384
#define L3_WAYS		16

/*
 * An entry is a line and flags, or 0. In the L3 the flags are the CPUs that may have the
 * line, too: they don't say when one of them drops it.
 */
#define ENTRY_SHIFT	16
#define VALID		0x1
/*
 * Another CPU wrote the line. It keeps its place as if it were there, so that it is a miss
 * for this reason alone if it is used again before it would have been dropped.
 */
#define LOST		0x2
/* In an L1: no other CPU has it. */
#define OWNED		0x4
#define HAS(cpu)	(0x100ULL << (cpu))
#define ALL_CPUS	(HAS(MAX_CPUS) - HAS(0))

struct cache {
	unsigned int ways;
	__u64 mask;		/* of the bits of a line that choose its set */
	__u64 *entries;		/* of each set, the one that was used last comes first */
};

struct own {
	struct cache l1, l2;
};

struct caches {
	unsigned int cpus;
	struct own own[MAX_CPUS];
	struct cache l3;
};

static bool init(struct cache *cache, unsigned int kib, unsigned int ways)
{
	unsigned int lines = kib * KIB >> LINE_SHIFT;

	cache->ways = ways;
	cache->mask = lines / ways - 1;
	cache->entries = calloc(lines, sizeof(*cache->entries));
	return cache->entries;
}

void caches_free(struct caches *caches)
{
	unsigned int cpu;

	for (cpu = 0; cpu < caches->cpus; cpu++) {
		free(caches->own[cpu].l1.entries);
		free(caches->own[cpu].l2.entries);
	}
	free(caches->l3.entries);
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
	made = init(&caches->l3, L3_KIB, L3_WAYS);
	for (cpu = 0; cpu < cpus; cpu++)
		made = init(&caches->own[cpu].l1, L1_KIB, L1_WAYS) &&
		       init(&caches->own[cpu].l2, L2_KIB, L2_WAYS) && made;
	if (made)
		return caches;
	caches_free(caches);
	return NULL;
}

/* Where its lines are; and then its front, when one was brought there. */
static __u64 *set_of(const struct cache *cache, __u64 line)
{
	return cache->entries + (line & cache->mask) * cache->ways;
}

static bool is_of(__u64 entry, __u64 line)
{
	return entry && entry >> ENTRY_SHIFT == line;
}

static bool is_there(__u64 entry)
{
	return entry && !(entry & LOST);
}

static __u64 *find(const struct cache *cache, __u64 line)
{
	__u64 *set = set_of(cache, line);
	unsigned int way;

	for (way = 0; way < cache->ways; way++)
		if (is_of(set[way], line))
			return set + way;
	return NULL;
}

/*
 * Makes a line the first one of its set, and returns its entry as it was. If that is 0,
 * the last one of the set had to give way, and goes to @dropped if there was one.
 */
static __u64 bring(struct cache *cache, __u64 line, __u64 *dropped)
{
	__u64 *set = set_of(cache, line), entry;
	unsigned int way = 0;

	while (way < cache->ways - 1 && !is_of(set[way], line))
		way++;
	entry = set[way];
	if (!is_of(entry, line)) {
		*dropped = entry;
		entry = 0;
	}
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = entry ? entry & ~(__u64)LOST : line << ENTRY_SHIFT | VALID;
	return entry;
}

static void drop(struct cache *cache, __u64 line)
{
	__u64 *entry = find(cache, line), *end = set_of(cache, line) + cache->ways;

	if (!entry)
		return;
	memmove(entry, entry + 1, (end - entry - 1) * sizeof(*entry));
	end[-1] = 0;
}

/* Returns whether it was there. */
static bool lose(struct cache *cache, __u64 line)
{
	__u64 *entry = find(cache, line);
	bool had = entry && is_there(*entry);

	if (entry)
		*entry = (*entry & ~(__u64)OWNED) | LOST;
	return had;
}

static void share(struct cache *cache, __u64 line)
{
	__u64 *entry = find(cache, line);

	if (entry)
		*entry &= ~(__u64)OWNED;
}

static unsigned int fetch_from_l3(struct caches *caches, unsigned int cpu, __u64 line)
{
	__u64 dropped = 0, was = bring(&caches->l3, line, &dropped);
	__u64 *entry = set_of(&caches->l3, line);
	unsigned int other;

	for (other = 0; other < caches->cpus; other++) {
		if (dropped) {
			drop(&caches->own[other].l1, dropped >> ENTRY_SHIFT);
			drop(&caches->own[other].l2, dropped >> ENTRY_SHIFT);
		}
		if (other != cpu && *entry & HAS(other))
			share(&caches->own[other].l1, line);
	}
	*entry |= HAS(cpu);
	return was ? 0 : MISSED_L3;
}

static unsigned int fetch(struct caches *caches, unsigned int cpu, __u64 line)
{
	struct own *own = &caches->own[cpu];
	__u64 dropped = 0, was = bring(&own->l2, line, &dropped);

	if (dropped)
		drop(&own->l1, dropped >> ENTRY_SHIFT);
	if (is_there(was))
		return MISSED_L1;
	return MISSED_L1 | MISSED_L2 | (was ? LOST_LINE : 0) |
	       fetch_from_l3(caches, cpu, line);
}

static unsigned int take(struct caches *caches, unsigned int cpu, __u64 line)
{
	__u64 *entry = find(&caches->l3, line);
	unsigned int other, took = 0;

	for (other = 0; other < caches->cpus; other++) {
		if (other == cpu || !(*entry & HAS(other)))
			continue;
		lose(&caches->own[other].l1, line);
		if (lose(&caches->own[other].l2, line))
			took = TOOK_LINE;
	}
	*entry = (*entry & ~ALL_CPUS) | HAS(cpu);
	*set_of(&caches->own[cpu].l1, line) |= OWNED;
	return took;
}

unsigned int caches_access(struct caches *caches, unsigned int cpu, __u64 line,
			   bool store)
{
	struct cache *l1 = &caches->own[cpu].l1;
	unsigned int found = 0;
	__u64 dropped;

	if (!is_there(bring(l1, line, &dropped)))
		found = fetch(caches, cpu, line);
	if (store && !(*set_of(l1, line) & OWNED))
		found |= take(caches, cpu, line);
	return found;
}
