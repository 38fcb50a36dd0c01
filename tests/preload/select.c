/* SPDX-License-Identifier: BSD-2-Clause */
/* poll, ppoll, select, pselect over sockets and other descriptors. */
#include "t.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static void show(const char *what, struct pollfd *p, nfds_t n, int ms)
{
	int r = poll(p, n, ms);

	if (r < 0) {
		say(what, r);
		return;
	}
	printf("%s: %d", what, r);
	for (nfds_t i = 0; i < n; i++)
		printf(" %#x", (unsigned)(uint16_t)p[i].revents);
	printf("\n");
	fflush(stdout);
}

static void polling(void)
{
	int fd = udp(), fd2 = udp(), pipes[2], closed = dup(fd);
	char c;

	CHECK(pipe(pipes) == 0);
	close(closed);
	struct pollfd p[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = -1, .events = POLLIN},
		{.fd = pipes[0], .events = POLLIN},
		{.fd = fd2, .events = POLLIN | POLLOUT},
		{.fd = fd, .events = POLLIN | POLLRDNORM | POLLPRI},
		{.fd = closed, .events = POLLIN},
	};
	show("writable, one closed", p, 6, 5000);
	show("the same, no time", p, 6, 0);
	p[3].events = POLLIN;
	show("one closed", p, 6, 1000);
	show("nothing", p, 5, 0);
	show("nothing", p, 5, 150);
	ask(fd, 1, 10, 0, 0);
	show("the same twice", p, 5, 5000);
	CHECK(write(pipes[1], "x", 1) == 1);
	show("and the pipe", p, 5, 5000);
	drain(fd);
	show("the pipe", p, 5, 5000);
	CHECK(read(pipes[0], &c, 1) == 1);
	show("nothing", p, 5, 20);
	ask(fd2, 1, 10, 250, 0);
	show("asleep, a socket", p, 5, 5000);
	drain(fd2);
	close(pipes[1]);
	show("hangup", p, 5, 5000);
	p[0].events = 0;
	p[2].fd = -p[2].fd;
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	show("asked for nothing", p, 1, 50);
	show("negative", p, 4, 50);
	drain(fd);
	show("no descriptors", p, 0, 20);
	close(fd);
	close(fd2);
	close(pipes[0]);
}

static void many(void)
{
	enum { N = 300 };
	struct pollfd p[N];
	int fd[N], sum = 0, n;

	for (int i = 0; i < N; i++) {
		fd[i] = i % 3 ? eventfd(0, 0) : udp();
		p[i] = (struct pollfd){.fd = fd[i], .events = POLLIN};
	}
	printf("nothing: %d\n", poll(p, N, 20));
	ask(fd[299 / 3 * 3], 1, 10, 200, 0);
	n = poll(p, N, 5000);
	printf("last: %d %d\n", n, p[299 / 3 * 3].revents);
	for (int i = 0; i < N; i++)
		if (i % 3 == 0)
			ask(fd[i], 1, 10, 0, 0);
		else
			CHECK(eventfd_write(fd[i], 1) == 0);
	for (int i = 0; i < N; i += 3)
		wait_in(fd[i]);
	n = poll(p, N, 5000);
	for (int i = 0; i < N; i++)
		sum += p[i].revents == POLLIN;
	printf("all: %d %d\n", n, sum);
#ifndef __SANITIZE_ADDRESS__ /* which looks at the list itself */
	volatile nfds_t beyond = 1u << 30;
	say("beyond the limit", poll(p, beyond, 0));
#endif
	for (int i = 0; i < N; i++)
		close(fd[i]);
}

static void refused(void)
{
	int fd = udp_bound();
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct sockaddr_storage to = t_peer;
	char buf[10];

	((struct sockaddr_in *)&to)->sin_port = htons(1);
	CHECK(connect(fd, (struct sockaddr *)&to, t_len) == 0);
	CHECK(send(fd, "x", 1, 0) == 1);
	sleep_ms(50);
	show("refused", &p, 1, 5000);
	say("recv", recv(fd, buf, sizeof(buf), 0));
	show("read", &p, 1, 20);
	CHECK(send(fd, "x", 1, 0) == 1);
	show("refused, waiting", &p, 1, 5000);
	CHECK(shutdown(fd, SHUT_RDWR) == 0);
	say("recv", recv(fd, buf, sizeof(buf), MSG_DONTWAIT));
	show("shut", &p, 1, 1000);
	p.events = POLLIN | POLLRDHUP | POLLOUT;
	show("shut", &p, 1, 1000);
	close(fd);
}

/* select: r, w, x are strings of what is set. */
struct sets {
	fd_set r, w, x;
	int n;
};

static void put(struct sets *s, int fd, const char *in)
{
	if (strchr(in, 'r'))
		FD_SET(fd, &s->r);
	if (strchr(in, 'w'))
		FD_SET(fd, &s->w);
	if (strchr(in, 'x'))
		FD_SET(fd, &s->x);
	if (fd >= s->n)
		s->n = fd + 1;
}

static void out(const char *what, struct sets *s, int r, int a, int b, int c)
{
	int fds[] = {a, b, c};

	say(what, r);
	for (int i = 0; r >= 0 && i < 3; i++)
		printf("  %c%c%c\n", FD_ISSET(fds[i], &s->r) ? 'r' : '-',
		       FD_ISSET(fds[i], &s->w) ? 'w' : '-', FD_ISSET(fds[i], &s->x) ? 'x' : '-');
}

static void selecting(void)
{
	int fd = udp(), fd2 = udp(), p[2];
	struct timeval tv = {5, 0};
	struct timespec ts = {0, 50000000};
	struct sets s;
	char c;

	CHECK(pipe(p) == 0);
	memset(&s, 0, sizeof(s));
	put(&s, fd, "r");
	put(&s, fd2, "rwx");
	put(&s, p[0], "rx");
	out("writable", &s, select(s.n, &s.r, &s.w, &s.x, &tv), fd, fd2, p[0]);
	printf("time is left: %d\n", tv.tv_sec == 4 || tv.tv_sec == 5);
	memset(&s, 0, sizeof(s));
	put(&s, fd, "r");
	put(&s, fd2, "r");
	put(&s, p[0], "r");
	tv = (struct timeval){0, 0};
	out("no time", &s, select(s.n, &s.r, &s.w, &s.x, &tv), fd, fd2, p[0]);
	put(&s, fd, "r");
	put(&s, p[0], "r");
	tv = (struct timeval){0, 150000};
	out("time-out", &s, select(s.n, &s.r, NULL, NULL, &tv), fd, fd2, p[0]);
	printf("time left: %ld %ld\n", (long)tv.tv_sec, (long)tv.tv_usec);
	put(&s, fd, "r");
	put(&s, fd2, "r");
	put(&s, p[0], "r");
	ask(fd, 1, 10, 200, 0);
	out("socket", &s, select(s.n, &s.r, NULL, NULL, NULL), fd, fd2, p[0]);
	put(&s, fd, "r");
	put(&s, p[0], "r");
	CHECK(write(p[1], "x", 1) == 1);
	tv = (struct timeval){5, 0};
	out("socket and pipe", &s, select(s.n, &s.r, NULL, NULL, &tv), fd, fd2, p[0]);
	drain(fd);
	CHECK(read(p[0], &c, 1) == 1);
	put(&s, fd, "r");
	out("pselect", &s, pselect(s.n, &s.r, NULL, NULL, &ts, NULL), fd, fd2, p[0]);
	printf("its time is as it was: %d\n", ts.tv_nsec == 50000000);
	tv = (struct timeval){0, -1};
	say("negative", select(s.n, &s.r, NULL, NULL, &tv));
	tv = (struct timeval){0, 1100000};
	put(&s, fd, "w");
	say("microseconds above a second", select(s.n, NULL, &s.w, NULL, &tv));
	say("negative n", select(-1, &s.r, NULL, NULL, &tv));
	/* A bad descriptor among good ones: the sets are left alone. */
	memset(&s, 0, sizeof(s));
	put(&s, fd, "w");
	put(&s, p[0], "r");
	close(p[0]);
	close(p[1]);
	tv = (struct timeval){1, 0};
	say("bad descriptor", select(s.n, &s.r, &s.w, NULL, &tv));
	printf("sets are left: %d %d\n", !!FD_ISSET(fd, &s.w), !!FD_ISSET(p[0], &s.r));
	close(fd);
	close(fd2);
}

/* The socket changes hands, or goes, while another thread waits for it. */
static int t_fd;

static void *poller(void *arg)
{
	struct pollfd p = {.fd = t_fd, .events = POLLIN};
	int r = poll(&p, 1, 5000);

	return (void *)(intptr_t)(r < 0 ? -1 : p.revents);
}

static void changes(void)
{
	for (int ms = 30; ms <= 250; ms += 220) {
		pthread_t t;
		void *r;

		t_fd = udp_bound();
		CHECK(pthread_create(&t, NULL, poller, NULL) == 0);
		sleep_ms(ms);
		CHECK(connect(t_fd, (struct sockaddr *)&t_peer, t_len) == 0);
		ask(t_fd, 1, 10, ms, 0);
		pthread_join(t, &r);
		printf("connected meanwhile: %ld\n", (long)(intptr_t)r);
		drain(t_fd);
		CHECK(pthread_create(&t, NULL, poller, NULL) == 0);
		sleep_ms(ms);
		shutdown(t_fd, SHUT_RD);
		pthread_join(t, &r);
		printf("shut meanwhile: %ld\n", (long)(intptr_t)r);
		close(t_fd);
	}
}

static void timeouts(void)
{
	static const int ms[] = {1, 30, 150, 250};
	int fd = udp();
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		double t = now_ms();

		CHECK(poll(&p, 1, ms[i]) == 0);
		t = now_ms() - t;
		CHECK(t >= ms[i]);
		printf("%d ms: %s\n", ms[i], t < ms[i] + 2000 ? "in time" : "late");
	}
	struct timespec bad = {0, 1000000000};
	say("bad time", ppoll(&p, 1, &bad, NULL));
	close(fd);
}

/* A set of 1,024 bits with getdtablesize(): bits behind the kernel's table are no bits, neither
 * read nor written. */
static void table(void)
{
	static struct {
		fd_set rd;
		unsigned char behind[16384];
	} x;
	static const int sizes[] = {65536, 4096, 1024};
	struct timeval tv;
	int fd = udp(), p[2];

	CHECK(pipe(p) == 0 && write(p[1], "x", 1) == 1);
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	for (int i = 0; i < 6; i++) {
		int n = sizes[i / 2], one = i % 2 ? fd : p[0], bad = 0;

		memset(x.behind, 0xff, sizeof(x.behind));
		FD_ZERO(&x.rd);
		FD_SET(one, &x.rd);
		tv = (struct timeval){2, 0};
		say("select", select(n, &x.rd, NULL, NULL, &tv));
		for (size_t k = 0; k < sizeof(x.behind); k++)
			bad += x.behind[k] != 0xff;
		printf("%d: %d, written behind %d\n", n, FD_ISSET(one, &x.rd) != 0, bad);
	}
	/* Bits that were never cleared are behind the table, too, if no descriptor was ever there.
	 */
	FD_SET(900, &x.rd);
	tv = (struct timeval){2, 0};
	say("a stale bit", select(FD_SETSIZE, &x.rd, NULL, NULL, &tv));
	printf("the socket's %d\n", FD_ISSET(fd, &x.rd) != 0);
	FD_ZERO(&x.rd);
	FD_SET(dup2(fd, 200), &x.rd);
	close(dup2(fd, 201));
	FD_SET(201, &x.rd);
	say("a closed one", select(FD_SETSIZE, &x.rd, NULL, NULL, &tv));
	close(200);
#ifdef SYS_select
	/* Behind the set there is no memory at all. */
	char *pages =
		mmap(NULL, 131072, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd_set *last = (fd_set *)(pages + 65536) - 1;

	CHECK(pages != MAP_FAILED && mprotect(pages + 65536, 65536, PROT_NONE) == 0);
	FD_SET(p[0], last); /* not ours: all words are looked at */
	tv = (struct timeval){2, 0};
	say("by its number", syscall(SYS_select, 1 << 20, last, NULL, NULL, &tv));
	munmap(pages, 131072);
#endif
	close(p[0]);
	close(p[1]);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"polling", polling},     {"many", many},       {"refused", refused},
		{"selecting", selecting}, {"changes", changes}, {"timeouts", timeouts},
		{"table", table},         {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
