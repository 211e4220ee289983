// SPDX-License-Identifier: GPL-2.0
/*
 * Mounts a ramfs, creates a file in it and unmounts it, over and over, from two
 * CPUs at once, as stress-ng's ramfs workload does: first without other groups,
 * then with idle ones.
 */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario.h"

#define WORKERS		2
#define REPEATS		3

static int churn_once(const char *dir, const char *file)
{
	int fd;

	if (mount("mm_reclaim", dir, "ramfs", 0, NULL))
		return bench_error("cannot mount a ramfs at %s", dir);
	fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		bench_error("cannot create %s", file);
	else
		close(fd);
	if (umount2(dir, 0))
		return bench_error("cannot unmount %s", dir);
	return fd < 0 ? -1 : 0;
}

struct churn {
	const struct bench_site *site;
	unsigned int each;
};

static int work(unsigned int worker, const void *arg)
{
	const struct churn *churn = arg;
	char dir[200], file[208];
	unsigned int i;

	snprintf(dir, sizeof(dir), "%s/churn%u", churn->site->dir, worker);
	snprintf(file, sizeof(file), "%s/file", dir);
	for (i = 0; i < churn->each; i++)
		if (churn_once(dir, file) || bench_interrupted())
			return -1;
	return 0;
}

static int churn(const struct bench_site *site, unsigned int count, u64 *ns)
{
	struct churn churn = { .site = site, .each = count / WORKERS };

	return bench_run_workers(WORKERS, work, &churn, ns);
}

static int measure(const struct bench_site *site, unsigned int count,
		   const char *name, struct bench_result *result)
{
	u64 ns[REPEATS];
	unsigned int i;

	for (i = 0; i < REPEATS; i++)
		if (churn(site, count, &ns[i]))
			return -1;
	return bench_record(result, name, ns, REPEATS);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	unsigned int i, few = opt->count / 10 + WORKERS;
	char dir[200];
	u64 ignored;

	for (i = 0; i < WORKERS; i++) {
		snprintf(dir, sizeof(dir), "%s/churn%u", site->dir, i);
		if (mkdir(dir, 0755))
			return bench_error("cannot create %s", dir);
	}
	/* What comes first is slower. */
	if (churn(site, few, &ignored) ||
	    measure(site, opt->count, "alone", result))
		return -1;

	if (bench_make_idle(site, opt, opt->groups, result) ||
	    churn(site, few, &ignored) ||
	    measure(site, opt->count, "among_idle", result))
		return -1;
	return 0;
}

const struct bench_scenario bench_churn = {
	.name = "churn",
	.about = "mount, touch and unmount from two CPUs, alone and among idle groups",
	.run = run,
	.count = 1000,
	.counted = "mounts made and removed (default 1000)",
};
