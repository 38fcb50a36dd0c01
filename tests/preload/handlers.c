/* SPDX-License-Identifier: BSD-2-Clause */
/* For handlers.sh: threads that wait while SIGINT comes to the first thread, and faults.
 *
 *	handlers int|null|jump|caught OWN_ADDRESS
 */
#include "t.h"

#include <setjmp.h>

static sigjmp_buf out;
static const char *own;

static int bound(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	parse(own, 0, &t_own);
	CHECK(s >= 0 && bind(s, (struct sockaddr *)&t_own, sizeof(struct sockaddr_in)) == 0);
	return s;
}

static void on_int(int sig)
{
}

static void *by_recv(void *arg)
{
	char buf[10];
	ssize_t r = recv(bound(), buf, sizeof(buf), 0);

	say("recv", r);
	return NULL;
}

static void *by_poll(void *arg)
{
	struct pollfd p = {.fd = bound(), .events = POLLIN};

	say("poll", poll(&p, 1, -1));
	return NULL;
}

static void *by_epoll(void *arg)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(0), s = bound();

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	say("epoll_wait", epoll_wait(ep, &ev, 1, -1));
	return NULL;
}

/* The threads block SIGINT: only the first one runs the handler. */
static void interrupt(void)
{
	static void *(*const how[])(void *) = {by_recv, by_poll, by_epoll};
	struct timespec end;
	pthread_t thread[3];
	sigset_t one;

	signal(SIGINT, on_int);
	sigemptyset(&one);
	sigaddset(&one, SIGINT);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK(pthread_create(&thread[i], NULL, how[i], NULL) == 0);
		sleep_ms(300);
	}
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), SIGINT);
	for (int i = 0; i < 3; i++) {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += 1;
		if (pthread_timedjoin_np(thread[i], NULL, &end))
			printf("%d waits\n", i);
	}
}

__attribute__((noinline)) static void through_null(void)
{
	volatile int *volatile p = (volatile int *)8;

	*p = 1;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	siglongjmp(out, 1);
}

static void caught(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (volatile int i = 0; i < 20; i++)
		if (!sigsetjmp(out, 1))
			through_null();
	puts("caught");
}

int main(int argc, char **argv)
{
	void (*volatile nowhere)(void) = NULL;

	own = argv[2];
	if (strcmp(argv[1], "int")) /* a first socket brings the library */
		close(bound());
	if (!strcmp(argv[1], "int"))
		interrupt();
	else if (!strcmp(argv[1], "null"))
		through_null();
	else if (!strcmp(argv[1], "jump"))
		nowhere();
	else
		caught();
	fflush(stdout);
	_exit(0);
}
