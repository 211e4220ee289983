/* SPDX-License-Identifier: GPL-2.0 */
/* What is asked of the bench, and what it has measured. */
#ifndef __MM_RECLAIM_RESULT_H
#define __MM_RECLAIM_RESULT_H

#include "common.h"

#define BENCH_DROPS		5	/* timed writes of each value, as in 2018 */
#define BENCH_COUNTED		2	/* writes under the probe; they must agree */
#define BENCH_MAX_CACHES	160
#define BENCH_MAX_PROBES	4
#define BENCH_MAX_SERIES	32
#define BENCH_MAX_VALUES	16

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

int bench_record(struct bench_result *result, const char *name,
		 const u64 *values, unsigned int n);
int bench_record_one(struct bench_result *result, const char *name, u64 value);

#endif /* __MM_RECLAIM_RESULT_H */
