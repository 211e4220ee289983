// SPDX-License-Identifier: GPL-2.0
/*
 * Uses a file page by page that is in the page cache. A ramfs does that as file systems on
 * disks do, and a tmpfs does not.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario.h"

#define PAGES		256

struct file {
	int fd;
	size_t page;
	char buffer[1 << 16];
};

static int write_all(struct file *file)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		if (pwrite(file->fd, file->buffer, file->page, i * file->page) !=
		    (ssize_t)file->page)
			return bench_error("cannot write page %u", i);
	return 0;
}

static int read_all(struct file *file)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		if (pread(file->fd, file->buffer, file->page, i * file->page) !=
		    (ssize_t)file->page)
			return bench_error("cannot read page %u", i);
	return 0;
}

/* A private page is written: none of those around it is mapped, and each has a fault. */
static int copy_all(struct file *file)
{
	size_t size = PAGES * file->page;
	unsigned int i;
	char *area;

	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file->fd, 0);
	if (area == MAP_FAILED)
		return bench_error("cannot map the file");
	for (i = 0; i < PAGES; i++)
		memset(area + i * file->page, 1, 1);
	munmap(area, size);
	return 0;
}

/* Those around a page that is read are mapped with it. */
static int look_at_all(struct file *file)
{
	size_t size = PAGES * file->page;
	unsigned int i;
	char *area;

	area = mmap(NULL, size, PROT_READ, MAP_SHARED, file->fd, 0);
	if (area == MAP_FAILED)
		return bench_error("cannot map the file");
	for (i = 0; i < PAGES; i++)
		memcpy(file->buffer + i, area + i * file->page, 1);
	munmap(area, size);
	return 0;
}

static int measure(struct file *file, unsigned int count, struct bench_result *result)
{
	static int (*const uses[])(struct file *file) = {
		write_all, read_all, copy_all, look_at_all
	};
	static const char *const names[ARRAY_SIZE(uses)] = {
		"write", "read", "copy", "look"
	};
	unsigned int use, i;
	u64 took;

	/* The pages come. */
	if (write_all(file))
		return -1;
	for (use = 0; use < ARRAY_SIZE(uses); use++) {
		took = bench_now();
		for (i = 0; i < count; i++)
			if (uses[use](file) || bench_interrupted())
				return -1;
		if (bench_record_one(result, names[use], bench_now() - took))
			return -1;
	}
	return bench_record_one(result, "pages", (u64)count * PAGES);
}

static int run_at(const char *dir, unsigned int count, struct bench_result *result)
{
	static struct file file;
	char path[208];
	int ret;

	file.page = sysconf(_SC_PAGESIZE);
	if (file.page > sizeof(file.buffer)) {
		bench_note("pages of %zu bytes are too large\n", file.page);
		return -1;
	}
	memset(file.buffer, 1, file.page);
	snprintf(path, sizeof(path), "%s/file", dir);
	file.fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
	if (file.fd < 0)
		return bench_error("cannot create %s", path);
	ret = measure(&file, count, result);
	close(file.fd);
	return ret;
}

static int run_in_group(const struct bench_site *site, const char *dir, unsigned int count,
			struct bench_result *result)
{
	int ret = bench_join(site, 0) || run_at(dir, count, result);

	return bench_go_home(site) || ret ? -1 : 0;
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	char dir[200];
	int ret;

	if (bench_create(site, 1, &result->ns))
		return -1;
	snprintf(dir, sizeof(dir), "%s/files", site->dir);
	if (mkdir(dir, 0755))
		return bench_error("cannot create %s", dir);
	if (mount("mm_reclaim", dir, "ramfs", 0, NULL)) {
		ret = bench_error("cannot mount a ramfs at %s", dir);
	} else {
		ret = run_in_group(site, dir, opt->count, result);
		if (umount2(dir, 0))
			ret = bench_error("cannot unmount %s", dir);
	}
	rmdir(dir);
	return ret;
}

const struct bench_scenario bench_files = {
	.name = "files",
	.about = "use a file in the page cache: read, write and map it",
	.run = run,
	.count = 20,
	.counted = "how often each (default 20)",
};
