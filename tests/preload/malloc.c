/* SPDX-License-Identifier: BSD-2-Clause */
/* No call that POSIX makes async-signal-safe comes to the program's malloc(): this program has one
 * that ends it when it is called beneath such a call, or in a handler that interrupted it. TCP: a
 * tcp_peer at the peer's port + 100. */
#include <malloc.h>

#include "t.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static __thread const char *volatile beneath; /* the call; none may allocate */
static __thread volatile bool inside;         /* malloc(); nor may what interrupts it */
static volatile bool interrupt_next;

static void enter(const char *what)
{
	static const char text[] = "allocates in or beneath: ";
	const char *call = inside ? "a handler that interrupted malloc" : beneath;

	if (inside || beneath) {
		ssize_t r = write(1, text, sizeof(text) - 1);

		r += write(1, call, strlen(call));
		r += write(1, " by ", 4);
		r += write(1, what, strlen(what));
		(void)r;
		abort();
	}
	inside = true;
	if (interrupt_next) {
		interrupt_next = false;
		raise(SIGUSR1);
	}
}

#define WRAP(name, call)                                                                           \
	{                                                                                          \
		enter(name);                                                                       \
		void *p_ = call;                                                                   \
		inside = false;                                                                    \
		return p_;                                                                         \
	}
void *malloc(size_t n) WRAP("malloc", __libc_malloc(n)) void *calloc(size_t n, size_t size)
	WRAP("calloc", __libc_calloc(n, size)) void *realloc(void *p, size_t n)
		WRAP("realloc", __libc_realloc(p, n)) void *memalign(size_t a, size_t n)
			WRAP("memalign", __libc_memalign(a, n)) void *aligned_alloc(size_t a,
										    size_t n)
				WRAP("aligned_alloc",
				     __libc_memalign(a, n)) int posix_memalign(void **p, size_t a,
									       size_t n)
{
	enter("posix_memalign");
	*p = __libc_memalign(a, n);
	inside = false;
	return *p ? 0 : ENOMEM;
}
void free(void *p)
{
	if (!p)
		return;
	enter("free");
	__libc_free(p);
	inside = false;
}

/* A call with nothing allocated beneath; what it gave. */
#define SAFE(call)                                                                                 \
	({                                                                                         \
		beneath = #call;                                                                   \
		long r_ = (long)(call);                                                            \
		beneath = NULL;                                                                    \
		r_;                                                                                \
	})

static void set_port(struct sockaddr_storage *ss, int by)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss; /* (the port of IPv6 is there, too) */

	v4->sin_port = htons((uint16_t)(ntohs(v4->sin_port) + by));
}

static int tcp(void)
{
	struct sockaddr_storage to = t_peer;
	int fd = (int)SAFE(socket(t_own.ss_family, SOCK_STREAM, 0));

	set_port(&to, 100);
	CHECK(fd >= 0);
	CHECK(SAFE(connect(fd, (struct sockaddr *)&to, t_len)) == 0);
	return fd;
}

static void each(int fd, int type)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timeval tv = {5, 0};
	char out[] = "echoed", in[100];
	struct iovec iov = {in, sizeof(in)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss), ilen = sizeof(int);
	int one = 1, type_is = 0;
	fd_set set;

	CHECK(SAFE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv))) == 0);
	CHECK(SAFE(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one))) == 0);
	CHECK(SAFE(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type_is, &ilen)) == 0);
	CHECK(SAFE(getsockname(fd, (struct sockaddr *)&ss, &len)) == 0);
	len = sizeof(ss);
	CHECK(SAFE(getpeername(fd, (struct sockaddr *)&ss, &len)) == 0);
	CHECK(SAFE(fcntl(fd, F_SETFL, O_RDWR)) == 0);
	for (int how = 0; how < 4; how++) {
		if (how == 0)
			CHECK(SAFE(send(fd, out, 6, 0)) == 6);
		else if (how == 1)
			CHECK(SAFE(write(fd, out, 6)) == 6);
		else if (how == 2)
			CHECK(SAFE(sendto(fd, out, 6, 0, NULL, 0)) == 6);
		else {
			iov = (struct iovec){out, 6};
			CHECK(SAFE(sendmsg(fd, &m, 0)) == 6);
			iov = (struct iovec){in, sizeof(in)};
		}
		CHECK(SAFE(poll(&p, 1, 5000)) == 1);
		FD_ZERO(&set);
		FD_SET(fd, &set);
		CHECK(SAFE(select(fd + 1, &set, NULL, NULL, &tv)) == 1);
		if (how == 0)
			CHECK(SAFE(recv(fd, in, sizeof(in), 0)) == 6);
		else if (how == 1)
			CHECK(SAFE(read(fd, in, sizeof(in))) == 6);
		else if (how == 2)
			CHECK(SAFE(recvfrom(fd, in, sizeof(in), 0, NULL, NULL)) == 6);
		else
			CHECK(SAFE(recvmsg(fd, &m, 0)) == 6);
		CHECK(!memcmp(in, out, 6));
	}
	if (type == SOCK_STREAM)
		SAFE(shutdown(fd, SHUT_RDWR));
	CHECK(SAFE(close(fd)) == 0);
}

/* Every call, with the library up and the device open. */
static void safe_calls(void)
{
	int warm = udp(), fd, l, c;
	char buf[100];
	struct sockaddr_storage at = t_own;
	socklen_t len = sizeof(at);

	CHECK(send(warm, "warm", 4, 0) == 4);
	CHECK(recv(warm, buf, sizeof(buf), 0) == 4);
	for (int i = 0; i < 20; i++) {
		fd = (int)SAFE(socket(t_own.ss_family, SOCK_DGRAM, 0));
		CHECK(fd >= 0);
		CHECK(SAFE(bind(fd, (struct sockaddr *)&t_own, t_len)) == 0);
		CHECK(SAFE(connect(fd, (struct sockaddr *)&t_peer, t_len)) == 0);
		each(fd, SOCK_DGRAM);
	}
	for (int i = 0; i < 20; i++) {
		fd = tcp();
		CHECK(SAFE(send(fd, "e", 1, 0)) == 1);
		each(fd, SOCK_STREAM);
	}
	l = (int)SAFE(socket(t_own.ss_family, SOCK_STREAM, 0));
	CHECK(SAFE(bind(l, (struct sockaddr *)&at, t_len)) == 0);
	CHECK(SAFE(listen(l, 10)) == 0);
	nonblock(l);
	CHECK(SAFE(getsockname(l, (struct sockaddr *)&at, &len)) == 0);
	c = (int)SAFE(accept(l, NULL, NULL));
	say("accept", c);
	CHECK(SAFE(close(l)) == 0);
	close(warm);
	printf("nothing was allocated\n");
}

static int h_udp, h_tcp;
static volatile int ran, bad;

static void in_storm(int sig)
{
	int saved = errno, fd;
	char buf[200];
	struct pollfd p = {.fd = h_udp, .events = POLLIN};

	ran++;
	if (send(h_udp, "tick", 4, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		bad++;
	if (send(h_tcp, "tick", 4, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		bad++;
	poll(&p, 1, 0);
	recv(h_udp, buf, sizeof(buf), MSG_DONTWAIT);
	recv(h_tcp, buf, sizeof(buf), MSG_DONTWAIT);
	if (ran % 8 == 0) {
		fd = socket(t_own.ss_family, SOCK_DGRAM, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&t_own, t_len) < 0 ||
		    (sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&t_peer, t_len) < 0 &&
		     errno != EAGAIN))
			bad++;
		close(fd);
	}
	errno = saved;
}

/* Handlers use sockets while the program allocates, sends and receives. */
static void storm(void)
{
	struct itimerval often = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = in_storm, .sa_flags = SA_RESTART};
	struct timeval tv = {0, 200000};
	char *mem[64] = {NULL}, buf[100];
	int fd = udp(), other = tcp(), got = 0;
	unsigned seed = 1;
	double end;

	h_udp = udp();
	h_tcp = tcp();
	CHECK(send(h_tcp, "e", 1, 0) == 1 && send(other, "e", 1, 0) == 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	end = now_ms() + 2500;
	while (now_ms() < end) {
		for (int i = 0; i < 50; i++) {
			seed = seed * 1103515245 + 12345;
			free(mem[seed >> 16 & 63]);
			mem[seed >> 16 & 63] = malloc(1100 + (seed >> 8 & 0xffff));
		}
		send(fd, "ping", 4, 0);
		got += recv(fd, buf, sizeof(buf), 0) == 4;
		send(other, "ping", 4, MSG_DONTWAIT);
		recv(other, buf, sizeof(buf), MSG_DONTWAIT);
		if (seed >> 20 & 1)
			close(udp());
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	for (int i = 0; i < 64; i++)
		free(mem[i]);
	printf("handlers: %s, wrong: %d, echoed: %s\n", ran > 50 ? "many" : "few", bad,
	       got > 50 ? "many" : "few");
	close(fd);
	close(other);
	close(h_udp);
	close(h_tcp);
}

static volatile long first[4];

static void on_first(int sig)
{
	int fd = socket(t_own.ss_family, SOCK_DGRAM, 0);

	first[0] = fd >= 0;
	first[1] = bind(fd, (struct sockaddr *)&t_own, t_len);
	first[2] = connect(fd, (struct sockaddr *)&t_peer, t_len);
	first[3] = send(fd, "first", 5, 0);
	close(fd);
}

/* The program's first socket is a handler's, in the midst of malloc(); the next is as any other. */
static void first_in_handler(void)
{
	char buf[100];
	int fd;

	CHECK(signal(SIGUSR1, on_first) != SIG_ERR);
	interrupt_next = true;
	free(malloc(5000));
	printf("in the handler: %ld %ld %ld %ld\n", first[0], first[1], first[2], first[3]);
	fd = udp();
	CHECK(send(fd, "after", 5, 0) == 5);
	say("afterwards", recv(fd, buf, sizeof(buf), 0));
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"first_in_handler", first_in_handler},
		{"safe_calls", safe_calls},
		{"storm", storm},
		{NULL, NULL},
	};

	setvbuf(stdout, NULL, _IONBF, 0);
	return t_main(argc, argv, cases);
}
