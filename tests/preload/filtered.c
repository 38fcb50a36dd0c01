/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter of system calls that was there before the program began, or that it sets when it has
 * sockets: calls that the program never makes fail, or would kill it. */
#include "t.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

extern char **environ;
static char **args;

static const struct {
	const char *name;
	int nr, domain; /* domain 0: any */
} calls[] = {
	{"none", SYS_kexec_load, 0},
	{"bpf", SYS_bpf, 0},
	{"netlink", SYS_socket, AF_NETLINK},
	{"packet", SYS_socket, AF_PACKET},
	{"xdp", SYS_socket, 44},
	{"memfd_create", SYS_memfd_create, 0},
	{"inotify_init1", SYS_inotify_init1, 0},
	{"eventfd2", SYS_eventfd2, 0},
	{"membarrier", SYS_membarrier, 0},
	{"sched_getaffinity", SYS_sched_getaffinity, 0},
	{"getrandom", SYS_getrandom, 0},
	{"prlimit64", SYS_prlimit64, 0},
	{"setsockopt", SYS_setsockopt, 0},
	{"ftruncate", SYS_ftruncate, 0},
	{"getcpu", SYS_getcpu, 0},
	{"epoll_create1", SYS_epoll_create1, 0},
};

/* Filters that the program sets itself, also for calls that the C library makes otherwise. */
static const struct {
	const char *name;
	int nr;
} own_calls[] = {
	{"bpf", SYS_bpf},         {"ppoll", SYS_ppoll},           {"epoll_pwait", SYS_epoll_pwait},
	{"accept4", SYS_accept4}, {"sendmsg", SYS_sendmsg},       {"recvmsg", SYS_recvmsg},
	{"geteuid", SYS_geteuid}, {"getsockopt", SYS_getsockopt}, {"bpf", SYS_bpf},
};
#define NOWN (sizeof(own_calls) / sizeof(*own_calls))

static void filter(int nr, int domain, unsigned then)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)domain, 0, domain ? 1 : 0),
		BPF_STMT(BPF_RET | BPF_K, then),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {6, f};

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
}

static void run(int nr, int domain, unsigned then)
{
	char *argv[] = {args[0], args[1], args[2], args[3], (char *)"talk", NULL};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		filter(nr, domain, then);
		execve("/proc/self/exe", argv, environ);
		_exit(100);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s %d\n", WIFSIGNALED(status) ? "killed by" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void all(unsigned then)
{
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		printf("%s: ", calls[i].name);
		fflush(stdout);
		run(calls[i].nr, calls[i].domain, then);
	}
}

static void fails(void)
{
	all(SECCOMP_RET_ERRNO | EPERM);
}

static void kills(void)
{
	all(SECCOMP_RET_KILL_PROCESS);
}

/* The program under the filter. */
static void talk(void)
{
	char b[8] = "";
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	say("connect", connect(fd, (struct sockaddr *)&t_peer, t_len));
	say("send", send(fd, "hello", 5, 0));
	say("recv", recv(fd, b, 5, MSG_WAITALL));
	close(fd);
	fd = udp();
	say("send", send(fd, "hello", 5, 0));
	say("recv", recv(fd, b, 5, 0));
	printf("%s\n", b);
	close(fd);
}

static void echo(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char b[8] = "";

	say("send", send(fd, "hello", 5, 0));
	say("poll", poll(&p, 1, 5000));
	say("recv", recv(fd, b, 5, 0));
	printf("%s\n", b);
}

static void confined(int nr, unsigned then)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0), u = udp(), lsn, ep = epoll_create1(0);

	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	lsn = socket(t_own.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(bind(lsn, (struct sockaddr *)&t_own, t_len) == 0 && listen(lsn, 5) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	echo(fd);
	echo(u);
	filter(nr, 0, then);
	echo(fd);
	echo(u);
	say("send", send(fd, "hello", 5, 0));
	say("epoll_wait", epoll_wait(ep, &ev, 1, 5000));
	say("accept", accept(lsn, NULL, NULL));
	talk();
	close(fd);
	close(u);
	close(lsn);
	close(ep);
}

/* In a process of its own for each, which is no child of one with sockets. */
static void confines(unsigned then)
{
	for (unsigned i = 0; i < NOWN; i++) {
		pid_t pid;
		int status;

		printf("%s:\n", own_calls[i].name);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			confined(own_calls[i].nr, then);
			fflush(stdout);
			if (i % 2 ||
			    i + 1 == NOWN) /* with what the library does at the end, or not */
				exit(0);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		say("status", status);
	}
}

static void confined_fails(void)
{
	confines(SECCOMP_RET_ERRNO | EPERM);
}

static void confined_kills(void)
{
	confines(SECCOMP_RET_KILL_PROCESS);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"fails", fails},
					      {"kills", kills},
					      {"confined_fails", confined_fails},
					      {"confined_kills", confined_kills},
					      {NULL, NULL}};
	static const struct t_case inner[] = {{"talk", talk}, {NULL, NULL}};

	args = argv;
	return t_main(argc, argv, argc > 4 && strcmp(argv[4], "talk") == 0 ? inner : cases);
}
