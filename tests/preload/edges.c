/* SPDX-License-Identifier: BSD-2-Clause */
/* Odd arguments of the calls that send and receive: what the kernel says to them, which of two
 * errors comes first, and what is left to be read afterwards. */
#include "t.h"

#include <dlfcn.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* The arguments are wrong on purpose. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wnonnull"

#define BAD  ((void *)8)
#define HIGH ((void *)-64) /* an address of the kernel's */

#define ALONE ((int)0x80000000)

static int s; /* connected, and with "hello" to be read */
static bool stream;
static char b[64];
static struct iovec v[2000];
static struct msghdr m;

static void open_one(void)
{
	s = t_with_hello(stream);
	memset(v, 0, sizeof(v));
	v[0] = (struct iovec){b, sizeof(b)};
	m = (struct msghdr){.msg_iov = v, .msg_iovlen = 1};
}

static void rest(void)
{
	say("    then", recv(s, b, sizeof(b), MSG_DONTWAIT));
	close(s);
}

static void receiving(void)
{
	struct sockaddr_storage from;
	struct mmsghdr mm;
	socklen_t n;
	int one = 1;

#define TRY(what, prepare, call)                                                                   \
	do {                                                                                       \
		open_one();                                                                        \
		prepare;                                                                           \
		say(what, call);                                                                   \
		rest();                                                                            \
	} while (0)
	TRY("recv NULL", , recv(s, NULL, 10, 0));
	TRY("recv NULL, no bytes", , recv(s, NULL, 0, stream ? MSG_DONTWAIT : MSG_PEEK));
	TRY("recv of too many", , recv(s, b, (size_t)-1, MSG_DONTWAIT));
	TRY("recv at the kernel", , recv(s, HIGH, 10, 0));
	TRY("read of too many", , read(s, b, (size_t)-1));
	TRY("read of 2^63", , read(s, b, (size_t)1 << 63));
	TRY("{b,2},{NULL,5}", (v[0].iov_len = 2, v[1].iov_len = 5, m.msg_iovlen = 2),
	    recvmsg(s, &m, 0));
	TRY("{b,2},{8,5}", (v[0].iov_len = 2, v[1] = (struct iovec){BAD, 5}), readv(s, v, 2));
	TRY("{b,2},{8,5}, to look",
	    (v[0].iov_len = 2, v[1] = (struct iovec){BAD, 5}, m.msg_iovlen = 2),
	    recvmsg(s, &m, MSG_PEEK));
	TRY("{b,5},{8,5}", (v[0].iov_len = 5, v[1] = (struct iovec){BAD, 5}), readv(s, v, 2));
	TRY("{b,64},{kernel,5}", (v[1] = (struct iovec){HIGH, 5}), readv(s, v, 2));
	TRY("{NULL,0},{b,64}", (v[1] = v[0], v[0] = (struct iovec){NULL, 0}, m.msg_iovlen = 2),
	    recvmsg(s, &m, 0));
	TRY("{b,1},{b,1},{b,64}", (v[2] = v[0], v[1] = v[0], v[0].iov_len = v[1].iov_len = 1),
	    readv(s, v, 3));
	TRY("length -1", v[0].iov_len = (size_t)-1, recvmsg(s, &m, 0));
	TRY("lengths 64, -1", (v[1] = (struct iovec){b, (size_t)-1}), readv(s, v, 2));
	TRY("lengths 2^62", (v[0].iov_len = (size_t)1 << 62), recvmsg(s, &m, 0));
	TRY("pieces of 2^31", (v[1] = v[0], v[0].iov_len = v[1].iov_len = (size_t)1 << 31),
	    readv(s, v, 2));
	TRY("namelen -1", (m.msg_name = &from, m.msg_namelen = (socklen_t)-1), recvmsg(s, &m, 0));
	TRY("namelen -1, 2000 pieces",
	    (m.msg_name = &from, m.msg_namelen = (socklen_t)-1, m.msg_iovlen = 2000),
	    recvmsg(s, &m, 0));
	TRY("2000 pieces", m.msg_iovlen = 2000, recvmsg(s, &m, 0));
	TRY("-1 pieces", , readv(s, v, -1));
	TRY("no place for the name's length", ,
	    recvfrom(s, b, sizeof(b), 0, (struct sockaddr *)&from, NULL));
	TRY("a bad place for it", ,
	    recvfrom(s, b, sizeof(b), 0, (struct sockaddr *)&from, (socklen_t *)BAD));
	TRY("name's length -1", n = (socklen_t)-1,
	    recvfrom(s, b, sizeof(b), 0, (struct sockaddr *)&from, &n));
	TRY("control at 8",
	    (setsockopt(s, SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)), m.msg_control = BAD,
	     m.msg_controllen = 100),
	    recvmsg(s, &m, 0));
	TRY("recvmmsg, length -1", (v[0].iov_len = (size_t)-1, mm.msg_hdr = m),
	    recvmmsg(s, &mm, 1, MSG_DONTWAIT, NULL));
	/* MSG_ERRQUEUE is among them, and a flag that recvmsg(2) alone refuses. */
	TRY("recv, all flags", , recv(s, b, 10, -1));
	TRY("recvmsg, all flags", , recvmsg(s, &m, -1));
	TRY("recv, a bad flag", , recv(s, b, 10, ALONE));
	TRY("recvmsg, a bad flag", , recvmsg(s, &m, ALONE));
	TRY("recvmmsg, a bad flag", mm.msg_hdr = m, recvmmsg(s, &mm, 1, ALONE, NULL));
	TRY("FIONREAD NULL", , ioctl(s, FIONREAD, NULL));
	TRY("FIONREAD at 8", , ioctl(s, FIONREAD, BAD));
	TRY("SIOCOUTQ at 8", , ioctl(s, TIOCOUTQ, BAD));
}

/* Prints the result of a call; a result above 64 bytes depends on buffers, so it is "many". */
static void sent(const char *what, long r)
{
	if (r <= 64)
		say(what, r);
	else
		printf("%s: many\n", what);
	close(s);
}

static void sending(void)
{
	char big[64], text[16] = "Dummy Control";
	struct cmsghdr *h = (struct cmsghdr *)big;
	struct sockaddr_storage odd = t_peer;
	struct mmsghdr mm;
	off_t *no_off = (off_t *)BAD;
	uint32_t none = 0;

#undef TRY
#define TRY(what, prepare, call)                                                                   \
	do {                                                                                       \
		open_one();                                                                        \
		v[0].iov_len = 4;                                                                  \
		memset(big, 0, sizeof(big));                                                       \
		h->cmsg_level = SOL_SOCKET;                                                        \
		h->cmsg_len = CMSG_LEN(4);                                                         \
		prepare;                                                                           \
		sent(what, call);                                                                  \
	} while (0)
#define F (MSG_NOSIGNAL | MSG_DONTWAIT)
	TRY("iov at 8", m.msg_iov = BAD, sendmsg(s, &m, F));
	TRY("2000 pieces", m.msg_iovlen = 2000, sendmsg(s, &m, F));
	TRY("2000 pieces, name at 8", (m.msg_iovlen = 2000, m.msg_name = BAD, m.msg_namelen = 16),
	    sendmsg(s, &m, F));
	TRY("length -1", v[0].iov_len = (size_t)-1, sendmsg(s, &m, F));
	TRY("lengths 4, -1", (v[1] = (struct iovec){b, (size_t)-1}, m.msg_iovlen = 2),
	    sendmsg(s, &m, F));
	TRY("{b,4},{kernel,5}", (v[1] = (struct iovec){HIGH, 5}, m.msg_iovlen = 2),
	    sendmsg(s, &m, F));
	TRY("write of too many", , write(s, b, (size_t)-1));
	TRY("writev, length -1", v[0].iov_len = (size_t)-1, writev(s, v, 1));
	TRY("name at 8", (m.msg_name = BAD, m.msg_namelen = 16), sendmsg(s, &m, F));
	TRY("name of -1", (m.msg_name = &odd, m.msg_namelen = (socklen_t)-1), sendmsg(s, &m, F));
	TRY("name at 8 of none", (m.msg_name = BAD), sendmsg(s, &m, F));
	TRY("no name of -1", (m.msg_namelen = (socklen_t)-1), sendmsg(s, &m, F));
	TRY("sendto name at 8", , sendto(s, b, 4, F, BAD, 16));
	TRY("sendto name of -1", , sendto(s, b, 4, F, (void *)&odd, (socklen_t)-1));
	TRY("sendto name of 200", , sendto(s, b, 4, F, (void *)&odd, 200));
	TRY("control of text", (m.msg_control = text, m.msg_controllen = 16), sendmsg(s, &m, F));
	TRY("control of text, no byte",
	    (m.msg_control = text, m.msg_controllen = 16, v[0].iov_len = 0), sendmsg(s, &m, F));
	TRY("control of 14 bytes", (m.msg_control = text, m.msg_controllen = 14),
	    sendmsg(s, &m, F));
	TRY("control NULL", m.msg_controllen = 64, sendmsg(s, &m, F));
	TRY("control at 8", (m.msg_control = BAD, m.msg_controllen = 64), sendmsg(s, &m, F));
	TRY("control of 4 GiB", (m.msg_control = big, m.msg_controllen = (size_t)1 << 32),
	    sendmsg(s, &m, F));
	TRY("control at 8, name at 8",
	    (m.msg_control = BAD, m.msg_controllen = 64, m.msg_name = BAD, m.msg_namelen = 16),
	    sendmsg(s, &m, F));
	TRY("control unknown",
	    (m.msg_control = big, m.msg_controllen = CMSG_SPACE(4), h->cmsg_type = 0x7777),
	    sendmsg(s, &m, F));
	TRY("control mark of 1 byte",
	    (m.msg_control = big, m.msg_controllen = CMSG_SPACE(4), h->cmsg_type = SO_MARK,
	     h->cmsg_len = CMSG_LEN(1)),
	    sendmsg(s, &m, F));
	TRY("control too long, second",
	    (m.msg_control = big, m.msg_controllen = CMSG_SPACE(4) + CMSG_LEN(4),
	     h->cmsg_type = SO_TIMESTAMPING, memcpy(CMSG_DATA(h), &none, 4),
	     memcpy(big + CMSG_SPACE(4), &(struct cmsghdr){500, SOL_SOCKET, SO_TIMESTAMPING},
		    sizeof(*h))),
	    sendmsg(s, &m, F));
	TRY("control of a time, without the option",
	    (m.msg_control = big, m.msg_controllen = CMSG_SPACE(8), h->cmsg_type = SO_TXTIME,
	     h->cmsg_len = CMSG_LEN(8)),
	    sendmsg(s, &m, F));
	TRY("sendmsg, a bad flag", , sendmsg(s, &m, F | ALONE));
	TRY("sendmmsg, a bad flag", mm.msg_hdr = m, sendmmsg(s, &mm, 1, F | ALONE));
	TRY("of another level",
	    (m.msg_control = big, m.msg_controllen = CMSG_SPACE(4), h->cmsg_level = 0x7777),
	    sendmsg(s, &m, F));
	TRY("sendmmsg, length -1", (v[0].iov_len = (size_t)-1, mm.msg_hdr = m),
	    sendmmsg(s, &mm, 1, F));
	TRY("sendmmsg, control NULL", (m.msg_controllen = 64, mm.msg_hdr = m),
	    sendmmsg(s, &mm, 1, F));
	TRY("sendmmsg, control at 8", (m.msg_control = BAD, m.msg_controllen = 64, mm.msg_hdr = m),
	    sendmmsg(s, &mm, 1, F));
	TRY("sendfile, offset at 8", , sendfile(s, 0, no_off, 10));
	TRY("send NULL", , send(s, NULL, 5, F));
	TRY("send NULL, shut", shutdown(s, SHUT_WR), send(s, NULL, 5, F));
	TRY("sendmsg NULL and none, shut",
	    (shutdown(s, SHUT_WR), v[1] = v[0], v[0].iov_base = HIGH, m.msg_iovlen = 2),
	    sendmsg(s, &m, F));
}

static int alarms;

static void on_alarm(int sig)
{
	alarms++;
}

/* A signal ends the first of two messages in its midst: the second does not follow its part. */
static void send_part(void)
{
	const struct itimerval every = {{0, 500000}, {0, 500000}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm};
	size_t most = 64 << 20;
	char *bytes = calloc(1, most);
	struct iovec piece = {bytes, most};
	struct mmsghdr two[2] = {{.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}},
				 {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}}};

	CHECK(bytes && sigaction(SIGALRM, &sa, NULL) == 0);
	open_one();
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	say("sendmmsg of two", sendmmsg(s, two, 2, 0)); /* (the peer does not read for ever) */
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	say("a part", two[0].msg_len > 0 && two[0].msg_len < most);
	say("signals", alarms);
	close(s);
	free(bytes);
}

/* The connection's error comes first, and the call takes it. */
static void send_refused(void)
{
	struct sockaddr_storage to = t_peer;
	struct pollfd p;

	((struct sockaddr_in *)&to)->sin_port = htons(1); /* same place in sockaddr_in6 */
	s = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	say("connect", connect(s, (struct sockaddr *)&to, t_len));
	p = (struct pollfd){.fd = s, .events = POLLOUT};
	CHECK(poll(&p, 1, 5000) == 1);
	say("send NULL, refused", send(s, NULL, 5, MSG_NOSIGNAL));
	say("send NULL, once more", send(s, NULL, 5, MSG_NOSIGNAL));
	rest();
}

static void streams(void)
{
	stream = true;
	receiving();
	sending();
	send_refused();
	send_part();
}

static void datagrams(void)
{
	stream = false;
	receiving();
	sending();
}

static void invalid_times(const char *set, int ep)
{
	static const struct timespec wrong[] = {{-1, 0}, {-1, 500}, {0, -1}, {0, 1000000000}};
	struct epoll_event ev;
	struct pollfd p = {ep, POLLIN, 0};
	fd_set rd;

	puts(set);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		say("epoll_pwait2, an invalid time", epoll_pwait2(ep, &ev, 1, &wrong[i], NULL));
		say("ppoll, an invalid time", ppoll(&p, 1, &wrong[i], NULL));
		FD_ZERO(&rd);
		FD_SET(ep, &rd);
		say("pselect, an invalid time", pselect(ep + 1, &rd, NULL, NULL, &wrong[i], NULL));
	}
}

static void waits(void)
{
	struct timespec zero = {0, 0};
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(0), ends[2];

	stream = true;
	open_one();
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	say("epoll_pwait2, time at 8", epoll_pwait2(ep, &ev, 1, BAD, NULL));
	say("epoll_pwait2, mask at 8", epoll_pwait2(ep, &ev, 1, &zero, BAD));
	say("epoll_pwait, mask at 8", epoll_pwait(ep, &ev, 1, 0, BAD));
	say("ppoll, mask at 8", ppoll(&(struct pollfd){s, POLLIN, 0}, 1, &zero, BAD));
	invalid_times("the set has a socket", ep);
	close(ep);
	close(s);
	ep = epoll_create1(0);
	CHECK(pipe(ends) == 0 && write(ends[1], "", 1) == 1);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &ev) == 0);
	invalid_times("the set has a pipe", ep);
	close(ep);
	close(ends[0]);
	close(ends[1]);
}

static int events(int fd, int ms)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0 ? p.revents : 0;
}

/* This thread's. */
static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* The error is taken by one call, the messages in the error queue stay until they are read. */
static void errors_unread(void)
{
	struct sockaddr_storage nobody = t_peer;
	bool v6 = t_peer.ss_family == AF_INET6;
	int fd = udp_bound(), err = 0;
	socklen_t len = sizeof(err);
	char text[64], control[512];
	struct iovec io = {text, sizeof(text)};
	struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control};
	double cpu;

	if (v6)
		((struct sockaddr_in6 *)&nobody)->sin6_port = htons(7998);
	else
		((struct sockaddr_in *)&nobody)->sin_port = htons(7998);
	CHECK(setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR,
			 &(int){1}, sizeof(int)) == 0);
	CHECK(connect(fd, (struct sockaddr *)&nobody, t_len) == 0);
	say("send", send(fd, "x", 1, 0));
	printf("events %#x\n", (unsigned)events(fd, 5000));
	say("SO_ERROR", getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	printf("%d, events %#x\n", err, (unsigned)events(fd, 0));
	say("recv", recv(fd, text, sizeof(text), MSG_DONTWAIT));
	printf("events %#x\n", (unsigned)events(fd, 0));
	/* A receive that waits does not come back for them again and again. */
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	ask(fd, 1, 10, 300, 0);
	cpu = cpu_ms();
	say("recv", recv(fd, text, sizeof(text), 0));
	cpu = cpu_ms() - cpu;
	printf("%s, events %#x\n", cpu < 100 ? "slept" : "polled", (unsigned)events(fd, 0));
	msg.msg_controllen = sizeof(control);
	say("error queue", recvmsg(fd, &msg, MSG_ERRQUEUE));
	msg.msg_controllen = sizeof(control);
	say("error queue", recvmsg(fd, &msg, MSG_ERRQUEUE));
	printf("events %#x\n", (unsigned)events(fd, 0));
	close(fd);
}

/* Tries each call that may return an error which recvmmsg(2) has kept. */
static void kept_by(const char *call, struct iovec second)
{
	struct iovec io[2] = {{b, 2}, second};
	struct mmsghdr mm[3] = {{.msg_hdr = {.msg_iov = &io[0], .msg_iovlen = 1}},
				{.msg_hdr = {.msg_iov = &io[1], .msg_iovlen = 1}},
				{.msg_hdr = {.msg_iov = &io[0], .msg_iovlen = 1}}};
	socklen_t len = sizeof(int);
	int err = 0;

	open_one();
	if (!stream) {
		wait_in(s);
		CHECK(send(s, "again", 5, 0) == 5);
		sleep_ms(50); /* both have come, or one: the error comes in any case */
	}
	printf("-- %s\n", call);
	say("recvmmsg", recvmmsg(s, mm, 3, MSG_DONTWAIT, NULL));
	printf("events %#x\n", (unsigned)events(s, 0) & POLLERR);
	if (!strcmp(call, "SO_ERROR")) {
		say(call, getsockopt(s, SOL_SOCKET, SO_ERROR, &err, &len));
		printf("%d\n", err);
	} else if (!strcmp(call, "send")) {
		say(call, send(s, "third", 5, MSG_NOSIGNAL));
	} else if (!strcmp(call, "sendmsg")) {
		say(call, sendmsg(s, &mm[0].msg_hdr, MSG_NOSIGNAL));
	} else if (!strcmp(call, "peek")) {
		say(call, recv(s, b, sizeof(b), MSG_PEEK | MSG_DONTWAIT));
	} else if (!strcmp(call, "recvmmsg")) {
		say(call, recvmmsg(s, mm, 1, MSG_DONTWAIT, NULL));
	} else if (!strcmp(call, "connect")) {
		say(call, connect(s, (struct sockaddr *)&t_peer, t_len));
	} else if (!strcmp(call, "shutdown")) {
		say(call, shutdown(s, SHUT_WR));
	}
	printf("events %#x\n", (unsigned)events(s, 0) & POLLERR);
	say("then", recv(s, b, sizeof(b), MSG_DONTWAIT));
	printf("events %#x\n", (unsigned)events(s, 0) & POLLERR);
	close(s);
}

/* The error that ends a recvmmsg(2) after its first message is the socket's. */
static void errors_kept(void)
{
	static const char *const calls[] = {"recv", "peek",    "recvmmsg", "SO_ERROR",
					    "send", "sendmsg", "connect",  "shutdown"};

	for (int i = 0; i < 2; i++) {
		stream = i;
		for (size_t k = 0; k < sizeof(calls) / sizeof(*calls); k++)
			kept_by(calls[k], (struct iovec){BAD, 10});
		kept_by("SO_ERROR", (struct iovec){b, (size_t)-1});
	}
}

/* A datagram socket becomes the kernel's by that question. */
static void leave(void)
{
	struct timespec ts;

	(void)ioctl(s, SIOCGSTAMPNS, &ts);
}

/* The kernel's socket does not have the error that recvmmsg(2) has kept here. */
static void kept_and_moved(void)
{
	struct iovec io[2] = {{b, 2}, {BAD, 10}};
	struct mmsghdr mm[2] = {{.msg_hdr = {.msg_iov = &io[0], .msg_iovlen = 1}},
				{.msg_hdr = {.msg_iov = &io[1], .msg_iovlen = 1}}};

	stream = false;
	open_one();
	wait_in(s);
	CHECK(send(s, "again", 5, 0) == 5);
	sleep_ms(50);
	say("recvmmsg", recvmmsg(s, mm, 2, MSG_DONTWAIT, NULL));
	leave();
	rest();
}

/* Numbers of the sends whose end recvmmsg(2) tells, of those before and after the socket has become
 * the kernel's. */
static void ends_and_moved(void)
{
	char control[256];
	struct mmsghdr mm = {.msg_hdr = {.msg_control = control}};
	const struct sock_extended_err *ee;
	uint32_t told = 0, last = 0;
	int one = 1;

	stream = false;
	open_one();
	CHECK(recv(s, b, sizeof(b), 0) == 5);
	CHECK(setsockopt(s, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(send(s, b, 40, MSG_ZEROCOPY) == 40);
		if (!i)
			leave();
	}
	for (int i = 0; i < 200 && told < 3; i++, sleep_ms(10)) {
		mm.msg_hdr.msg_controllen = sizeof(control);
		if (recvmmsg(s, &mm, 1, MSG_ERRQUEUE | MSG_DONTWAIT, NULL) != 1)
			continue;
		ee = (const void *)CMSG_DATA((struct cmsghdr *)control);
		told += ee->ee_data - ee->ee_info + 1;
		last = ee->ee_data > last ? ee->ee_data : last;
	}
	printf("%u sends have ended, the last is number %u\n", told, last);
	close(s);
}

/* A second C library in the process sends and receives by the same numbers. */
static void other_library(void)
{
	int fd = tcp_said();
	void *so;
	ssize_t (*its_send)(int, const void *, size_t, int);
	ssize_t (*its_recv)(int, void *, size_t, int);
	char text[8];

	echo_said(fd);
	so = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	CHECK(so);
	its_send = (__typeof__(its_send))dlsym(so, "send");
	its_recv = (__typeof__(its_recv))dlsym(so, "recv");
	CHECK(its_send && its_recv);
	printf("sent %zd\n", its_send(fd, "hello", 5, MSG_NOSIGNAL));
	printf("received %zd\n", its_recv(fd, text, 5, MSG_WAITALL));
	echo_said(fd);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"streams", streams},
		{"datagrams", datagrams},
		{"waits", waits},
		{"errors_unread", errors_unread},
		{"errors_kept", errors_kept},
		{"kept_and_moved", kept_and_moved},
		{"ends_and_moved", ends_and_moved},
		{"other_library", other_library}, /* last: all is the kernel's then */
		{NULL, NULL},
	};

	signal(SIGPIPE, SIG_IGN);
	return t_main(argc, argv, cases);
}
