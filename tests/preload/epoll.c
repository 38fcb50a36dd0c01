/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets with sockets and other descriptors. */
#include "epoll.h"

static void level(void)
{
	int fd = udp(), ep = epoll_create1(EPOLL_CLOEXEC);
	char buf[100];

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 7);
	show("nothing yet", ep, 8, 0);
	ask(fd, 2, 10, 0, 0);
	show("first", ep, 8, 5000);
	sleep_ms(50);
	show("again", ep, 8, 5000);
	say("read", recv(fd, buf, sizeof(buf), 0));
	show("one left", ep, 8, 5000);
	say("read", recv(fd, buf, sizeof(buf), 0));
	show("none left", ep, 8, 0);
	show("none left", ep, 8, 150);
	ask(fd, 1, 10, 200, 0);
	show("late", ep, 8, 5000);
	drain(fd);
	add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLOUT, 1ull << 63);
	show("writable", ep, 8, 5000);
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	show("both", ep, 8, 5000);
	add(ep, EPOLL_CTL_MOD, fd, 0, 8);
	show("nothing wanted", ep, 8, 20);
	drain(fd);
	close(ep);
	close(fd);
}

static void edge(void)
{
	int fd = udp(), ep = epoll_create1(0);

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, 1);
	ask(fd, 1, 10, 0, 0);
	show("edge", ep, 8, 5000);
	show("no new edge", ep, 8, 50);
	ask(fd, 1, 10, 0, 0);
	show("second edge", ep, 8, 5000);
	say("drained", drain(fd));
	show("nothing", ep, 8, 50);
	ask(fd, 1, 10, 150, 0);
	show("third edge, asleep", ep, 8, 5000);
	add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLET, 2);
	show("armed again while ready", ep, 8, 5000);
	show("no new edge", ep, 8, 50);
	drain(fd);
	add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLOUT | EPOLLET, 2);
	show("writable once", ep, 8, 5000);
	show("writable once", ep, 8, 50);
	close(fd);
	fd = udp();
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, 3);
	show("ready when added", ep, 8, 5000);
	close(ep);
	close(fd);
}

static void oneshot(void)
{
	int fd = udp(), ep = epoll_create1(0);

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, 1);
	ask(fd, 2, 10, 0, 20);
	show("once", ep, 8, 5000);
	show("disabled", ep, 8, 100);
	add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT, 2);
	show("armed again", ep, 8, 5000);
	show("disabled", ep, 8, 50);
	say("drained", drain(fd));
	add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT | EPOLLET, 3);
	show("nothing", ep, 8, 50);
	ask(fd, 1, 10, 0, 0);
	show("once, edge", ep, 8, 5000);
	close(ep);
	close(fd);
}

static void ctl(const char *what, int ep, int op, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u64 = 1};

	say(what, epoll_ctl(ep, op, fd, &ev));
}

static void errors(void)
{
	int fd = udp(), ep = epoll_create1(0), file = open("/proc/self/exe", O_RDONLY);
	struct epoll_event ev;
	volatile int negative = -1;

	say("create 0", epoll_create(0));
	say("create flags", epoll_create1(4));
	ctl("mod absent", ep, EPOLL_CTL_MOD, fd, EPOLLIN);
	ctl("del absent", ep, EPOLL_CTL_DEL, fd, EPOLLIN);
	ctl("add", ep, EPOLL_CTL_ADD, fd, EPOLLIN);
	ctl("add twice", ep, EPOLL_CTL_ADD, fd, EPOLLIN);
	ctl("bad operation", ep, 9, fd, EPOLLIN);
	ctl("to itself", ep, EPOLL_CTL_ADD, ep, EPOLLIN);
	ctl("bad fd", ep, EPOLL_CTL_ADD, 900, EPOLLIN);
	ctl("bad set", 900, EPOLL_CTL_ADD, fd, EPOLLIN);
	ctl("set is a socket", fd, EPOLL_CTL_ADD, ep, EPOLLIN);
	ctl("set is a file", file, EPOLL_CTL_ADD, fd, EPOLLIN);
	ctl("file in a set", ep, EPOLL_CTL_ADD, file, EPOLLIN);
	say("add without event", epoll_ctl(ep, EPOLL_CTL_ADD, fd, NULL));
	say("mod without event", epoll_ctl(ep, EPOLL_CTL_MOD, fd, NULL));
	ctl("mod exclusive", ep, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLEXCLUSIVE);
	say("del without event", epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
	ctl("exclusive oneshot", ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT | EPOLLEXCLUSIVE);
	ctl("exclusive", ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLEXCLUSIVE);
	ctl("mod of exclusive", ep, EPOLL_CTL_MOD, fd, EPOLLIN);
	ctl("del", ep, EPOLL_CTL_DEL, fd, 0);
	say("wait max 0", epoll_wait(ep, &ev, 0, 0));
	say("wait max -1", epoll_wait(ep, &ev, negative, 0));
	say("wait on a socket", epoll_wait(fd, &ev, 1, 0));
	say("wait on nothing", epoll_wait(900, &ev, 1, 0));
	close(fd);
	ctl("closed", ep, EPOLL_CTL_ADD, fd, EPOLLIN);
	close(file);
	close(ep);
}

static void mixed(void)
{
	int fd = udp(), fd2 = udp(), ep = epoll_create1(0), p[2], ev = eventfd(0, 0);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), seen[8] = {0}, total = 0;
	struct itimerspec when = {.it_value.tv_nsec = 20000000};
	uint64_t v = 1;
	char c;

	CHECK(pipe(p) == 0);
	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 1);
	add(ep, EPOLL_CTL_ADD, p[0], EPOLLIN, 2);
	add(ep, EPOLL_CTL_ADD, ev, EPOLLIN, 3);
	add(ep, EPOLL_CTL_ADD, timer, EPOLLIN, 4);
	add(ep, EPOLL_CTL_ADD, fd2, EPOLLIN, 5);
	show("nothing", ep, 8, 0);
	CHECK(write(p[1], "x", 1) == 1);
	show("pipe", ep, 8, 5000);
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	show("pipe and socket", ep, 8, 5000);
	CHECK(write(ev, &v, 8) == 8);
	CHECK(timerfd_settime(timer, 0, &when, NULL) == 0);
	sleep_ms(50);
	ask(fd2, 1, 10, 0, 0);
	wait_in(fd2);
	show("all", ep, 8, 5000);
	/* With room for one event at a time each member gets its turn. */
	for (int i = 0; i < 50; i++) {
		struct epoll_event one;

		CHECK(epoll_wait(ep, &one, 1, 1000) == 1);
		CHECK(one.data.u64 >= 1 && one.data.u64 <= 5);
		seen[one.data.u64]++;
	}
	for (int i = 1; i <= 5; i++)
		total += seen[i] >= 3;
	printf("each had its turn: %d of 5\n", total);
	CHECK(read(p[0], &c, 1) == 1);
	drain(fd);
	drain(fd2);
	CHECK(read(ev, &v, 8) == 8 && read(timer, &v, 8) == 8);
	show("nothing", ep, 8, 20);
	/* Asleep: each side wakes it. */
	when.it_value.tv_nsec = 250000000;
	CHECK(timerfd_settime(timer, 0, &when, NULL) == 0);
	show("timer", ep, 8, 5000);
	CHECK(read(timer, &v, 8) == 8);
	ask(fd2, 1, 10, 250, 0);
	show("socket", ep, 8, 5000);
	close(fd);
	close(fd2);
	close(p[0]);
	close(p[1]);
	close(ev);
	close(timer);
	close(ep);
}

static void nested(void)
{
	int fd = udp(), in = epoll_create1(0), mid = epoll_create1(0), out = epoll_create1(0);
	int p[2];
	struct pollfd pfd = {.fd = out, .events = POLLIN};
	char c;

	CHECK(pipe(p) == 0);
	add(in, EPOLL_CTL_ADD, fd, EPOLLIN, 1);
	add(in, EPOLL_CTL_ADD, p[0], EPOLLIN, 2);
	add(mid, EPOLL_CTL_ADD, in, EPOLLIN, 10);
	add(out, EPOLL_CTL_ADD, mid, EPOLLIN, 20);
	ctl("a circle", in, EPOLL_CTL_ADD, out, EPOLLIN);
	ctl("twice", mid, EPOLL_CTL_ADD, in, EPOLLIN);
	ctl("exclusive", out, EPOLL_CTL_ADD, in, EPOLLIN | EPOLLEXCLUSIVE);
	show("nothing", out, 8, 0);
	say("poll", poll(&pfd, 1, 0));
	ask(fd, 1, 10, 0, 0);
	show("out", out, 8, 5000);
	show("out again", out, 8, 5000);
	say("poll", poll(&pfd, 1, 5000));
	show("mid", mid, 8, 5000);
	show("in", in, 8, 5000);
	drain(fd);
	show("out, read", out, 8, 20);
	say("poll", poll(&pfd, 1, 20));
	CHECK(write(p[1], "x", 1) == 1);
	show("out, pipe", out, 8, 5000);
	ask(fd, 1, 10, 0, 0);
	wait_in(fd);
	show("out, both", out, 8, 5000);
	show("in, both", in, 8, 5000);
	CHECK(read(p[0], &c, 1) == 1);
	show("out, socket", out, 8, 5000);
	drain(fd);
	show("out, nothing", out, 8, 50);
	ask(fd, 1, 10, 250, 0);
	show("out, asleep", out, 8, 5000);
	drain(fd);
	ask(fd, 1, 10, 250, 0);
	say("poll, asleep", poll(&pfd, 1, 5000));
	drain(fd);
	add(mid, EPOLL_CTL_MOD, in, EPOLLIN | EPOLLONESHOT, 11);
	ask(fd, 2, 10, 0, 0);
	show("mid, once", mid, 8, 5000);
	show("mid, once", mid, 8, 50);
	close(in);
	show("mid, inner closed", mid, 8, 50);
	close(mid);
	close(out);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void several(void)
{
	int fd = udp(), a = epoll_create1(0), b = epoll_create1(0), other = dup(a);

	add(a, EPOLL_CTL_ADD, fd, EPOLLIN, 1);
	add(b, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, 2);
	ask(fd, 1, 10, 0, 0);
	show("first set", a, 8, 5000);
	show("second set", b, 8, 5000);
	show("second set", b, 8, 20);
	show("by the dup", other, 8, 5000);
	close(a);
	show("by the dup, first closed", other, 8, 5000);
	drain(fd);
	add(other, EPOLL_CTL_MOD, fd, EPOLLIN, 3);
	show("by the dup", other, 8, 20);
	ask(fd, 1, 10, 200, 0);
	show("by the dup", other, 8, 5000);
	close(other);
	close(b);
	close(fd);
}

static void closing(void)
{
	int fd = udp(), ep = epoll_create1(0), fd2, keep;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT, 1);
	show("writable", ep, 8, 1000);
	close(fd);
	show("closed", ep, 8, 20);
	fd2 = udp();
	CHECK(fd2 == fd);
	show("number in use again", ep, 8, 20);
	ctl("add again", ep, EPOLL_CTL_ADD, fd2, EPOLLOUT);
	show("writable", ep, 8, 1000);
	keep = dup(fd2);
	close(fd2);
	show("a dup keeps it", ep, 8, 1000);
	close(keep);
	show("gone with the dup", ep, 8, 20);
	fd = udp();
	add(ep, EPOLL_CTL_ADD, fd, EPOLLOUT, 5);
	ctl("del", ep, EPOLL_CTL_DEL, fd, 0);
	show("deleted", ep, 8, 20);
	add(ep, EPOLL_CTL_ADD, fd, EPOLLOUT, 6);
	fd2 = open("/dev/null", O_RDONLY);
	CHECK(dup2(fd2, fd) == fd);
	show("replaced by dup2", ep, 8, 20);
	close(fd);
	close(fd2);
	close(ep);
}

static void refused(void)
{
	int fd = udp_bound(), ep = epoll_create1(0);
	struct sockaddr_storage to = t_peer;
	char buf[10];

	((struct sockaddr_in *)&to)->sin_port = htons(1); /* same place in sockaddr_in6 */
	CHECK(connect(fd, (struct sockaddr *)&to, t_len) == 0);
	add(ep, EPOLL_CTL_ADD, fd, 0, 1);
	CHECK(send(fd, "x", 1, 0) == 1);
	show("error without being asked for", ep, 8, 5000);
	say("recv", recv(fd, buf, sizeof(buf), MSG_DONTWAIT));
	show("read", ep, 8, 20);
	close(fd);
	close(ep);
}

static void shut(void)
{
	int fd = udp(), ep = epoll_create1(0);

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP, 1);
	show("nothing", ep, 8, 20);
	CHECK(shutdown(fd, SHUT_RD) == 0);
	show("read end shut", ep, 8, 1000);
	CHECK(shutdown(fd, SHUT_WR) == 0);
	show("both shut", ep, 8, 1000);
	close(fd);
	close(ep);
}

static void timeouts(void)
{
	static const int ms[] = {1, 30, 150, 250};
	int fd = udp(), ep = epoll_create1(0);
	struct epoll_event ev;

	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 1);
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		double t = now_ms();

		CHECK(epoll_wait(ep, &ev, 1, ms[i]) == 0);
		t = now_ms() - t;
		CHECK(t >= ms[i]);
		printf("%d ms: %s\n", ms[i], t < ms[i] + 2000 ? "in time" : "late");
	}
	close(fd);
	close(ep);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"level", level},     {"edge", edge},         {"oneshot", oneshot},
		{"errors", errors},   {"mixed", mixed},       {"nested", nested},
		{"several", several}, {"closing", closing},   {"refused", refused},
		{"shut", shut},       {"timeouts", timeouts}, {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
