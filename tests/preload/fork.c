/* SPDX-License-Identifier: BSD-2-Clause */
/* New processes: fork, vfork, posix_spawn, exec, descriptors passed on. Both sides stay sound. */
#include "t.h"

#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/un.h>

extern char **environ;

static int echo(int fd, const char *text)
{
	struct timeval tv = {2, 0};
	char buf[100];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (send(fd, text, strlen(text), 0) < 0)
		return -1;
	n = recv(fd, buf, sizeof(buf), 0);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

static int ended(pid_t pid)
{
	int st;

	CHECK(waitpid(pid, &st, 0) == pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

/* Parent and child use the inherited socket in turn, and new ones of their own. */
static void forks(void)
{
	int fd = udp(), fresh;
	pid_t pid;

	printf("before: %d\n", echo(fd, "before"));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fresh = udp();
		_exit(echo(fd, "child") * 2 + echo(fresh, "child's own"));
	}
	printf("child: %d\n", ended(pid));
	printf("parent: %d\n", echo(fd, "parent"));
	fresh = udp();
	printf("parent's own: %d\n", echo(fresh, "parent's own"));
	pid = fork();
	if (pid == 0) {
		close(fd);
		close(fresh);
		_exit(7);
	}
	printf("child that closed: %d\n", ended(pid));
	printf("parent: %d %d\n", echo(fd, "parent"), echo(fresh, "parent"));
	close(fresh);
	/* The parent goes, the child goes on (daemon). */
	pid = fork();
	if (pid == 0) {
		pid_t inner = fork();

		if (inner)
			_exit(0);
		sleep_ms(200);
		printf("grandchild: %d\n", echo(fd, "grandchild"));
		fflush(stdout);
		_exit(0);
	}
	printf("middle: %d\n", ended(pid));
	fflush(stdout);
	sleep_ms(700);
	close(fd);
}

static void sets(void)
{
	int fd = udp(), ep = epoll_create1(0), p[2];
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5}, got[4];
	pid_t pid;

	CHECK(pipe(p) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	ev.data.u64 = 6;
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0);
	printf("before: %d\n", echo(fd, "before"));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int n;

		ask(fd, 1, 10, 0, 0);
		n = epoll_wait(ep, got, 4, 2000);
		if (n != 1 || got[0].data.u64 != 5 || drain(fd) != 1)
			_exit(1);
		if (write(p[1], "x", 1) != 1 || epoll_wait(ep, got, 4, 2000) != 1)
			_exit(2);
		_exit(got[0].data.u64 == 6 ? 42 : 3);
	}
	printf("child: %d\n", ended(pid));
	CHECK(read(p[0], got, 1) == 1);
	printf("nothing in the parent: %d\n", epoll_wait(ep, got, 4, 20));
	ask(fd, 1, 10, 0, 0);
	printf("parent: %d", epoll_wait(ep, got, 4, 5000));
	printf(" %d\n", (int)got[0].data.u64);
	drain(fd);
	close(fd);
	close(ep);
	close(p[0]);
	close(p[1]);
}

/* A child closes the parent's set while a member is ready, and makes one of its own (libevent's
 * event_reinit()). */
static void set_made_anew(void)
{
	int fd = udp(), ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5}, got[4];
	pid_t pid;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	ask(fd, 1, 10, 0, 0);
	printf("ready: %d\n", epoll_wait(ep, got, 4, 5000));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int own = udp(), sum = 0;

		close(ep);
		ep = epoll_create1(0);
		if (echo(own, "first") != 1 || epoll_ctl(ep, EPOLL_CTL_ADD, own, &ev) != 0)
			_exit(100);
		for (int i = 0; i < 3; i++) {
			ask(own, 1, 10, 0, 0);
			sum += epoll_wait(ep, got, 4, 2000) == 1 && drain(own) == 1;
		}
		_exit(sum);
	}
	printf("child: %d\n", ended(pid));
	printf("parent: %d\n", epoll_wait(ep, got, 4, 0));
	drain(fd);
	close(fd);
	close(ep);
}

static void *receives(void *arg)
{
	char buf[100];

	return (void *)(intptr_t)recv(*(int *)arg, buf, sizeof(buf), 0);
}

/* Another thread waits in recv while this one forks, many times. */
static void while_waiting(void)
{
	int fd = udp(), sum = 0;
	pthread_t t;
	void *r;

	CHECK(pthread_create(&t, NULL, receives, &fd) == 0);
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(1);
		sum += ended(pid);
	}
	ask(fd, 1, 10, 0, 0);
	pthread_join(t, &r);
	printf("children: %d, received: %ld\n", sum, (long)(intptr_t)r);
	close(fd);
}

static void spawns(void)
{
	char *argv[] = {"sh", "-c", "exit 5", NULL};
	posix_spawn_file_actions_t fa;
	int fd = udp();
	pid_t pid;
	FILE *f;

	printf("before: %d\n", echo(fd, "before"));
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		close(fd); /* in the child's table, not in this process's */
		dup2(1, fd);
		execl("/bin/sh", "sh", "-c", "exit 9", NULL);
		_exit(1);
	}
	printf("vfork: %d\n", ended(pid));
	printf("after: %d\n", echo(fd, "after vfork"));
	pid = vfork();
	if (pid == 0)
		_exit(close(fd) == 0 ? 3 : 4);
	printf("vfork: %d\n", ended(pid));
	printf("after: %d\n", echo(fd, "after vfork"));
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addclose(&fa, fd);
	CHECK(posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ) == 0);
	posix_spawn_file_actions_destroy(&fa);
	printf("posix_spawn: %d\n", ended(pid));
	printf("after: %d\n", echo(fd, "after posix_spawn"));
	fflush(stdout);
	printf("system: %d\n", WEXITSTATUS(system("exit 6")));
	f = popen("echo a line", "r");
	char line[100] = "";
	CHECK(f && fgets(line, sizeof(line), f));
	pclose(f);
	printf("popen: %s", line);
	printf("after: %d\n", echo(fd, "after popen"));
	close(fd);
}

static char **t_argv;

/* Children that no handler of pthread_atfork(3) is run for. */
static int many(int fd, int n, const char *text)
{
	for (int i = 0; i < n; i++)
		if (echo(fd, text) != 1)
			return 0;
	return 1;
}

static int uses(void *arg)
{
	int fd = *(int *)arg;

	return many(fd, 5, "child") * 2 + many(udp(), 5, "child's own");
}

static int closes(void *arg)
{
	return close(*(int *)arg) == 0 ? 5 : 6;
}

static pid_t clone3_waits(int (*fn)(void *), int *fd)
{
	struct clone_args args = {.flags = CLONE_VFORK, .exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(fn(fd));
	return pid;
}

static pid_t bare_fork(int (*fn)(void *), int *fd)
{
	pid_t pid = _Fork();

	if (pid == 0)
		_exit(fn(fd));
	return pid;
}

/* Makes a system call by syscall(2), or, bare, by the instruction itself, which the library cannot
 * notice. */
static long call(bool bare, long nr, long a, long b, long c, long d, long e)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long r;

	if (bare) {
		__asm__ volatile("syscall"
				 : "=a"(r)
				 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
				 : "rcx", "r11", "memory");
		return r;
	}
#endif
	return syscall(nr, a, b, c, d, e);
}

static pid_t by_number(bool bare, int kind)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	fflush(stdout);
	switch (kind) {
	case 0:
		return (pid_t)call(bare, SYS_fork, 0, 0, 0, 0, 0);
	case 1:
		return (pid_t)call(bare, SYS_clone, SIGCHLD, 0, 0, 0, 0);
	default:
		return (pid_t)call(bare, SYS_clone3, (long)&args, sizeof(args), 0, 0, 0);
	}
}

/* The parent goes on with the socket that it shared and with another one. */
static void child_was(const char *what, pid_t pid, int fd, int own)
{
	printf("%s: %d\n", what, ended(pid));
	printf("parent: %d %d\n", many(fd, 5, "parent"), many(own, 50, "parent's own"));
	fflush(stdout);
}

static void clones(void)
{
	static char stack[1 << 18];
	char *top = stack + sizeof(stack);
	int fd = udp(), own = udp();

	printf("before: %d %d\n", many(fd, 50, "before"), many(own, 50, "before"));
	fflush(stdout);
	child_was("_Fork that closes", bare_fork(closes, &fd), fd, own);
	child_was("_Fork", bare_fork(uses, &fd), fd, own);
	close(fd);
	fd = udp();
	child_was("clone that closes", clone(closes, top, SIGCHLD, &fd), fd, own);
	child_was("clone", clone(uses, top, SIGCHLD, &fd), fd, own);
	child_was("clone that waits", clone(uses, top, CLONE_VFORK | SIGCHLD, &fd), fd, own);
	child_was("clone3 that waits", clone3_waits(uses, &fd), fd, own);
	close(fd);
	fd = udp();
	child_was("clone with the memory",
		  clone(closes, top, CLONE_VM | CLONE_VFORK | SIGCHLD, &fd), fd, own);
	close(own);
	errno = 0;
	printf("no function: %d %d\n", clone(NULL, top, SIGCHLD, NULL), errno == EINVAL);
	close(fd);
}

static int does(void *arg)
{
	int *fd = arg;

	if (send(*fd, "child", 5, 0) != 5)
		return 1;
	wait_in(*fd);
	return drain(*fd) == 1 ? 0 : 2;
}

static int does_close(void *arg)
{
	return close(*(int *)arg) ? 1 : 0;
}

/* A child beside the parent that has its memory, or its descriptors, and not both. */
static void clones_apart(void)
{
	static char stack[1 << 18];
	char *top = stack + sizeof(stack);
	int fd = udp(), tcp = tcp_said();

	echo_said(tcp);
	printf("memory, closes: %d\n", ended(clone(does_close, top, CLONE_VM | SIGCHLD, &tcp)));
	echo_said(tcp);
	child_was("memory, uses", clone(does, top, CLONE_VM | SIGCHLD, &fd), fd, fd);
	child_was("files, uses", clone(does, top, CLONE_FILES | SIGCHLD, &fd), fd, fd);
	printf("files, closes: %d\n", ended(clone(does_close, top, CLONE_FILES | SIGCHLD, &tcp)));
	say("closed for both", send(tcp, "x", 1, MSG_NOSIGNAL));
	printf("number is free: %d\n", dup(fd) == tcp);
	close(tcp);
	close(fd);
}

static void numbers(void)
{
	static const char *const names[] = {"fork", "clone", "clone3"};
	int own = udp();
	char what[40];

	for (int i = 0; i < 12; i++) {
		bool bare = i / 3 % 2;
		int (*fn)(void *) = i < 6 ? uses : closes;
		int fd = udp();
		pid_t pid;

		printf("before: %d %d\n", many(fd, 20, "before"), many(own, 20, "before"));
		snprintf(what, sizeof(what), "%s %s%s", bare ? "bare" : "by number", names[i % 3],
			 i < 6 ? "" : " that closes");
		pid = by_number(bare, i % 3);
		if (pid == 0)
			_exit(fn(&fd));
		child_was(what, pid, fd, own);
		close(fd);
	}
	/* The child ends as programs do, with all that exit(3) has to do. */
	for (int bare = 0; bare < 2; bare++) {
		pid_t pid = by_number(bare, 0);

		if (pid == 0)
			exit(11);
		child_was("one that has done nothing", pid, own, own);
	}
	/* A child of such a child. */
	for (int bare = 0; bare < 2; bare++) {
		pid_t pid = by_number(bare, 0);

		if (pid == 0) {
			pid = by_number(bare, 1);
			_exit(pid == 0 ? uses(&own) : ended(pid));
		}
		child_was("a child's child", pid, own, own);
		close(own);
		own = udp();
	}
	close(own);
}

/* The C library's syscall(2) returns twice by one place in the stack, which instrumented code
 * writes to in between: without our library such a program goes round for ever. */
#ifdef __SANITIZE_ADDRESS__
#define VFORK_KINDS 1
#else
#define VFORK_KINDS 3
#endif

/* The parent sleeps meanwhile, and its child has its memory. */
static void numbers_vfork(void)
{
	struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};
	volatile int fd = udp();
	volatile int own = udp();
	volatile pid_t pid;

	printf("before: %d %d\n", many(fd, 20, "before"), many(own, 20, "before"));
	fflush(stdout);
	for (volatile int i = 0; i < VFORK_KINDS; i++) {
		pid = i == 0   ? (pid_t)vfork()
		      : i == 1 ? (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0,
						0, 0)
			       : (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(close(fd) == 0 ? 3 : 4);
		child_was("with the memory", pid, fd, own);
	}
	errno = 0;
	printf("wrong: %ld %d\n", syscall(SYS_clone3, NULL, 0), errno == EINVAL);
	errno = 0;
	printf("wrong: %ld %d\n", syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0), errno == EINVAL);
	printf("after: %d\n", many(fd, 20, "after"));
	close(fd);
	close(own);
}

/* A program that goes on as another one (exec without fork) keeps its socket; see main. */
static void execs(void)
{
	char *argv[] = {t_argv[0], t_argv[1], t_argv[2], t_argv[3], "exec", NULL};
	pid_t pid;

	fflush(stdout);
	CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	printf("new program: %d\n", ended(pid));
}

static void exec_self(void)
{
	int fd = udp();
	char name[20];

	if (echo(fd, "before exec") != 1)
		_exit(1);
	snprintf(name, sizeof(name), "fd=%d", fd);
	execl("/proc/self/exe", t_argv[0], t_argv[1], t_argv[2], t_argv[3], name, NULL);
	_exit(99);
}

static void send_fd(int to, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = {0};
	struct iovec iov = {"x", 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(to, &m, 0) == 1);
}

static int receive_fd(int from)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	char x;
	struct iovec iov = {&x, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};
	int fd;

	CHECK(recvmsg(from, &m, 0) == 1);
	CHECK(CMSG_FIRSTHDR(&m) && CMSG_FIRSTHDR(&m)->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void passes(void)
{
	int pair[2], fd;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		fd = receive_fd(pair[1]);
		_exit(echo(fd, "in the other process"));
	}
	close(pair[1]);
	fd = udp();
	printf("before: %d\n", echo(fd, "before"));
	send_fd(pair[0], fd);
	printf("other process: %d\n", ended(pid));
	printf("after: %d\n", echo(fd, "after"));
	close(fd);
	close(pair[0]);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"forks", forks},
		{"sets", sets},
		{"set_made_anew", set_made_anew},
		{"while_waiting", while_waiting},
		{"spawns", spawns},
		{"clones", clones},
		{"numbers", numbers},
		{"numbers_vfork", numbers_vfork},
		{"execs", execs},
		{"passes", passes},
		{"clones_apart", clones_apart}, /* last: all is the kernel's then */
		{NULL, NULL},
	};
	static const struct t_case self[] = {{"exec", exec_self}, {NULL, NULL}};
	int fd;

	t_argv = argv;
	if (argc == 5 && sscanf(argv[4], "fd=%d", &fd) == 1)
		return echo(fd, "a new program") == 1 ? 77 : 1;
	if (argc == 5 && strcmp(argv[4], "exec") == 0)
		return t_main(argc, argv, self);
	return t_main(argc, argv, cases);
}
