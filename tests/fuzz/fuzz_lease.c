/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the lease protocol, from both ends. A session of the daemon gets packets of any
 * bytes with descriptors of several kinds; whatever it answers must be an answer, and in the end
 * nothing is left of it. The same bytes are then what a process hears from a daemon. No device is
 * ever opened: the mirror of the kernel's links is empty here. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "ctl/kern/netns.h"
#include "ctl/umem/umem.h"
#include "tools/sluiced/proof.h"
#include "tools/sluiced/session.h"
#include "tools/sluiced/sluiced.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define REAPS 100000 /* of 100 us and more: then something is kept for ever */

/* Bound UDP and TCP sockets, a sealed memfd, the network namespace; an end of a packet socket pair,
 * a socket that listens, memory with connections in it, an end of a stream. */
static int kinds[8];

static int bound_socket(int type)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(0)};
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		abort();
	return fd;
}

static int pair_end(int type)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, pair))
		abort();
	return pair[0];
}

/* Bytes that are no zeros, so that much is there. */
static int some_memory(void)
{
	static uint8_t bytes[1 << 16];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	memset(bytes, 1, sizeof(bytes));
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
	return fd;
}

static int sealed_memory(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, "bytes", 5) != 5 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		abort();
	return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct sl_broker_opts opts = {
		.no_huge = true, .serve = true, .tool = "/nonexistent"};
	static const char policy[] = "allow user *";

	sl_embedded_init(&opts);
	sluiced.frames = 64;
	sluiced.frame_size = 2048;
	sluiced.quota = 16;
	sluiced.epfd = epoll_create1(0);
	sluiced.netns = sl_netns_ino();
	kinds[0] = bound_socket(SOCK_DGRAM);
	kinds[1] = bound_socket(SOCK_STREAM);
	kinds[2] = sealed_memory();
	kinds[3] = open("/proc/self/ns/net", 0);
	kinds[4] = pair_end(SOCK_SEQPACKET);
	kinds[5] = bound_socket(SOCK_STREAM);
	if (listen(kinds[5], 1))
		abort();
	kinds[6] = some_memory();
	kinds[7] = pair_end(SOCK_STREAM);
	sluiced.netns_cookie = sl_netns_cookie(kinds[0]);
	sl_policy_parse(policy, strlen(policy), &sluiced.policy, NULL, NULL, NULL);
	return 0;
}

static struct sl_session *session_new(int fd)
{
	static struct sl_memory memory = {.umem = UINT32_MAX}; /* that of no device */
	struct sl_session *s = sl_calloc(1, sizeof(*s));

	s->fd = fd;
	s->memory = &memory;
	s->conns.gone.fd = s->pidfd = -1;
	/* The kernel names no sender here, so that is process 0 (sender.c). */
	s->cred = (struct ucred){.uid = 1, .gid = 1};
	s->sent = true;
	s->identity = 1;
	/* The session seems to have a device: requests about it go as far as they can. */
	s->port[0] = (struct sl_session_port){.ifindex = 3, .nqueues = 1, .lane[0] = 1};
	/* And a lane that waits to be bound. */
	s->port[0].lane[1] = 2;
	s->port[0].lease[1] = sl_calloc(1, sizeof(struct sl_xsk_lease));
	*s->port[0].lease[1] = (struct sl_xsk_lease){.fd = -1, .unbound = true};
	s->nlanes = 2;
	s->next = sluiced.sessions;
	sluiced.sessions = s;
	sluiced.nsessions++;
	return s;
}

/* A packet out of the fuzzer's bytes: op, descriptors, how many bytes too few or too many, body. */
static size_t build(struct sl_lease_msg *m, const uint8_t *d, size_t n, size_t *len)
{
	int body = sl_lease_body_bytes(d[0] % SL_LEASE_OPS, false);
	size_t want = body < 0 ? 0 : (size_t)body, take;

	memset(m, 0, sizeof(*m));
	m->hdr = (struct sl_lease_hdr){.magic = SL_LEASE_MAGIC,
				       .version = d[2] == 255 ? SL_LEASE_VERSION + 1
							      : SL_LEASE_VERSION,
				       .op = d[0] % SL_LEASE_OPS};
	m->nfds = d[1] % 3;
	for (uint32_t i = 0; i < m->nfds; i++)
		m->fd[i] = kinds[(d[1] >> 2 >> 3 * i) % 8];
	if (d[2] > 250)
		want += d[2] - 250u;
	else if (d[2] > 245)
		want -= sl_min(want, d[2] - 245u);
	take = sl_min(n - 3, sl_min(want, (size_t)128)); /* longer bodies are zeroes behind that */
	memcpy(&m->body, d + 3, take);
	*len = sizeof(m->hdr) + want;
	return 3 + take;
}

static void send_raw(int fd, const struct sl_lease_msg *m, size_t len)
{
	char space[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct iovec iov = {(void *)m, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c = (struct cmsghdr *)space;

	if (m->nfds) {
		msg.msg_control = space;
		msg.msg_controllen = CMSG_SPACE(m->nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(m->nfds * sizeof(int));
		memcpy(CMSG_DATA(c), m->fd, m->nfds * sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_answer(int fd)
{
	static struct sl_lease_msg m;
	int n = sl_lease_recv(fd, &m, true, MSG_DONTWAIT);

	if (n == -EPROTO)
		abort(); /* the daemon does not keep to its protocol */
	while (n > 0 && m.nfds)
		close(m.fd[--m.nfds]);
}

static void as_daemon(const uint8_t *data, size_t size)
{
	static struct sl_lease_msg m;
	struct sl_session *s;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair))
		abort();
	s = session_new(pair[0]);
	while (size > 3 && !s->leaving) {
		size_t len, used = build(&m, data, size, &len);

		send_raw(pair[1], &m, len);
		sl_session_readable(s);
		take_answer(pair[1]);
		data += used;
		size -= used;
	}
	close(pair[1]);
	if (!s->leaving)
		sl_session_readable(s);
	s->eof = true; /* this process lives on */
	/* (The kernel's grace period is waited for beside: grace.c.) */
	for (int i = 0; (sl_sessions_reap() || sluiced.sessions) && i < REAPS; i++)
		usleep(100);
	sl_linger_end_all(); /* what is kept for the next program of a process */
	if (sluiced.sessions || sluiced.nsessions || sluiced.memory_users || sl_umem_first())
		abort();
	sluiced.draining = false;
}

/* Any bytes, with a few descriptors, as a lane has them. */
static void send_answer(int fd, const uint8_t *data, size_t size)
{
	static struct sl_lease_msg m;
	size_t len = sl_min(size, offsetof(struct sl_lease_msg, nfds));

	memset(&m, 0, sizeof(m));
	memcpy(&m, data, len);
	m.nfds = data[size - 1] % 8;
	for (uint32_t i = 0; i < m.nfds; i++)
		m.fd[i] = kinds[i];
	send_raw(fd, &m, len);
}

static void check_lane(const struct sl_lease_msg *m)
{
	const struct sl_lease_lane_ok *ok = &m->body.lane_ok;

	if (m->hdr.op == SL_LEASE_LANE_OPEN && !m->hdr.err &&
	    (ok->nqueues > SL_MAX_QUEUES || m->nfds != ok->nqueues + ok->nanchors ||
	     (ok->nanchors && (!ok->unbound || ok->nanchors != ok->nqueues))))
		abort();
}

static void as_process(const uint8_t *data, size_t size)
{
	static struct sl_lease_msg m;
	int pair[2], n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	if (size) {
		send_answer(pair[1], data, size);
		n = sl_lease_recv(pair[0], &m, true, MSG_DONTWAIT);
		if (n > 0 && m.hdr.err && strlen(m.body.why) >= SL_LEASE_WHY)
			abort();
		if (n > 0) {
			check_lane(&m);
			sl_lease_close_fds(&m);
		}
	}
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_daemon(data, size);
	as_process(data, size);
	return 0;
}
