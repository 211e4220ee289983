// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of memory.stat. Most of what reading that file costs is formats, and there are
 * more lines in it than on stock: here they are printed without.
 */
#include <linux/atomic.h>
#include <linux/seq_buf.h>
#include <linux/sprintf.h>

#include "mm_reclaim_stat.h"

/**
 * memcg_stat_print - print a line of memory.stat
 * @s: where to
 * @name: what is counted
 * @value: how much there is
 *
 * What seq_buf_printf(s, "%s %llu\n", name, value) prints.
 *
 * Context: Any.
 */
void memcg_stat_print(struct seq_buf *s, const char *name, u64 value)
{
	size_t room;
	char *at;
	int len;

	seq_buf_puts(s, name);
	seq_buf_putc(s, ' ');
	room = seq_buf_get_buf(s, &at);
	len = num_to_str(at, room, value, 0);
	seq_buf_commit(s, len ?: -1);
	/* The only one of these that ends the string. */
	seq_buf_puts(s, "\n");
}

/**
 * memcg_stat_print_events - print lines of memory.stat
 * @s: where to
 * @prefix: what each line begins with
 * @names: what is counted
 * @events: how many there were
 * @nr: the number of lines
 *
 * Context: Any.
 */
void memcg_stat_print_events(struct seq_buf *s, const char *prefix,
			     const char *const *names, const atomic64_t *events, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		seq_buf_puts(s, prefix);
		memcg_stat_print(s, names[i], atomic64_read(&events[i]));
	}
}
