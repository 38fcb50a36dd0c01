/* SPDX-License-Identifier: BSD-2-Clause */
/* No room to send: waits until there is some, and reports EPOLLOUT then.
 *
 * Theory of operation: a datagram that finds no room must not go through the kernel, where it would
 * overtake those that wait on the ring. A blocking sender tries again for a little, then sleeps
 * until a turn of the lane finds room (its own turn, another thread's, or the keeper's, which turns
 * every SL_ROOM_US), or the kernel has taken half of the ring (POLLOUT). */
#include <net/if.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/send.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "stack/port.h"

void sl_send_block(struct sl_sock *sk, struct sl_lane *lane)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	if (us->tx_blocked)
		return;
	sl_store(&us->tx_blocked, true);
	if (us->pacer)
		sl_pacer_block(us->pacer, &us->blocked);
	else
		sl_lane_block(lane, &us->blocked);
}

/* True: the path of the last datagram has room for as many descriptors as one call may need (the
 * shortest ring has as many). With less, a woken sender could find no room again and again. */
static bool path_has_room(struct sl_sock *sk, struct sl_lane *lane)
{
	struct sl_path *p = &sl_udp_sk(sk)->path;
	const struct sl_leg *leg;

	if (!p->d && p->leg) /* an option or a route has changed: the device may be the same */
		sl_send_make_path(sk, lane, p, NULL, sl_now_ns());
	leg = p->d ? p->leg : NULL;
	if (!leg || leg->dead) /* let the sender try */
		return true;
	return (lane->frames.n || sl_frames_left()) && sl_leg_room(leg) >= SL_SEND_BURST;
}

void sl_sock_on_room(struct sl_list *entry)
{
	struct sl_udp_sock *us = sl_container_of(entry, struct sl_udp_sock, blocked);
	struct sl_sock *sk = &us->sk;

	if (sl_load(&us->wmem) >= us->sndbuf / 2) /* sock_writeable() */
		return;
	if (!path_has_room(sk, sl_load(&sk->lane)))
		return;
	sl_list_del(&us->blocked);
	sl_store(&us->tx_blocked, false);
	sl_sock_notify(sk, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
}
