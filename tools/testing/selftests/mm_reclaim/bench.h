/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __MM_RECLAIM_BENCH_H
#define __MM_RECLAIM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kselftest.h"

#define BENCH_DROPS		5	/* timed writes of each value, as in 2018 */
#define BENCH_COUNTED		2	/* writes under the probe; they must agree */
#define BENCH_MAX_CACHES	160
#define BENCH_MAX_PROBES	4
#define BENCH_MAX_SERIES	32
#define BENCH_SAMPLES		11	/* timed writes of a scenario */
#define BENCH_MAX_VALUES	16
#define BENCH_MAX_GROUPS	65535	/* the kernel has no more ids */
#define BENCH_MAX_MOUNTS	1000
#define BENCH_MAX_DEPTH		32
#define BENCH_MAX_COUNT		10000000
#define BENCH_MAX_WORKERS	8

typedef unsigned long long u64;

struct bench_scenario;

struct bench_options {
	const struct bench_scenario *scenario;	/* NULL: the test of 2018 */
	unsigned int groups;
	unsigned int mounts;	/* 0: what the scenario has */
	unsigned int depth;	/* levels of groups, the mounts are in the last */
	unsigned int count;	/* operations; 0: what the scenario has */
	bool json;		/* print the result as one line of JSON */
	bool keep;		/* leave groups and mounts behind */
	bool v1;		/* insist on a cgroup v1 memory hierarchy */
	bool any;		/* go on without a memory controller */
	bool from_home;		/* join each group from the first one */
	bool shrinker_debug;	/* exercise the debugfs files */
};

struct bench_cache {
	char name[64];
	u64 bytes;
};

/* All in bytes. */
struct bench_memory {
	u64 slab;
	u64 sunreclaim;
	u64 percpu;
	unsigned int nr_caches;
	struct bench_cache caches[BENCH_MAX_CACHES];
};

/* All in nanoseconds. */
struct bench_times {
	u64 create;
	u64 mount;		/* join the group, mount, create the file */
	u64 mount_calls;	/* of it in mount(2) */
	u64 mount_max;		/* the slowest single mount(2) */
	u64 drop3[BENCH_DROPS];
	u64 drop2[BENCH_DROPS];
	u64 empty2[BENCH_DROPS];	/* with nothing left at all */
	u64 unmount;
	u64 remove;
	u64 drain;		/* until the removed groups are really gone */
};

struct bench_probe {
	char symbol[64];
	bool set;
	char why[96];		/* if not set */
	u64 hits[BENCH_COUNTED];
	u64 missed;
};

struct bench_debugfs {
	unsigned int shrinkers;
	unsigned int memcg_lines;	/* lines that name a memory cgroup */
	unsigned int scans;
	unsigned int map_lines;		/* of the maps of all groups and nodes */
	u64 ids;			/* that shrinkers have */
	u64 objects_before;
	u64 objects_after;
};

/* What a scenario measured, under a name of its own. */
struct bench_series {
	char name[32];
	unsigned int n;
	u64 values[BENCH_MAX_VALUES];
};

struct bench_result {
	struct bench_times ns;
	struct bench_memory start;	/* no groups yet */
	struct bench_memory mounted;
	struct bench_memory dropped;	/* after all the drops */
	struct bench_memory removed;
	unsigned int nr_probes;
	struct bench_probe probes[BENCH_MAX_PROBES];
	struct bench_debugfs debugfs;
	bool emptied;			/* ns.empty2 has been measured */
	unsigned int nr_series;
	struct bench_series series[BENCH_MAX_SERIES];
	long dying;			/* groups that never went; -1: unknown */
};

/* Where the workload lives, and how much of it exists. */
struct bench_site {
	char dir[128];			/* a tmpfs for the mount points */
	char cgroup_root[256];
	char cgroup[320];		/* parent of our groups */
	char home[512];			/* cgroup.procs to return to */
	char kind[24];
	unsigned int depth;
	unsigned int per_group;		/* mounts */
	bool memory;			/* there is a memory controller */
	bool base_mounted;
	bool enabled_memory;		/* in the root's subtree_control */
	unsigned int created;
	unsigned int mounted;
};

struct bench_scenario {
	const char *name;
	const char *about;
	/* Measures; what it made is removed by the caller. */
	int (*run)(struct bench_site *site, const struct bench_options *opt,
		   struct bench_result *result);
	unsigned int mounts;		/* in each group, if not told */
	unsigned int count;		/* the same for the operations */
	const char *counted;		/* what they are; NULL: there are none */
};

/* memcg_shrinker_bench.c: messages in KTAP's form. */
__printf(1, 2) void bench_note(const char *fmt, ...);
/* Adds errno and its text; always returns -1. */
__printf(1, 2) int bench_error(const char *fmt, ...);
/* kselftest.h counts for each file, so all results go through one of them. */
__printf(2, 3) void bench_check(bool ok, const char *fmt, ...);
__printf(1, 2) void bench_skip(const char *fmt, ...);
bool bench_interrupted(void);
u64 bench_now(void);

/* output.c */
void bench_print_json(const struct bench_site *site,
		      const struct bench_options *opt,
		      const struct bench_result *result);
void bench_print_figures(const struct bench_options *opt,
			 const struct bench_result *result);

/* workload.c */
int bench_write(const char *path, const char *text);
/* 0, -1 (failed) or 1 (there is no memory controller). */
int bench_site_open(struct bench_site *site, const struct bench_options *opt);
/* These two go on to @n of them, and add to the times. */
int bench_create(struct bench_site *site, unsigned int n, struct bench_times *ns);
int bench_mount(struct bench_site *site, const struct bench_options *opt,
		unsigned int n, struct bench_times *ns);
/* As many as there are ids for, and @n at most. */
int bench_create_all(struct bench_site *site, unsigned int n,
		     struct bench_times *ns);
int bench_join(const struct bench_site *site, unsigned int i);
int bench_go_home(const struct bench_site *site);
void bench_group_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size);
void bench_mount_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size);
int bench_drop(const char *value, unsigned int n, u64 *ns);
int bench_unmount(struct bench_site *site, struct bench_times *ns);
int bench_remove(struct bench_site *site, struct bench_times *ns);
int bench_count_mounts(const struct bench_site *site);
int bench_count_groups(const struct bench_site *site);
/* Removes it all, timed, waits until it is gone, and reports two checks. */
int bench_tear_down(struct bench_site *site, struct bench_result *result);
int bench_site_close(struct bench_site *site);

/* settle.c */
int bench_settle(struct bench_memory *memory, const struct bench_memory *goal);
int bench_empty(struct bench_debugfs *found);

/* drops.c */
int bench_run_drops(struct bench_site *site, const struct bench_options *opt,
		    struct bench_result *result);

/* scenario.c */
const struct bench_scenario *bench_find_scenario(const char *name);
void bench_list_scenarios(FILE *to);
int bench_run_scenario(struct bench_site *site, const struct bench_options *opt,
		       struct bench_result *result);
unsigned int bench_scenario_checks(const struct bench_options *opt);
int bench_record(struct bench_result *result, const char *name,
		 const u64 *values, unsigned int n);
int bench_record_one(struct bench_result *result, const char *name, u64 value);
/* Groups with a mount each, in which there is nothing to reclaim. */
int bench_make_idle(struct bench_site *site, const struct bench_options *opt,
		    unsigned int n, struct bench_result *result);
/* Times BENCH_SAMPLES writes of 2, after one that is not timed. */
int bench_sample_drops(struct bench_result *result, const char *name);

/* workers.c: as many processes, which begin at once; times them all. */
int bench_run_workers(unsigned int n,
		      int (*function)(unsigned int worker, const void *arg),
		      const void *arg, u64 *ns);

/*
 * pressure.c: memory that was written and given up, so that reclaim can take it.
 * A piece, or NULL; and so many that some is reclaimed.
 */
char *bench_map_piece(size_t size);
int bench_fill_memory(void);

/* A file for each scenario. */
extern const struct bench_scenario bench_idle, bench_busy, bench_start;
extern const struct bench_scenario bench_churn, bench_hot, bench_pressure;
extern const struct bench_scenario bench_largest, bench_turnover;
extern const struct bench_scenario bench_siblings;

/* memory.c */
int bench_read_memory(struct bench_memory *memory);
bool bench_is_map_cache(const char *name);
u64 bench_map_bytes(const struct bench_memory *memory);
void bench_shrink_caches(const struct bench_memory *memory);

/* calls.c */
bool bench_is_rust(void);
void bench_count_calls(struct bench_result *result);
int bench_record_calls(struct bench_result *result, const char *name);

/*
 * shrinker_debug.c: for the shrinkers whose name has this prefix. Returns 0, -1
 * (failed) or 1 (there are no such files).
 */
int bench_shrinker_debug(struct bench_debugfs *debugfs, const char *prefix);
/* Mounts debugfs if none of the files that are looked at is there. */
void bench_find_debugfs(void);

/* map_debug.c: these return 0, -1 (failed) or 1 (there are no such files). */
int bench_map_debug(struct bench_debugfs *debugfs);
int bench_map_lost(long long *lost);

/* guest.c: for the first process of a guest; only its child returns. */
void bench_guest_init(void);

#endif /* __MM_RECLAIM_BENCH_H */
