// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "accesses.h"
#include "caches.h"
#include "stores.h"

#define PAGE_SHIFT	12
#define NR_KINDS	5	/* of what comes of an access, one for each bit */

struct counts {
	struct counts *next;	/* of those that the call has added to */
	bool added;
	__u64 now[NR_KINDS], total[NR_KINDS];
	__u64 shared;		/* stores to lines that more than one CPU wrote */
};

struct tally {
	struct tally *next;
	__u64 address;
	struct counts *of[MAX_OPERATIONS];
};

struct store_now {
	struct tally *tally;
	__u64 line;
	unsigned int cpu;
};

/* Until a call ends it is not known whether it counts. */
static struct operation {
	struct counts *added;
	struct store_now *now;
	size_t nr, size;
	struct stores stores;
} operations[MAX_OPERATIONS];
static unsigned int nr_operations;

static struct {
	unsigned int active, ended;
} following[MAX_CPUS];

static struct caches *caches;
static struct tally *tallies;

static void fail(void)
{
	perror("count");
	exit(1);
}

static void *checked(void *memory)
{
	if (!memory)
		fail();
	return memory;
}

bool accesses_init(unsigned int cpus, unsigned int operations)
{
	nr_operations = operations;
	caches = caches_new(cpus);
	return caches;
}

struct tally *accesses_tally(__u64 address)
{
	struct tally *tally = checked(calloc(1, sizeof(*tally)));

	tally->address = address;
	tally->next = tallies;
	tallies = tally;
	return tally;
}

void accesses_follow(unsigned int cpu, unsigned int active, unsigned int ended)
{
	following[cpu].active = active;
	following[cpu].ended = ended;
}

static void add_store(struct operation *op, struct tally *tally, __u64 line,
		      unsigned int cpu)
{
	if (!stores_add(&op->stores, line, cpu, tally))
		fail();
}

static void add_store_now(struct operation *op, struct tally *tally, __u64 line,
			  unsigned int cpu)
{
	if (op->nr == op->size) {
		op->size = op->size ? op->size * 2 : 1024;
		op->now = checked(realloc(op->now, op->size * sizeof(*op->now)));
	}
	op->now[op->nr++] = (struct store_now){ tally, line, cpu };
}

static struct counts *counts_of(struct tally *tally, unsigned int op)
{
	if (!tally->of[op])
		tally->of[op] = checked(calloc(1, sizeof(*tally->of[op])));
	return tally->of[op];
}

static void add_found(struct counts *counts, unsigned int found, bool ended)
{
	__u64 *to = ended ? counts->total : counts->now;

	for (; found; found >>= 1)
		*to++ += found & 1;
}

static void count(unsigned int nr, struct tally *tally, unsigned int found, __u64 line,
		  unsigned int cpu, bool store, bool ended)
{
	struct operation *op = &operations[nr];
	struct counts *counts;

	if (store && ended)
		add_store(op, tally, line, cpu);
	else if (store)
		add_store_now(op, tally, line, cpu);
	if (!found)
		return;
	counts = counts_of(tally, nr);
	if (!ended && !counts->added) {
		counts->added = true;
		counts->next = op->added;
		op->added = counts;
	}
	add_found(counts, found, ended);
}

void accesses_end(unsigned int nr, bool counts)
{
	struct operation *op = &operations[nr];
	const struct store_now *store;
	struct counts *added;
	unsigned int kind;

	for (added = op->added; added; added = added->next) {
		for (kind = 0; kind < NR_KINDS; kind++) {
			if (counts)
				added->total[kind] += added->now[kind];
			added->now[kind] = 0;
		}
		added->added = false;
	}
	op->added = NULL;
	for (store = op->now; counts && store < op->now + op->nr; store++)
		add_store(op, store->tally, store->line, store->cpu);
	op->nr = 0;
}

static void access_line(unsigned int cpu, __u64 line, bool store, struct tally *tally)
{
	unsigned int active = following[cpu].active, ended = following[cpu].ended, op;
	unsigned int found = caches_access(caches, cpu, line, store);

	if (!found && !store)
		return;
	for (op = 0; (active | ended) >> op; op++)
		if ((active | ended) >> op & 1)
			count(op, tally, found, line, cpu, store, ended >> op & 1);
}

static void access_memory(unsigned int cpu, __u32 info, __u64 vaddr, void *data)
{
	struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, vaddr);
	bool store = qemu_plugin_mem_is_store(info);
	__u64 first, last;

	/* What devices have is not cached. */
	if (!at || qemu_plugin_hwaddr_is_io(at))
		return;
	first = qemu_plugin_hwaddr_phys_addr(at);
	last = first + (1ULL << qemu_plugin_mem_size_shift(info)) - 1;
	access_line(cpu, first >> LINE_SHIFT, store, data);
	/* The next page may be anywhere; an access rarely reaches into it. */
	if (first >> LINE_SHIFT != last >> LINE_SHIFT &&
	    first >> PAGE_SHIFT == last >> PAGE_SHIFT)
		access_line(cpu, last >> LINE_SHIFT, store, data);
}

void accesses_watch(struct qemu_plugin_insn *insn, struct tally *tally)
{
	qemu_plugin_register_vcpu_mem_cb(insn, access_memory, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, tally);
}

static void add_shared(void *where, __u64 times, void *data)
{
	counts_of(where, *(unsigned int *)data)->shared += times;
}

static void write_tally(FILE *f, const struct tally *tally)
{
	const struct counts *counts;
	unsigned int op, kind;

	for (op = 0; op < nr_operations; op++) {
		counts = tally->of[op];
		if (!counts)
			continue;
		fprintf(f, "missed %u %llx", op, tally->address);
		for (kind = 0; kind < NR_KINDS; kind++)
			fprintf(f, " %llu", counts->total[kind]);
		fprintf(f, " %llu\n", counts->shared);
	}
}

void accesses_write(FILE *f)
{
	const struct tally *tally;
	unsigned int op;

	for (op = 0; op < nr_operations; op++)
		fprintf(f, "shared %u %zu\n", op,
			stores_shared(&operations[op].stores, add_shared, &op));
	for (tally = tallies; tally; tally = tally->next)
		write_tally(f, tally);
}
