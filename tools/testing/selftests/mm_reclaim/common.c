// SPDX-License-Identifier: GPL-2.0
/* Messages and results in KTAP's form, signals, the clock, and files. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

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

void bench_check(bool ok, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ksft_test_result(ok, "%s", text);
}

void bench_skip(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ksft_test_result_skip("%s", text);
}

void bench_begin(void)
{
	ksft_print_header();
}

void bench_plan(unsigned int checks)
{
	ksft_set_plan(checks);
}

void bench_skip_all(const char *why)
{
	ksft_exit_skip("%s\n", why);
}

void bench_end(bool failed)
{
	if (failed)
		ksft_exit_fail_msg("see the messages above\n");
	ksft_finished();
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

int bench_write(const char *path, const char *text)
{
	size_t len = strlen(text);
	ssize_t ret;
	int fd, saved;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;

	ret = write(fd, text, len);
	saved = errno;
	close(fd);
	if (ret == (ssize_t)len)
		return 0;

	errno = ret < 0 ? saved : EIO;
	return -1;
}
