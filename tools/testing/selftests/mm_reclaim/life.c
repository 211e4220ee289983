// SPDX-License-Identifier: GPL-2.0
/*
 * The life of containers: a group is created, its first process moves in, takes memory,
 * mounts a tmpfs and is looked at; when all have ended, mounts and groups are removed.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scenario.h"

#define PAGES			64
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* All faults in one call, which nothing else makes. */
static int take_memory(void)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	char *area;
	int ret;

	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return bench_error("cannot map %d pages", PAGES);
	ret = madvise(area, size, MADV_POPULATE_WRITE);
	if (ret)
		bench_error("cannot populate %d pages", PAGES);
	munmap(area, size);
	return ret;
}

static int read_statistics(const struct bench_site *site, unsigned int i)
{
	char path[400], text[1 << 14];
	ssize_t len;
	int fd;

	bench_group_path(site, i, "/memory.stat", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_error("cannot open %s", path);
	len = read(fd, text, sizeof(text));
	close(fd);
	return len > 0 ? 0 : bench_error("cannot read %s", path);
}

/* The first process of the group that was created last. */
static int live(unsigned int worker, const void *arg)
{
	const struct bench_site *site = arg;
	unsigned int i = site->created - 1;
	u64 took;

	(void)worker;
	return bench_join(site, i) || take_memory() || bench_mount_tmpfs(site, i, &took) ||
	       bench_create_file(site, i) || read_statistics(site, i);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	u64 took, sum = 0;
	unsigned int i;

	for (i = 1; i <= opt->groups; i++) {
		if (bench_create(site, i, &result->ns) ||
		    bench_run_workers(1, live, site, &took) || bench_interrupted())
			return -1;
		site->mounted++;
		sum += took;
	}
	if (bench_unmount(site, &result->ns) || bench_remove(site, &result->ns))
		return -1;
	result->dying = bench_drain(site, &result->ns);
	if (bench_record_one(result, "live", sum) ||
	    bench_record_one(result, "populated", (u64)opt->groups * PAGES) ||
	    bench_record_one(result, "unmount_all", result->ns.unmount) ||
	    bench_record_one(result, "remove_all", result->ns.remove))
		return -1;
	return 0;
}

const struct bench_scenario bench_life = {
	.name = "life",
	.about = "create groups, whose first process takes memory and mounts, and remove them",
	.run = run,
	.mounts = 1,
};
