/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounce frames: a member copies into them what it cannot send from where it lies.
 *
 * Theory of operation: registering memory with an XSK makes all its pages, so where queues only
 * send the first frames of the group are registered alone. The pool does not know the difference,
 * and a member may come to hold none of these. So the lowest are set aside, some for each member,
 * which can send then whatever the others hold. A bounce frame is free, taken by its member, or in
 * flight; whoever finds it completed frees it, and so does the burial of its member. */
#ifndef SL_SHARE_BOUNCE_H
#define SL_SHARE_BOUNCE_H

#include "base/share/share.h"

#define SL_SHARE_BOUNCE 8 /* of each member: a packet has at most that many frames */

/* Sets the frames of a new group aside, before any frame is used. */
void sl_share_set_bounce(struct sl_share *g);
/* Takes a free one of a member's, with one reference; SL_NO_FRAME: there is none. Any thread. */
uint32_t sl_share_bounce_get(struct sl_share *g, uint8_t me);

static inline bool sl_share_is_bounce(const struct sl_share *g, uint32_t frame)
{
	return frame < sl_load(&g->told->bounce);
}

/* Frees one that is not in flight. */
static inline void sl_share_bounce_put(struct sl_share *g, uint32_t frame)
{
	sl_store_release(&g->word[frame].all, 0);
}

#endif
