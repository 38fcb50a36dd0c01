/* SPDX-License-Identifier: BSD-2-Clause */
/* An epoll set is closed while a thread waits for it: the call holds the set, and what comes for a
 * socket that is still open ends it. */
#include <pthread.h>
#include <sys/wait.h>

#include "epoll.h"

struct waiter {
	int ep, n, timeout, tid;
	struct epoll_event ev;
	pthread_t thread;
};

static void *wait_for(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, (int)gettid(), __ATOMIC_RELEASE);
	w->n = epoll_wait(w->ep, &w->ev, 1, w->timeout);
	return NULL;
}

static bool is_asleep(struct waiter *w)
{
	int tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = tid ? fopen(path, "r") : NULL;
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

static void begin(struct waiter *w, int ep, int timeout)
{
	*w = (struct waiter){.ep = ep, .timeout = timeout, .n = -2};
	CHECK(pthread_create(&w->thread, NULL, wait_for, w) == 0);
	for (int i = 0; i < 40 && !is_asleep(w); i++)
		sleep_ms(10);
}

static void finish(const char *what, struct waiter *w)
{
	CHECK(pthread_join(w->thread, NULL) == 0);
	say(what, w->n);
	if (w->n == 1)
		say("  data", (long)w->ev.data.u64);
}

static void comes(void)
{
	int fd = udp(), ep = epoll_create1(0);
	struct waiter w;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	begin(&w, ep, 10000);
	close(ep);
	sleep_ms(100);
	say("it waits still", w.n);
	ask(fd, 1, 10, 0, 0);
	finish("an event of the socket", &w);
	say("drained", drain(fd));
	close(fd);
}

/* The number is another set's, whose events are not the waiter's. */
static void number(void)
{
	int fd = udp(), fd2 = udp(), ep = epoll_create1(0), ep2, p[2];
	struct waiter w;

	CHECK(pipe(p) == 0);
	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	add(ep, EPOLL_CTL_ADD, p[0], EPOLLIN, 8);
	begin(&w, ep, 10000);
	close(ep);
	ep2 = epoll_create1(0);
	CHECK(ep2 == ep);
	add(ep2, EPOLL_CTL_ADD, fd2, EPOLLIN, 9);
	ask(fd2, 1, 10, 0, 0);
	show("the new set", ep2, 8, 5000);
	sleep_ms(50);
	say("the first waits", w.n);
	CHECK(write(p[1], "x", 1) == 1);
	finish("an event of the pipe", &w);
	show("the new set again", ep2, 8, 5000);
	close(ep2);
	close(fd);
	close(fd2);
	close(p[0]);
	close(p[1]);
}

static void ends(void)
{
	int fd = udp(), ep = epoll_create1(0);
	struct waiter w, v;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	begin(&w, ep, 700);
	begin(&v, ep, 600);
	close(ep);
	close(fd);
	finish("the time is over", &w);
	finish("for both", &v);
	/* Sets are made anew in the place of those. */
	for (int i = 0; i < 3; i++) {
		fd = udp();
		ep = epoll_create1(0);
		add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 3);
		show("nothing", ep, 8, 0);
		ask(fd, 1, 10, 0, 0);
		show("the next set", ep, 8, 5000);
		close(ep);
		close(fd);
	}
}

static void dupped(void)
{
	int fd = udp(), ep = epoll_create1(0), other = dup(ep);
	struct waiter w;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	begin(&w, other, 10000);
	close(ep);
	close(other);
	sleep_ms(50);
	say("it waits still", w.n);
	ask(fd, 1, 10, 0, 0);
	finish("by a dup", &w);
	close(fd);
}

/* Files of sets that the process has open. */
static int sets(void)
{
	char path[32], to[64];
	int n = 0;

	for (int fd = 0; fd < 65536; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		n += strstr(to, "eventpoll") != NULL;
	}
	return n;
}

/* A child has nothing of a set that its parent has closed. */
static void forked(void)
{
	int fd = udp(), ep = epoll_create1(0), status;
	struct waiter w;
	pid_t pid;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	begin(&w, ep, 10000);
	close(ep);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(sets());
	CHECK(waitpid(pid, &status, 0) == pid);
	say("sets of the child", WEXITSTATUS(status));
	ask(fd, 1, 10, 0, 0);
	finish("the parent's goes on", &w);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"comes", comes},   {"number", number}, {"ends", ends},
		{"dupped", dupped}, {"forked", forked}, {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
