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

#define FIRST 16 /* entries of a new table */

bool sl_kept_grow(struct sl_extra *x)
{
	uint32_t size = x->size ? x->size * 2 : FIRST;
	struct sl_kept *held;

	if (size > 1u << SL_KEPT_PLACE_BITS)
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
			sl_kept_put(sk, x, lane, &x->held[i]);
	sl_free(x->held);
	x->held = NULL;
	x->size = x->free = 0;
}
