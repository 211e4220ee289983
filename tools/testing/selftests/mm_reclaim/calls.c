// SPDX-License-Identifier: GPL-2.0
/*
 * Counts how often an idle drop_caches calls a shrinker, with kprobe events.
 * This is apart from the timed calls, which a probe would slow down.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel.h"

static const char shrink[] = "do_shrink_slab";
static const char *tracefs;

static bool find_tracefs(void)
{
	static const char * const places[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[128];
	unsigned int i;

	if (access("/sys/kernel/tracing/trace", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/kprobe_events", places[i]);
		if (!access(path, W_OK)) {
			tracefs = places[i];
			return true;
		}
	}
	return false;
}

static void add_probe(struct bench_result *result, const char *symbol)
{
	struct bench_probe *probe;

	if (result->nr_probes == BENCH_MAX_PROBES)
		return;
	probe = &result->probes[result->nr_probes++];
	snprintf(probe->symbol, sizeof(probe->symbol), "%s", symbol);
}

/*
 * The compiler may have renamed or split the function: probe each part that
 * is entered by a call. super_cache_count() is only ever called through a
 * pointer and so shows if do_shrink_slab() has been inlined somewhere.
 */
static void find_symbols(struct bench_result *result)
{
	char line[512], symbol[64];
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	if (f) {
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%*s %*c %63s", symbol) != 1)
				continue;
			if (strncmp(symbol, shrink, strlen(shrink)))
				continue;
			if (symbol[strlen(shrink)] && symbol[strlen(shrink)] != '.')
				continue;
			if (!strstr(symbol, ".cold") &&
			    result->nr_probes < BENCH_MAX_PROBES - 1)
				add_probe(result, symbol);
		}
		fclose(f);
	}
	if (!result->nr_probes)
		add_probe(result, shrink);
	add_probe(result, "super_cache_count");
}

/* Which implementation is running: only the Rust one exports this. */
bool bench_is_rust(void)
{
	char line[512], symbol[64];
	bool found = false;
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*c %63s", symbol) == 1 &&
			!strcmp(symbol, "mem_cgroup_iter_cond");
	fclose(f);
	return found;
}

static int control(const char *file, const char *text)
{
	char path[192];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", tracefs, file);
	/* Appends: truncating kprobe_events would remove others' probes. */
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	if (close(fd))
		return -1;
	return ret;
}

static void set_probe(struct bench_probe *probe, unsigned int i)
{
	char text[160];

	snprintf(text, sizeof(text), "p:mm_reclaim/calls%u %s", i, probe->symbol);
	if (control("kprobe_events", text)) {
		snprintf(probe->why, sizeof(probe->why), "cannot be probed: %s",
			 strerror(errno));
		return;
	}
	snprintf(text, sizeof(text), "events/mm_reclaim/calls%u/enable", i);
	if (control(text, "1"))
		snprintf(probe->why, sizeof(probe->why), "cannot enable: %s",
			 strerror(errno));
	else
		probe->set = true;
}

static void clear_probe(unsigned int i)
{
	char text[80];

	snprintf(text, sizeof(text), "events/mm_reclaim/calls%u/enable", i);
	control(text, "0");
	snprintf(text, sizeof(text), "-:mm_reclaim/calls%u", i);
	control("kprobe_events", text);
}

static int read_hits(int profile, unsigned int i, u64 *hits, u64 *missed)
{
	char text[4096], name[64], want[32], *line, *rest;
	ssize_t len;

	len = pread(profile, text, sizeof(text) - 1, 0);
	if (len < 0)
		return -1;
	text[len] = '\0';

	snprintf(want, sizeof(want), "calls%u", i);
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "%63s %llu %llu", name, hits, missed) == 3 &&
		    !strcmp(name, want))
			return 0;
	return -1;
}

/* How much the counters grow in one write of 2. */
static void count_write(struct bench_result *result, int profile, int round,
			u64 *before)
{
	unsigned int i;
	u64 hits;
	int failed;

	/*
	 * The first writes only take away what the set-up has left; an entry
	 * that has been used survives one.
	 */
	failed = bench_drop("2", round < 0 ? 3 : 1, NULL);
	for (i = 0; i < result->nr_probes; i++) {
		struct bench_probe *probe = &result->probes[i];

		if (!probe->set)
			continue;
		if (failed || read_hits(profile, i, &hits, &probe->missed)) {
			snprintf(probe->why, sizeof(probe->why), "not counted");
			continue;
		}
		if (round >= 0)
			probe->hits[round] = hits - before[i];
		before[i] = hits;
	}
}

static void measure(struct bench_result *result)
{
	u64 before[BENCH_MAX_PROBES] = {};
	unsigned int i;
	char path[128];
	int profile, round;

	/* Open throughout, so that reading it leaves nothing to reclaim. */
	snprintf(path, sizeof(path), "%s/kprobe_profile", tracefs);
	profile = open(path, O_RDONLY | O_CLOEXEC);
	if (profile >= 0) {
		for (round = -1; round < BENCH_COUNTED; round++)
			count_write(result, profile, round, before);
		close(profile);
		return;
	}
	for (i = 0; i < result->nr_probes; i++)
		if (result->probes[i].set)
			snprintf(result->probes[i].why,
				 sizeof(result->probes[i].why),
				 "cannot read kprobe_profile");
}

void bench_count_calls(struct bench_result *result)
{
	unsigned int i;

	memset(result->probes, 0, sizeof(result->probes));
	result->nr_probes = 0;
	find_symbols(result);
	if (!find_tracefs()) {
		for (i = 0; i < result->nr_probes; i++)
			snprintf(result->probes[i].why,
				 sizeof(result->probes[i].why),
				 "no kprobe_events: the kernel needs CONFIG_KPROBE_EVENTS");
		return;
	}

	for (i = 0; i < result->nr_probes; i++)
		set_probe(&result->probes[i], i);
	measure(result);
	for (i = 0; i < result->nr_probes; i++)
		clear_probe(i);
}

/* As a series. There is none where they can't be counted. */
int bench_record_calls(struct bench_result *result, const char *name)
{
	u64 hits[BENCH_COUNTED] = {};
	unsigned int i, round;

	bench_count_calls(result);
	for (i = 0; i < result->nr_probes; i++) {
		const struct bench_probe *probe = &result->probes[i];

		if (strncmp(probe->symbol, shrink, strlen(shrink)))
			continue;
		if (probe->why[0] || probe->missed) {
			bench_note("calls of %s: unavailable (%s)\n", probe->symbol,
				   probe->why[0] ? probe->why : "missed");
			return 0;
		}
		for (round = 0; round < BENCH_COUNTED; round++)
			hits[round] += probe->hits[round];
	}
	return bench_record(result, name, hits, BENCH_COUNTED);
}
