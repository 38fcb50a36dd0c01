/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that wait for accept(2) here go into the queue of the kernel's listener
 * (repair/repair_queue.c), from which every process that has the listener accepts, whatever program
 * it is. Where that cannot be they stay, and leave by the listener's box (listen/share.c), if it
 * has one. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "sock/core/life.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

static struct sl_tconn *take(struct sl_sock *sk)
{
	struct sl_lane *lane;
	struct sl_tcp *t;

	if (!sl_sock_lock(sk, &lane))
		return NULL;
	sl_lane_tcp_begin(lane);
	t = sl_tcp_accept(lane->tcp, &sk->lsn->tcp);
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
	return t ? sl_tconn_of(t) : NULL;
}

/* The newest of them comes first. */
static void put_back(struct sl_sock *sk, struct sl_list *stay)
{
	struct sl_lane *lane;

	if (sl_list_empty(stay) || !sl_sock_lock(sk, &lane))
		return;
	sl_lane_tcp_begin(lane);
	while (!sl_list_empty(stay)) {
		struct sl_tcp *t = sl_container_of(stay->next, struct sl_tcp, accept_node);

		sl_list_del(&t->accept_node);
		sl_tcp_unaccept(&sk->lsn->tcp, t);
	}
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
}

/* True: the others may go nevertheless. (A connection that is over has no place in the kernel.) */
static bool concerns_one(int err)
{
	return err == -ENOTCONN || err == -EALREADY;
}

void sl_listener_queue(struct sl_sock *sk)
{
	struct sl_list stay;
	struct sl_tconn *c;
	unsigned n = 0;
	int err = 0;

	sl_list_init(&stay);
	while ((!err || concerns_one(err)) && (c = take(sk))) {
		err = sl_tconn_queue(c, sk->fd);
		n += !err;
		if (err)
			sl_list_add(&stay, &c->tcp.accept_node);
	}
	put_back(sk, &stay);
	if (n || err)
		sl_debug("tcp", "fd %d: %u that waited are in the kernel's queue%s%s", sk->fd, n,
			 err ? ", not all: " : "", err ? strerrorname_np(-err) : "");
}
