/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loads and stores of the guest. Those of user space, of interrupts and of other
 * tasks move lines as well, so that all of them go through caches.c; only those that are
 * part of an operation are counted, by operation and block of code.
 */
#ifndef ACCESSES_H
#define ACCESSES_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

#include "qemu_plugin.h"

#define MAX_OPERATIONS	12

/* What the accesses of one block missed. */
struct tally;

/* False: there is no memory. */
bool accesses_init(unsigned int cpus, unsigned int operations);
struct tally *accesses_tally(__u64 address);
void accesses_watch(struct qemu_plugin_insn *insn, struct tally *tally);
/*
 * What @cpu executes from here on is part of the operations in @active, which are bits,
 * and of those in @ended: a call of these ends with this block, and counts.
 */
void accesses_follow(unsigned int cpu, unsigned int active, unsigned int ended);
/* A call of an operation ends; whether it counts. */
void accesses_end(unsigned int op, bool counts);
/* In two kinds of lines; see count.c. */
void accesses_write(FILE *f);

#endif /* ACCESSES_H */
