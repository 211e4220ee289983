/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the data caches of a small server: an L1 and an L2 for each CPU, and an L3
 * that they share. An L2 has all that its L1 has, the L3 has all that any L2 has, and a
 * CPU that writes a line takes it away from all others.
 *
 * There is no prefetcher, no cache of instructions or translations, and no time: who is
 * first is who is asked about first.
 */
#ifndef CACHES_H
#define CACHES_H

#include <stdbool.h>
#include <linux/types.h>

#define MAX_CPUS	8
#define LINE_SHIFT	6

/* What comes of an access, as bits. */
enum {
	MISSED_L1	= 1 << 0,
	MISSED_L2	= 1 << 1,
	MISSED_L3	= 1 << 2,
	/* Both of its own missed, and only because another CPU wrote the line. */
	LOST_LINE	= 1 << 3,
	/* It wrote a line that another CPU had until then. */
	TOOK_LINE	= 1 << 4,
};

struct caches;

/* Empty ones, or NULL. */
struct caches *caches_new(unsigned int cpus);
void caches_free(struct caches *caches);
/* @line is the physical address, divided by the size of a line. */
unsigned int caches_access(struct caches *caches, unsigned int cpu, __u64 line,
			   bool store);

#endif /* CACHES_H */
