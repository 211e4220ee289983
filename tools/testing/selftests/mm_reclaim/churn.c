// SPDX-License-Identifier: GPL-2.0
/*
 * Mounts a ramfs, creates a file in it and unmounts it, over and over, from two
 * CPUs at once, as stress-ng's ramfs workload does: first without other groups,
 * then with idle ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WORKERS		2
#define REPEATS		3

static int churn_once(const char *dir, const char *file)
{
	int fd;

	if (mount("mm_reclaim", dir, "ramfs", 0, NULL))
		return bench_error("cannot mount a ramfs at %s", dir);
	fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		bench_error("cannot create %s", file);
	else
		close(fd);
	if (umount2(dir, 0))
		return bench_error("cannot unmount %s", dir);
	return fd < 0 ? -1 : 0;
}

/* Each on a CPU of its own, as far as there are CPUs. */
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

static __noreturn void work(const struct bench_site *site, unsigned int worker,
			    unsigned int count, int start)
{
	char dir[200], file[208], byte;

	choose_cpu(worker);
	snprintf(dir, sizeof(dir), "%s/churn%u", site->dir, worker);
	snprintf(file, sizeof(file), "%s/file", dir);
	/* Ends when the parent closes its side. */
	if (read(start, &byte, 1))
		_exit(1);
	while (count--)
		if (churn_once(dir, file) || bench_interrupted()) {
			fflush(stdout);
			_exit(1);
		}
	_exit(0);
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

static int churn(const struct bench_site *site, unsigned int count, u64 *ns)
{
	pid_t pids[WORKERS];
	unsigned int i;
	int start[2];
	int ret;

	if (pipe2(start, O_CLOEXEC))
		return bench_error("cannot create a pipe");
	fflush(stdout);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			bench_error("cannot fork");
			break;
		}
		if (!pids[i]) {
			close(start[1]);
			work(site, i, count / WORKERS, start[0]);
		}
	}
	close(start[0]);
	*ns = bench_now();
	close(start[1]);
	ret = wait_for(pids, i);
	*ns = bench_now() - *ns;
	return i == WORKERS ? ret : -1;
}

static int measure(const struct bench_site *site, unsigned int count,
		   const char *name, struct bench_result *result)
{
	u64 ns[REPEATS];
	unsigned int i;

	for (i = 0; i < REPEATS; i++)
		if (churn(site, count, &ns[i]))
			return -1;
	return bench_record(result, name, ns, REPEATS);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	unsigned int i, few = opt->count / 10 + WORKERS;
	char dir[200];
	u64 ignored;

	for (i = 0; i < WORKERS; i++) {
		snprintf(dir, sizeof(dir), "%s/churn%u", site->dir, i);
		if (mkdir(dir, 0755))
			return bench_error("cannot create %s", dir);
	}
	/* What comes first is slower. */
	if (churn(site, few, &ignored) ||
	    measure(site, opt->count, "alone", result))
		return -1;

	if (bench_make_idle(site, opt, opt->groups, result) ||
	    churn(site, few, &ignored) ||
	    measure(site, opt->count, "among_idle", result))
		return -1;
	return 0;
}

const struct bench_scenario bench_churn = {
	.name = "churn",
	.about = "mount, touch and unmount from two CPUs, alone and among idle groups",
	.run = run,
	.count = 1000,
	.counted = "mounts made and removed (default 1000)",
};
