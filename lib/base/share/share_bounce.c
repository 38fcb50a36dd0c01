/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounce frames of the members of a group. */
#include "base/share/share_bounce.h"

void sl_share_set_bounce(struct sl_share *g)
{
	g->told->bounce = SL_SHARE_MEMBERS * SL_SHARE_BOUNCE;
	g->head->born = g->told->bounce;
}

uint32_t sl_share_bounce_get(struct sl_share *g, uint8_t me)
{
	const uint32_t taken = ((union sl_frame_word){.owner = me, .refs = 1}).all;
	uint32_t first = me * SL_SHARE_BOUNCE;

	for (uint32_t f = first; f < first + SL_SHARE_BOUNCE; f++) {
		uint32_t none = 0;

		if (sl_share_is_bounce(g, f) &&
		    __atomic_compare_exchange_n(&g->word[f].all, &none, taken, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return f;
	}
	return SL_NO_FRAME;
}
