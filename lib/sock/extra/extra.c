/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket's part of this room: made at first use, ended with the socket, forgotten in a child. */
#include <errno.h>

#include "base/guard.h"
#include "base/heap.h"
#include "sluice_extra.h"
#include "sock/core/life.h"
#include "sock/extra/kept.h"

static void end(struct sl_sock *sk, struct sl_lane *lane)
{
	struct sl_extra *x = sl_extra_of(sk);

	sl_filter_end(x);
	sl_kept_end(sk, lane);
	sl_zc_forget(x);
	x->has_user_data = false;
	sl_store(&x->flow_tag, 0);
}

static void forget(struct sl_sock *sk, void *arg)
{
	struct sl_extra *x = sl_extra_of(sk);

	if (!x)
		return;
	sl_filter_end(x);
	x->runs = 0;
	/* A lost table: another thread may have been in it. */
	x->nheld = x->nsends = x->size = x->free = 0;
	x->held = NULL;
	x->zc = (struct sl_zc_sends){.sk = sk}; /* (its memory: as the table's) */
	sl_list_init(&x->zc.reaped);
	x->charged = 0;
	x->accepted.ring = NULL;
	x->accepted.size = x->accepted.head = x->accepted.tail = 0;
	x->accepted.charged = x->accepted.more = 0;
	if (sl_sock_is_udp(sk))
		sl_udp_sk(sk)->filtered = false;
}

void (*sl_extra_polls_child)(void);

static void child(void)
{
	sl_filter_child();
	if (sl_extra_polls_child)
		sl_extra_polls_child();
	sl_sock_for_each(forget, NULL);
}

static const struct sl_extra_ops ops = {
	.filter = sl_filter_run,
	.filter_all = sl_filter_all,
	.connected = sl_filter_connected,
	.complete = sl_zc_complete,
	.end = end,
	.child = child,
};

/* A number of the table in the high bits of its names; nobody else in the process has it. */
static uint64_t new_base(void)
{
	static uint32_t bases;
	uint64_t n = __atomic_add_fetch(&bases, 1, __ATOMIC_RELAXED);

	return n << (SL_HELD_BITS);
}

struct sl_extra *sl_extra_get(struct sl_sock *sk)
{
	struct sl_extra *x = sl_extra_of(sk), *made;
	struct sl_lane *lane;
	int err = 0;

	if (sl_likely(x != NULL))
		return x;
	made = sl_calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->base = new_base();
	made->zc.sk = sk;
	sl_list_init(&made->zc.reaped);
	sl_store_release(&sl_extra_ops, &ops);
	if (!sl_sock_lock(sk, &lane)) {
		sl_free(made);
		return NULL;
	}
	x = sl_extra_of(sk);
	if (!x) {
		err = sl_extra_attach(sk, made);
		x = err ? NULL : made;
	}
	sl_lane_unlock(lane);
	if (x != made)
		sl_free(made);
	return x;
}

/* Unregistered, a socket keeps its second queue and a connection its filter, so nothing overtakes.
 */
SL_API
int sl_recv_callback(int fd, sl_recv_fn *fn, void *arg)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_extra *x;
	struct sl_lane *lane;

	if (!sk)
		return -EINVAL;
	x = fn ? sl_extra_get(sk) : sl_extra_of(sk);
	if (!x)
		return fn ? -ENOMEM : 0;
	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	if (fn && !sl_filter_list(sk, x)) {
		sl_lane_unlock(lane);
		return -ENOMEM;
	}
	x->callback = fn;
	x->arg = arg;
	x->fd = fd;
	if (fn && sl_sock_is_udp(sk))
		sl_store(&sl_udp_sk(sk)->filtered, true);
	else if (fn)
		sl_filter_connected(sk);
	sl_lane_unlock(lane);
	return 0;
}

SL_API
int sl_flow_tag(int fd, uint32_t tag)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_extra *x = sk ? sl_extra_get(sk) : NULL;

	if (!x)
		return sk ? -ENOMEM : -EINVAL;
	sl_store(&x->flow_tag, tag);
	return 0;
}

SL_API
int sl_flow_tag_get(int fd, uint32_t *tag)
{
	const struct sl_sock *sk = sl_fd_sock(fd);
	const struct sl_extra *x = sk ? sl_extra_of(sk) : NULL;
	uint32_t have = x ? sl_load(&x->flow_tag) : 0;

	return sk ? sl_guard_copy(tag, &have, sizeof(have)) : -EINVAL;
}
