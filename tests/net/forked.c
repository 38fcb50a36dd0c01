/* SPDX-License-Identifier: BSD-2-Clause */
/* forked ADDRESS PORT HOW: a server that forks a child for each connection, which sends back what
 * comes; the parent closes its copy. HOW the child does it:
 *
 * block    recv and send that wait          poll, epoll  they do not
 * threads  one receives, another sends      again        each MiB by a child of the child
 * grand    a child of the child, which waits for it
 * shared   every other block by the parent
 * number   as block, the child is made by syscall(2)
 * bare     as block, the child is made by the instruction itself; the parent's copy is closed when
 *          it has begun
 * poor     may not open a descriptor (RLIMIT_NOFILE of 0), and is confined
 * confined, seccomp  only read and write (strict), made so by prctl(2) or seccomp(2)
 *
 * What must not be ends by SIGABRT, which resets the connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../raw.h"

#define BLOCK 4096
#define PART  (3 << 20)

static char buf[16384];

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static void put(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

		must(r > 0, "send");
		p += r;
		n -= (size_t)r;
	}
}

/* Block -----------------------------------------------------------------------------------------
 */

/* False: the end. */
static bool echo(int fd, size_t max)
{
	ssize_t n = 1;

	for (size_t done = 0; done < max && n > 0; done += (size_t)n) {
		n = recv(fd, buf, max - done < sizeof(buf) ? max - done : sizeof(buf), 0);
		must(n >= 0, "recv");
		put(fd, buf, (size_t)n);
	}
	return n > 0;
}

static void by_block(int fd)
{
	echo(fd, SIZE_MAX);
}

/* Poll, epoll -----------------------------------------------------------------------------------
 */

struct waiter {
	int fd, ep;
};

static void wait_for(const struct waiter *w, short events)
{
	struct pollfd p = {.fd = w->fd, .events = events};
	struct epoll_event ev = {.events = (uint16_t)events};

	if (w->ep < 0) {
		must(poll(&p, 1, 30000) == 1, "poll");
		return;
	}
	must(epoll_ctl(w->ep, EPOLL_CTL_MOD, w->fd, &ev) == 0, "epoll_ctl");
	must(epoll_wait(w->ep, &ev, 1, 30000) == 1, "epoll_wait");
}

static bool again(ssize_t n)
{
	return n < 0 && errno == EAGAIN;
}

static void by_events(struct waiter w)
{
	ssize_t n, m;

	fcntl(w.fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		while (again(n = read(w.fd, buf, sizeof(buf))))
			wait_for(&w, POLLIN);
		must(n >= 0, "read");
		if (n == 0)
			return;
		for (ssize_t at = 0; at < n; at += m) {
			while (again(m = write(w.fd, buf + at, (size_t)(n - at))))
				wait_for(&w, POLLOUT);
			must(m > 0, "write");
		}
	}
}

static void by_poll(int fd)
{
	by_events((struct waiter){.fd = fd, .ep = -1});
}

static void by_epoll(int fd)
{
	struct waiter w = {.fd = fd, .ep = epoll_create1(EPOLL_CLOEXEC)};
	struct epoll_event ev = {.events = EPOLLIN};

	must(epoll_ctl(w.ep, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
	by_events(w);
}

/* Threads ---------------------------------------------------------------------------------------
 */

static int conn, between[2];

static void *sender(void *arg)
{
	char b[sizeof(buf)];
	ssize_t n;

	while ((n = read(between[0], b, sizeof(b))) > 0)
		put(conn, b, (size_t)n);
	return NULL;
}

static void by_threads(int fd)
{
	pthread_t t;
	ssize_t n;

	conn = fd;
	must(pipe(between) == 0 && pthread_create(&t, NULL, sender, NULL) == 0, "start");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		must(write(between[1], buf, (size_t)n) == n, "write");
	must(n == 0, "recv");
	close(between[1]);
	pthread_join(t, NULL);
}

/* Again -----------------------------------------------------------------------------------------
 */

static void by_grandchildren(int fd)
{
	int status;
	pid_t pid;

	while (echo(fd, PART)) {
		pid = fork();
		must(pid >= 0, "fork");
		if (pid == 0)
			continue;
		close(fd);
		waitpid(pid, &status, 0);
		must(status == 0, "a child's child");
		_exit(0);
	}
}

static void by_grandchild(int fd)
{
	int status;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0) {
		echo(fd, SIZE_MAX);
		return;
	}
	close(fd);
	must(waitpid(pid, &status, 0) == pid && status == 0, "a child's child");
}

/* Shared ----------------------------------------------------------------------------------------
 */

/* Blocks, by turns; in and out pass the turn. */
static void by_turns(int fd, int in, int out)
{
	char turn;

	while (read(in, &turn, 1) == 1 && turn == 't') {
		ssize_t n = recv(fd, buf, BLOCK, MSG_WAITALL);

		must(n >= 0, "recv");
		put(fd, buf, (size_t)n);
		turn = n > 0 ? 't' : 'e';
		must(write(out, &turn, 1) == 1, "write");
		if (turn == 'e')
			break;
	}
}

/* The kernel must have it, as two processes do. */
static void see_kernels(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	must(raw(SYS_getpeername, fd, &ss, &len) == 0, "getpeername");
}

static void share(int fd)
{
	int there[2], back[2], status;
	pid_t pid;

	must(pipe(there) == 0 && pipe(back) == 0 && write(there[1], "t", 1) == 1, "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		close(back[0]);
		by_turns(fd, there[0], back[1]);
		see_kernels(fd);
		_exit(0);
	}
	close(back[1]);
	by_turns(fd, back[0], there[1]);
	close(fd);
	for (int i = 0; i < 2; i++)
		close(there[i]);
	close(back[0]);
	must(waitpid(pid, &status, 0) == pid && status == 0, "the child");
}

/* Confined --------------------------------------------------------------------------------------
 */

static void read_and_write(int fd)
{
	ssize_t n, m;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < n; at += m)
			m = write(fd, buf + at, (size_t)(n - at));
	syscall(SYS_exit, 0);
}

static void by_prctl(int fd)
{
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "prctl");
	read_and_write(fd);
}

static void by_poor(int fd)
{
	const struct rlimit none = {0, 0};

	must(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
	by_prctl(fd);
}

static void by_seccomp(int fd)
{
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0, "seccomp");
	read_and_write(fd);
}

/* ----------------------------------------------------------------------------------------------
 */

/* New processes that no function of the C library makes ------------------------------------------
 */

static long by_number(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Forks by the instruction itself. The parent waits until the child has begun: descriptors that it
 * closed before would be closed for both. */
static long by_instruction(void)
{
#ifdef __x86_64__
	int begun[2];
	char c = 'c';
	long r;

	must(pipe(begun) == 0, "pipe");
	__asm__ volatile("syscall" : "=a"(r) : "a"((long)SYS_fork) : "rcx", "r11", "memory");
	if (r == 0)
		must(write(begun[1], &c, 1) == 1, "write");
	else
		must(read(begun[0], &c, 1) == 1, "read");
	close(begun[0]);
	close(begun[1]);
	return r;
#else
	return by_number();
#endif
}

static const struct {
	const char *how;
	void (*serve)(int fd);
	long (*make)(void); /* NULL: fork */
} kinds[] = {
	{"block", by_block, NULL},         {"poll", by_poll, NULL},
	{"epoll", by_epoll, NULL},         {"threads", by_threads, NULL},
	{"again", by_grandchildren, NULL}, {"grand", by_grandchild, NULL},
	{"confined", by_prctl, NULL},      {"poor", by_poor, NULL},
	{"seccomp", by_seccomp, NULL},     {"shared", NULL, NULL},
	{"number", by_block, by_number},   {"bare", by_block, by_instruction},
};

static int listener(const char *address, const char *port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	bool six = inet_pton(AF_INET6, address, &in6.sin6_addr) == 1;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0), one = 1;

	must(six || inet_pton(AF_INET, address, &in.sin_addr) == 1, "address");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(bind(fd, six ? (void *)&in6 : (void *)&in, six ? sizeof(in6) : sizeof(in)) == 0,
	     "bind");
	must(listen(fd, 64) == 0, "listen");
	return fd;
}

int main(int argc, char **argv)
{
	size_t kind = 0;
	int l;

	if (argc != 4)
		return 2;
	while (strcmp(kinds[kind].how, argv[3]) != 0)
		if (++kind == sizeof(kinds) / sizeof(kinds[0]))
			return 2;
	signal(SIGCHLD, kinds[kind].serve ? SIG_IGN : SIG_DFL);
	l = listener(argv[1], argv[2]);
	for (;;) {
		int fd = accept(l, NULL, NULL);

		must(fd >= 0, "accept");
		if (!kinds[kind].serve) {
			share(fd);
			continue;
		}
		if ((kinds[kind].make ? kinds[kind].make() : fork()) == 0) {
			signal(SIGCHLD, SIG_DFL);
			close(l);
			kinds[kind].serve(fd);
			_exit(0);
		}
		close(fd);
	}
}
