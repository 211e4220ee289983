// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU's TCG that counts the instructions which an x86_64 guest
 * executes in a kernel function and in all that it calls, and with caches=on what
 * these miss in a model of caches. All of the guest's CPUs must run in one thread.
 *
 *	-plugin count.so,points=FILE,out=FILE[,caches=on]
 *
 * The lines of the first file, with addresses in hexadecimal:
 *
 *	operation ADDRESS any|inside|around|after OTHER TIMES LIMIT
 *		the function to count in. Only those calls of it count that are
 *		made inside of the operation OTHER, or in which that happens, or
 *		the first LIMIT ones after that has counted TIMES times;
 *		operations are numbered from 0. One call is followed at a time
 *	interrupt FIRST END
 *		where an interrupt or exception enters the kernel
 *	switch FIRST END
 *		the function that switches stacks
 *	preempt ADDRESS
 *		the counter that forbids preemption while it is not zero, which is
 *		what an RCU read-side critical section is without PREEMPT_RCU
 *	scheduler ADDRESS
 *		a function that forbids preemption itself, to let others run
 *
 * The second file says of each operation how often it was entered, how often it
 * counted, how often it forbade preemption, and how many instructions it executed
 * before it allowed it again, at most. Then follow, for each operation and block of
 * code that ran in it, the address, the number of instructions, how many of them
 * are atomic, and how often it was executed. With caches=on there also is, after the
 * number of the operation,
 *
 *	shared OPERATION LINES
 *		how many lines more than one CPU wrote in it
 *	missed OPERATION ADDRESS L1 L2 L3 LOST TAKEN SHARED
 *		of a block of code: how often its loads and stores missed each cache,
 *		missed because another CPU had written the line, and took the line
 *		from another CPU; and its stores to the lines above
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accesses.h"
#include "caches.h"
#include "qemu_plugin.h"

#define MAX_RANGES	256
#define MAX_INSN	15
#define STUB_BYTES	8	/* in ranges of entries; or a multiple */
#define MAX_CHANGES	8
#define PAGE_BYTES	4096
#define PREFIXES	"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3"

EXPORTED int qemu_plugin_version = QEMU_PLUGIN_API;

enum rule { ANY, INSIDE, AROUND, AFTER, NR_RULES };

static const char *const rule_names[NR_RULES] = {
	"any", "inside", "around", "after"
};

/* What matters of an instruction, or how many of a block are of that kind. */
struct kind {
	unsigned int atomics, calls, returns, irets;
};

/* Of the counter that forbids preemption, after so many instructions. */
struct change {
	unsigned int at;
	int by;
};

/* A translated block; translated again, it is another one. */
struct block {
	struct block *next;
	struct block *touched[MAX_OPERATIONS];
	__u64 address, last_address;
	unsigned int insns;
	struct kind all, last;
	bool doubtful;		/* whether its last instruction is part of it */
	unsigned int entered;	/* the operations that begin here, as bits */
	bool interrupt, switches, scheduler;
	struct change changes[MAX_CHANGES];
	unsigned int nr_changes;
	__u64 now[MAX_OPERATIONS], total[MAX_OPERATIONS];
	struct tally *tally;	/* with caches */
};

struct operation {
	__u64 address;
	enum rule rule;
	unsigned int other, times, limit;

	bool active, seen;	/* seen: AROUND what it has to be around */
	__u64 task;
	int depth;		/* of calls; below 0 it has returned */
	struct block *previous;
	int deeper;		/* by how much that one has changed the depth */
	unsigned int interrupts;
	unsigned int others, left;	/* AFTER */
	struct block *touched;
	__u64 entered, counted;
	__u64 insns, since;	/* executed, and when preemption was forbidden */
	unsigned int nesting;
	int scheduler;		/* the depth at which it was called, or 0 */
	__u64 sections, longest;
};

struct range {
	__u64 first, end;
};

static struct operation operations[MAX_OPERATIONS];
static unsigned int nr_operations;
static struct range interrupts[MAX_RANGES];
static unsigned int nr_interrupts;
static struct range switches;
static __u64 schedulers[MAX_RANGES];
static unsigned int nr_schedulers;
static struct block *blocks;
static __u64 preempt_count;
static const char *out;
static bool with_caches;
/* Of which operations the block is part that begins, as bits; see accesses_follow(). */
static unsigned int active, ended;

static struct cpu {
	/*
	 * The address of the stack pointer in the task that runs. Other tasks may
	 * run before an operation has ended, and have their own calls and
	 * interrupts.
	 */
	__u64 task;
	bool switching;
} cpus[MAX_CPUS], *this_cpu;

static bool in_range(const struct range *range, __u64 address)
{
	return address >= range->first && address < range->end;
}

static bool runs_here(const struct operation *op)
{
	return op->active && op->task == this_cpu->task && !op->interrupts;
}

static void begin(struct operation *op)
{
	if (op->active)
		return;
	if (op->rule == INSIDE && !runs_here(&operations[op->other]))
		return;
	if (op->rule == AFTER) {
		if (!op->left)
			return;
		op->left--;
		op->others = 0;
	}
	op->active = true;
	op->seen = false;
	op->task = this_cpu->task;
	op->depth = 0;
	op->previous = NULL;
	op->interrupts = 0;
	op->insns = 0;
	op->nesting = 0;
	op->scheduler = 0;
	op->entered++;
}

static void tell_others(unsigned int nr)
{
	struct operation *op;

	for (op = operations; op < operations + nr_operations; op++) {
		if (op->other != nr)
			continue;
		if (op->rule == AFTER && ++op->others == op->times)
			op->left = op->limit;
		if (op->rule == AROUND && runs_here(op))
			op->seen = true;
	}
}

static void end(struct operation *op)
{
	unsigned int nr = op - operations;
	bool counts = op->rule != AROUND || op->seen;
	struct block *block, *next;

	for (block = op->touched; block; block = next) {
		next = block->touched[nr];
		if (counts)
			block->total[nr] += block->now[nr];
		block->now[nr] = 0;
	}
	op->touched = NULL;
	op->active = false;
	if (with_caches)
		accesses_end(nr, counts);
	active &= ~(1U << nr);
	if (!counts)
		return;
	ended |= 1U << nr;
	op->counted++;
	tell_others(nr);
}

static void change_nesting(struct operation *op, const struct change *change)
{
	__u64 now = op->insns + change->at;

	if (change->by > 0) {
		if (!op->nesting++)
			op->since = now;
	} else if (op->nesting && !--op->nesting) {
		op->sections++;
		if (now - op->since > op->longest)
			op->longest = now - op->since;
	}
}

/*
 * An instruction that reaches into the next page begins a block of its own, but
 * QEMU 7.2 has shown it as the last one of the block before, too. Its bytes were
 * not all read there, so that its length does not tell.
 */
static void forget_last(struct block *block)
{
	block->insns--;
	block->all.atomics -= block->last.atomics;
	block->all.calls -= block->last.calls;
	block->all.irets -= block->last.irets;
	block->doubtful = false;
}

/*
 * A block that begins inside of the one before is the rest of that, which was counted
 * when it began: it had a fault, or a device that it accessed had to know the time. If it
 * is a loop instead, the one before has not changed the depth.
 */
static void undo_rest(struct operation *op, const struct block *block)
{
	struct block *previous = op->previous;

	if (!previous || block->address <= previous->address ||
	    block->address > previous->last_address)
		return;
	op->depth -= op->deeper;
	if (block->address != previous->last_address)
		return;
	op->insns--;
	if (previous->doubtful)
		forget_last(previous);
}

static void step(struct operation *op, struct block *block)
{
	unsigned int i, nr = op - operations;

	if (block->interrupt)
		op->interrupts++;
	if (op->interrupts) {
		op->interrupts -= block->all.irets;
		return;
	}
	undo_rest(op, block);
	active |= 1U << nr;
	if (!block->now[nr]++) {
		block->touched[nr] = op->touched;
		op->touched = block;
	}
	/* An operation that is not one itself calls it. */
	if (block->scheduler && !op->scheduler)
		op->scheduler = op->depth;
	for (i = 0; i < block->nr_changes && !op->scheduler; i++)
		change_nesting(op, &block->changes[i]);
	op->insns += block->insns;
	/* A block ends where control goes elsewhere, so it has one of them. */
	op->previous = block;
	op->deeper = (int)block->all.calls - (int)block->all.returns;
	op->depth += op->deeper;
	if (op->depth < op->scheduler)
		op->scheduler = 0;
	if (op->depth < 0)
		end(op);
}

static void execute(unsigned int cpu, void *data)
{
	struct block *block = data;
	unsigned int i;

	this_cpu = &cpus[cpu];
	active = 0;
	ended = 0;
	for (i = 0; block->entered >> i; i++)
		if (block->entered & 1U << i)
			begin(&operations[i]);
	/* The inner ones, which come later, end first. */
	for (i = nr_operations; i--; )
		if (operations[i].active && operations[i].task == this_cpu->task)
			step(&operations[i], block);
	if (with_caches)
		accesses_follow(cpu, active, ended);
	if (block->switches)
		this_cpu->switching = true;
}

/* The first load after the registers were saved is that of the new stack. */
static void follow_switch(unsigned int cpu, __u32 info, __u64 vaddr,
			  void *data)
{
	if (!cpus[cpu].switching || qemu_plugin_mem_is_store(info))
		return;
	cpus[cpu].switching = false;
	cpus[cpu].task = vaddr;
}

static size_t insn_bytes(struct qemu_plugin_insn *insn, unsigned char *to)
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size > MAX_INSN)
		size = MAX_INSN;
#if QEMU_PLUGIN_API >= 3
	return qemu_plugin_insn_data(insn, to, size);
#else
	memcpy(to, qemu_plugin_insn_data(insn), size);
	return size;
#endif
}

/*
 * "inc %gs:counter(%rip)" or "dec" are all that changes it where RCU does; for soft
 * interrupts more is added.
 */
static int preempt_change(struct qemu_plugin_insn *insn)
{
	unsigned char bytes[MAX_INSN] = {};
	size_t size = insn_bytes(insn, bytes);
	const unsigned char *at = bytes;
	__s32 offset;

	if (*at++ != 0x65)
		return 0;
	/* REX */
	if ((*at & 0xf0) == 0x40)
		at++;
	if (*at++ != 0xff || (*at != 0x05 && *at != 0x0d))
		return 0;
	/* Of one that reaches into the next page not all bytes were read. */
	if (at + 1 + sizeof(offset) != bytes + size)
		return 0;
	memcpy(&offset, at + 1, sizeof(offset));
	if (qemu_plugin_insn_vaddr(insn) + size + offset != preempt_count)
		return 0;
	return *at == 0x05 ? 1 : -1;
}

static void note_change(struct block *block, unsigned int at, int by)
{
	if (!by)
		return;
	if (block->nr_changes == MAX_CHANGES) {
		fprintf(stderr, "count: a block changes preempt_count too often\n");
		exit(1);
	}
	block->changes[block->nr_changes++] = (struct change){ at, by };
}

static struct kind classify(struct qemu_plugin_insn *insn)
{
	/* What follows a short instruction is neither opcode nor ModRM. */
	unsigned char bytes[MAX_INSN + 2] = {};
	size_t size = insn_bytes(insn, bytes), i = 0;
	struct kind kind = {};
	unsigned int modrm;

	while (i < size && bytes[i] && strchr(PREFIXES, bytes[i]))
		kind.atomics |= bytes[i++] == 0xf0;
	/* REX */
	if ((bytes[i] & 0xf0) == 0x40)
		i++;
	modrm = bytes[i + 1];

	switch (bytes[i]) {
	case 0x86:
	case 0x87:
		/* xchg with memory needs no prefix. */
		kind.atomics |= modrm >> 6 != 3;
		break;
	case 0xe8:
		kind.calls = 1;
		break;
	case 0xff:
		kind.calls = (modrm >> 3 & 7) == 2;
		break;
	case 0xc2:
	case 0xc3:
		kind.returns = 1;
		break;
	case 0xcf:
		kind.irets = 1;
		break;
	}
	return kind;
}

static void add_insn(struct block *block, struct qemu_plugin_insn *insn)
{
	block->last = classify(insn);
	block->last_address = qemu_plugin_insn_vaddr(insn);
	block->all.atomics += block->last.atomics;
	block->all.calls += block->last.calls;
	block->all.returns += block->last.returns;
	block->all.irets += block->last.irets;
	/* Asked for loads alone, QEMU 7.2 tells of stores instead. */
	if (in_range(&switches, block->last_address))
		qemu_plugin_register_vcpu_mem_cb(insn, follow_switch,
						 QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	if (with_caches)
		accesses_watch(insn, block->tally);
}

static void translate(__u64 id, struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));
	unsigned int i;

	if (!block) {
		perror("count");
		exit(1);
	}
	block->address = qemu_plugin_tb_vaddr(tb);
	block->insns = qemu_plugin_tb_n_insns(tb);
	if (with_caches)
		block->tally = accesses_tally(block->address);
	for (i = 0; i < nr_operations; i++)
		if (operations[i].address == block->address)
			block->entered |= 1U << i;
	for (i = 0; i < nr_interrupts; i++)
		/* With its time counted in instructions, QEMU may split a stub. */
		block->interrupt |= in_range(&interrupts[i], block->address) &&
				    !((block->address - interrupts[i].first) % STUB_BYTES);
	block->switches = switches.first == block->address;
	for (i = 0; i < nr_schedulers; i++)
		block->scheduler |= schedulers[i] == block->address;
	for (i = 0; i < block->insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		add_insn(block, insn);
		note_change(block, i + 1, preempt_change(insn));
	}
	block->doubtful = block->insns > 1 &&
			  block->last_address % PAGE_BYTES > PAGE_BYTES - MAX_INSN;
	block->next = blocks;
	blocks = block;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, execute, QEMU_PLUGIN_CB_NO_REGS,
					     block);
}

static void write_counts(__u64 id, void *data)
{
	FILE *f = fopen(out, "w");
	const struct block *block;
	unsigned int i;

	if (!f) {
		perror(out);
		return;
	}
	for (i = 0; i < nr_operations; i++)
		fprintf(f, "operation %llu %llu %llu %llu\n", operations[i].entered,
			operations[i].counted, operations[i].sections,
			operations[i].longest);
	for (block = blocks; block; block = block->next)
		for (i = 0; i < nr_operations; i++)
			if (block->total[i])
				fprintf(f, "block %u %llx %u %u %llu\n", i,
					block->address, block->insns,
					block->all.atomics, block->total[i]);
	if (with_caches)
		accesses_write(f);
	if (fclose(f))
		perror(out);
}

static int parse_operation(const char *line)
{
	struct operation *op = &operations[nr_operations];
	char name[8];

	if (nr_operations == MAX_OPERATIONS ||
	    sscanf(line, "operation %llx %7s %u %u %u", &op->address, name,
		   &op->other, &op->times, &op->limit) != 5 || op->other >= MAX_OPERATIONS)
		return -1;
	for (op->rule = ANY; op->rule < NR_RULES; op->rule++)
		if (!strcmp(rule_names[op->rule], name))
			break;
	nr_operations++;
	return op->rule == NR_RULES ? -1 : 0;
}

static int parse_line(const char *line)
{
	struct range range;

	if (sscanf(line, "switch %llx %llx", &range.first, &range.end) == 2) {
		switches = range;
		return 0;
	}
	if (sscanf(line, "interrupt %llx %llx", &range.first, &range.end) == 2) {
		if (nr_interrupts == MAX_RANGES)
			return -1;
		interrupts[nr_interrupts++] = range;
		return 0;
	}
	if (sscanf(line, "preempt %llx", &preempt_count) == 1)
		return 0;
	if (nr_schedulers < MAX_RANGES &&
	    sscanf(line, "scheduler %llx", &schedulers[nr_schedulers]) == 1) {
		nr_schedulers++;
		return 0;
	}
	return parse_operation(line);
}

static int parse_points(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[128];
	int ret = 0;

	if (!f) {
		perror(path);
		return -1;
	}
	while (!ret && fgets(line, sizeof(line), f)) {
		ret = parse_line(line);
		if (ret)
			fprintf(stderr, "count: not understood: %s", line);
	}
	fclose(f);
	return ret;
}

int qemu_plugin_install(__u64 id, const struct qemu_info *info, int argc,
			char **argv)
{
	const char *points = NULL;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "points=", 7))
			points = argv[i] + 7;
		else if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else if (!strcmp(argv[i], "caches=on"))
			with_caches = true;
	}
	if (!points || !out) {
		fprintf(stderr, "count: points= and out= are needed\n");
		return -1;
	}
	if (strcmp(info->target_name, "x86_64") || !info->system_emulation ||
	    info->system.smp_vcpus > MAX_CPUS) {
		fprintf(stderr, "count: the guest must be an x86_64 with at most %d CPUs\n",
			MAX_CPUS);
		return -1;
	}
	if (parse_points(points))
		return -1;
	if (with_caches && !accesses_init(info->system.smp_vcpus, nr_operations)) {
		perror("count");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	return 0;
}
