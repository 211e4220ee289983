// SPDX-License-Identifier: GPL-2.0
/* The result, as one line of JSON for a harness or as text for people. */
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "main.h"

/* What clock_getres() says may be finer than the clock's real steps. */
static u64 clock_step(void)
{
	u64 best = ~0ULL;
	int i;

	for (i = 0; i < 1000; i++) {
		u64 start = bench_now(), now;

		do {
			now = bench_now();
		} while (now == start);
		if (now - start < best)
			best = now - start;
	}
	return best;
}

static void json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text >= ' ')
			putchar(*text);
	}
	putchar('"');
}

/* The rest of a one-line file, or nothing. */
static void json_file(const char *key, const char *path)
{
	char text[2048] = "";
	FILE *f;

	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	text[strcspn(text, "\n")] = '\0';
	printf("\"%s\":", key);
	json_text(text);
}

static void json_array(const char *key, const u64 *values, unsigned int n)
{
	unsigned int i;

	printf("\"%s\":[", key);
	for (i = 0; i < n; i++)
		printf("%s%llu", i ? "," : "", values[i]);
	printf("]");
}

static void json_memory(const char *key, const struct bench_memory *memory)
{
	const struct bench_cache *cache;

	printf("\"%s\":{\"slab\":%llu,\"sunreclaim\":%llu,\"percpu\":%llu,\"caches\":{",
	       key, memory->slab, memory->sunreclaim, memory->percpu);
	for (cache = memory->caches; cache < memory->caches + memory->nr_caches;
	     cache++) {
		if (cache != memory->caches)
			putchar(',');
		json_text(cache->name);
		printf(":%llu", cache->bytes);
	}
	printf("}}");
}

static void json_calls(const struct bench_result *result)
{
	const struct bench_probe *probe;

	printf("\"calls\":[");
	for (probe = result->probes; probe < result->probes + result->nr_probes;
	     probe++) {
		printf("%s{\"symbol\":", probe == result->probes ? "" : ",");
		json_text(probe->symbol);
		if (probe->why[0]) {
			printf(",\"unavailable\":");
			json_text(probe->why);
		} else {
			printf(",\"missed\":%llu,", probe->missed);
			json_array("hits", probe->hits, BENCH_COUNTED);
		}
		printf("}");
	}
	printf("]");
}

static void json_debugfs(const struct bench_debugfs *seen)
{
	printf(",\"debugfs\":{\"shrinkers\":%u,\"memcg_lines\":%u,\"scans\":%u,",
	       seen->shrinkers, seen->memcg_lines, seen->scans);
	printf("\"map_lines\":%u,\"ids\":%llu,", seen->map_lines, seen->ids);
	printf("\"objects_before\":%llu,\"objects_after\":%llu}",
	       seen->objects_before, seen->objects_after);
}

static void json_machine(const struct bench_site *site,
			 const struct bench_options *opt)
{
	struct timespec res;
	struct utsname uts;

	uname(&uts);
	clock_getres(CLOCK_MONOTONIC, &res);

	printf("# MM_RECLAIM_JSON {\"version\":1,\"n\":%u,\"cgroup\":\"%s\",",
	       opt->groups, site->kind);
	printf("\"cpus\":%ld,\"page_size\":%ld,\"ram\":%llu,",
	       sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PAGESIZE),
	       (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	printf("\"implementation\":\"%s\",", bench_is_rust() ? "rust" : "c");
	printf("\"kernel\":");
	json_text(uts.release);
	printf(",\"build\":");
	json_text(uts.version);
	printf(",");
	json_file("cmdline", "/proc/cmdline");
	printf(",");
	json_file("nodes", "/sys/devices/system/node/online");
	printf(",");
	json_file("possible_nodes", "/sys/devices/system/node/possible");
	printf(",\"clock\":{\"resolution_ns\":%llu,\"step_ns\":%llu,",
	       res.tv_sec * 1000000000ULL + res.tv_nsec, clock_step());
	json_file("source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	printf("},");
}

static void json_times(const struct bench_result *result)
{
	const struct bench_times *ns = &result->ns;

	printf("\"ns\":{\"create\":%llu,\"mount\":%llu,\"mount_calls\":%llu,\"mount_max\":%llu,",
	       ns->create, ns->mount, ns->mount_calls, ns->mount_max);
	printf("\"unmount\":%llu,\"remove\":%llu,\"drain\":%llu,",
	       ns->unmount, ns->remove, ns->drain);
	json_array("drop3", ns->drop3, BENCH_DROPS);
	printf(",");
	json_array("drop2", ns->drop2, BENCH_DROPS);
	printf(",");
	json_array("empty2", ns->empty2, result->emptied ? BENCH_DROPS : 0);
	printf("},");
}

static void json_series(const struct bench_options *opt,
			const struct bench_result *result)
{
	unsigned int i;

	printf("\"scenario\":\"%s\",\"mounts\":%u,\"depth\":%u,\"count\":%u,\"series\":{",
	       opt->scenario->name, opt->mounts, opt->depth, opt->count);
	for (i = 0; i < result->nr_series; i++) {
		if (i)
			putchar(',');
		json_array(result->series[i].name, result->series[i].values,
			   result->series[i].n);
	}
	printf("},");
}

/* Only what was read: there is always some slab memory. */
static void json_memories(const struct bench_result *result)
{
	const struct {
		const char *key;
		const struct bench_memory *memory;
	} states[] = {
		{ "start", &result->start },
		{ "mounted", &result->mounted },
		{ "dropped", &result->dropped },
		{ "removed", &result->removed },
	};
	const char *comma = "";
	unsigned int i;

	printf("\"memory\":{");
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!states[i].memory->slab)
			continue;
		printf("%s", comma);
		json_memory(states[i].key, states[i].memory);
		comma = ",";
	}
	printf("},");
}

void bench_print_json(const struct bench_site *site,
		      const struct bench_options *opt,
		      const struct bench_result *result)
{
	json_machine(site, opt);
	if (opt->scenario)
		json_series(opt, result);
	else
		json_times(result);
	json_memories(result);
	printf("\"dying\":%ld,", result->dying);
	json_calls(result);
	if (opt->shrinker_debug)
		json_debugfs(&result->debugfs);
	printf("}\n");
	fflush(stdout);
}

static void note_drops(const char *value, const u64 *ns)
{
	int i;

	printf("# drop_caches %s:", value);
	for (i = 0; i < BENCH_DROPS; i++)
		printf(" %.3f", ns[i] / 1e6);
	printf(" ms\n");
}

static void note_times(const struct bench_options *opt,
		       const struct bench_result *result)
{
	const struct bench_times *ns = &result->ns;

	bench_note("%u groups: created in %.1f ms, mounted in %.1f ms\n",
		   opt->groups, ns->create / 1e6, ns->mount / 1e6);
	if (!opt->keep)
		bench_note("unmounted in %.1f ms, removed in %.1f ms\n",
			   ns->unmount / 1e6, ns->remove / 1e6);
	note_drops("3", ns->drop3);
	note_drops("2", ns->drop2);
	if (result->emptied)
		note_drops("2, nothing left at all", ns->empty2);
}

static void note_series(const struct bench_result *result)
{
	const struct bench_series *series;
	unsigned int i;

	for (series = result->series;
	     series < result->series + result->nr_series; series++) {
		printf("# %s:", series->name);
		for (i = 0; i < series->n; i++)
			printf(" %llu", series->values[i]);
		printf("\n");
	}
}

void bench_print_figures(const struct bench_options *opt,
			 const struct bench_result *result)
{
	const struct bench_probe *probe;

	if (opt->scenario)
		note_series(result);
	else
		note_times(opt, result);
	if (!result->dropped.slab)
		return;
	bench_note("SUnreclaim %+lld KiB, Percpu %+lld KiB, shrinker maps %+lld KiB\n",
		   (long long)(result->dropped.sunreclaim - result->start.sunreclaim) / 1024,
		   (long long)(result->dropped.percpu - result->start.percpu) / 1024,
		   (long long)(bench_map_bytes(&result->dropped) -
			       bench_map_bytes(&result->start)) / 1024);
	for (probe = result->probes; probe < result->probes + result->nr_probes;
	     probe++) {
		if (probe->why[0])
			bench_note("calls of %s: unavailable (%s)\n",
				   probe->symbol, probe->why);
		else
			bench_note("calls of %s in an idle drop_caches: %llu\n",
				   probe->symbol, probe->hits[BENCH_COUNTED - 1]);
	}
}
