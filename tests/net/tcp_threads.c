/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads on TCP sockets: several in one connection, in one listener, in one set; closes, resets
 * and forks beneath them.
 *
 *	tcp_threads PEER PORT OWN [CASE...]	what it prints is the same on the kernel
 *
 * At PEER, PORT is a tcp_peer. */
#include "tcp_stream.h"

#include <netinet/tcp.h>
#include <sys/ioctl.h>

static int t_fd, t_ep;
static int s_stop, s_entered;

static bool stopped(void)
{
	return __atomic_load_n(&s_stop, __ATOMIC_RELAXED);
}

static void enter(void)
{
	__atomic_add_fetch(&s_entered, 1, __ATOMIC_RELEASE);
}

static void timeouts(int fd, int ms)
{
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0);
}

static int dial(char what)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	CHECK(send(fd, &what, 1, 0) == 1);
	timeouts(fd, 15000);
	return fd;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, fn, arg) == 0);
	return t;
}

/* Starts n threads and waits until each is about to make its call, and a while. */
static void start_waiting(pthread_t *t, int n, void *(*fn)(void *), int ms)
{
	s_entered = 0;
	for (intptr_t i = 0; i < n; i++)
		t[i] = start(fn, (void *)i);
	while (__atomic_load_n(&s_entered, __ATOMIC_ACQUIRE) < n)
		sleep_ms(1);
	sleep_ms(ms);
}

static intptr_t join(pthread_t t)
{
	void *r;

	CHECK(pthread_join(t, &r) == 0);
	return (intptr_t)r;
}

/* a call's result as a thread returns it: its value, or minus errno */
static void *result(ssize_t r)
{
	return (void *)(intptr_t)(r < 0 ? -errno : r);
}

static const char *name(intptr_t r)
{
	return r < 0 ? strerrorname_np((int)-r) : "no error";
}

static void *pours(void *arg)
{
	static uint8_t buf[7001];

	for (uint32_t at = 0; at < STREAM; at += sizeof(buf)) {
		for (uint32_t i = 0; i < sizeof(buf); i++)
			buf[i] = byte_at(at + i);
		if (!send_all(t_fd, buf, sizeof(buf) < STREAM - at ? sizeof(buf) : STREAM - at))
			return (void *)-1;
	}
	return NULL;
}

/* Looks at everything that can be looked at, until told to stop. */
static void *looks(void *arg)
{
	while (!stopped()) {
		struct pollfd p = {.fd = t_fd, .events = POLLIN | POLLOUT};
		struct tcp_info info;
		socklen_t len = sizeof(info);
		int n;

		CHECK(getsockopt(t_fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
		CHECK(ioctl(t_fd, FIONREAD, &n) == 0);
		CHECK(poll(&p, 1, 0) >= 0);
		n = !n;
		CHECK(setsockopt(t_fd, IPPROTO_TCP, TCP_NODELAY, &n, sizeof(n)) == 0);
		sleep_ms(1);
	}
	return NULL;
}

/* A thread sends, this one receives, a third one looks on. */
static void both_ways(void)
{
	uint32_t at = 0, wrong = 0;
	uint8_t buf[9000];
	pthread_t t, l;
	ssize_t n;

	t_fd = dial('e');
	s_stop = 0;
	t = start(pours, NULL);
	l = start(looks, NULL);
	while (at < STREAM && (n = recv(t_fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t i = 0; i < n; i++)
			wrong += buf[i] != byte_at(at++);
	printf("sent %ld, received %u, wrong %u\n", (long)join(t), at, wrong);
	__atomic_store_n(&s_stop, 1, __ATOMIC_RELAXED);
	join(l);
	close(t_fd);
}

#define THREADS 4
#define EACH    100000

static void *writes(void *arg)
{
	char buf[777];
	size_t left = EACH;

	memset(buf, 'a' + (int)(intptr_t)arg, sizeof(buf));
	for (size_t n; left; left -= n) {
		n = left < sizeof(buf) ? left : sizeof(buf);
		if (!send_all(t_fd, buf, n))
			return (void *)-1;
	}
	return NULL;
}

/* Several send in one connection: every byte of everyone comes back. */
static void many_send(void)
{
	uint32_t got[THREADS] = {0}, sum = 0;
	pthread_t t[THREADS];
	char buf[5000];
	ssize_t n;

	t_fd = dial('e');
	for (intptr_t i = 0; i < THREADS; i++)
		t[i] = start(writes, (void *)i);
	while (sum < THREADS * EACH && (n = recv(t_fd, buf, sizeof(buf), 0)) > 0) {
		sum += (uint32_t)n;
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] >= 'a' && buf[i] < 'a' + THREADS)
				got[buf[i] - 'a']++;
	}
	for (int i = 0; i < THREADS; i++)
		printf("thread %d: %ld, %u bytes\n", i, (long)join(t[i]), got[i]);
	close(t_fd);
}

static uint64_t s_count[256];

static void *reads(void *arg)
{
	uint8_t buf[3000];
	ssize_t n;

	while ((n = recv(t_fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t i = 0; i < n; i++)
			__atomic_fetch_add(&s_count[buf[i]], 1, __ATOMIC_RELAXED);
	return result(n);
}

/* Several receive from one connection: nothing is lost or given twice, all see the end. */
static void many_receive(void)
{
	static uint64_t want[256];
	pthread_t t[3];

	for (uint32_t i = 0; i < STREAM; i++)
		want[byte_at(i)]++;
	t_fd = dial('s');
	for (int i = 0; i < 3; i++)
		t[i] = start(reads, NULL);
	for (int i = 0; i < 3; i++)
		printf("end: %ld\n", (long)join(t[i]));
	printf("all there: %d\n", memcmp(want, s_count, sizeof(want)) == 0);
	close(t_fd);
}

static void *accepts(void *arg)
{
	intptr_t n = 0;

	for (;;) {
		int fd = accept(t_fd, NULL, NULL);
		char c;

		if (fd < 0)
			break;
		n += recv(fd, &c, 1, 0) == 1 && send_all(fd, &c, 1);
		close(fd);
	}
	return (void *)(errno == EINVAL ? n : -errno);
}

static int listens(void)
{
	struct sockaddr_storage own = t_own;
	int ls = socket(own.ss_family, SOCK_STREAM, 0), on = 1;

	CHECK(setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	set_port(&own, (uint16_t)(port_of(&t_peer) + 1));
	CHECK(bind(ls, (struct sockaddr *)&own, t_len) == 0);
	CHECK(listen(ls, 100) == 0);
	return ls;
}

/* Several wait in accept(); shutdown() of the listener wakes them all. */
static void many_accept(void)
{
	pthread_t t[THREADS];
	intptr_t sum = 0;
	char got[CALLS];
	int fd;

	t_fd = listens();
	for (int i = 0; i < THREADS; i++)
		t[i] = start(accepts, NULL);
	fd = dial('c');
	printf("answered: %d\n", recv_all(fd, got, CALLS));
	sleep_ms(100);
	CHECK(shutdown(t_fd, SHUT_RD) == 0);
	for (int i = 0; i < THREADS; i++) {
		intptr_t n = join(t[i]);

		if (n < 0)
			printf("accept: %s\n", name(n));
		sum += n;
	}
	printf("accepted: %ld\n", (long)sum);
	close(fd);
	close(t_fd);
}

static void *receives(void *arg)
{
	char c;

	enter();
	return result(recv(t_fd, &c, 1, 0));
}

/* More than the peer's and our buffers hold. */
static void *sends(void *arg)
{
	size_t n = 32 << 20;
	char *buf = calloc(1, n);
	void *r;

	CHECK(buf);
	enter();
	r = result(send(t_fd, buf, n, MSG_NOSIGNAL));
	free(buf);
	return r;
}

static void *polls(void *arg)
{
	struct pollfd p = {.fd = t_fd, .events = POLLIN | POLLRDHUP};

	enter();
	if (poll(&p, 1, 15000) <= 0)
		return (void *)-ETIMEDOUT;
	return (void *)(intptr_t)p.revents;
}

/* shutdown() while threads wait to receive, to send, and in poll(). */
static void shuts(void)
{
	for (int ms = 30; ms <= 200; ms += 170) {
		pthread_t t[3];

		t_fd = dial('h');
		start_waiting(t, 1, receives, 0);
		start_waiting(t + 1, 1, sends, 0);
		start_waiting(t + 2, 1, polls, ms);
		CHECK(shutdown(t_fd, SHUT_RDWR) == 0);
		printf("recv: %ld, ", (long)join(t[0]));
		printf("send ended: %d, ", join(t[1]) < 32 << 20);
		printf("poll in and rdhup: %d\n",
		       (join(t[2]) & (POLLIN | POLLRDHUP)) == (POLLIN | POLLRDHUP));
		close(t_fd);
	}
}

/* A reset while threads wait. Any of them may get the error; all must return. */
static void resets(void)
{
	for (int ms = 30; ms <= 200; ms += 170) {
		pthread_t t[4];
		int ended = 0, reset = 0;

		t_fd = dial('r');
		start_waiting(t, 3, receives, 0);
		start_waiting(t + 3, 1, polls, ms);
		CHECK(send(t_fd, "x", 1, 0) == 1);
		for (int i = 0; i < 3; i++) {
			intptr_t r = join(t[i]);

			reset += r == -ECONNRESET;
			ended += r == 0;
		}
		printf("reset or ended: %d, reset at most once: %d, poll: %d\n", reset + ended,
		       reset <= 1, (join(t[3]) & POLLIN) != 0);
		close(t_fd);
	}
}

/* close() under a call. What it returns is not the same everywhere; that it ends, and that the
 * number's next owner is not hurt, is. */
static void closes(void)
{
#ifndef __SANITIZE_THREAD__ /* it takes the number's reuse for a race, which it is */
	for (int ms = 30; ms <= 200; ms += 170) {
		pthread_t t[2];
		char got[10];
		int fd;

		t_fd = dial('h');
		timeouts(t_fd, 700);
		start_waiting(t, 1, receives, 0);
		start_waiting(t + 1, 1, sends, ms);
		CHECK(close(t_fd) == 0);
		fd = dial('e');
		printf("the same number: %d\n", fd == t_fd);
		CHECK(send_all(fd, "0123456789", 10));
		printf("recv got nothing: %d\n", join(t[0]) <= 0);
		printf("send ended: %d\n", join(t[1]) < 32 << 20);
		printf("echoed: %d\n", recv_all(fd, got, 10));
		close(fd);
	}
#endif
}

static void *dials(void *arg)
{
	intptr_t ok = 0;

	for (int i = 0; i < 25; i++) {
		char out[300], in[300];
		int fd = dial('e');

		memset(out, i, sizeof(out));
		ok += send_all(fd, out, sizeof(out)) && recv_all(fd, in, sizeof(in)) &&
		      memcmp(in, out, sizeof(in)) == 0;
		close(fd);
	}
	return (void *)ok;
}

/* Each its own connections. */
static void connections_each(void)
{
	pthread_t t[THREADS];
	intptr_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		t[i] = start(dials, NULL);
	for (int i = 0; i < THREADS; i++)
		sum += join(t[i]);
	printf("echoed: %ld\n", (long)sum);
}

static void *churns(void *arg)
{
	for (int i = 0; i < 150; i++) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
		int fd = dial('e'), d = dup(fd);

		epoll_ctl(t_ep, EPOLL_CTL_ADD, fd, &ev);
		send_all(fd, "abc", 3);
		epoll_ctl(t_ep, EPOLL_CTL_MOD, fd, &ev);
		if (i & 1)
			shutdown(fd, SHUT_WR);
		if (i & 2)
			epoll_ctl(t_ep, EPOLL_CTL_DEL, fd, NULL);
		close(fd);
		close(d);
	}
	__atomic_add_fetch(&s_stop, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Connections come and go in a set that others wait on. */
static void churn(void)
{
	struct epoll_event ev[16];
	pthread_t t[2];

	s_stop = 0;
	t_ep = epoll_create1(0);
	for (int i = 0; i < 2; i++)
		t[i] = start(churns, NULL);
	while (__atomic_load_n(&s_stop, __ATOMIC_RELAXED) < 2)
		CHECK(epoll_wait(t_ep, ev, 16, 5) >= 0);
	for (int i = 0; i < 2; i++)
		join(t[i]);
	printf("left: %d\n", epoll_wait(t_ep, ev, 16, 20));
	close(t_ep);
}

#ifdef __SANITIZE_THREAD__
#define FORKS 0 /* its runtime has no threads after a fork of a program with threads */
#else
#define FORKS 6
#endif

static int child(int inherited)
{
	char got[5];
	int fd = dial('e');

	if (!send_all(fd, "child", 5) || !recv_all(fd, got, 5) || memcmp(got, "child", 5) != 0)
		return 1;
	if (!send_all(inherited, "given", 5) || !recv_all(inherited, got, 5))
		return 2;
	return memcmp(got, "given", 5) == 0 ? 0 : 3;
}

/* fork() while other threads use their connections: the child makes its own, and uses one that it
 * inherited; no other thread is disturbed. */
static void forks(void)
{
	pthread_t t[2];
	intptr_t sum = 0;
	int bad = 0;

	for (int i = 0; i < 2; i++)
		t[i] = start(dials, NULL);
	for (int i = 0; i != FORKS; i++) {
		int fd = dial('e'), status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child(fd));
		CHECK(pid > 0);
		close(fd);
		CHECK(waitpid(pid, &status, 0) == pid);
		bad += status != 0;
	}
	for (int i = 0; i < 2; i++)
		sum += join(t[i]);
	printf("echoed: %ld, bad children: %d\n", (long)sum, bad);
}

/* A thread is cancelled while it waits; the socket is sound afterwards. */
static void cancels(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	for (int ms = 30; ms <= 200; ms += 170) {
		pthread_t t;
		char c = 0;

		t_fd = dial('e');
		start_waiting(&t, 1, receives, ms);
		CHECK(pthread_cancel(t) == 0);
		printf("cancelled: %d\n", join(t) == (intptr_t)PTHREAD_CANCELED);
		CHECK(send_all(t_fd, "y", 1) && recv(t_fd, &c, 1, 0) == 1 && c == 'y');
		close(t_fd);
	}
#endif
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"both_ways", both_ways},
		{"many_send", many_send},
		{"many_receive", many_receive},
		{"many_accept", many_accept},
		{"shuts", shuts},
		{"resets", resets},
		{"closes", closes},
		{"connections_each", connections_each},
		{"churn", churn},
		{"forks", forks},
		{"cancels", cancels},
		{NULL, NULL},
	};

	alarm(100);
	return t_main(argc, argv, cases);
}
