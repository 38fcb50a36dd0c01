/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive aggregation: segments in a row of one connection in one batch become a run (gro.c). */
#ifndef SL_GRO_H
#define SL_GRO_H

#include "net/net.h"

#define SL_GRO_MAX 32 /* streams at once */

struct sl_gro;
/* For up to that many streams at once, more than SL_GRO_MAX are SL_GRO_MAX. NULL: 0, or no memory.
 */
struct sl_gro *sl_gro_new(unsigned streams);
/* Like sl_in_dispatch() for a TCP packet, but may hold it back (and says then that it was kept)
 * until sl_gro_end(). in->gro is set. */
bool sl_gro_input(const struct sl_slot *s, struct sl_in *in);
/* True: packets are held back. */
bool sl_gro_is_holding(const struct sl_gro *g);
/* The batch is over: hands up what is held back. */
void sl_gro_end(struct sl_gro *g);

#endif
