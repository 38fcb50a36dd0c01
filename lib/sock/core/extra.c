/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of sock/extra that rooms to its left use: packets that the program holds. */
#include "sock/core/extra.h"

#include <errno.h>

#include "base/reserve.h"
#include "sock/core/life.h"

const struct sl_extra_ops *sl_extra_ops;
uint32_t sl_extra_filters;

void sl_extra_child(void)
{
	if (sl_extra_ops)
		sl_extra_ops->child();
}

/* Streams with a part of their own: one pointer for each place in the table of sockets. */
static struct {
	struct sl_lock lock;
	struct sl_reserve room;
	uint32_t n; /* places that may be read; atomic */
} streams;
#define STREAMS_MAX (1u << 20)

static uint32_t place_of(const struct sl_sock *sk)
{
	return sl_sock_ref(sk) & (STREAMS_MAX - 1);
}

struct sl_extra *sl_extra_of_stream(const struct sl_sock *sk)
{
	uint32_t n = sl_load_acquire(&streams.n), i;

	if (sl_likely(!n))
		return NULL;
	i = place_of(sk);
	return i < n ? ((struct sl_extra **)(void *)streams.room.mem)[i] : NULL;
}

int sl_extra_attach(struct sl_sock *sk, struct sl_extra *x)
{
	uint32_t i = place_of(sk);
	int err = 0;

	if (sl_sock_is_udp(sk)) {
		sl_store_release(&sl_udp_sk(sk)->extra, x);
		return 0;
	}
	if (!sl_lock(&streams.lock))
		return -ENOMEM;
	if (!streams.room.mem)
		err = sl_reserve_open(&streams.room, STREAMS_MAX * sizeof(x));
	if (!err && i >= streams.n)
		err = sl_reserve_upto(&streams.room, (i + 1) * sizeof(x));
	if (!err) {
		((struct sl_extra **)(void *)streams.room.mem)[i] = x;
		if (i >= streams.n)
			sl_store_release(&streams.n, i + 1);
	}
	sl_unlock(&streams.lock);
	return err ? -ENOMEM : 0;
}

static uint32_t frames_of(const struct sl_udp *u)
{
	return u->tail - u->head + u->more;
}

void sl_extra_uncharge(struct sl_sock *sk, const struct sl_udp *before)
{
	const struct sl_udp *now = &sl_udp_sk(sk)->extra->accepted;
	struct sl_udp *u = &sl_udp_sk(sk)->udp;

	u->charged -= before->charged - now->charged;
	u->more -= frames_of(before) - frames_of(now);
}
