// SPDX-License-Identifier: GPL-2.0
/*
 * Writes to drop_caches, timed, or until slab memory is in a state in which a
 * measurement means something.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

#define FEW		4
#define EMPTY_TRIES	5
#define SETTLE_TRIES	40
#define SETTLE_POLL_US	250000

/*
 * Times the writes themselves; @ns may be NULL. The file stays open between
 * them: each new look-up would leave the next write something to reclaim.
 */
int bench_drop(const char *value, unsigned int n, u64 *ns)
{
	const char *path = "/proc/sys/vm/drop_caches";
	ssize_t len = strlen(value);
	unsigned int i;
	int fd, ret = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_error("cannot open %s", path);

	for (i = 0; i < n && !ret; i++) {
		u64 start = bench_now();

		if (pwrite(fd, value, len, 0) != len)
			ret = bench_error("cannot write %s to %s", value, path);
		if (ns)
			ns[i] = bench_now() - start;
		if (bench_interrupted())
			ret = -1;
	}
	close(fd);
	return ret;
}

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
 * one, see join_for_mount(), so that each group stays on its way. This takes these
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
