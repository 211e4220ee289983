// SPDX-License-Identifier: GPL-2.0
/* Processes that do the same at once, each on a CPU of its own if there is one. */
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static void choose_cpu(unsigned int worker)
{
	unsigned int cpu, seen = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	worker %= CPU_COUNT(&allowed);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || seen++ != worker)
			continue;
		CPU_ZERO(&allowed);
		CPU_SET(cpu, &allowed);
		sched_setaffinity(0, sizeof(allowed), &allowed);
		return;
	}
}

static __noreturn void work(unsigned int worker, int start,
			    int (*function)(unsigned int worker, const void *arg),
			    const void *arg)
{
	char byte;
	int ret;

	choose_cpu(worker);
	/* Ends when the parent closes its side. */
	ret = read(start, &byte, 1) || function(worker, arg);
	fflush(stdout);
	_exit(ret);
}

static int wait_for(const pid_t *pids, unsigned int n)
{
	int status, ret = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			ret = -1;
	return ret;
}

int bench_run_workers(unsigned int n,
		      int (*function)(unsigned int worker, const void *arg),
		      const void *arg, u64 *ns)
{
	pid_t pids[BENCH_MAX_WORKERS];
	unsigned int i;
	int start[2];
	int ret;

	if (n > BENCH_MAX_WORKERS)
		return bench_error("%u processes are more than %d", n,
				   BENCH_MAX_WORKERS);
	if (pipe2(start, O_CLOEXEC))
		return bench_error("cannot create a pipe");
	fflush(stdout);
	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			bench_error("cannot fork");
			break;
		}
		if (!pids[i]) {
			close(start[1]);
			work(i, start[0], function, arg);
		}
	}
	close(start[0]);
	*ns = bench_now();
	close(start[1]);
	ret = wait_for(pids, i);
	*ns = bench_now() - *ns;
	return i == n ? ret : -1;
}
