// SPDX-License-Identifier: GPL-2.0
/*
 * What happens all the time, with groups that have no other object: the first
 * object of a group comes and its last one goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

#define REPEATS		5
#define LEFT_FOR_DROPS	2	/* dentries in each group */
#define DROP_ROUNDS	10

static int create_and_unlink(const struct bench_site *site, unsigned int i,
			     unsigned int count)
{
	char path[400];
	int fd;

	bench_mount_path(site, i * site->per_group, "/hot", path, sizeof(path));
	while (count--) {
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		if (fd < 0)
			return bench_error("cannot create %s", path);
		close(fd);
		if (unlink(path))
			return bench_error("cannot remove %s", path);
	}
	return 0;
}

/* The dentries of names that are not there. */
static int leave_some(const struct bench_site *site, unsigned int i)
{
	char path[400], file[16];
	int n;

	for (n = 0; n < LEFT_FOR_DROPS; n++) {
		snprintf(file, sizeof(file), "/none%d", n);
		bench_group_path(site, i, file, path, sizeof(path));
		if (!access(path, F_OK) || errno != ENOENT)
			return bench_error("%s is not missing", path);
	}
	return 0;
}

/*
 * The cgroup file system's shrinker has no seeks: do_shrink_slab() scans half
 * of what is there and keeps the rest for the next time, so the second write
 * frees both.
 */
static int drop_them(u64 *ns)
{
	u64 took[2];

	if (bench_drop("2", 2, took))
		return -1;
	*ns += took[0] + took[1];
	return 0;
}

static int time_moves(const struct bench_site *site, int fds, unsigned int each,
		      u64 *transitions, u64 *files)
{
	unsigned int i;
	u64 start;

	*transitions = *files = 0;
	for (i = 0; i < site->created; i++) {
		if (bench_join(site, i))
			return -1;
		start = bench_now();
		if (bench_come_and_go(fds, each))
			return -1;
		*transitions += bench_now() - start;
		start = bench_now();
		if (create_and_unlink(site, i, each))
			return -1;
		*files += bench_now() - start;
		if (bench_go_home(site) || bench_interrupted())
			return -1;
	}
	return 0;
}

static int time_drops(const struct bench_site *site, u64 *leave, u64 *drop)
{
	unsigned int i, round;
	u64 start;

	*leave = *drop = 0;
	for (round = 0; round < DROP_ROUNDS; round++) {
		/* Look home up from home, so that no group gets its dentry. */
		if (bench_go_home(site))
			return -1;
		for (i = 0; i < site->created; i++) {
			if (bench_join(site, i))
				return -1;
			start = bench_now();
			if (leave_some(site, i))
				return -1;
			*leave += bench_now() - start;
			if (bench_go_home(site))
				return -1;
		}
		if (drop_them(drop))
			return -1;
	}
	return 0;
}

static int measure(const struct bench_site *site, int fds, unsigned int each,
		   struct bench_result *result)
{
	u64 transitions[REPEATS], files[REPEATS], leave[REPEATS], drop[REPEATS];
	struct bench_debugfs left = {};
	u64 ignored[2];
	unsigned int i;

	/* What comes first is slower. */
	if (time_moves(site, fds, each / 10 + 1, &ignored[0], &ignored[1]))
		return -1;
	for (i = 0; i < REPEATS; i++)
		if (time_moves(site, fds, each, &transitions[i], &files[i]) ||
		    time_drops(site, &leave[i], &drop[i]))
			return -1;
	if (bench_empty(&left) < 0)
		return -1;

	if (bench_record(result, "transitions", transitions, REPEATS) ||
	    bench_record(result, "files", files, REPEATS) ||
	    bench_record(result, "leave", leave, REPEATS) ||
	    bench_record(result, "drop", drop, REPEATS) ||
	    bench_record_one(result, "moves", (u64)each * site->created) ||
	    bench_record_one(result, "drops", (u64)DROP_ROUNDS * site->created) ||
	    bench_record_one(result, "not_dropped", left.memcg_lines))
		return -1;
	return 0;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	unsigned int each = opt->count / opt->groups;
	int fds, ret;

	if (bench_make_idle(site, opt, opt->groups, result))
		return -1;
	fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds < 0)
		return bench_error("cannot open /proc/self/fd");
	ret = measure(site, fds, each ? each : 1, result);
	close(fds);
	return ret;
}

const struct bench_scenario bench_hot = {
	.name = "hot",
	.about = "the first and last object of a group, over and over",
	.run = run,
	.mounts = 1,
	.count = 20000,
	.counted = "look-ups, and files, in all groups together (default 20000)",
};
