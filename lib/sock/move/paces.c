/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets follow changes of the administrator's rates (stack/paces.h): the keeper looks once a
 * second. */
#include "sock/core/life.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/move/move.h"
#include "stack/lane_tcp.h"
#include "stack/paces.h"

static void look_at_sock(struct sl_sock *sk, void *arg)
{
	if (sl_sock_is_udp(sk) && sl_load(&sk->state) == SL_STATE_OFFLOADED)
		sl_sock_pace_again(sk);
}

static void look_at_conn(struct sl_tconn *c, void *arg)
{
	struct sl_lane *lane = sl_load(&c->lane);

	if (!sl_lane_lock(lane))
		return;
	if (!c->dead && c->path && c->path->leg) {
		sl_lane_tcp_begin(lane);
		sl_tconn_rate(c);
		sl_tconn_pace(c);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
}

void sl_paces_check(void)
{
	if (!sl_paces_changed())
		return;
	sl_sock_for_each(look_at_sock, NULL);
	sl_tconn_for_each(look_at_conn, NULL);
}
