/* SPDX-License-Identifier: GPL-2.0 */
/* What a scenario is, and what several of them do. */
#ifndef __MM_RECLAIM_SCENARIO_H
#define __MM_RECLAIM_SCENARIO_H

#include "kernel.h"
#include "workload.h"

#define BENCH_SAMPLES		11	/* timed writes of a scenario */

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

/* steps.c */
/* Groups with a mount each, in which there is nothing to reclaim. */
int bench_make_idle(struct bench_site *site, const struct bench_options *opt,
		    unsigned int n, struct bench_result *result);
/* Times BENCH_SAMPLES writes of 2, after one that is not timed. */
int bench_sample_drops(struct bench_result *result, const char *name);

/* A file for each scenario. */
extern const struct bench_scenario bench_idle, bench_busy, bench_start;
extern const struct bench_scenario bench_churn, bench_hot, bench_pressure;
extern const struct bench_scenario bench_largest, bench_turnover;
extern const struct bench_scenario bench_siblings, bench_files;
extern const struct bench_scenario bench_objects, bench_life, bench_share;

#endif /* __MM_RECLAIM_SCENARIO_H */
