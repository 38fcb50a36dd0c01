/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals during calls that wait: while they poll and when they sleep. */
#include "t.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile sig_atomic_t ran;
static pthread_t t_main_thread;

static void on_signal(int sig)
{
	ran++;
}

static void on_info(int sig, siginfo_t *info, void *ctx)
{
	ran += info->si_signo == sig && ctx ? 1 : 1000;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = {.sa_flags = flags};

	if (flags & SA_SIGINFO)
		sa.sa_sigaction = on_info;
	else
		sa.sa_handler = on_signal;
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static int s_fd = -1; /* asks for a datagram after the signal, when set */

static void *sender(void *arg)
{
	sleep_ms(*(int *)arg);
	pthread_kill(t_main_thread, SIGUSR1);
	if (s_fd >= 0)
		ask(s_fd, 1, 10, 200, 0);
	return NULL;
}

enum how { RECV, RECVMSG, READ, POLL, SELECT, EPOLL, HOWS };
static const char *const names[] = {"recv", "recvmsg", "read", "poll", "select", "epoll_wait"};

/* Waits by the given call; returns how much came, or -1 and errno. */
static long wait_by(enum how how, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char buf[100];
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct epoll_event ev = {.events = EPOLLIN};
	fd_set set;
	long r;
	int ep;

	switch (how) {
	case RECV:
		return recv(fd, buf, sizeof(buf), 0);
	case RECVMSG:
		return recvmsg(fd, &m, 0);
	case READ:
		return read(fd, buf, sizeof(buf));
	case POLL:
		return poll(&p, 1, 5000);
	case SELECT:
		FD_ZERO(&set);
		FD_SET(fd, &set);
		return select(fd + 1, &set, NULL, NULL, NULL);
	default:
		ep = epoll_create1(0);
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
		r = epoll_wait(ep, &ev, 1, 5000);
		int e = errno;
		close(ep);
		errno = e;
		return r;
	}
}

/* A signal after `ms`; a datagram 200 ms later. */
static void one(enum how how, int flags, int ms, int fd)
{
	pthread_t t;
	char what[80];
	long r;

	handle(SIGUSR1, flags);
	ran = 0;
	s_fd = fd;
	CHECK(pthread_create(&t, NULL, sender, &ms) == 0);
	r = wait_by(how, fd);
	snprintf(what, sizeof(what), "%s, %s%s", names[how],
		 flags & SA_RESTART ? "SA_RESTART" : "no SA_RESTART", ms < 100 ? "" : ", asleep");
	say(what, r);
	pthread_join(t, NULL);
	s_fd = -1;
	if (r < 0 || how >= POLL)
		wait_in(fd);
	drain(fd);
	printf("  handler ran %d\n", (int)ran);
}

static void interrupts(void)
{
	static const int when[] = {20, 250};
	int fd = udp();

	for (int how = 0; how < HOWS; how++)
		for (int i = 0; i < 2; i++) {
			one(how, 0, when[i], fd);
			one(how, SA_RESTART, when[i], fd);
		}
	one(RECV, SA_SIGINFO, 20, fd);
	one(POLL, SA_SIGINFO | SA_RESTART, 20, fd);
	close(fd);
}

/* With a time-out on the socket, SA_RESTART does not help (signal(7)). */
static void timeouts(void)
{
	static const int when[] = {20, 250};
	struct timeval tv = {1, 0};
	int fd = udp();
	char buf[10];
	double t;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	for (int i = 0; i < 2; i++)
		one(RECV, SA_RESTART, when[i], fd);
	tv = (struct timeval){0, 120000};
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	t = now_ms();
	say("time-out", recv(fd, buf, sizeof(buf), 0));
	t = now_ms() - t;
	printf("in time: %d\n", t >= 119 && t < 2000);
	close(fd);
}

/* The mask of ppoll, pselect and epoll_pwait is in force while they wait, and only then. */
static void masks(void)
{
	struct timespec five = {5, 0}, some = {0, 300000000};
	int fd = udp(), ep = epoll_create1(0), ms = 30;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event ev = {.events = EPOLLIN};
	sigset_t block, none, usr1;
	pthread_t t;
	fd_set set;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	handle(SIGUSR1, 0);
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, &block);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	for (int i = 0; i < 6; i++) {
		const sigset_t *m = i < 3 ? &none : &usr1;
		const struct timespec *limit = i < 3 ? &five : &some;
		long r;

		ran = 0;
		FD_SET(fd, &set);
		if (i == 0) /* pending already */
			CHECK(raise(SIGUSR1) == 0);
		else
			CHECK(pthread_create(&t, NULL, sender, &ms) == 0);
		if (i % 3 == 0)
			r = ppoll(&p, 1, limit, m);
		else if (i % 3 == 1)
			r = pselect(fd + 1, &set, NULL, NULL, limit, m);
		else
			r = epoll_pwait(ep, &ev, 1, limit->tv_sec ? 5000 : 300, m);
		say(i < 3 ? "mask lets it in" : "mask keeps it out", r);
		printf("  handler ran %d\n", (int)ran);
		if (i)
			pthread_join(t, NULL);
		pthread_sigmask(SIG_BLOCK, NULL, &block);
		printf("  blocked as before: %d\n", sigismember(&block, SIGUSR1));
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
		printf("  handler ran %d\n", (int)ran);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	}
	close(ep);
	close(fd);
}

/* A program reads back the handler that it has set. */
static void installed(void)
{
	struct sigaction sa, old;

	say("signal", signal(SIGUSR2, on_signal) == SIG_DFL);
	say("signal again", signal(SIGUSR2, SIG_IGN) == on_signal);
	say("ignored", signal(SIGUSR2, on_signal) == SIG_IGN);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	printf("%d %#x\n", sa.sa_handler == on_signal, sa.sa_flags & SA_RESTART);
	say("siginterrupt", siginterrupt(SIGUSR2, 1));
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	printf("%d %#x\n", sa.sa_handler == on_signal, sa.sa_flags & SA_RESTART);
	say("signal", signal(SIGUSR2, on_signal) == on_signal);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	printf("%d %#x\n", sa.sa_handler == on_signal, sa.sa_flags & SA_RESTART);
	handle(SIGUSR2, SA_SIGINFO | SA_RESETHAND | SA_NODEFER);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	printf("%d %#x\n", sa.sa_sigaction == on_info,
	       (unsigned)(sa.sa_flags & (SA_SIGINFO | SA_RESETHAND | SA_NODEFER)));
	ran = 0;
	raise(SIGUSR2);
	printf("ran %d\n", (int)ran);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	printf("reset: %d\n", sa.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGUSR2, &sa, &old) == 0);
	say("bad signal", sigaction(0, NULL, &sa));
	say("bad signal", sigaction(SIGKILL, &sa, NULL));
	say("bad signal", signal(999, on_signal) == SIG_ERR ? -1 : 0);
}

static int h_fd;

/* A handler may use sockets, whatever it interrupted. */
static void in_handler(int sig)
{
	int saved = errno;
	char buf[100];

	ran++;
	if (send(h_fd, "tick", 4, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		ran += 100000;
	recv(h_fd, buf, sizeof(buf), MSG_DONTWAIT);
	errno = saved;
}

static void from_handler(void)
{
	struct itimerval it = {{0, 700}, {0, 700}};
	struct sigaction sa = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
	char buf[100];
	int fd = udp(), echoed = 0;
	struct timeval tv = {0, 200000};

	h_fd = udp();
	ran = 0;
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	for (int i = 0; i < 3000; i++) {
		ssize_t n;

		CHECK(send(fd, "ping", 4, 0) == 4);
		while ((n = recv(fd, buf, sizeof(buf), 0)) < 0 && errno == EINTR)
			;
		echoed += n == 4;
	}
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	printf("echoed: %s\n", echoed >= 2990 ? "all" : "too few");
	printf("handlers: %s\n", ran > 10 && ran < 100000 ? "many" : "wrong");
	close(fd);
	close(h_fd);
}

/* A call that has an answer leaves a signal pending that only its mask would let in. */
static void pending(void)
{
	static const char *const call[] = {"ppoll", "pselect", "epoll_pwait"};
	struct timespec zero = {0, 0}, five = {5, 0};
	int fd = udp(), ep = epoll_create1(0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event ev = {.events = EPOLLIN};
	sigset_t none, usr1;
	fd_set set;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	handle(SIGUSR1, SA_RESTART);
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	for (int i = 0; i < 9; i++) {
		const struct timespec *limit = i < 3 ? &five : i < 6 ? &zero : &five;
		char buf[100];
		long r;

		if (i == 0) {
			CHECK(send(fd, "ping", 4, 0) == 4);
			CHECK(poll(&p, 1, 5000) == 1);
		} else if (i == 3) {
			CHECK(recv(fd, buf, sizeof(buf), 0) == 4);
		}
		ran = 0;
		CHECK(raise(SIGUSR1) == 0);
		FD_ZERO(&set);
		FD_SET(fd, &set);
		if (i % 3 == 0)
			r = ppoll(&p, 1, limit, &none);
		else if (i % 3 == 1)
			r = pselect(fd + 1, &set, NULL, NULL, limit, &none);
		else
			r = epoll_pwait(ep, &ev, 1, (int)limit->tv_sec * 1000, &none);
		say(call[i % 3], r);
		printf("  handler ran %d, set %d\n", (int)ran, !!FD_ISSET(fd, &set));
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		printf("  handler ran %d\n", (int)ran);
	}
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	close(ep);
	close(fd);
}

/* A group as owner is told as it was set, and not as an error. */
static void owner(void)
{
	int fd = udp();

	say("group", fcntl(fd, F_SETOWN, -getpgrp()));
	printf("the group: %d\n", fcntl(fd, F_GETOWN) == -getpgrp());
	say("nobody", fcntl(fd, F_SETOWN, 0));
	say("nobody", fcntl(fd, F_GETOWN));
	close(fd);
}

/* Stops the process and lets it go on, for each byte on the pipe. */
static void stop_by(int pipe, pid_t whom)
{
	char c;

	while (read(pipe, &c, 1) == 1) {
		sleep_ms(40);
		kill(whom, SIGSTOP);
		sleep_ms(20);
		kill(whom, SIGCONT);
	}
	_exit(0);
}

/* SIGSTOP and SIGCONT end some waits although no handler runs. */
static void stops(void)
{
	static const enum how hows[] = {RECVMSG, RECV, POLL, EPOLL};
	struct timeval tv = {0, 0};
	int pipes[2], status, fd;
	pid_t me = getpid(), child;

	CHECK(pipe(pipes) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(pipes[1]);
		stop_by(pipes[0], me);
	}
	fd = udp();
	for (unsigned i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		/* (recvmsg has a time-out) */
		tv.tv_usec = hows[i] == RECVMSG ? 150000 : 0;
		CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
		CHECK(write(pipes[1], "s", 1) == 1);
		if (hows[i] == RECV || hows[i] == POLL)
			ask(fd, 1, 10, 120, 0);
		say(names[hows[i]], wait_by(hows[i], fd));
		if (hows[i] == POLL)
			say("recv", wait_by(RECV, fd));
	}
	close(fd);
	close(pipes[1]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"interrupts", interrupts},
		{"timeouts", timeouts},
		{"masks", masks},
		{"installed", installed},
		{"from_handler", from_handler},
		{"pending", pending},
		{"owner", owner},
		{"stops", stops},
		{NULL, NULL},
	};

	t_main_thread = pthread_self();
	return t_main(argc, argv, cases);
}
