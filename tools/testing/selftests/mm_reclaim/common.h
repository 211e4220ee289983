/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all others need. Each header includes those of the layers below it, and a
 * file the one of its own layer, so that calls go one way:
 *
 *	common.h <- result.h <- kernel.h, workload.h <- scenario.h <- main.h
 */
#ifndef __MM_RECLAIM_COMMON_H
#define __MM_RECLAIM_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#include "kselftest.h"

typedef unsigned long long u64;

/* Messages in KTAP's form. */
__printf(1, 2) void bench_note(const char *fmt, ...);
/* Adds errno and its text; always returns -1. */
__printf(1, 2) int bench_error(const char *fmt, ...);
/* kselftest.h counts for each file, so all results go through common.c. */
void bench_begin(void);
void bench_plan(unsigned int checks);
__printf(2, 3) void bench_check(bool ok, const char *fmt, ...);
__printf(1, 2) void bench_skip(const char *fmt, ...);
__noreturn void bench_skip_all(const char *why);
__noreturn void bench_end(bool failed);

bool bench_interrupted(void);
u64 bench_now(void);
int bench_write(const char *path, const char *text);

#endif /* __MM_RECLAIM_COMMON_H */
