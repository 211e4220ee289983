// SPDX-License-Identifier: GPL-2.0
/* Brings slab memory to a state in which a measurement means something. */
#include <unistd.h>

#include "bench.h"

#define FEW		4
#define EMPTY_TRIES	5
#define SETTLE_TRIES	40
#define SETTLE_POLL_US	250000

/*
 * Memory that is freed after a grace period or from a work item is not free
 * yet. Freeing has ended when the map caches have stopped shrinking. With @goal
 * their empty slabs go, too, and it has ended when the goal is reached.
 */
int bench_settle(struct bench_memory *memory, const struct bench_memory *goal)
{
	u64 last = ~0ULL, same = 0;
	int i;

	for (i = 0; i < SETTLE_TRIES && same < 3; i++) {
		u64 bytes;

		if (bench_drop("2", 1, NULL))
			return -1;
		usleep(SETTLE_POLL_US);
		if (goal)
			bench_shrink_caches(goal);
		if (bench_read_memory(memory))
			return -1;
		bytes = memory->nr_caches ? bench_map_bytes(memory) :
					    memory->sunreclaim;
		same = bytes >= last ? same + 1 : 0;
		last = bytes;
		if (goal && memory->nr_caches && bytes <= bench_map_bytes(goal))
			break;
	}
	return 0;
}

/*
 * drop_caches leaves one dentry of each group that was entered from another
 * one, see mount_one(), so that each group stays on its way. This takes these
 * away by hand. What was there before goes to @found, which may be NULL.
 * Returns 0, -1 (failed) or 1 (it cannot be done here).
 */
int bench_empty(struct bench_debugfs *found)
{
	int i, ret;

	for (i = 0; i < EMPTY_TRIES; i++) {
		struct bench_debugfs left = {};

		ret = bench_shrinker_debug(&left, "sb-cgroup");
		if (ret)
			return ret;
		if (!i && found)
			*found = left;
		/* The root may have some. */
		if (left.objects_after <= FEW)
			/* This clears the bits. */
			return bench_drop("2", 1, NULL);
	}
	return 1;
}
