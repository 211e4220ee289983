// SPDX-License-Identifier: GPL-2.0
/*
 * Reads every file of CONFIG_SHRINKER_DEBUG, and asks each shrinker to scan
 * what it counted, so that this interface is seen to work on the groups that
 * the workload made.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel.h"

static const char root[] = "/sys/kernel/debug/shrinker";

struct pending {
	u64 id;
	int nid;
	u64 nr;
};

/* One line: a group's id, then a number of objects for each node. */
static int parse_line(char *line, struct pending **scan, size_t *n, u64 *objects)
{
	char *at = line, *end;
	int nid = 0;
	u64 id, nr;

	errno = 0;
	id = strtoull(at, &end, 10);
	if (end == at || errno)
		return -1;

	for (at = end; *at && *at != '\n'; at = end, nid++) {
		struct pending *grown;

		nr = strtoull(at, &end, 10);
		if (end == at || errno)
			return -1;
		*objects += nr;
		if (!nr)
			continue;
		grown = realloc(*scan, (*n + 1) * sizeof(**scan));
		if (!grown)
			return -1;
		*scan = grown;
		grown[(*n)++] = (struct pending){ id, nid, nr };
	}
	return nid ? 0 : -1;
}

static int read_count(const char *dir, struct pending **scan, size_t *n,
		      u64 *objects, unsigned int *memcg_lines)
{
	char path[512], line[8192];
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/count", root, dir);
	f = fopen(path, "re");
	if (!f)
		return bench_error("cannot read %s", path);
	errno = 0;
	while (!ret && fgets(line, sizeof(line), f)) {
		ret = parse_line(line, scan, n, objects);
		/* The root is 1. */
		*memcg_lines += strtoull(line, NULL, 10) > 1;
	}
	if (ferror(f))
		ret = bench_error("cannot read %s", path);
	else if (ret)
		bench_note("%s has a line that cannot be parsed: %s", path, line);
	fclose(f);
	return ret;
}

static int scan_one(const char *path, const struct pending *scan)
{
	char text[96];

	snprintf(text, sizeof(text), "%llu %d %llu", scan->id, scan->nid, scan->nr);
	if (!bench_write(path, text))
		return 0;

	/*
	 * A shrinker that knows nothing of groups is counted as the root's but
	 * scanned as group 0.
	 */
	if (errno == EINVAL) {
		snprintf(text, sizeof(text), "0 %d %llu", scan->nid, scan->nr);
		return bench_write(path, text);
	}

	/* A group may have gone since: that is no failure. */
	return errno == ENOENT ? 0 : -1;
}

static int scan_all(const char *dir, const struct pending *scan, size_t n,
		    unsigned int *scans)
{
	char path[512];
	size_t i;

	snprintf(path, sizeof(path), "%s/%s/scan", root, dir);
	for (i = 0; i < n; i++) {
		if (scan_one(path, &scan[i]))
			return bench_error("cannot scan group %llu, node %d through %s",
					   scan[i].id, scan[i].nid, path);
		++*scans;
	}

	/* No kernel has so many nodes. */
	if (!bench_write(path, "1 99999 1")) {
		bench_note("%s accepts a node that does not exist\n", path);
		return -1;
	}
	return 0;
}

static int visit(const char *dir, struct bench_debugfs *debugfs)
{
	struct pending *scan = NULL;
	unsigned int ignored = 0;
	size_t n = 0;
	int ret;

	ret = read_count(dir, &scan, &n, &debugfs->objects_before,
			 &debugfs->memcg_lines);
	if (!ret)
		ret = scan_all(dir, scan, n, &debugfs->scans);
	free(scan);

	scan = NULL;
	n = 0;
	if (!ret)
		ret = read_count(dir, &scan, &n, &debugfs->objects_after,
				 &ignored);
	free(scan);
	return ret;
}

void bench_find_debugfs(void)
{
	if (access(root, F_OK) && access("/sys/kernel/debug/mm_reclaim", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
}

int bench_shrinker_debug(struct bench_debugfs *debugfs, const char *prefix)
{
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	bench_find_debugfs();
	dir = opendir(root);
	if (!dir)
		return errno == ENOENT ? 1 : bench_error("cannot read %s", root);

	while (!ret && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		debugfs->shrinkers++;
		ret = visit(entry->d_name, debugfs);
	}
	closedir(dir);
	return ret;
}
