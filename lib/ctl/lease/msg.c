/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of the lease protocol: what each operation carries, sending, receiving, checking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "ctl/device/port.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/proto.h"

/* Lengths of the bodies, and counts of descriptors. MANY: one or two for each queue. */
#define MANY 255
static const struct shape {
	uint16_t ask, answer; /* bytes */
	uint8_t ask_fds, answer_fds;
} shapes[SL_LEASE_OPS] = {
	[SL_LEASE_HELLO] = {sizeof(struct sl_lease_hello), sizeof(struct sl_lease_hello_ok), 1, 0},
	[SL_LEASE_UMEM] = {0, sizeof(struct sl_lease_umem_ok), 0, 3},
	[SL_LEASE_PORT_OPEN] = {sizeof(struct sl_lease_port), sizeof(struct sl_lease_port_ok), 0,
				1},
	[SL_LEASE_PORT_CLOSE] = {sizeof(struct sl_lease_port), 0, 0, 0},
	[SL_LEASE_PORT_ALIVE] = {sizeof(struct sl_lease_port), sizeof(struct sl_lease_alive_ok), 0,
				 0},
	[SL_LEASE_PORT_TAGS] = {sizeof(struct sl_lease_port), sizeof(struct sl_lease_tags_ok), 0,
				0},
	[SL_LEASE_VLAN_LEAVE] = {sizeof(struct sl_lease_vlan), 0, 0, 0},
	[SL_LEASE_UNGUARD] = {sizeof(struct sl_lease_port), 0, 0, 0},
	[SL_LEASE_STRAYS] = {sizeof(struct sl_lease_strays), sizeof(struct sl_lease_strays_ok), 0,
			     0},
	[SL_LEASE_LANE_OPEN] = {sizeof(struct sl_lease_port), sizeof(struct sl_lease_lane_ok), 0,
				MANY},
	[SL_LEASE_LANE_BIND] = {sizeof(struct sl_lease_port), 0, 0, 0},
	[SL_LEASE_LANE_CLOSE] = {sizeof(struct sl_lease_port), 0, 0, 0},
	[SL_LEASE_CLAIM] = {sizeof(struct sl_lease_claim), 0, 1, 0},
	[SL_LEASE_CLAIM_UPDATE] = {sizeof(struct sl_lease_claim), 0, 0, 0},
	[SL_LEASE_UNCLAIM] = {sizeof(struct sl_lease_claim), 0, 0, 0},
	[SL_LEASE_RESTORE] = {sizeof(struct sl_lease_restore), 0, 2, 0},
	[SL_LEASE_RESTORED] = {sizeof(struct sl_lease_restored), 0, 0, 1},
	[SL_LEASE_TAKE] = {0, sizeof(struct sl_lease_take_ok), 1, 1},
	[SL_LEASE_DROP] = {sizeof(struct sl_lease_drop), 0, 1, 0},
	[SL_LEASE_INJECT] = {sizeof(struct sl_lease_inject), 0, 1, 0},
	[SL_LEASE_NEIGH] = {sizeof(struct sl_lease_neigh), 0, 0, 0},
	[SL_LEASE_CONNS] = {sizeof(struct sl_conns_layout), 0, 1, 0},
	[SL_LEASE_HOLDERS] = {0, sizeof(struct sl_lease_holders_ok), 1, 0},
	[SL_LEASE_BUFFER] = {sizeof(struct sl_lease_buffer), 0, 1, 0},
	[SL_LEASE_BOX] = {sizeof(struct sl_lease_box), 0, 2, 0},
	[SL_LEASE_UNBOX] = {sizeof(struct sl_lease_box), 0, 0, 0},
	[SL_LEASE_STATUS] = {0, sizeof(struct sl_lease_status_ok), 0, 0},
	[SL_LEASE_SHOW_PORT] = {sizeof(struct sl_lease_show), sizeof(struct sl_lease_show_port_ok),
				0, 0},
	[SL_LEASE_SHOW_LEASE] = {sizeof(struct sl_lease_show),
				 sizeof(struct sl_lease_show_lease_ok), 0, 0},
	[SL_LEASE_DRAIN] = {0, 0, 0, 0},
};

int sl_lease_body_bytes(uint32_t op, bool answer)
{
	if (op == 0 || op >= SL_LEASE_OPS)
		return -EPROTO;
	return answer ? shapes[op].answer : shapes[op].ask;
}

/* Number of descriptors with a lane: XSKs, and anchors or none. */
static uint32_t lane_fds(const struct sl_lease_lane_ok *l)
{
	bool sound = l->nqueues <= SL_MAX_QUEUES && l->unbound <= 1 &&
		     (!l->nanchors || (l->unbound && l->nanchors == l->nqueues));

	return sound ? l->nqueues + l->nanchors : UINT32_MAX;
}

static int check_fds(const struct sl_lease_msg *m, bool answer)
{
	const struct shape *s = &shapes[m->hdr.op];
	uint32_t want = answer ? s->answer_fds : s->ask_fds;

	if (answer && m->hdr.err)
		want = 0;
	else if (want == MANY)
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
	/* Another version's HELLO may be longer: it is told, not hung up on. */
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

int sl_lease_send(int fd, const struct sl_lease_msg *m, bool answer, int flags)
{
	int body = answer && m->hdr.err ? SL_LEASE_WHY : sl_lease_body_bytes(m->hdr.op, answer);
	size_t bytes = sizeof(m->hdr) + (body > 0 ? (size_t)body : 0);
	long n = sl_rights_send(fd, m, bytes, m->fd, m->nfds, flags);

	return n < 0 ? (int)n : 0;
}

void sl_lease_close_fds(struct sl_lease_msg *m)
{
	while (m->nfds)
		sl_sys_close(m->fd[--m->nfds]);
}

int sl_lease_take(int fd, struct sl_lease_msg *m, bool answer, int flags)
{
	int truncated;
	long n = sl_rights_recv_from(fd, m, offsetof(struct sl_lease_msg, nfds), m->fd,
				     SL_LEASE_FDS, &m->nfds, flags, &truncated, &m->from);

	if (n <= 0)
		return (int)n;
	if (truncated)
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

/* The daemon is root's, or this user's own; anybody else could read and alter what is received.
 * In a user namespace that does not know the host's root, the kernel shows root as the overflow
 * user, as everybody else of the host: there the path decides, which the container was given. */
static bool daemon_is_trusted(int fd, const char *path)
{
	static bool said;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	char map[64], overflow[16];

	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	if (cred.uid == 0 || cred.uid == (uint32_t)sl_sys(SYS_geteuid))
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
	err = sl_sys_connect(fd, &sun, sizeof(sun));
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

/* A daemon that took over answers once more what the one before it had answered. */
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
	};
}
