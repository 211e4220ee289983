// SPDX-License-Identifier: GPL-2.0
/* An object that comes and goes, and that its group can be asked for meanwhile. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workload.h"

/*
 * The dentry of an open file in /proc/self/fd belongs to the group that looks
 * it up, and is put on the list of those that can be reclaimed. The next look
 * after the file was closed takes it away again.
 */
int bench_come_and_go(int fds, unsigned int count)
{
	struct stat st;
	char name[16];
	int fd;

	fd = fcntl(fds, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return bench_error("cannot duplicate a file descriptor");
	snprintf(name, sizeof(name), "%d", fd);
	for (;;) {
		if (fstatat(fds, name, &st, AT_SYMLINK_NOFOLLOW))
			return bench_error("cannot look up /proc/self/fd/%s", name);
		close(fd);
		if (!fstatat(fds, name, &st, AT_SYMLINK_NOFOLLOW)) {
			bench_note("/proc/self/fd/%s stays\n", name);
			return -1;
		}
		if (!--count)
			return 0;
		if (fcntl(fds, F_DUPFD_CLOEXEC, fd) != fd)
			return bench_error("cannot duplicate a file descriptor");
	}
}
