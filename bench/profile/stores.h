/* SPDX-License-Identifier: GPL-2.0 */
/* Which lines were written, from where and by which CPUs. */
#ifndef STORES_H
#define STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct stores {
	struct store *slots;
	size_t size, used;
};

/* Counts a store to @line by code that @where stands for. False: there is no memory. */
bool stores_add(struct stores *stores, __u64 line, unsigned int cpu, void *where);
/*
 * Calls @found with each place from which lines were written that more than one CPU
 * wrote, and with how often, and returns the number of these lines. A place may come
 * several times. Nothing is in @stores after that.
 */
size_t stores_shared(struct stores *stores,
		     void (*found)(void *where, __u64 times, void *data), void *data);

#endif /* STORES_H */
