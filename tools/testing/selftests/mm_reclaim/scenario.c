// SPDX-License-Identifier: GPL-2.0
/* The list of scenarios, and what they have in common. */
#include <string.h>

#include "bench.h"

static const struct bench_scenario *const scenarios[] = {
	&bench_idle, &bench_busy, &bench_start, &bench_churn, &bench_hot,
	&bench_pressure, &bench_largest, &bench_turnover, &bench_siblings,
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

int bench_record(struct bench_result *result, const char *name,
		 const u64 *values, unsigned int n)
{
	struct bench_series *series;

	if (result->nr_series == BENCH_MAX_SERIES || n > BENCH_MAX_VALUES) {
		bench_note("no room for the figures of %s\n", name);
		return -1;
	}
	series = &result->series[result->nr_series++];
	snprintf(series->name, sizeof(series->name), "%s", name);
	memcpy(series->values, values, n * sizeof(*values));
	series->n = n;
	return 0;
}

int bench_record_one(struct bench_result *result, const char *name, u64 value)
{
	return bench_record(result, name, &value, 1);
}

int bench_make_idle(struct bench_site *site, const struct bench_options *opt,
		    unsigned int n, struct bench_result *result)
{
	int ret;

	if (bench_create(site, n, &result->ns) ||
	    bench_mount(site, opt, n * opt->mounts, &result->ns))
		return -1;

	/* What the set-up left in the page cache and elsewhere. */
	if (bench_drop("3", 2, NULL) || bench_drop("2", 2, NULL))
		return -1;
	ret = bench_empty(NULL);
	if (ret > 0)
		bench_note("without the shrinkers' debugfs files something may be left\n");
	result->emptied = !ret;
	return ret < 0 ? -1 : 0;
}

int bench_sample_drops(struct bench_result *result, const char *name)
{
	u64 ns[BENCH_SAMPLES];

	if (bench_drop("2", 1, NULL) || bench_drop("2", BENCH_SAMPLES, ns))
		return -1;
	return bench_record(result, name, ns, BENCH_SAMPLES);
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
