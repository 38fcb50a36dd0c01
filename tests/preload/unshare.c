/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of one thread leaves what it shares: namespaces, the table of descriptors. */
#include "t.h"

#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>

/* Each in a process of its own. */
static void apart(void (*run)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run();
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("status %d\n", status);
}

static void namespaces(void)
{
	int fd = tcp_said(), mnt = open("/proc/self/ns/mnt", O_RDONLY),
	    user = open("/proc/self/ns/user", O_RDONLY);

	say("setns of the mount namespace", setns(mnt, 0));
	echo_said(fd);
	say("by syscall", syscall(SYS_setns, mnt, CLONE_NEWNS));
	say("unshare of it", unshare(CLONE_NEWNS));
	say("unshare of threads", unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM));
	say("setns of the own user namespace", setns(user, CLONE_NEWUSER));
	say("unshare of the user namespace", unshare(CLONE_NEWUSER));
	echo_said(fd);
	close(fd);
	fd = tcp_said();
	echo_said(fd);
}

static int ends(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 1000);
}

/* All that the program closes is closed: no thread of the library keeps it. */
static void files(void)
{
	int fd = tcp_said(), p[2];
	pid_t pid;

	CHECK(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		close(p[1]);
		_exit(ends(p[0]) == 1 ? 7 : 8);
	}
	say("unshare", unshare(CLONE_FILES));
	close(p[0]);
	close(p[1]);
	CHECK(waitpid(pid, &p[0], 0) == pid);
	printf("reader %d\n", WEXITSTATUS(p[0]));
	echo_said(fd);
	CHECK(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		close(p[1]);
		_exit(ends(p[0]) == 1 ? 7 : 8);
	}
	say("close_range", close_range(3, ~0u, CLOSE_RANGE_UNSHARE));
	CHECK(waitpid(pid, &p[0], 0) == pid);
	printf("reader %d\n", WEXITSTATUS(p[0]));
	fd = tcp_said();
	echo_said(fd);
}

static int from, to;

static void *own_table(void *arg)
{
	char c;

	say("unshare", unshare(CLONE_FILES));
	close((int)(intptr_t)arg);
	say("closed here", send((int)(intptr_t)arg, "x", 1, 0));
	CHECK(write(to, "1", 1) == 1);
	CHECK(read(from, &c, 0) == 0);
	return NULL;
}

/* (A close in one table is none in the other: the connection stays there.) */
static void thread(void)
{
	int fd = tcp_said(), p[2];
	pthread_t t;
	char c;

	CHECK(pipe(p) == 0);
	from = p[0];
	to = p[1];
	CHECK(pthread_create(&t, NULL, own_table, (void *)(intptr_t)fd) == 0);
	CHECK(read(p[0], &c, 1) == 1);
	pthread_join(t, NULL);
	echo_said(fd);
	say("close", close(fd));
}

static void run_namespaces(void)
{
	apart(namespaces);
}

static void run_files(void)
{
	apart(files);
}

static void run_thread(void)
{
	apart(thread);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"namespaces", run_namespaces},
					      {"files", run_files},
					      {"thread", run_thread},
					      {NULL, NULL}};

	return t_main(argc, argv, cases);
}
