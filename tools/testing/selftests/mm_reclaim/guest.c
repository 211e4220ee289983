// SPDX-License-Identifier: GPL-2.0
/*
 * Lets the bench be the only program of a virtual machine: as the first
 * process it mounts what the bench needs, runs it in a child, and ends the
 * machine. The options follow "--" on the kernel's command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "main.h"

static void mount_at(const char *type, const char *where)
{
	mkdir(where, 0755);
	/* devtmpfs is there already with CONFIG_DEVTMPFS_MOUNT. */
	if (mount(type, where, type, 0, NULL) && errno != EBUSY)
		printf("# no %s: %s\n", type, strerror(errno));
}

static __noreturn void end_machine(void)
{
	fflush(stdout);
	/* The reset does not wait for what the serial port still has to send. */
	tcdrain(STDOUT_FILENO);
	/* QEMU's -no-reboot turns this into its exit. */
	reboot(RB_AUTOBOOT);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

void bench_guest_init(void)
{
	int status;
	pid_t pid;

	mount_at("devtmpfs", "/dev");
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mkdir("/tmp", 01777);

	/* If this process crashed, the kernel would panic. */
	pid = fork();
	if (!pid)
		return;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		printf("MM_RECLAIM_EXIT error %s\n", strerror(errno));
	else if (WIFSIGNALED(status))
		printf("MM_RECLAIM_EXIT signal %d\n", WTERMSIG(status));
	else
		printf("MM_RECLAIM_EXIT code %d\n", WEXITSTATUS(status));
	end_machine();
}
