/* SPDX-License-Identifier: GPL-2.0 */
/* Groups, mounts, processes and memory: what the kernel is given to do. */
#ifndef __MM_RECLAIM_WORKLOAD_H
#define __MM_RECLAIM_WORKLOAD_H

#include "result.h"

#define BENCH_MAX_WORKERS	8

/* Where the workload lives, and how much of it exists. */
struct bench_site {
	char dir[128];			/* a tmpfs for the mount points */
	char cgroup_root[256];
	char cgroup[320];		/* parent of our groups */
	char home[512];			/* cgroup.procs to return to */
	char kind[24];
	unsigned int depth;
	unsigned int per_group;		/* mounts */
	bool memory;			/* there is a memory controller */
	bool base_mounted;
	bool enabled_memory;		/* in the root's subtree_control */
	unsigned int created;
	unsigned int mounted;
};

/* workload.c */
/* 0, -1 (failed) or 1 (there is no memory controller). */
int bench_site_open(struct bench_site *site, const struct bench_options *opt);
/* These two go on to @n of them, and add to the times. */
int bench_create(struct bench_site *site, unsigned int n, struct bench_times *ns);
int bench_mount(struct bench_site *site, const struct bench_options *opt,
		unsigned int n, struct bench_times *ns);
/* Mounts the one of this number, and says how long mount(2) took; and puts a file on it. */
int bench_mount_tmpfs(const struct bench_site *site, unsigned int i, u64 *took);
int bench_create_file(const struct bench_site *site, unsigned int i);
/* As many as there are ids for, and @n at most. */
int bench_create_all(struct bench_site *site, unsigned int n,
		     struct bench_times *ns);
int bench_join(const struct bench_site *site, unsigned int i);
int bench_go_home(const struct bench_site *site);
void bench_group_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size);
void bench_mount_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size);
int bench_unmount(struct bench_site *site, struct bench_times *ns);
int bench_remove(struct bench_site *site, struct bench_times *ns);
int bench_count_mounts(const struct bench_site *site);
int bench_count_groups(const struct bench_site *site);
/*
 * A removed group lives on until the last reference to it is gone: waits for that. Returns how
 * many never went, or -1 where the kernel does not tell.
 */
long bench_drain(const struct bench_site *site, struct bench_times *ns);
/* Removes it all, timed, waits until it is gone, and reports two checks. */
int bench_tear_down(struct bench_site *site, struct bench_result *result);
int bench_site_close(struct bench_site *site);

/* workers.c: as many processes, which begin at once; times them all. */
int bench_run_workers(unsigned int n,
		      int (*function)(unsigned int worker, const void *arg),
		      const void *arg, u64 *ns);

/* turns.c: processes of which one works at a time. */
struct bench_turns {
	unsigned int workers;
	unsigned int nr;
	/* The worker that has this turn, and what it does then, which fails if it is not 0. */
	unsigned int (*whose)(unsigned int turn, const void *arg);
	int (*take)(unsigned int turn, const void *arg);
	const void *arg;
};

int bench_take_turns(const struct bench_turns *turns, u64 *ns);

/*
 * moves.c: has the first object of this process's group come, and go, so many times;
 * @fds is /proc/self/fd.
 */
int bench_come_and_go(int fds, unsigned int count);

/*
 * fill.c: memory that was written and given up, so that reclaim can take it.
 */
struct bench_usage {
	u64 system;	/* ns, of all CPUs: reclaim in the background is part of it */
	u64 taken;	/* pages */
	u64 slabs;	/* objects that shrinkers looked at */
};

int bench_read_usage(struct bench_usage *usage);
u64 bench_twice_the_memory(void);
/* A piece, or NULL. */
char *bench_map_piece(size_t size);
/*
 * Maps so many pieces. With what was used before, only until something is
 * reclaimed, which it then has to be.
 */
int bench_map_pieces(unsigned int pieces, size_t size,
		     const struct bench_usage *before);
/* So many that some is reclaimed. */
int bench_fill_memory(void);

#endif /* __MM_RECLAIM_WORKLOAD_H */
