// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include "result.h"

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
