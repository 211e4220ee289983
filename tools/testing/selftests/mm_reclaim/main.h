/* SPDX-License-Identifier: GPL-2.0 */
/* What memcg_shrinker_bench.c runs. */
#ifndef __MM_RECLAIM_MAIN_H
#define __MM_RECLAIM_MAIN_H

#include <stdio.h>

#include "scenario.h"

#define BENCH_MAX_GROUPS	65535	/* the kernel has no more ids */
#define BENCH_MAX_MOUNTS	1000
#define BENCH_MAX_DEPTH		32
#define BENCH_MAX_COUNT		10000000

/* scenario.c */
const struct bench_scenario *bench_find_scenario(const char *name);
void bench_list_scenarios(FILE *to);
int bench_run_scenario(struct bench_site *site, const struct bench_options *opt,
		       struct bench_result *result);
unsigned int bench_scenario_checks(const struct bench_options *opt);

/* drops.c */
int bench_run_drops(struct bench_site *site, const struct bench_options *opt,
		    struct bench_result *result);

/* output.c */
void bench_print_json(const struct bench_site *site,
		      const struct bench_options *opt,
		      const struct bench_result *result);
void bench_print_figures(const struct bench_options *opt,
			 const struct bench_result *result);

/* guest.c: for the first process of a guest; only its child returns. */
void bench_guest_init(void);

#endif /* __MM_RECLAIM_MAIN_H */
