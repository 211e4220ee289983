// SPDX-License-Identifier: GPL-2.0
/* The list of scenarios, and what is measured of each. */
#include <string.h>

#include "main.h"

static const struct bench_scenario *const scenarios[] = {
	&bench_idle, &bench_busy, &bench_start, &bench_churn, &bench_hot,
	&bench_pressure, &bench_largest, &bench_turnover, &bench_siblings,
	&bench_files, &bench_objects, &bench_life, &bench_share,
};

const struct bench_scenario *bench_find_scenario(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (!strcmp(scenarios[i]->name, name))
			return scenarios[i];
	return NULL;
}

void bench_list_scenarios(FILE *to)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		fprintf(to, "  %-10s %s\n", scenarios[i]->name,
			scenarios[i]->about);
		if (scenarios[i]->counted)
			fprintf(to, "  %-10s --count: %s\n", "",
				scenarios[i]->counted);
	}
}

unsigned int bench_scenario_checks(const struct bench_options *opt)
{
	return opt->keep ? 1 : 3;
}

static int remove_all(struct bench_site *site, struct bench_result *result)
{
	if (bench_tear_down(site, result) ||
	    bench_record_one(result, "unmount", result->ns.unmount) ||
	    bench_record_one(result, "remove", result->ns.remove) ||
	    bench_record_one(result, "drain", result->ns.drain))
		return -1;
	return 0;
}

int bench_run_scenario(struct bench_site *site, const struct bench_options *opt,
		       struct bench_result *result)
{
	if (bench_settle(&result->start, NULL))
		return -1;
	if (opt->scenario->run(site, opt, result))
		return -1;
	bench_check(true, "%s measured\n", opt->scenario->name);

	if (bench_record_one(result, "groups", site->created) ||
	    bench_record_one(result, "mounts", site->mounted) ||
	    bench_record_one(result, "create", result->ns.create) ||
	    bench_record_one(result, "mount", result->ns.mount) ||
	    bench_record_one(result, "mount_calls", result->ns.mount_calls) ||
	    bench_record_one(result, "emptied", result->emptied))
		return -1;
	return opt->keep ? 0 : remove_all(site, result);
}
