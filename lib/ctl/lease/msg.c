/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of the lease protocol: the contents of each operation, sending, receiving, checking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "base/trust.h"
#include "ctl/device/port.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"

/* Lengths of the bodies, and counts of descriptors. */
static const struct shape {
	uint16_t ask, answer; /* bytes */
	uint8_t ask_fds, answer_fds, flags;
} shapes[SL_LEASE_OPS] = {
#define BYTES(body) sizeof(((union sl_lease_body *)0)->body)
#define SL_LEASE(op, name, ask, answer, ask_fds, answer_fds, flags)                                \
	[SL_LEASE_##op] = {BYTES(ask), BYTES(answer), ask_fds, answer_fds, flags},
#include "ctl/lease/lease.def"
#undef SL_LEASE
};

int sl_lease_body_bytes(uint32_t op, bool answer)
{
	if (op == 0 || op >= SL_LEASE_OPS)
		return -EPROTO;
	return answer ? shapes[op].answer : shapes[op].ask;
}

uint32_t sl_lease_flags(uint32_t op)
{
	return op < SL_LEASE_OPS ? shapes[op].flags : 0;
}

/* Number of descriptors with a lane: XSKs, anchors or none, a packet socket or none. */
static uint32_t lane_fds(const struct sl_lease_lane_ok *l)
{
	bool sound = l->nqueues <= SL_MAX_QUEUES && l->unbound <= 1 &&
		     (!l->nanchors || (l->unbound && l->nanchors == l->nqueues)) &&
		     l->packet_places <= SL_PACKET_PLACES;

	return sound ? l->nqueues + l->nanchors + !!l->packet_places : UINT32_MAX;
}

static int check_fds(const struct sl_lease_msg *m, bool answer)
{
	const struct shape *s = &shapes[m->hdr.op];
	uint32_t want = answer ? s->answer_fds : s->ask_fds;

	if (answer && m->hdr.err)
		want = 0;
	else if (want == SL_LEASE_MANY)
		want = lane_fds(&m->body.lane_ok);
	return m->nfds == want && want <= SL_LEASE_FDS ? 0 : -EPROTO;
}

int sl_lease_check(struct sl_lease_msg *m, size_t n, bool answer)
{
	int body;

	if (n < sizeof(m->hdr) || m->hdr.magic != SL_LEASE_MAGIC)
		return -EPROTO;
	body = sl_lease_body_bytes(m->hdr.op, answer);
	if (answer && m->hdr.err && body >= 0)
		body = SL_LEASE_WHY;
	/* Another version's HELLO may be longer: let it through, so that its sender is told the
	 * reason. */
	if (!answer && m->hdr.op == SL_LEASE_HELLO && m->hdr.version != SL_LEASE_VERSION)
		return 0;
	if (body < 0 || n != sizeof(m->hdr) + (size_t)body || m->hdr.err > 0 ||
	    (!answer && m->hdr.err) || m->hdr.version != SL_LEASE_VERSION)
		return -EPROTO;
	if (answer && m->hdr.err)
		m->body.why[SL_LEASE_WHY - 1] = 0;
	return check_fds(m, answer);
}

_Static_assert(SL_LEASE_FDS <= SL_RIGHTS_MAX, "a packet");

/* A socket with a time-out tells of a stop (SIGSTOP, a debugger, a frozen cgroup, a suspended
 * machine) by EINTR, though no handler has run (signal(7)): all calls below try again. */

int sl_lease_send(int fd, const struct sl_lease_msg *m, bool answer, int flags)
{
	int body = answer && m->hdr.err ? SL_LEASE_WHY : sl_lease_body_bytes(m->hdr.op, answer);
	size_t bytes = sizeof(m->hdr) + (body > 0 ? (size_t)body : 0);
	long n;

	do
		n = sl_rights_send(fd, m, bytes, m->fd, m->nfds, flags);
	while (n == -EINTR);
	return n < 0 ? (int)n : 0;
}

void sl_lease_close_fds(struct sl_lease_msg *m)
{
	while (m->nfds)
		sl_sys_close(m->fd[--m->nfds]);
}

int sl_lease_take(int fd, struct sl_lease_msg *m, bool answer, int flags)
{
	struct sl_rights r = {.fd = m->fd, .max = SL_LEASE_FDS, .from = &m->from};
	long n;

	do
		n = sl_rights_recv(fd, m, offsetof(struct sl_lease_msg, nfds), flags, &r);
	while (n == -EINTR);
	m->nfds = r.n;
	if (n <= 0)
		return (int)n;
	if (r.truncated)
		return -EPROTO;
	n = sl_lease_check(m, (size_t)n, answer);
	return n ? (int)n : 1;
}

int sl_lease_recv(int fd, struct sl_lease_msg *m, bool answer, int flags)
{
	int err = sl_lease_take(fd, m, answer, flags);

	if (err <= 0)
		sl_lease_close_fds(m);
	return err;
}

/* The daemon must be root's, or this user's own; any other user could read and alter what is
 * received. In a user namespace that does not know the host's root, the kernel shows root as the
 * overflow user, like every other user of the host: there the path decides, which the container was
 * given. */
static bool daemon_is_trusted(int fd, const char *path)
{
	static bool said;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	char map[64], overflow[16];

	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	if (cred.uid == 0 || cred.uid == sl_sole_user())
		return true;
	if (sl_read_text("/proc/self/uid_map", map, sizeof(map)) > 0 &&
	    !strstr(map, "4294967295") &&
	    sl_read_text("/proc/sys/kernel/overflowuid", overflow, sizeof(overflow)) > 0 &&
	    cred.uid == strtoul(overflow, NULL, 10))
		return true;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		sl_warn("lease",
			"%s is served by user %u, neither root nor this user: nothing is asked of it; "
			"remedy: SLUICE_DAEMON=off, or a daemon of root's",
			path, cred.uid);
	return false;
}

int sl_lease_dial(const char *path, unsigned seconds)
{
	const struct timeval limit = {.tv_sec = (time_t)seconds};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	fd = sl_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	sl_sys_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do
		err = sl_sys_connect(fd, &sun, sizeof(sun));
	while (err == -EINTR);
	if (!err && !daemon_is_trusted(fd, path))
		err = -EPERM;
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

int sl_lease_ask(int fd, struct sl_lease_msg *m, enum sl_lease_op op, uint32_t seq)
{
	int err;

	m->hdr = (struct sl_lease_hdr){
		.magic = SL_LEASE_MAGIC,
		.version = SL_LEASE_VERSION,
		.op = (uint16_t)op,
		.seq = seq,
	};
	err = sl_lease_send(fd, m, false, 0);
	m->nfds = 0;
	return err ? err : sl_lease_answer(fd, m, seq, 0);
}

/* Skips answers to earlier requests: a daemon that took over may answer a request again that the
 * daemon before it had answered. */
int sl_lease_answer(int fd, struct sl_lease_msg *m, uint32_t seq, int flags)
{
	int err;

	do {
		sl_lease_close_fds(m);
		err = sl_lease_recv(fd, m, true, flags);
	} while (err == 1 && (int32_t)(m->hdr.seq - seq) < 0);
	return err;
}

struct sl_lease_queue sl_lease_described(const struct sl_xsk_lease *l)
{
	return (struct sl_lease_queue){
		.queue = l->queue,
		.rx_size = l->rx_size,
		.tx_size = l->tx_size,
		.fill_size = l->fill_size,
		.comp_size = l->comp_size,
		.zerocopy = l->zerocopy,
		.share_queue = l->share_queue,
		.share_xsk = l->share_xsk,
		.near = l->near,
	};
}

struct sl_xsk_lease sl_lease_of(const struct sl_lease_queue *q, int fd)
{
	return (struct sl_xsk_lease){
		.fd = fd,
		.queue = q->queue,
		.rx_size = q->rx_size,
		.tx_size = q->tx_size,
		.fill_size = q->fill_size,
		.comp_size = q->comp_size,
		.zerocopy = q->zerocopy,
		.share_queue = q->share_queue,
		.share_xsk = q->share_xsk,
		.near = q->near,
	};
}
