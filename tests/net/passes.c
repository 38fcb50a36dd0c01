/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection with checked bytes both ways wanders: through programs that become one another by
 * execve(2), or between two processes by SCM_RIGHTS.
 *
 * usage: passes peer listen|connect LOCAL REMOTE PORT
 *        passes exec|pass listen|connect LOCAL REMOTE PORT TIMES PATH
 *        passes other PATH      (the second process of pass)
 *
 * The peer sends and receives until the other side ends. The others go on for a random moment, then
 * move, TIMES times, when Sluice has the connection or two seconds have passed. Each prints "sent N
 * got N"; the wanderers also "moved N ours N kernels N": in so many places the connection was
 * Sluice's when it left, and the kernel's. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../bench/load.h"

#include "../raw.h"

#define MAX_IO 32768

/* state that goes to the next process along with the connection */
struct state {
	uint64_t sent, got, left, moved, ours, kernels;
	bool from_listener;
};

static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng >> 33) % below);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint8_t byte_at(uint64_t at, bool from_listener)
{
	uint64_t x = (at >> 2) * 0x9e3779b97f4a7c15ull + (from_listener ? 77 : 0);

	return (uint8_t)(x >> 40 >> 8 * (at & 3));
}

static void do_send(int fd, struct state *s)
{
	static uint8_t buf[MAX_IO];
	uint32_t n = 1 + rnd(MAX_IO);
	ssize_t ret;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(s->sent + i, s->from_listener);
	ret = send(fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (ret < 0 && errno != EAGAIN)
		err(1, "send after %llu, moved %llu", (unsigned long long)s->sent,
		    (unsigned long long)s->moved);
	if (ret > 0)
		s->sent += (uint64_t)ret;
}

/* False: the end. */
static bool do_recv(int fd, struct state *s)
{
	static uint8_t buf[MAX_IO];
	ssize_t ret = recv(fd, buf, 1 + rnd(MAX_IO), MSG_DONTWAIT);

	if (ret < 0 && errno != EAGAIN)
		err(1, "recv after %llu, moved %llu", (unsigned long long)s->got,
		    (unsigned long long)s->moved);
	for (ssize_t i = 0; i < ret; i++)
		if (buf[i] != byte_at(s->got + (uint64_t)i, !s->from_listener))
			errx(1, "wrong byte at %llu, moved %llu",
			     (unsigned long long)s->got + (uint64_t)i,
			     (unsigned long long)s->moved);
	if (ret > 0)
		s->got += (uint64_t)ret;
	return ret != 0;
}

/* Until that time and so many bytes each way at least; 0: until the peer ends. */
static void traffic(int fd, struct state *s, uint64_t us, uint64_t bytes)
{
	uint64_t end = now_us() + us, sent = s->sent + bytes, got = s->got + bytes;
	uint64_t last = now_us(), last_sum = s->sent + s->got;

	while (!us || now_us() < end || s->sent < sent || s->got < got) {
		struct pollfd p = {.fd = fd,
				   .events = POLLIN | (s->sent < s->got + (1 << 20) ? POLLOUT : 0)};

		poll(&p, 1, 50);
		if (p.revents & POLLOUT && rnd(2))
			do_send(fd, s);
		if (p.revents & ~POLLOUT && rnd(3) && !do_recv(fd, s)) {
			if (us)
				errx(1, "the peer has ended, moved %llu",
				     (unsigned long long)s->moved);
			return;
		}
		if (last_sum != s->sent + s->got) {
			last = now_us();
			last_sum = s->sent + s->got;
		} else if (now_us() - last > 30000000) {
			errx(1, "stuck: sent %llu got %llu, moved %llu",
			     (unsigned long long)s->sent, (unsigned long long)s->got,
			     (unsigned long long)s->moved);
		}
	}
}

static int connection(const char *role, const char *own, const char *far, const char *port)
{
	union load_addr local, remote;
	socklen_t len = load_addr(&local, own, (unsigned)atoi(port));
	int on = 1, fd, l;

	len = load_addr(&remote, far, (unsigned)atoi(port));
	if (strcmp(role, "connect") == 0) {
		fd = socket(remote.sa.sa_family, SOCK_STREAM, 0);
		if (connect(fd, &remote.sa, len))
			err(1, "connect");
		return fd;
	}
	l = socket(local.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l, &local.sa, len) || listen(l, 4))
		err(1, "listen");
	fd = accept(l, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	close(l);
	return fd;
}

static void say(const struct state *s)
{
	printf("sent %llu got %llu\nmoved %llu ours %llu kernels %llu\n",
	       (unsigned long long)s->sent, (unsigned long long)s->got,
	       (unsigned long long)s->moved, (unsigned long long)s->ours,
	       (unsigned long long)s->kernels);
}

static void finish(int fd, struct state *s)
{
	if (shutdown(fd, SHUT_WR))
		err(1, "shutdown");
	while (do_recv(fd, s)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 30000) == 0)
			errx(1, "the peer does not end: sent %llu got %llu",
			     (unsigned long long)s->sent, (unsigned long long)s->got);
	}
	say(s);
}

/* Does the kernel's socket have the connection? */
static bool is_kernels(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return raw(SYS_getpeername, fd, &ss, &len) == 0;
}

static void one_place(int fd, struct state *s)
{
	uint64_t end = now_us() + 2000000;

	traffic(fd, s, 1 + rnd(10000), rnd(4) ? 1 + rnd(200000) : 0);
	while (is_kernels(fd) && now_us() < end)
		traffic(fd, s, 1000, 0);
	if (is_kernels(fd))
		s->kernels++;
	else
		s->ours++;
}

/* The state goes along in the arguments. */
static void become_next(int fd, const struct state *s)
{
	char n[16], text[sizeof(*s) * 2 + 1];

	for (size_t i = 0; i < sizeof(*s); i++)
		sprintf(text + 2 * i, "%02x", ((const uint8_t *)s)[i]);
	sprintf(n, "%d", fd);
	execl("/proc/self/exe", "passes", "again", n, text, (char *)NULL);
	err(1, "exec");
}

static int again(char **argv)
{
	int fd = atoi(argv[2]);
	struct state s;

	for (size_t i = 0; i < sizeof(s); i++) {
		char hex[3] = {argv[3][2 * i], argv[3][2 * i + 1]};

		((uint8_t *)&s)[i] = (uint8_t)strtoul(hex, NULL, 16);
	}
	one_place(fd, &s);
	if (!s.left--) {
		finish(fd, &s);
		return 0;
	}
	s.moved++;
	become_next(fd, &s);
	return 1;
}

static void pass(int to, int fd, const struct state *s)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = {.align = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {(void *)s, sizeof(*s)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};

	memcpy(CMSG_DATA(&u.align), &fd, sizeof(fd));
	if (sendmsg(to, &m, 0) != sizeof(*s))
		err(1, "sendmsg");
	close(fd);
}

/* -1: the other process has ended. */
static int take(int from, struct state *s)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	struct iovec iov = {s, sizeof(*s)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};
	ssize_t n = recvmsg(from, &m, 0);
	int fd;

	if (n == 0)
		return -1;
	if (n != sizeof(*s) || m.msg_controllen < CMSG_LEN(sizeof(int)))
		errx(1, "recvmsg: %d", (int)n);
	memcpy(&fd, CMSG_DATA(&u.align), sizeof(fd));
	return fd;
}

static int wander(int link, int fd, struct state *s)
{
	for (;;) {
		if (fd < 0)
			fd = take(link, s);
		if (fd < 0)
			return 0;
		one_place(fd, s);
		if (!s->left--) {
			finish(fd, s);
			return 0;
		}
		s->moved++;
		pass(link, fd, s);
		fd = -1;
	}
}

static int unix_link(const char *path, bool listens)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), l = fd;

	strncpy(sun.sun_path, path, sizeof(sun.sun_path) - 1);
	if (!listens) {
		if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
			err(1, "%s", path);
		return fd;
	}
	if (bind(l, (struct sockaddr *)&sun, sizeof(sun)) || listen(l, 1))
		err(1, "%s", path);
	fd = accept(l, NULL, NULL);
	close(l);
	return fd;
}

int main(int argc, char **argv)
{
	struct state s = {0};
	int fd, link;

	rng = (uint64_t)getpid() * 7919 + now_us();
	if (argc == 4 && strcmp(argv[1], "again") == 0)
		return again(argv);
	if (argc == 3 && strcmp(argv[1], "other") == 0)
		return wander(unix_link(argv[2], false), -1, &s);
	if (argc < 6)
		errx(2, "usage: passes peer|exec|pass listen|connect LOCAL REMOTE PORT ...");
	s.from_listener = strcmp(argv[2], "listen") == 0;
	if (strcmp(argv[1], "peer") == 0) {
		fd = connection(argv[2], argv[3], argv[4], argv[5]);
		traffic(fd, &s, 0, 0);
		say(&s);
		return 0;
	}
	if (argc != 8)
		errx(2, "usage: passes exec|pass listen|connect LOCAL REMOTE PORT TIMES PATH");
	s.left = strtoull(argv[6], NULL, 10);
	if (strcmp(argv[1], "exec") == 0) {
		fd = connection(argv[2], argv[3], argv[4], argv[5]);
		one_place(fd, &s);
		become_next(fd, &s);
	}
	link = unix_link(argv[7], true);
	return wander(link, connection(argv[2], argv[3], argv[4], argv[5]), &s);
}
