/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of memory.stat: what mm/memcontrol.c and mm/mm_reclaim*.c ask of
 * mm/mm_reclaim_stat.c.
 */
#ifndef __MM_MM_RECLAIM_STAT_H
#define __MM_MM_RECLAIM_STAT_H

#include <linux/atomic.h>
#include <linux/seq_buf.h>
#include <linux/types.h>

#ifdef CONFIG_MEMCG_SHRINKER_RUST

void memcg_stat_print(struct seq_buf *s, const char *name, u64 value);
void memcg_stat_print_events(struct seq_buf *s, const char *prefix,
			     const char *const *names, const atomic64_t *events, int nr);

#else /* CONFIG_MEMCG_SHRINKER_RUST */

/* Not a function, so that strings are where they were. */
#define memcg_stat_print(s, name, value)	seq_buf_printf(s, "%s %llu\n", name, value)

#endif /* CONFIG_MEMCG_SHRINKER_RUST */

#endif /* __MM_MM_RECLAIM_STAT_H */
