/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that end with their last thread, and not by exit(3): one case a process. */
#include "t.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

static void at_exit(void)
{
	printf("handler\n");
	fflush(stdout);
}

static int start(void)
{
	int fd = tcp_said();

	echo_said(fd);
	atexit(at_exit);
	return fd;
}

static void *goes_on(void *arg)
{
	sleep_ms(150);
	echo_said((int)(intptr_t)arg);
	return NULL;
}

static void *joins(void *arg)
{
	printf("joined: %d\n", pthread_join(*(pthread_t *)arg, NULL));
	return goes_on((void *)(intptr_t)tcp_said());
}

static void *exits(void *arg)
{
	goes_on(arg);
	exit(5);
}

static void exit_alone(void)
{
	start();
	pthread_exit(NULL);
}

static void c11(void)
{
	start();
	thrd_exit(3);
}

static void with_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, fn, arg) == 0);
	pthread_detach(t);
}

static void exit_first(void)
{
	with_thread(goes_on, (void *)(intptr_t)start());
	pthread_exit(NULL);
}

static void joined(void)
{
	static pthread_t self;

	self = pthread_self();
	start();
	with_thread(joins, &self);
	pthread_exit(NULL);
}

static void bare(void)
{
	start();
	syscall(SYS_exit, 3);
}

static void bare_first(void)
{
	with_thread(exits, (void *)(intptr_t)start());
	syscall(SYS_exit, 3);
}

static void strict(void)
{
	int fd = start();
	char b[5] = "";

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (write(fd, "hello", 5) != 5 || read(fd, b, 5) != 5)
		b[0] = '?';
	if (write(STDOUT_FILENO, b, 5) == 5)
		syscall(SYS_exit, 4);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"exit_alone", exit_alone}, {"c11", c11},   {"exit_first", exit_first},
		{"joined", joined},         {"bare", bare}, {"bare_first", bare_first},
		{"strict", strict},         {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
