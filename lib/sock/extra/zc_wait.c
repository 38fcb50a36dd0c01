/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbered sends from packet memory (MSG_ZEROCOPY): when the program may use a buffer again. And
 * sends that copy a buffer.
 *
 * Theory of operation: a send's entry names its buffer. The send is complete when the buffer has no
 * reference beside the table's: the device's and the connection's are gone. Completions are told in
 * the order of the numbers, so only the oldest is looked at: by turns of the lane while the device
 * has it, and when an acknowledgment comes while a connection has it. */
#include "base/heap.h"
#include "sock/core/errq.h"
#include "sock/core/ready.h"
#include "sock/extra/kept.h"
#include "sock/stream/tconn.h"

#define FIRST 16 /* entries of a new ring */

static struct sl_zc_send *send_at(const struct sl_zc_sends *w, uint32_t i)
{
	return &w->ring[(w->first + i) & (w->size - 1)];
}

bool sl_zc_may_wait(struct sl_extra *x)
{
	struct sl_zc_sends *w = &x->zc;
	uint32_t size = w->size ? w->size * 2 : FIRST;
	struct sl_zc_send *ring;

	if (sl_likely(w->n < w->size))
		return true;
	ring = sl_malloc(size * sizeof(*ring));
	if (!ring)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		ring[i] = *send_at(w, i);
	sl_free(w->ring);
	w->ring = ring;
	w->size = size;
	w->first = 0;
	return true;
}

/* True: an acknowledgment will tell when the oldest can be complete. */
static bool is_with_peer(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_sock_is_udp(sk) ? NULL : sk->conn;

	return c && c->tcp.tx_una != c->tcp.tx_tail;
}

/* Sees to it that somebody looks at the oldest. */
static void settle(struct sl_sock *sk, struct sl_zc_sends *w)
{
	bool by_turns = w->n && !is_with_peer(sk);

	if (!sl_sock_is_udp(sk) && sk->conn)
		sk->conn->special =
			(uint8_t)((sk->conn->special & ~SL_TCONN_ZC) | (w->n ? SL_TCONN_ZC : 0));
	if (by_turns && sl_list_empty(&w->reaped))
		sl_lane_block_reaped(sl_load(&sk->lane), &w->reaped);
	else if (!by_turns)
		sl_list_del(&w->reaped);
}

void sl_zc_wait(struct sl_sock *sk, struct sl_extra *x, struct sl_kept *h, bool keep)
{
	struct sl_zc_sends *w = &x->zc;

	h->given = !keep;
	*send_at(w, w->n++) = (struct sl_zc_send){.id = h->id};
	w->numbers++;
	sk->zc_next++;
	settle(sk, w);
}

void sl_zc_complete(struct sl_sock *sk, bool all)
{
	struct sl_extra *x = sl_extra_of(sk);
	struct sl_lane *lane = sl_load(&sk->lane);
	struct sl_zc_sends *w = &x->zc;
	uint32_t had = sk->zc_done;

	if (!sl_sock_is_udp(sk))
		sl_lane_reap(lane);
	while (w->n) {
		struct sl_zc_send *s = send_at(w, 0);
		struct sl_kept *h = sl_kept_find(x, s->id); /* NULL: the program freed it */

		if (!all && h && sl_frame_refs(h->frame) > 1)
			break;
		if (h && h->given)
			sl_kept_put(sk, x, lane, h);
		w->real = (!sk->zc_done || w->real) && !s->behind;
		sl_store(&sk->zc_done, sk->zc_done + 1 + s->behind);
		w->numbers -= 1 + s->behind;
		w->first++;
		w->n--;
	}
	settle(sk, w);
	if (sk->zc_done != had)
		sl_sock_notify(sk, EPOLLERR);
}

static void on_reaped(struct sl_list *entry)
{
	sl_zc_complete(sl_container_of(entry, struct sl_extra, zc.reaped)->zc.sk, false);
}

void sl_zc_wait_init(void)
{
	sl_store_release(&sl_lane_on_reaped, on_reaped);
}

void sl_zc_forget(struct sl_extra *x)
{
	sl_list_del(&x->zc.reaped);
	sl_free(x->zc.ring);
	x->zc = (struct sl_zc_sends){.sk = x->zc.sk};
	sl_list_init(&x->zc.reaped);
}

/* Sends that copy ------------------------------------------------------------------------------ */

int sl_zc_bytes(struct sl_sock *sk, struct sl_extra *x, const struct sl_zbuf *b, uint32_t off,
		struct iovec *iov)
{
	struct sl_kept *h;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return -EBUSY;
	h = sl_kept_buffer(x, b);
	if (h)
		*iov = (struct iovec){sl_frame_ptr(h->frame) + off, b->len};
	sl_lane_unlock(lane);
	return h ? 0 : -ENOENT;
}

void sl_zc_copied(struct sl_sock *sk, struct sl_extra *x, struct sl_zbuf *b, bool numbers,
		  bool keep)
{
	struct sl_kept *h;
	struct sl_lane *lane;

	b->flags = SL_ZC_COPIED;
	if (numbers)
		sl_errq_copied(sk);
	if (keep || !sl_sock_lock(sk, &lane))
		return;
	h = sl_kept_buffer(x, b);
	if (h)
		sl_kept_put(sk, x, lane, h);
	sl_lane_unlock(lane);
}
