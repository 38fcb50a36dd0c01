/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the calls on a painted stack of a thread, and measures how much of it they need, or on the
 * smallest stack there is. peer ADDRESS: the other host, echoes and connects back.
 *   small_stack peer ADDRESS | painted ADDRESS BYTES | small ADDRESS */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT  7000
#define BACK  7100 /* the peer connects to it */
#define PAINT 0x5a5a5a5a5a5a5a5aull
#define STACK (256 << 10)

static struct sockaddr_in peer_addr;
static char *painted; /* the stack's lowest address; NULL: not measured */
static size_t most;   /* bytes that a call may need */
static const char *wrong;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x) && !wrong)                                                                \
			wrong = #x;                                                                \
	} while (0)

/* The peer ------------------------------------------------------------------------------------ */

static void *echo(void *arg)
{
	int s = (int)(intptr_t)arg;
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[4096];
	ssize_t n;

	while ((n = recv(s, buf, sizeof(buf), 0)) > 0) {
		if (buf[0] != 'b') {
			CHECK(send(s, buf, (size_t)n, MSG_NOSIGNAL) == n);
			continue;
		}
		int back = socket(AF_INET, SOCK_STREAM, 0);

		CHECK(getpeername(s, (struct sockaddr *)&from, &len) == 0);
		from.sin_port = htons(BACK);
		CHECK(connect(back, (struct sockaddr *)&from, sizeof(from)) == 0);
		close(back);
	}
	close(s);
	return NULL;
}

static void *echo_datagrams(void *arg)
{
	int s = (int)(intptr_t)arg;
	char buf[4096];

	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

		if (n >= 0)
			sendto(s, buf, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
	return NULL;
}

static int peer(void)
{
	int u = socket(AF_INET, SOCK_DGRAM, 0), l = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	pthread_t t;

	CHECK(bind(u, (struct sockaddr *)&peer_addr, sizeof(peer_addr)) == 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK(bind(l, (struct sockaddr *)&peer_addr, sizeof(peer_addr)) == 0 && listen(l, 8) == 0);
	CHECK(pthread_create(&t, NULL, echo_datagrams, (void *)(intptr_t)u) == 0);
	while (!wrong) {
		int c = accept(l, NULL, NULL);

		CHECK(pthread_create(&t, NULL, echo, (void *)(intptr_t)c) == 0);
	}
	fprintf(stderr, "peer: %s\n", wrong);
	return 1;
}

/* The calls ----------------------------------------------------------------------------------- */

static int s, s2, l, u, ep, pair[2];
static char data[1400];

static void c_socket(void)
{
	CHECK((s = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
}
static void c_connect(void)
{
	CHECK(connect(s, (struct sockaddr *)&peer_addr, sizeof(peer_addr)) == 0);
}
static void c_send(void)
{
	CHECK(send(s, data, sizeof(data), 0) == sizeof(data));
}
static void c_poll(void)
{
	struct pollfd p = {.fd = s, .events = POLLIN};

	CHECK(poll(&p, 1, 5000) == 1);
}
/* (Its list is longer than what the library keeps on the caller's stack.) */
static void c_poll_many(void)
{
	static struct pollfd p[40];

	for (int i = 0; i < 40; i++)
		p[i] = (struct pollfd){.fd = i == 39 ? s : -1, .events = POLLIN};
	CHECK(poll(p, 40, 5000) == 1);
}
static void c_select(void)
{
	static fd_set r;
	struct timeval tv = {5, 0};

	FD_ZERO(&r);
	FD_SET(s, &r);
	CHECK(select(s + 1, &r, NULL, NULL, &tv) == 1);
}
static void c_epoll_create(void)
{
	CHECK((ep = epoll_create1(0)) >= 0);
}
static void c_epoll_ctl(void)
{
	struct epoll_event ev = {.events = EPOLLIN};

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
}
static void c_epoll_wait(void)
{
	struct epoll_event ev;

	CHECK(epoll_wait(ep, &ev, 1, 5000) == 1);
}
static void c_recv(void)
{
	CHECK(recv(s, data, sizeof(data), MSG_WAITALL) == sizeof(data));
}
/* Nothing comes: the thread polls, then sleeps. */
static void c_recv_timeout(void)
{
	struct timeval tv = {0, 200000};

	CHECK(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(recv(s, data, sizeof(data), 0) == -1 && errno == EAGAIN);
	tv.tv_sec = 5;
	CHECK(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
}
static void c_poll_timeout(void)
{
	struct pollfd p = {.fd = s, .events = POLLIN};

	CHECK(poll(&p, 1, 200) == 0);
}
static void c_epoll_timeout(void)
{
	struct epoll_event ev;

	CHECK(epoll_wait(ep, &ev, 1, 200) == 0);
}
static void c_getsockopt(void)
{
	static char info[256];
	socklen_t len = sizeof(info);

	CHECK(getsockopt(s, IPPROTO_TCP, 11 /* TCP_INFO */, info, &len) == 0);
}
static void c_getsockname(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	CHECK(getsockname(s, (struct sockaddr *)&a, &len) == 0);
}
static void c_ioctl(void)
{
	int n;

	CHECK(ioctl(s, FIONREAD, &n) == 0);
}
static void c_dup(void)
{
	CHECK((s2 = dup(s)) >= 0);
}
static void c_close_dup(void)
{
	CHECK(close(s2) == 0);
}
static void c_listen(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(BACK)};
	int on = 1;

	CHECK((l = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK(bind(l, (struct sockaddr *)&any, sizeof(any)) == 0);
	CHECK(listen(l, 8) == 0);
	CHECK(send(s, "b", 1, 0) == 1);
}
static void c_accept(void)
{
	CHECK((s2 = accept(l, NULL, NULL)) >= 0);
}
static void c_close_accepted(void)
{
	CHECK(close(s2) == 0);
}
static void c_close_listener(void)
{
	CHECK(close(l) == 0);
}
/* The connection goes to another process, so the kernel gets it. */
static void c_pass(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)),
		     .cmsg_level = SOL_SOCKET,
		     .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {data, 1};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	memcpy(CMSG_DATA(&c.h), &s, sizeof(s));
	CHECK(sendmsg(pair[0], &m, 0) == 1);
}
static void c_shutdown(void)
{
	CHECK(shutdown(s, SHUT_WR) == 0);
	CHECK(recv(s, data, 1, 0) == 0);
}
static void c_close(void)
{
	CHECK(close(s) == 0);
	close(pair[0]);
	close(pair[1]);
}
static void c_udp_bind(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct timeval tv = {5, 0};

	CHECK((u = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
	CHECK(bind(u, (struct sockaddr *)&any, sizeof(any)) == 0);
	CHECK(setsockopt(u, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
}
static void c_sendto(void)
{
	CHECK(sendto(u, data, 100, 0, (struct sockaddr *)&peer_addr, sizeof(peer_addr)) == 100);
}
static void c_recvfrom(void)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	CHECK(recvfrom(u, data, 100, 0, (struct sockaddr *)&from, &len) == 100);
}
static void c_udp_connect(void)
{
	CHECK(connect(u, (struct sockaddr *)&peer_addr, sizeof(peer_addr)) == 0);
}
static void c_sendmmsg(void)
{
	struct iovec iov = {data, 100};
	struct mmsghdr m[4];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 4; i++)
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov, .msg_iovlen = 1};
	CHECK(sendmmsg(u, m, 4, 0) == 4);
}
static void c_recvmmsg(void)
{
	struct iovec iov = {data, 100};
	struct mmsghdr m[4];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 4; i++)
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov, .msg_iovlen = 1};
	CHECK(recvmmsg(u, m, 4, MSG_WAITFORONE, NULL) > 0);
}
static void c_udp_timeout(void)
{
	struct timeval tv = {0, 200000};

	CHECK(setsockopt(u, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	while (recv(u, data, 100, 0) > 0)
		;
	CHECK(errno == EAGAIN);
}
static void c_udp_close(void)
{
	CHECK(close(u) == 0);
}

static const struct {
	const char *name;
	void (*fn)(void);
} calls[] = {
	{"socket", c_socket},
	{"connect", c_connect},
	{"send", c_send},
	{"poll", c_poll},
	{"poll many", c_poll_many},
	{"select", c_select},
	{"epoll_create1", c_epoll_create},
	{"epoll_ctl", c_epoll_ctl},
	{"epoll_wait", c_epoll_wait},
	{"recv", c_recv},
	{"recv, time-out", c_recv_timeout},
	{"poll, time-out", c_poll_timeout},
	{"epoll_wait, time-out", c_epoll_timeout},
	{"getsockopt", c_getsockopt},
	{"getsockname", c_getsockname},
	{"ioctl", c_ioctl},
	{"dup", c_dup},
	{"close of a duplicate", c_close_dup},
	{"listen", c_listen},
	{"accept", c_accept},
	{"close of an accepted one", c_close_accepted},
	{"close of a listener", c_close_listener},
	{"SCM_RIGHTS", c_pass},
	{"shutdown", c_shutdown},
	{"close", c_close},
	{"socket again", c_socket},
	{"connect again", c_connect},
	{"close again", c_close},
	{"udp bind", c_udp_bind},
	{"sendto", c_sendto},
	{"recvfrom", c_recvfrom},
	{"udp connect", c_udp_connect},
	{"sendmmsg", c_sendmmsg},
	{"recvmmsg", c_recvmmsg},
	{"udp, time-out", c_udp_timeout},
	{"udp close", c_udp_close},
};

/* The bytes below this frame that the call has written to. (Loops of its own: a call of memset()
 * would have a frame there.) */
static __attribute__((noinline)) size_t depth_of(void (*fn)(void))
{
	volatile uint64_t *low = (volatile uint64_t *)painted, *p;
	char *here = __builtin_frame_address(0);

	for (p = low; (char *)p < here - 512; p++)
		*p = PAINT;
	fn();
	for (p = low; (char *)p < here && *p == PAINT; p++)
		;
	return (size_t)(here - (char *)p);
}

static void *run(void *arg)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		size_t n = 0;

		if (painted)
			n = depth_of(calls[i].fn);
		else
			calls[i].fn();
		if (painted)
			fprintf(stderr, "%s: %zu\n", calls[i].name, n);
		if (wrong || n > most) /* (printf() needs more than there may be) */
			dprintf(1, "%s: %s, %zu bytes of stack\n", calls[i].name,
				wrong ? wrong : "too deep", n);
		wrong = NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t a;
	pthread_t t;

	peer_addr.sin_family = AF_INET;
	peer_addr.sin_port = htons(PORT);
	if (argc < 3 || inet_pton(AF_INET, argv[2], &peer_addr.sin_addr) != 1)
		return 2;
	if (!strcmp(argv[1], "peer"))
		return peer();
	pthread_attr_init(&a);
	if (!strcmp(argv[1], "painted")) {
		most = strtoul(argv[3], NULL, 0);
		painted = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		if (painted == MAP_FAILED || pthread_attr_setstack(&a, painted, STACK))
			return 2;
	} else if (pthread_attr_setstacksize(&a, (size_t)sysconf(_SC_THREAD_STACK_MIN))) {
		return 2;
	}
	if (pthread_create(&t, &a, run, NULL))
		return 2;
	pthread_join(t, NULL);
	puts("done");
	return 0;
}
