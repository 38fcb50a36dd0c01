/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that the program holds.
 *
 * Theory of operation: a name is a number: the place in the socket's table, a count that each use
 * raises, and a number of the table that no other socket of the process has. A name that the
 * program makes up, gives twice, or takes from another socket is not in the table; nothing is read
 * through it. The charge of a held packet stays in its queue's account (sl_udp.charged and
 * sl_udp.more), so the receive buffer and the shares of the packet memory bound what is held
 * together with what is queued. */
#include "sock/extra/kept.h"

#include "base/heap.h"

#define PLACE_BITS 20
#define COUNT_BITS 24
_Static_assert(PLACE_BITS + COUNT_BITS == SL_HELD_BITS, "names");
#define FIRST     16 /* entries of a new table */
#define PLACE(id) ((uint32_t)(id) & ((1u << PLACE_BITS) - 1))

static bool grow(struct sl_extra *x)
{
	uint32_t size = x->size ? x->size * 2 : FIRST;
	struct sl_kept *held;

	if (size > 1u << PLACE_BITS)
		return false;
	held = sl_realloc(x->held, size * sizeof(*held));
	if (!held)
		return false;
	for (uint32_t i = x->size; i < size; i++)
		held[i] = (struct sl_kept){.frame = i + 1};
	x->held = held;
	x->size = size; /* x->free is the first of the new ones */
	return true;
}

uint64_t sl_kept_add(struct sl_extra *x, uint32_t frame, uint8_t nmore, uint32_t charge)
{
	uint32_t i = x->free;
	struct sl_kept *h;

	if (sl_unlikely(i == x->size) && !grow(x))
		return 0;
	h = &x->held[i];
	x->free = h->frame;
	x->count = (x->count + 1) & ((1u << COUNT_BITS) - 1);
	h->id = x->base | (uint64_t)x->count << PLACE_BITS | i;
	h->frame = frame;
	h->charge = charge;
	h->nmore = nmore;
	sl_store(&x->nheld, x->nheld + 1);
	return h->id;
}

struct sl_kept *sl_kept_find(struct sl_extra *x, uint64_t id)
{
	uint32_t i = PLACE(id);

	return sl_likely(i < x->size && id && x->held[i].id == id) ? &x->held[i] : NULL;
}

void sl_kept_del(struct sl_extra *x, struct sl_kept *h)
{
	h->id = 0;
	h->frame = x->free;
	x->free = (uint32_t)(h - x->held);
	sl_store(&x->nheld, x->nheld - 1);
}

void sl_kept_put(struct sl_sock *sk, struct sl_lane *lane, struct sl_kept *h)
{
	struct sl_extra *x = sl_extra_of(sk);

	if (sl_sock_is_udp(sk)) {
		sl_udp_release(&sl_udp_sk(sk)->udp, &lane->frames, h->frame, h->nmore, h->charge);
	} else {
		x->charged -= h->charge;
		sl_frame_put(&lane->frames, h->frame);
	}
	sl_kept_del(x, h);
}

void sl_kept_end(struct sl_sock *sk, struct sl_lane *lane)
{
	struct sl_extra *x = sl_extra_of(sk);

	if (sl_sock_is_udp(sk)) {
		struct sl_udp before = x->accepted;

		sl_udp_fini(&x->accepted, &lane->frames);
		sl_extra_uncharge(sk, &before);
	}
	for (uint32_t i = 0; i < x->size && x->nheld; i++)
		if (x->held[i].id)
			sl_kept_put(sk, lane, &x->held[i]);
	sl_free(x->held);
	x->held = NULL;
	x->size = x->free = 0;
}
