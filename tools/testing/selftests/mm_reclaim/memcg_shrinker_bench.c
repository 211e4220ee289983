// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what many memory cgroups and many mounted file systems cost slab
 * reclaim: with the test of 2018, see drops.c, or in the scenario that is
 * named on the command line.
 *
 * Without --json it prints its figures as KTAP diagnostics, and in both cases
 * it checks that everything could be made and that everything went away.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "main.h"

#define DEFAULT_GROUPS	200

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

static void show_help(FILE *to, const char *name)
{
	fprintf(to,
		"usage: %s [options] [scenario]\n"
		"  -n, --groups N        groups to make (default %d)\n"
		"  -m, --mounts N        mounts in each group\n"
		"  -d, --depth N         levels of groups, the mounts are in the last (default 1)\n"
		"  -c, --count N         what is done in a scenario, see below\n"
		"  -j, --json            print the result as one line of JSON\n"
		"  -k, --keep            leave the groups and mounts behind\n"
		"      --v1              use the cgroup v1 memory hierarchy\n"
		"      --any             go on if there is no memory controller\n"
		"      --from-home       join each group from the first one, not from the last\n"
		"      --shrinker-debug  read and scan through the shrinkers' debugfs files\n"
		"  -h, --help            show this\n"
		"Without a scenario it is the test of 2018. The scenarios are:\n",
		name, DEFAULT_GROUPS);
	bench_list_scenarios(to);
}

static unsigned int parse_number(const char *name, const char *option,
				 const char *text, unsigned long max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || !n || n > max) {
		fprintf(stderr, "%s: %s takes a number from 1 to %lu, not \"%s\"\n",
			name, option, max, text);
		exit(KSFT_FAIL);
	}
	return n;
}

static __noreturn void refuse(const char *name, const char *why,
			      const char *what)
{
	fprintf(stderr, "%s: %s%s\n", name, what, why);
	exit(KSFT_FAIL);
}

static void choose_scenario(const char *name, const char *wanted,
			    struct bench_options *opt)
{
	const struct bench_scenario *scenario = bench_find_scenario(wanted);

	if (!scenario) {
		fprintf(stderr, "%s: there is no scenario \"%s\"; there are:\n",
			name, wanted);
		bench_list_scenarios(stderr);
		exit(KSFT_FAIL);
	}
	if (opt->count && !scenario->counted)
		refuse(name, " counts nothing, so --count means nothing", wanted);
	if (opt->shrinker_debug || opt->any)
		refuse(name, " goes without --shrinker-debug and --any", wanted);
	opt->scenario = scenario;
	if (!opt->mounts)
		opt->mounts = scenario->mounts;
	if (!opt->count)
		opt->count = scenario->count;
	/* Else each group would keep an object, see join_for_mount(). */
	opt->from_home = true;
}

static void parse_options(int argc, char **argv, struct bench_options *opt)
{
	enum { V1 = 256, ANY, FROM_HOME, SHRINKER_DEBUG };
	static const struct option options[] = {
		{ "groups", required_argument, NULL, 'n' },
		{ "mounts", required_argument, NULL, 'm' },
		{ "depth", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "keep", no_argument, NULL, 'k' },
		{ "v1", no_argument, NULL, V1 },
		{ "any", no_argument, NULL, ANY },
		{ "from-home", no_argument, NULL, FROM_HOME },
		{ "shrinker-debug", no_argument, NULL, SHRINKER_DEBUG },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "n:m:d:c:jkh", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			opt->groups = parse_number(argv[0], "-n", optarg,
						   BENCH_MAX_GROUPS);
			break;
		case 'm':
			opt->mounts = parse_number(argv[0], "-m", optarg,
						   BENCH_MAX_MOUNTS);
			break;
		case 'd':
			opt->depth = parse_number(argv[0], "-d", optarg,
						  BENCH_MAX_DEPTH);
			break;
		case 'c':
			opt->count = parse_number(argv[0], "-c", optarg,
						  BENCH_MAX_COUNT);
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
	if (argc - optind > 1) {
		show_help(stderr, argv[0]);
		exit(KSFT_FAIL);
	}
	if (optind < argc)
		choose_scenario(argv[0], argv[optind], opt);
	else if (opt->mounts || opt->count || opt->depth > 1)
		refuse(argv[0], "", "--mounts, --depth and --count are for a scenario");
}

static void note_kept(const struct bench_site *site)
{
	bench_note("kept: groups in %s, mounts in %s/s\n", site->cgroup, site->dir);
	bench_note("to remove: umount %s/s/* %s; rmdir %s;\n", site->dir, site->dir,
		   site->dir);
	bench_note("find %s -depth -type d -exec rmdir {} +\n", site->cgroup);
}

int main(int argc, char **argv)
{
	struct bench_options opt = { .groups = DEFAULT_GROUPS, .depth = 1 };
	static struct bench_result result;
	static struct bench_site site;
	sigset_t signals;
	int failed, level;

	if (getpid() == 1)
		bench_guest_init();

	parse_options(argc, argv, &opt);
	bench_begin();
	if (geteuid())
		bench_skip_all("this must be run as root");

	block_signals(&signals);
	failed = bench_site_open(&site, &opt);
	if (failed > 0) {
		bench_site_close(&site);
		bench_skip_all("no memory controller");
	}

	result.dying = -1;
	if (opt.scenario)
		bench_plan(bench_scenario_checks(&opt));
	else
		bench_plan((opt.keep ? 1 : 4) + 2 * opt.shrinker_debug);
	if (!failed) {
		level = quiet_console(5);
		failed = opt.scenario ? bench_run_scenario(&site, &opt, &result) :
					bench_run_drops(&site, &opt, &result);
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
	bench_end(failed);
}
