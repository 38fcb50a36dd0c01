/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers a program's questions about a socket: its rings and headers. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/guard.h"
#include "sluice_extra.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/send.h"
#include "stack/lane.h"

SL_API
int sl_ring_fds(int fd, int *fds, int n)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_lane *lane = sk ? sl_sock_lane(sk) : NULL;
	struct pollfd found[SL_LANE_MAX_FDS];
	unsigned have;

	if (!sk || n < 0)
		return -EINVAL;
	if (!lane || !sl_sock_is_served(sk))
		return -ENODATA;
	have = sl_min(sl_lane_fds(lane, found, SL_LANE_MAX_FDS), (unsigned)SL_LANE_MAX_FDS);
	for (int i = 0; i < n && i < (int)have; i++)
		if (sl_guard_copy(&fds[i], &found[i].fd, sizeof(*fds)))
			return -EFAULT;
	return (int)have;
}

SL_API
int sl_ring_tx_fd(int fd)
{
	int ring, n = sl_ring_fds(fd, &ring, 1);

	return n < 0 ? n : n == 0 ? -ENODATA : ring;
}

/* Makes the headers of the next datagram, if they are not there. Lane held. */
static bool make_headers(struct sl_sock *sk, struct sl_lane *lane)
{
	static const struct sl_tx_ctl none = {.tos = -1, .ttl = -1};
	struct sl_path *p = &sl_udp_sk(sk)->path;
	struct sl_tx_req r = {0};
	uint64_t now = sl_now_ns();

	if (lane == &sl_limbo || sk->state != SL_STATE_OFFLOADED || !sl_sock_is_connected_udp(sk))
		return false;
	if (!sl_send_is_same(p, &r) && sl_send_find(sk, &r, p))
		return false;
	if (!sl_path_is_fresh(p, now))
		sl_send_make_path(sk, lane, p, &none, now);
	return p->leg && p->hdr.len;
}

SL_API
int sl_network_header(int fd, void *buf, uint16_t *len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_udp_hdr hdr;
	struct sl_lane *lane;
	uint16_t room, need;
	bool made;

	if (!sk || !len)
		return -EINVAL;
	if (!sl_sock_is_udp(sk) || !sl_sock_lock(sk, &lane))
		return -ENOTCONN;
	made = make_headers(sk, lane);
	if (made)
		hdr = sl_udp_sk(sk)->path.hdr;
	sl_lane_unlock(lane);
	if (!made)
		return -ENOTCONN;
	need = hdr.len;
	if (sl_guard_copy(&room, len, sizeof(room)) || sl_guard_copy(len, &need, sizeof(need)))
		return -EFAULT;
	if (!buf)
		return 0;
	if (room < need)
		return -ENOBUFS;
	return sl_guard_copy(buf, hdr.bytes, need);
}
