/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel tells of its memory and of its shrinkers, and drop_caches. */
#ifndef __MM_RECLAIM_KERNEL_H
#define __MM_RECLAIM_KERNEL_H

#include "result.h"

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

/* drop_caches.c */
int bench_drop(const char *value, unsigned int n, u64 *ns);
int bench_settle(struct bench_memory *memory, const struct bench_memory *goal);
int bench_empty(struct bench_debugfs *found);

#endif /* __MM_RECLAIM_KERNEL_H */
