// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what many memory cgroups and many mounted file systems cost slab
 * reclaim. It repeats the test of the 2018 series "Improve shrink_slab()
 * scalability": N groups, each with its own tmpfs and one file in it, then
 * five writes of 3 to drop_caches. Five writes of 2 follow, which leave the
 * page cache out.
 *
 * Without --json it prints its figures as KTAP diagnostics, and in both cases
 * it checks that everything could be made and that everything went away.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define DEFAULT_GROUPS	200
#define MAX_GROUPS	50000
#define FEW		4
#define SETTLE_TRIES	40
#define SETTLE_POLL_US	250000
#define SLACK		(64 * 1024ULL)

void bench_note(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
}

int bench_error(const char *fmt, ...)
{
	int error = errno;
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(": %s (%d)\n", strerror(error), error);
	return -1;
}

/* The signals are blocked, so that a clean-up always runs to its end. */
static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigprocmask(SIG_BLOCK, set, NULL);
	/* Nor may a reader of our output that goes away prevent it. */
	signal(SIGPIPE, SIG_IGN);
}

bool bench_interrupted(void)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 ||
	       sigismember(&pending, SIGTERM) == 1 ||
	       sigismember(&pending, SIGHUP) == 1;
}

u64 bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/*
 * The kernel logs each drop_caches. On a serial console that line takes longer
 * than the work, so leave only warnings there. Returns the level to restore.
 */
static int quiet_console(int level)
{
	int old = -1;
	FILE *f;

	f = fopen("/proc/sys/kernel/printk", "re");
	if (f) {
		if (fscanf(f, "%d", &old) != 1)
			old = -1;
		fclose(f);
	}
	if (old > level && !klogctl(8, NULL, level))
		return old;
	return -1;
}

/*
 * Memory that is freed after a grace period or from a work item is not free
 * yet. Freeing has ended when the map caches have stopped shrinking. With @goal
 * their empty slabs go, too, and it has ended when the goal is reached.
 */
static int settle(struct bench_memory *memory, const struct bench_memory *goal)
{
	u64 last = ~0ULL, same = 0;
	int i;

	for (i = 0; i < SETTLE_TRIES && same < 3; i++) {
		u64 bytes;

		if (bench_drop("2", 1, NULL))
			return -1;
		usleep(SETTLE_POLL_US);
		if (goal)
			bench_shrink_caches(goal);
		if (bench_read_memory(memory))
			return -1;
		bytes = memory->nr_caches ? bench_map_bytes(memory) :
					    memory->sunreclaim;
		same = bytes >= last ? same + 1 : 0;
		last = bytes;
		if (goal && memory->nr_caches && bytes <= bench_map_bytes(goal))
			break;
	}
	return 0;
}

/*
 * drop_caches leaves one dentry of each group, see mount_one(), so the timed
 * drops still had every group on their way. Take these away by hand, and time
 * drops that really find nothing.
 */
static int time_empty(struct bench_result *result)
{
	struct bench_debugfs left = {};

	/* The root may have some. */
	if (bench_shrinker_debug(&left, "sb-cgroup") ||
	    left.objects_after > FEW)
		return 0;
	/* The first one clears the bits. */
	if (bench_drop("2", 1, NULL) ||
	    bench_drop("2", BENCH_DROPS, result->ns.empty2))
		return -1;
	result->emptied = true;
	return 0;
}

static int run_calls(struct bench_site *site, const struct bench_options *opt,
		     struct bench_result *result)
{
	const struct bench_debugfs *seen = &result->debugfs;
	int ret;

	if (bench_read_memory(&result->mounted))
		return -1;

	if (opt->shrinker_debug) {
		ret = bench_shrinker_debug(&result->debugfs, "");
		bench_note("%u shrinkers, %u scans, %llu objects before and %llu after\n",
			   seen->shrinkers, seen->scans, seen->objects_before,
			   seen->objects_after);
		if (ret > 0)
			ksft_test_result_skip("there are no shrinker debugfs files\n");
		else
			ksft_test_result(!ret && seen->scans &&
					 seen->shrinkers >= opt->groups &&
					 seen->objects_after < seen->objects_before,
					 "the shrinkers' debugfs files count and scan\n");
	}

	if (bench_drop("3", BENCH_DROPS, result->ns.drop3) ||
	    bench_drop("2", BENCH_DROPS, result->ns.drop2))
		return -1;
	ksft_test_result(bench_count_mounts(site) == (int)opt->groups &&
			 bench_count_groups(site) == (int)opt->groups,
			 "%u groups and %u mounts exist\n", opt->groups,
			 opt->groups);

	if (settle(&result->dropped, NULL))
		return -1;
	bench_count_calls(result);
	return time_empty(result);
}

static void check_removed(const struct bench_site *site,
			  const struct bench_result *result)
{
	u64 start = bench_map_bytes(&result->start);
	u64 peak = bench_map_bytes(&result->dropped);
	u64 end = bench_map_bytes(&result->removed);

	ksft_test_result(!bench_count_mounts(site) && !bench_count_groups(site),
			 "all groups and mounts removed\n");

	if (result->dying < 0)
		ksft_test_result_skip("cgroup v1 does not tell which groups linger\n");
	else
		ksft_test_result(!result->dying,
				 "%ld removed groups linger\n", result->dying);

	/* Objects that stay may be thinly spread over slabs. */
	if (!result->removed.nr_caches)
		ksft_test_result_skip("no /proc/slabinfo\n");
	else
		ksft_test_result(end <= start + SLACK + (peak > start ? peak - start : 0) / 8,
				 "memory for shrinker maps: %llu KiB before, %llu with groups, %llu after\n",
				 start / 1024, peak / 1024, end / 1024);
}

static int run(struct bench_site *site, const struct bench_options *opt,
	       struct bench_result *result)
{
	/* The first drop is the only one to find what the boot has left. */
	if (settle(&result->start, NULL))
		return -1;

	if (bench_create(site, opt->groups, &result->ns) ||
	    bench_mount(site, opt, &result->ns) ||
	    run_calls(site, opt, result))
		return -1;

	if (opt->keep)
		return 0;

	if (bench_unmount(site, &result->ns) ||
	    bench_remove(site, &result->ns))
		return -1;
	result->dying = bench_drain(site, &result->ns);
	if (settle(&result->removed, &result->start))
		return -1;
	check_removed(site, result);
	return 0;
}

static void show_help(FILE *to, const char *name)
{
	fprintf(to,
		"usage: %s [options]\n"
		"  -n, --groups N        groups and mounts to make (default %d)\n"
		"  -j, --json            print the result as one line of JSON\n"
		"  -k, --keep            leave the groups and mounts behind\n"
		"      --v1              use the cgroup v1 memory hierarchy\n"
		"      --any             go on if there is no memory controller\n"
		"      --from-home       join each group from the first one, not from the last\n"
		"      --shrinker-debug  read and scan through the shrinkers' debugfs files\n"
		"  -h, --help            show this\n", name, DEFAULT_GROUPS);
}

static void parse_options(int argc, char **argv, struct bench_options *opt)
{
	enum { V1 = 256, ANY, FROM_HOME, SHRINKER_DEBUG };
	static const struct option options[] = {
		{ "groups", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "keep", no_argument, NULL, 'k' },
		{ "v1", no_argument, NULL, V1 },
		{ "any", no_argument, NULL, ANY },
		{ "from-home", no_argument, NULL, FROM_HOME },
		{ "shrinker-debug", no_argument, NULL, SHRINKER_DEBUG },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	unsigned long n;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "n:jkh", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			errno = 0;
			n = strtoul(optarg, &end, 10);
			if (errno || end == optarg || *end || !n || n > MAX_GROUPS) {
				fprintf(stderr, "%s: -n takes a number from 1 to %d, not \"%s\"\n",
					argv[0], MAX_GROUPS, optarg);
				exit(KSFT_FAIL);
			}
			opt->groups = n;
			break;
		case 'j':
			opt->json = true;
			break;
		case 'k':
			opt->keep = true;
			break;
		case V1:
			opt->v1 = true;
			break;
		case ANY:
			opt->any = true;
			break;
		case FROM_HOME:
			opt->from_home = true;
			break;
		case SHRINKER_DEBUG:
			opt->shrinker_debug = true;
			break;
		case 'h':
			show_help(stdout, argv[0]);
			exit(KSFT_PASS);
		default:
			show_help(stderr, argv[0]);
			exit(KSFT_FAIL);
		}
	}
	if (optind < argc) {
		show_help(stderr, argv[0]);
		exit(KSFT_FAIL);
	}
}

static void note_kept(const struct bench_site *site)
{
	bench_note("kept: groups in %s, mounts in %s/s\n", site->cgroup, site->dir);
	bench_note("to remove: umount %s/s/* %s; rmdir %s %s/*/ %s\n", site->dir,
		   site->dir, site->dir, site->cgroup, site->cgroup);
}

int main(int argc, char **argv)
{
	struct bench_options opt = { .groups = DEFAULT_GROUPS };
	static struct bench_result result;
	static struct bench_site site;
	sigset_t signals;
	int failed, level;

	if (getpid() == 1)
		bench_guest_init();

	parse_options(argc, argv, &opt);
	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("this must be run as root\n");

	block_signals(&signals);
	failed = bench_site_open(&site, &opt);
	if (failed > 0) {
		bench_site_close(&site);
		ksft_exit_skip("no memory controller\n");
	}

	result.dying = -1;
	ksft_set_plan((opt.keep ? 1 : 4) + opt.shrinker_debug);
	if (!failed) {
		level = quiet_console(5);
		failed = run(&site, &opt, &result);
		if (level >= 0)
			klogctl(8, NULL, level);
	}

	if (!failed && opt.json)
		bench_print_json(&site, &opt, &result);
	else if (!failed)
		bench_print_figures(&opt, &result);

	if (!failed && opt.keep)
		note_kept(&site);
	else if (bench_site_close(&site))
		failed = -1;

	if (bench_interrupted()) {
		bench_note("interrupted\n");
		fflush(stdout);
		/* Now it may end us. */
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
	}
	if (failed)
		ksft_exit_fail_msg("see the messages above\n");
	ksft_finished();
}
