// SPDX-License-Identifier: GPL-2.0
/* Processes that do one thing after the other, each on a CPU of its own if there is one. */
#include <fcntl.h>
#include <unistd.h>

#include "workload.h"

struct queue {
	const struct bench_turns *turns;
	/* For each of them, by which it is told that it has a turn, or that one has failed. */
	int pipes[BENCH_MAX_WORKERS][2];
};

static unsigned int whose(const struct queue *queue, unsigned int turn)
{
	return queue->turns->whose(turn, queue->turns->arg);
}

static int tell(const struct queue *queue, unsigned int worker, char failed)
{
	if (write(queue->pipes[worker][1], &failed, 1) == 1)
		return 0;
	return bench_error("cannot write to a pipe");
}

/* Returns whether it has one. */
static bool wait_for_turn(const struct queue *queue, unsigned int worker)
{
	char failed;

	return read(queue->pipes[worker][0], &failed, 1) == 1 && !failed;
}

/* Else the others would wait forever. */
static int give_up(const struct queue *queue, unsigned int worker)
{
	unsigned int other;

	for (other = 0; other < queue->turns->workers; other++)
		if (other != worker)
			tell(queue, other, 1);
	return -1;
}

static int take_turns(unsigned int worker, const void *arg)
{
	const struct queue *queue = arg;
	const struct bench_turns *turns = queue->turns;
	unsigned int turn, next;

	for (turn = 0; turn < turns->nr; turn++) {
		if (whose(queue, turn) != worker)
			continue;
		if (turn && whose(queue, turn - 1) != worker && !wait_for_turn(queue, worker))
			return -1;
		if (turns->take(turn, turns->arg))
			return give_up(queue, worker);
		next = turn + 1 < turns->nr ? whose(queue, turn + 1) : worker;
		if (next != worker && tell(queue, next, 0))
			return -1;
	}
	return 0;
}

int bench_take_turns(const struct bench_turns *turns, u64 *ns)
{
	struct queue queue = { .turns = turns };
	unsigned int i, made;
	int ret = -1;

	if (turns->workers > BENCH_MAX_WORKERS)
		return bench_error("%u processes are more than %d", turns->workers,
				   BENCH_MAX_WORKERS);
	for (made = 0; made < turns->workers; made++)
		if (pipe2(queue.pipes[made], O_CLOEXEC))
			break;
	if (made == turns->workers)
		ret = bench_run_workers(made, take_turns, &queue, ns);
	else
		bench_error("cannot create a pipe");
	for (i = 0; i < made; i++) {
		close(queue.pipes[i][0]);
		close(queue.pipes[i][1]);
	}
	return ret;
}
