// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of many groups come and go on two CPUs in turn, so that what these share moves
 * between them, and on a third one, which is meant to be of another node; and then they
 * are reclaimed from one group, from all, and from the only one that has any.
 *
 * Each look-up that is of interest is made with a system call that nothing else here
 * makes, by which whoever traces the kernel can tell it from the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "scenario.h"

#define NEAR		2	/* workers that take turns */
#define FAR		2	/* the one after these */
#define SETTLING	6	/* writes; each frees half of what there is */
#define WRITES		4	/* that are of interest */
#define HELD		(1024UL * 1024)
#define EACH		"64K"	/* that is taken of it */

/* A name that is not there, whose dentry belongs to the group of the process. */
static void missing_path(const struct bench_site *site, unsigned int i, unsigned int n,
			 char *path, size_t size)
{
	char file[16];

	snprintf(file, sizeof(file), "/none%u", n);
	bench_group_path(site, i, file, path, size);
}

static int expect_missing(int ret, const char *path)
{
	if (ret < 0 && errno == ENOENT)
		return 0;
	return bench_error("%s is not missing", path);
}

static int first_comes(const struct bench_site *site, unsigned int i)
{
	char path[400];

	missing_path(site, i, 0, path, sizeof(path));
	return expect_missing(access(path, F_OK), path);
}

static int second_comes(const struct bench_site *site, unsigned int i)
{
	char path[400], target[8];

	missing_path(site, i, 1, path, sizeof(path));
	return expect_missing(readlink(path, target, sizeof(target)), path);
}

static int far_one_comes(const struct bench_site *site, unsigned int i)
{
	struct statfs fs;
	struct stat st;
	char path[400];

	missing_path(site, i, 2, path, sizeof(path));
	if (expect_missing(statfs(path, &fs), path))
		return -1;
	/* A second one, so that both can be reclaimed. */
	missing_path(site, i, 3, path, sizeof(path));
	return expect_missing(stat(path, &st), path);
}

/*
 * The dentry of an open file in /proc/self/fd is in the list of another shrinker, and goes with
 * the next look after the file was closed.
 */
struct opened {
	int fds, fd;
	char name[16];
};

static int open_another(struct opened *opened)
{
	static pid_t owner;
	static int fds;

	if (owner != getpid()) {
		fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		owner = getpid();
	}
	opened->fds = fds;
	opened->fd = fcntl(fds, F_DUPFD_CLOEXEC, 0);
	if (opened->fd < 0)
		return bench_error("cannot open /proc/self/fd twice");
	snprintf(opened->name, sizeof(opened->name), "%d", opened->fd);
	return 0;
}

static int expect_gone(const struct opened *opened)
{
	struct stat st;

	return expect_missing(fstatat(opened->fds, opened->name, &st, AT_SYMLINK_NOFOLLOW),
			      opened->name);
}

/* The one that comes again finds the list empty, and its shrinker's bit set. */
static int other_comes_and_goes(const struct bench_site *site, unsigned int i)
{
	struct opened opened;
	char target[64];
	struct statx st;
	int ret;

	if (open_another(&opened))
		return -1;
	ret = readlinkat(opened.fds, opened.name, target, sizeof(target));
	close(opened.fd);
	if (ret < 0)
		return bench_error("cannot look up a file from group %u of %u", i,
				   site->created);
	if (expect_missing(statx(opened.fds, opened.name, AT_SYMLINK_NOFOLLOW,
				 STATX_BASIC_STATS, &st), opened.name) ||
	    open_another(&opened))
		return -1;
	ret = faccessat(opened.fds, opened.name, F_OK, 0);
	close(opened.fd);
	if (ret < 0)
		return bench_error("cannot look up a file from group %u again", i);
	return expect_gone(&opened);
}

/*
 * What each group gets with its first objects on a node. There are two of them, as reclaim
 * leaves a single one of this shrinker; see join_for_mount().
 */
static int warm_up(const struct bench_site *site, unsigned int i)
{
	unsigned int n, last = 5;
	struct opened opened;
	struct stat st;
	char path[400];

	for (n = 4; n <= last; n++) {
		missing_path(site, i, n, path, sizeof(path));
		if (expect_missing(stat(path, &st), path))
			return -1;
	}
	if (open_another(&opened))
		return -1;
	fstatat(opened.fds, opened.name, &st, AT_SYMLINK_NOFOLLOW);
	close(opened.fd);
	return expect_gone(&opened);
}

static int in_group(const struct bench_site *site, unsigned int i,
		    int (*function)(const struct bench_site *site, unsigned int i))
{
	int ret = bench_join(site, i) || function(site, i);

	return bench_go_home(site) || ret ? -1 : 0;
}

/* A dentry of home's that was reclaimed must come from home, and not from a group. */
static int drop(const struct bench_site *site, unsigned int n)
{
	return bench_drop("2", n, NULL) || bench_go_home(site) ? -1 : 0;
}

static int write_drops(const struct bench_site *site, bool all)
{
	struct iovec value = { .iov_base = (char []){ "2" }, .iov_len = 1 };
	ssize_t ret = 1;
	unsigned int i;
	int fd;

	if (drop(site, SETTLING))
		return -1;
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_error("cannot open drop_caches");
	for (i = 0; i < WRITES && ret == 1; i++) {
		lseek(fd, 0, SEEK_SET);
		ret = all ? pwritev(fd, &value, 1, 0) : writev(fd, &value, 1);
	}
	if (ret != 1)
		bench_error("cannot write to drop_caches");
	close(fd);
	return bench_go_home(site) || ret != 1 ? -1 : 0;
}

static int drop_with_one(const struct bench_site *site, unsigned int unused)
{
	(void)unused;
	return in_group(site, site->created / 2, first_comes) || write_drops(site, false);
}

static int drop_with_all(const struct bench_site *site, unsigned int unused)
{
	(void)unused;
	return write_drops(site, true);
}

/*
 * Memory that a CPU has freed and uses again may be of any node: where a group has a single
 * object on one of them, no write frees it.
 */
static int take_all_away(const struct bench_site *site, unsigned int unused)
{
	int ret = bench_empty(NULL);

	(void)unused;
	return bench_go_home(site) || ret < 0 ? -1 : 0;
}

static int reclaim_from_one(const struct bench_site *site, unsigned int unused)
{
	char path[400], *held;
	unsigned int i;
	int ret = 0;

	(void)unused;
	if (bench_join(site, 0))
		return -1;
	held = bench_map_piece(HELD);
	if (bench_go_home(site) || !held)
		return -1;
	bench_group_path(site, 0, "/memory.reclaim", path, sizeof(path));
	for (i = 0; i < WRITES && !ret; i++)
		if (bench_write(path, EACH))
			ret = bench_error("cannot reclaim from %s", path);
	munmap(held, HELD);
	return ret;
}

static const struct phase {
	int (*step)(const struct bench_site *site, unsigned int i);
	bool each;		/* of the groups, from inside; or once */
	unsigned int first;	/* the worker that begins */
	unsigned int workers;	/* that take turns, from 0 on; or this one alone */
} phases[] = {
	{ .step = drop_with_one },
	{ .step = first_comes, .each = true, .workers = NEAR },
	{ .step = drop_with_all },
	/* Those that the other CPU has used. */
	{ .step = second_comes, .each = true, .workers = NEAR, .first = 1 },
	{ .step = other_comes_and_goes, .each = true, .workers = NEAR },
	{ .step = far_one_comes, .each = true, .first = FAR },
	{ .step = reclaim_from_one },
	{ .step = take_all_away },
};

static unsigned int steps_of(const struct bench_site *site, const struct phase *phase)
{
	return phase->each ? site->created : 1;
}

static unsigned int steps_of_round(const struct bench_site *site)
{
	unsigned int i, steps = 0;

	for (i = 0; i < ARRAY_SIZE(phases); i++)
		steps += steps_of(site, &phases[i]);
	return steps;
}

/* The phase of a turn, and which of its steps it is. */
static const struct phase *phase_of(const struct bench_site *site, unsigned int turn,
				    unsigned int *step)
{
	const struct phase *phase;

	*step = turn % steps_of_round(site);
	for (phase = phases; *step >= steps_of(site, phase); phase++)
		*step -= steps_of(site, phase);
	return phase;
}

static unsigned int whose(unsigned int turn, const void *site)
{
	unsigned int step;
	const struct phase *phase = phase_of(site, turn, &step);

	return phase->workers ? (phase->first + step) % phase->workers : phase->first;
}

static int take(unsigned int turn, const void *site)
{
	unsigned int step;
	const struct phase *phase = phase_of(site, turn, &step);

	if (bench_interrupted())
		return -1;
	return phase->each ? in_group(site, step, phase->step) : phase->step(site, 0);
}

/* Each worker in all groups, on whose node these get their first objects; then all is dropped. */
static unsigned int whose_first(unsigned int turn, const void *arg)
{
	const struct bench_site *site = arg;

	return turn / (site->created + 1);
}

static int take_first(unsigned int turn, const void *arg)
{
	const struct bench_site *site = arg;
	unsigned int step = turn % (site->created + 1);

	if (bench_interrupted())
		return -1;
	return step < site->created ? in_group(site, step, warm_up) : drop(site, 2);
}

static int measure(const struct bench_site *site, unsigned int rounds,
		   struct bench_result *result)
{
	const struct bench_turns turns = {
		.workers = FAR + 1,
		.nr = rounds * steps_of_round(site),
		.whose = whose,
		.take = take,
		.arg = site,
	};
	const struct bench_turns first = {
		.workers = FAR + 1,
		.nr = (FAR + 1) * (site->created + 1),
		.whose = whose_first,
		.take = take_first,
		.arg = site,
	};
	u64 took;

	if (bench_take_turns(&first, &took) || bench_take_turns(&turns, &took) ||
	    bench_record_one(result, "turns", took) ||
	    bench_record_one(result, "writes", (u64)rounds * WRITES))
		return -1;
	return 0;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	if (strcmp(site->kind, "v2")) {
		bench_note("only cgroup v2 has memory.reclaim\n");
		return -1;
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) <= FAR)
		bench_note("without %d CPUs, some workers share one\n", FAR + 1);
	if (bench_create(site, opt->groups, &result->ns) || bench_go_home(site))
		return -1;
	return measure(site, opt->count, result);
}

const struct bench_scenario bench_objects = {
	.name = "objects",
	.about = "objects of all groups come and go on two CPUs in turn, and on a third one",
	.run = run,
	.count = 2,
	.counted = "rounds (default 2)",
};
