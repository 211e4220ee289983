// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the debugfs files of CONFIG_MEMCG_SHRINKER_RUST, and compares them with
 * each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

static const char stats_file[] = "/sys/kernel/debug/mm_reclaim/stats";
static const char maps_file[] = "/sys/kernel/debug/mm_reclaim/maps";
static const char map_file[] = "/sys/kernel/debug/mm_reclaim/map";

struct stats {
	long long ids, maps, tables, table_bytes, units, bytes;
};

struct line {
	u64 cgroup;
	int node;
	int listed;
	long long bytes;
};

static int read_stats(struct stats *stats)
{
	const struct {
		const char *name;
		long long *value;
	} wanted[] = {
		{ "ids", &stats->ids }, { "maps", &stats->maps },
		{ "tables", &stats->tables }, { "units", &stats->units },
		{ "table_bytes", &stats->table_bytes }, { "bytes", &stats->bytes },
	};
	unsigned int i, found = 0;
	long long value;
	char name[64];
	FILE *f;

	f = fopen(stats_file, "re");
	if (!f)
		return bench_error("cannot read %s", stats_file);
	while (fscanf(f, "%63s %lld", name, &value) == 2) {
		if (value < 0) {
			bench_note("%s: %s is %lld\n", stats_file, name, value);
			break;
		}
		for (i = 0; i < ARRAY_SIZE(wanted); i++) {
			if (strcmp(name, wanted[i].name))
				continue;
			*wanted[i].value = value;
			found++;
		}
	}
	if (!feof(f) || found != ARRAY_SIZE(wanted)) {
		bench_note("%s is not as documented\n", stats_file);
		found = 0;
	}
	fclose(f);
	return found ? 0 : -1;
}

/* The lists of numbers are checked for being there only. */
static int parse_line(const char *text, struct line *line)
{
	int end = 0;

	if (sscanf(text, "cgroup=%llu node=%d listed=%d units=%*[0-9,] %n",
		   &line->cgroup, &line->node, &line->listed, &end) != 3 || !end)
		return -1;
	text = strstr(text + end, " deferred=");
	if (!text || sscanf(text, " deferred=%*d bytes=%lld", &line->bytes) != 1)
		return -1;
	return line->bytes > 0 ? 0 : -1;
}

/**
 * read_maps - read the open file
 * @f: the file
 * @only: the cgroup that its lines must name, 0 for any
 * @lines: how many lines there were
 * @other: a cgroup that is not the root, 0 if there is none
 * @bytes: the sum of their bytes
 *
 * Return: 0, or -1 after a message.
 */
static int read_maps(FILE *f, u64 only, unsigned int *lines, u64 *other,
		     long long *bytes)
{
	struct line line;
	char *text = NULL;
	size_t size = 0;
	int ret = 0;

	*lines = 0;
	*other = 0;
	*bytes = 0;
	while (!ret && getline(&text, &size, f) > 0) {
		if (parse_line(text, &line) || (only && line.cgroup != only)) {
			bench_note("%s has a wrong line: %s", maps_file, text);
			ret = -1;
			break;
		}
		++*lines;
		*bytes += line.bytes;
		if (line.cgroup > 1)
			*other = line.cgroup;
	}
	if (ferror(f))
		ret = bench_error("cannot read %s", maps_file);
	free(text);
	return ret;
}

static int select_group(int fd, const char *text, int expected)
{
	int err = write(fd, text, strlen(text)) < 0 ? errno : 0;

	if (err == expected)
		return 0;
	bench_note("writing %s to %s: %s\n", text, map_file,
		   err ? strerror(err) : "accepted");
	return -1;
}

/* Nothing is shown before it is said of which. */
static int check_is_empty(FILE *f)
{
	if (fgetc(f) != EOF) {
		bench_note("%s shows something before an id was written\n", map_file);
		return -1;
	}
	clearerr(f);
	return 0;
}

static int check_one_group(u64 group)
{
	unsigned int lines;
	long long bytes;
	char text[32];
	int ret = -1;
	u64 other;
	FILE *f;

	f = fopen(map_file, "r+e");
	if (!f)
		return bench_error("cannot open %s", map_file);
	snprintf(text, sizeof(text), "%llu", group);
	if (!check_is_empty(f) &&
	    !select_group(fileno(f), "nonsense", EINVAL) &&
	    !select_group(fileno(f), "9223372036854775807", ENOENT) &&
	    !select_group(fileno(f), text, 0) &&
	    !read_maps(f, group, &lines, &other, &bytes)) {
		ret = lines ? 0 : -1;
		if (ret)
			bench_note("%s shows nothing of cgroup %llu\n", map_file,
				   group);
	}
	fclose(f);
	return ret;
}

/*
 * The bytes of units that are in no map: those that wait for a grace period, and
 * those that were lost.
 */
int bench_map_lost(long long *lost)
{
	struct stats stats = {};
	unsigned int lines;
	long long bytes;
	u64 other;
	int ret;
	FILE *f;

	bench_find_debugfs();
	if (access(stats_file, F_OK))
		return 1;

	f = fopen(maps_file, "re");
	if (!f)
		return bench_error("cannot read %s", maps_file);
	ret = read_maps(f, 0, &lines, &other, &bytes);
	fclose(f);
	if (ret || read_stats(&stats))
		return -1;
	*lost = stats.bytes - stats.table_bytes - bytes;
	return 0;
}

int bench_map_debug(struct bench_debugfs *debugfs)
{
	struct stats stats = {};
	long long bytes;
	u64 other;
	int ret;
	FILE *f;

	bench_find_debugfs();
	if (access(stats_file, F_OK))
		return 1;

	f = fopen(maps_file, "re");
	if (!f)
		return bench_error("cannot read %s", maps_file);
	ret = read_maps(f, 0, &debugfs->map_lines, &other, &bytes);
	fclose(f);
	if (ret || read_stats(&stats))
		return -1;

	/* Units that wait for a grace period are in no map any more. */
	if (bytes > stats.bytes - stats.table_bytes ||
	    stats.maps > stats.tables || stats.tables > stats.units) {
		bench_note("%s: %lld maps, %lld tables, %lld units, %lld bytes, not %lld\n",
			   stats_file, stats.maps, stats.tables, stats.units,
			   stats.bytes, bytes);
		return -1;
	}
	debugfs->ids = stats.ids;
	return other ? check_one_group(other) : 0;
}
