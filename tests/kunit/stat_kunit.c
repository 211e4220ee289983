// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of memory.stat: what is printed without formats is what formats print.
 */
#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/limits.h>
#include <linux/seq_buf.h>

#include "../../mm_reclaim_stat.h"

static const u64 values[] = {
	0, 1, 9, 10, 99, 100, 4096, U32_MAX, 1ULL + U32_MAX, S64_MAX, U64_MAX - 1, U64_MAX,
};

static void stat_as_formatted(struct kunit *test)
{
	char printed[64], formatted[64];
	int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		struct seq_buf s;

		seq_buf_init(&s, printed, sizeof(printed));
		seq_buf_puts(&s, "slab 1\n");
		memcg_stat_print(&s, "file", values[i]);
		scnprintf(formatted, sizeof(formatted), "slab 1\nfile %llu\n", values[i]);
		KUNIT_EXPECT_STREQ(test, seq_buf_str(&s), formatted);
		KUNIT_EXPECT_EQ(test, seq_buf_used(&s), strlen(formatted));
	}
}

static void stat_events(struct kunit *test)
{
	static const char *const names[] = { "hit", "evicted" };
	const atomic64_t events[] = { ATOMIC64_INIT(7), ATOMIC64_INIT(0) };
	char printed[64];
	struct seq_buf s;

	seq_buf_init(&s, printed, sizeof(printed));
	memcg_stat_print_events(&s, "", names, events, ARRAY_SIZE(names));
	memcg_stat_print_events(&s, "total_", names, events, 1);
	KUNIT_EXPECT_STREQ(test, seq_buf_str(&s), "hit 7\nevicted 0\ntotal_hit 7\n");
}

/* Nothing is written beyond the buffer, and the overflow is seen. */
static void stat_overflow(struct kunit *test)
{
	size_t size;

	for (size = 1; size <= sizeof("file 10\n"); size++) {
		char printed[sizeof("file 10\n") + 1];
		struct seq_buf s;

		memset(printed, '#', sizeof(printed));
		seq_buf_init(&s, printed, size);
		memcg_stat_print(&s, "file", 10);
		KUNIT_EXPECT_EQ(test, seq_buf_has_overflowed(&s),
				size < sizeof("file 10\n"));
		KUNIT_EXPECT_EQ(test, printed[size], '#');
	}
}

static struct kunit_case stat_cases[] = {
	KUNIT_CASE(stat_as_formatted),
	KUNIT_CASE(stat_events),
	KUNIT_CASE(stat_overflow),
	{}
};

static struct kunit_suite stat_suite = {
	.name = "mm_reclaim_stat",
	.test_cases = stat_cases,
};

kunit_test_suite(stat_suite);
