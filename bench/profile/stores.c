// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "stores.h"

#define FIRST_SIZE	1024

/* A hash table of them; where no CPU is, there is none. */
struct store {
	__u64 line;
	void *where;
	__u64 times;
	unsigned int cpus;	/* a bit for each */
};

/* That of this line and place, or where it goes. */
static struct store *find(struct store *slots, size_t size, __u64 line, const void *where)
{
	size_t at = (line * 0x9e3779b97f4a7c15 ^ (size_t)where * 0xff51afd7ed558ccd) >> 20;

	for (at %= size; slots[at].cpus; at = (at + 1) % size)
		if (slots[at].line == line && slots[at].where == where)
			break;
	return slots + at;
}

static bool grow(struct stores *stores)
{
	size_t i, size = stores->size ? stores->size * 2 : FIRST_SIZE;
	struct store *slots = calloc(size, sizeof(*slots)), *old;

	if (!slots)
		return false;
	for (i = 0; i < stores->size; i++) {
		old = stores->slots + i;
		if (old->cpus)
			*find(slots, size, old->line, old->where) = *old;
	}
	free(stores->slots);
	stores->slots = slots;
	stores->size = size;
	return true;
}

bool stores_add(struct stores *stores, __u64 line, unsigned int cpu, void *where)
{
	struct store *store;

	if (stores->used >= stores->size / 2 && !grow(stores))
		return false;
	store = find(stores->slots, stores->size, line, where);
	if (!store->cpus) {
		store->line = line;
		store->where = where;
		stores->used++;
	}
	store->cpus |= 1U << cpu;
	store->times++;
	return true;
}

/* What is empty comes last. */
static int compare(const void *a, const void *b)
{
	const struct store *one = a, *other = b;

	if (!one->cpus != !other->cpus)
		return !one->cpus - !other->cpus;
	return (one->line > other->line) - (one->line < other->line);
}

size_t stores_shared(struct stores *stores,
		     void (*found)(void *where, __u64 times, void *data), void *data)
{
	struct store *first = stores->slots, *last, *end;
	unsigned int cpus;
	size_t lines = 0;

	if (!stores->used)
		return 0;
	qsort(first, stores->size, sizeof(*first), compare);
	for (end = first + stores->used; first < end; first = last) {
		cpus = 0;
		for (last = first; last < end && last->line == first->line; last++)
			cpus |= last->cpus;
		if (!(cpus & (cpus - 1)))
			continue;
		lines++;
		for (; first < last; first++)
			found(first->where, first->times, data);
	}
	free(stores->slots);
	*stores = (struct stores){};
	return lines;
}
