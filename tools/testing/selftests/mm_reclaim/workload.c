// SPDX-License-Identifier: GPL-2.0
/*
 * The workload that Kirill Tkhai measured in 2018: many memory cgroups, each
 * with a tmpfs that was mounted from inside it and has one file. There may be
 * more mounts than one in a group, and groups may be below others.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workload.h"

#define DRAIN_LIMIT_NS	(30 * 1000000000ULL)
#define DRAIN_POLL_US	10000
#define LEAVES		64	/* groups that share what is above them */

/* One line of a file that begins with @key; the rest of it goes to @value. */
static int read_key(const char *path, const char *key, char *value, size_t size)
{
	char line[PATH_MAX + 64];
	int ret = -1;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return -1;

	while (ret && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (snprintf(value, size, "%s", line + strlen(key)) < (int)size)
			ret = 0;
	}
	fclose(f);
	return ret;
}

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *at = list;

	while ((at = strstr(at, word))) {
		if ((at == list || strchr(" ,", at[-1])) &&
		    (!at[len] || strchr(" ,\n", at[len])))
			return true;
		at += len;
	}
	return false;
}

/* Finds a cgroup mount: the unified one, or the v1 one with memory. */
static int find_cgroup(struct bench_site *site, bool v1)
{
	char where[256], type[32], options[1024];
	int ret = -1;
	FILE *f;

	f = fopen("/proc/self/mounts", "re");
	if (!f)
		return bench_error("cannot read /proc/self/mounts; is /proc mounted?");

	while (ret && fscanf(f, "%*s %255s %31s %1023s %*d %*d", where, type,
			     options) == 3) {
		if (strcmp(type, v1 ? "cgroup" : "cgroup2"))
			continue;
		if (v1 && !has_word(options, "memory"))
			continue;
		snprintf(site->cgroup_root, sizeof(site->cgroup_root), "%s", where);
		ret = 0;
	}
	fclose(f);
	return ret;
}

/* Where no cgroup file system is mounted, as in a bare guest: mount one. */
static int mount_cgroup(struct bench_site *site, bool v1)
{
	snprintf(site->cgroup_root, sizeof(site->cgroup_root), "%s/cgroup",
		 site->dir);
	if (mkdir(site->cgroup_root, 0755) && errno != EEXIST)
		return bench_error("cannot create %s", site->cgroup_root);
	return mount("mm_reclaim", site->cgroup_root, v1 ? "cgroup" : "cgroup2",
		     0, v1 ? "memory" : NULL);
}

static int open_cgroup(struct bench_site *site, bool v1)
{
	char path[512], controllers[512];

	if (find_cgroup(site, v1) && mount_cgroup(site, v1))
		return -1;

	if (v1) {
		site->memory = true;
		return 0;
	}

	snprintf(path, sizeof(path), "%s/cgroup.controllers", site->cgroup_root);
	site->memory = !read_key(path, "", controllers, sizeof(controllers)) &&
		       has_word(controllers, "memory");
	return 0;
}

static int choose_cgroup(struct bench_site *site, const struct bench_options *opt)
{
	bool v1 = opt->v1;

	if (!v1 && !open_cgroup(site, false) && site->memory)
		goto found;

	v1 = true;
	if (!open_cgroup(site, true))
		goto found;

	v1 = false;
	if (opt->any && !opt->v1 && !open_cgroup(site, false))
		goto found;

	bench_note("no %s memory controller: mount it, and boot without cgroup_disable=memory\n",
		   opt->v1 ? "cgroup v1" : "cgroup");
	return 1;
found:
	snprintf(site->kind, sizeof(site->kind), "%s%s", v1 ? "v1" : "v2",
		 site->memory ? "" : "-without-memory");
	return 0;
}

/* The group that this process must return to before the others can go. */
static int find_home(struct bench_site *site)
{
	bool v1 = !strcmp(site->kind, "v1");
	char line[PATH_MAX];
	int ret = -1;
	FILE *f;

	f = fopen("/proc/self/cgroup", "re");
	if (!f)
		return bench_error("cannot read /proc/self/cgroup");

	while (ret && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (v1 ? !has_word(names + 1, "memory") : strncmp(line, "0:", 2))
			continue;
		if (snprintf(site->home, sizeof(site->home), "%s%s/cgroup.procs",
			     site->cgroup_root, path) < (int)sizeof(site->home))
			ret = 0;
	}
	fclose(f);
	if (ret)
		bench_note("this process has no group in %s\n", site->cgroup_root);
	return ret;
}

/* A v2 group gets its memory controller from its parent. */
static int enable_below(const struct bench_site *site, const char *dir)
{
	char path[512];

	if (strcmp(site->kind, "v2"))
		return 0;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	if (bench_write(path, "+memory"))
		return bench_error("cannot enable the memory controller in %s",
				   path);
	return 0;
}

static int enable_memory(struct bench_site *site)
{
	char path[512], enabled[512] = "";

	if (strcmp(site->kind, "v2"))
		return 0;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control",
		 site->cgroup_root);
	read_key(path, "", enabled, sizeof(enabled));
	if (!has_word(enabled, "memory")) {
		if (bench_write(path, "+memory"))
			return bench_error("cannot enable the memory controller in %s",
					   path);
		site->enabled_memory = true;
	}

	return enable_below(site, site->cgroup);
}

int bench_site_open(struct bench_site *site, const struct bench_options *opt)
{
	const char *tmp = getenv("TMPDIR");
	char path[320];
	int ret;

	site->depth = opt->depth;
	site->per_group = opt->mounts ? opt->mounts : 1;

	snprintf(site->dir, sizeof(site->dir), "%s/mm_reclaim.XXXXXX",
		 tmp && strlen(tmp) < 100 ? tmp : "/tmp");
	if (!mkdtemp(site->dir)) {
		site->dir[0] = '\0';
		return bench_error("cannot create a directory in /tmp; set TMPDIR");
	}

	/* Mounts in a namespace of our own go away even if we are killed. */
	if (!opt->keep) {
		if (unshare(CLONE_NEWNS))
			return bench_error("cannot get a mount namespace");
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			return bench_error("cannot make the mounts private");
	}

	if (mount("mm_reclaim", site->dir, "tmpfs", 0, "mode=0755"))
		return bench_error("cannot mount a tmpfs at %s", site->dir);
	site->base_mounted = true;

	snprintf(path, sizeof(path), "%s/s", site->dir);
	if (mkdir(path, 0755))
		return bench_error("cannot create %s", path);

	ret = choose_cgroup(site, opt);
	if (ret)
		return ret;
	if (find_home(site))
		return -1;

	snprintf(path, sizeof(path), "%.255s/mm_reclaim.%d", site->cgroup_root,
		 getpid());
	if (mkdir(path, 0755))
		return bench_error("cannot create %s", path);
	snprintf(site->cgroup, sizeof(site->cgroup), "%s", path);

	return enable_memory(site);
}

/* The group at this level above group @i; level 1 is at the top. */
static void chain_path(const struct bench_site *site, unsigned int i,
		       unsigned int level, char *path, size_t size)
{
	size_t len = snprintf(path, size, "%s/p%u", site->cgroup, i / LEAVES);

	while (--level && len < size)
		len += snprintf(path + len, size - len, "/c");
}

void bench_group_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size)
{
	size_t len;

	if (site->depth > 1)
		chain_path(site, i, site->depth - 1, path, size);
	else
		snprintf(path, size, "%s", site->cgroup);
	len = strlen(path);
	snprintf(path + len, size - len, "/%u%s", i, file);
}

void bench_mount_path(const struct bench_site *site, unsigned int i,
		      const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s/s/%u%s", site->dir, i, file);
}

/* From @level on upwards. */
static int remove_chain(const struct bench_site *site, unsigned int i,
			unsigned int level)
{
	char path[400];

	for (; level; level--) {
		chain_path(site, i, level, path, sizeof(path));
		if (rmdir(path))
			return bench_error("cannot remove %s", path);
	}
	return 0;
}

static int create_chain(const struct bench_site *site, unsigned int i)
{
	unsigned int level;
	char path[400];

	for (level = 1; level < site->depth; level++) {
		chain_path(site, i, level, path, sizeof(path));
		if (mkdir(path, 0755)) {
			bench_error("cannot create %s", path);
			remove_chain(site, i, level - 1);
			return -1;
		}
		if (enable_below(site, path)) {
			remove_chain(site, i, level);
			return -1;
		}
	}
	return 0;
}

/* Also creates what is above it, if it is the first one there. */
static int create_one(struct bench_site *site)
{
	bool first = !(site->created % LEAVES);
	char path[400];
	int error;

	if (first && create_chain(site, site->created))
		return -1;
	bench_group_path(site, site->created, "", path, sizeof(path));
	if (mkdir(path, 0755)) {
		error = errno;
		if (first && site->depth > 1)
			remove_chain(site, site->created, site->depth - 1);
		errno = error;
		return -1;
	}
	site->created++;
	return 0;
}

static int create_up_to(struct bench_site *site, unsigned int n, bool all,
			struct bench_times *ns)
{
	u64 start = bench_now();

	while (site->created < n) {
		if (create_one(site)) {
			/* cgroup's own ids, or those of memory cgroups. */
			if (all && (errno == ENOSPC || errno == EBUSY))
				break;
			return bench_error("cannot create group %u of %u",
					   site->created + 1, n);
		}
		if (bench_interrupted())
			return -1;
	}
	ns->create += bench_now() - start;
	return 0;
}

int bench_create(struct bench_site *site, unsigned int n, struct bench_times *ns)
{
	return create_up_to(site, n, false, ns);
}

int bench_create_all(struct bench_site *site, unsigned int n,
		     struct bench_times *ns)
{
	return create_up_to(site, n, true, ns);
}

int bench_go_home(const struct bench_site *site)
{
	if (bench_write(site->home, "0"))
		return bench_error("cannot return to %s", site->home);
	return 0;
}

int bench_join(const struct bench_site *site, unsigned int i)
{
	char path[400];

	bench_group_path(site, i, "/cgroup.procs", path, sizeof(path));
	if (bench_write(path, "0"))
		return bench_error("cannot join %s", path);
	return 0;
}

/*
 * Opening a group's cgroup.procs makes a dentry that belongs to the group which
 * the process is in: in 2018 that was the one before. It is the only thing in
 * that group that reclaim can take, but as kernfs is a shrinker without seeks,
 * do_shrink_slab() scans half of what there is, and half of one is nothing. So
 * each group keeps one object and is asked for it in every drop, unless the
 * process goes home in between, as a container manager would join from there.
 */
static int join_for_mount(const struct bench_site *site,
			  const struct bench_options *opt, unsigned int i)
{
	if (i % site->per_group)
		return 0;
	if (opt->from_home && bench_go_home(site))
		return -1;
	return bench_join(site, i / site->per_group);
}

int bench_mount_tmpfs(const struct bench_site *site, unsigned int i, u64 *took)
{
	char path[400];
	u64 start;

	bench_mount_path(site, i, "", path, sizeof(path));
	if (mkdir(path, 0755))
		return bench_error("cannot create %s", path);

	start = bench_now();
	if (mount("mm_reclaim", path, "tmpfs", 0, NULL))
		return bench_error("cannot mount tmpfs %u (fs.mount-max too low?)",
				   i + 1);
	*took = bench_now() - start;
	return 0;
}

int bench_create_file(const struct bench_site *site, unsigned int i)
{
	char path[400];
	int fd;

	bench_mount_path(site, i, "/file", path, sizeof(path));
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return bench_error("cannot create %s", path);
	close(fd);
	return 0;
}

static int mount_one(struct bench_site *site, const struct bench_options *opt,
		     unsigned int i, struct bench_times *ns)
{
	u64 took;

	if (join_for_mount(site, opt, i) || bench_mount_tmpfs(site, i, &took))
		return -1;
	site->mounted++;
	ns->mount_calls += took;
	if (took > ns->mount_max)
		ns->mount_max = took;

	return bench_create_file(site, i);
}

int bench_mount(struct bench_site *site, const struct bench_options *opt,
		unsigned int n, struct bench_times *ns)
{
	u64 start = bench_now();

	while (site->mounted < n) {
		if (mount_one(site, opt, site->mounted, ns))
			return -1;
		if (bench_interrupted())
			return -1;
	}
	ns->mount += bench_now() - start;

	return bench_go_home(site);
}

int bench_unmount(struct bench_site *site, struct bench_times *ns)
{
	u64 start = bench_now();
	char path[400];

	while (site->mounted) {
		bench_mount_path(site, site->mounted - 1, "", path, sizeof(path));
		if (umount2(path, 0))
			return bench_error("cannot unmount %s", path);
		site->mounted--;
	}
	ns->unmount = bench_now() - start;
	return 0;
}

int bench_remove(struct bench_site *site, struct bench_times *ns)
{
	u64 start = bench_now();
	char path[400];

	while (site->created) {
		bench_group_path(site, site->created - 1, "", path,
				 sizeof(path));
		if (rmdir(path))
			return bench_error("cannot remove %s", path);
		site->created--;
		if (site->depth > 1 && !(site->created % LEAVES) &&
		    remove_chain(site, site->created, site->depth - 1))
			return -1;
	}
	ns->remove = bench_now() - start;
	return 0;
}

int bench_count_mounts(const struct bench_site *site)
{
	char line[1024], prefix[160];
	int n = 0;
	FILE *f;

	snprintf(prefix, sizeof(prefix), " %s/s/", site->dir);
	f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return bench_error("cannot read /proc/self/mountinfo");
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, prefix);
	fclose(f);
	return n;
}

int bench_count_groups(const struct bench_site *site)
{
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	dir = opendir(site->cgroup);
	if (!dir)
		return bench_error("cannot read %s", site->cgroup);
	while ((entry = readdir(dir)))
		n += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

long bench_drain(const struct bench_site *site, struct bench_times *ns)
{
	u64 start = bench_now();
	char path[400], text[32];
	long dying = -1;

	snprintf(path, sizeof(path), "%s/cgroup.stat", site->cgroup);
	while (!read_key(path, "nr_dying_descendants ", text, sizeof(text))) {
		dying = atol(text);
		ns->drain = bench_now() - start;
		if (!dying || ns->drain > DRAIN_LIMIT_NS || bench_interrupted())
			break;
		usleep(DRAIN_POLL_US);
	}
	return dying;
}

int bench_tear_down(struct bench_site *site, struct bench_result *result)
{
	if (bench_unmount(site, &result->ns) || bench_remove(site, &result->ns))
		return -1;
	result->dying = bench_drain(site, &result->ns);

	bench_check(!bench_count_mounts(site) && !bench_count_groups(site),
		    "all groups and mounts removed\n");
	if (result->dying < 0)
		bench_skip("cgroup v1 does not tell which groups linger\n");
	else
		bench_check(!result->dying, "%ld removed groups linger\n",
			    result->dying);
	return 0;
}

/* Undoes whatever of the workload exists, also after a failure. */
int bench_site_close(struct bench_site *site)
{
	struct bench_times ns;
	char path[512];
	int ret = 0;

	if (site->home[0] && bench_go_home(site))
		ret = -1;
	if (bench_unmount(site, &ns) || bench_remove(site, &ns))
		ret = -1;
	if (site->cgroup[0] && rmdir(site->cgroup))
		ret = bench_error("cannot remove %s", site->cgroup);
	if (site->enabled_memory) {
		snprintf(path, sizeof(path), "%s/cgroup.subtree_control",
			 site->cgroup_root);
		if (bench_write(path, "-memory"))
			ret = bench_error("cannot restore %s", path);
	}
	/* Lazily: a cgroup file system may be mounted inside. */
	if (site->base_mounted && umount2(site->dir, MNT_DETACH))
		ret = bench_error("cannot unmount %s", site->dir);
	if (site->dir[0] && rmdir(site->dir))
		ret = bench_error("cannot remove %s", site->dir);
	return ret;
}
