/* SPDX-License-Identifier: BSD-2-Clause */
/* Finishes packets that were posted to a device with offloads, so that any device can send them. */
#ifndef SL_OFFLOAD_H
#define SL_OFFLOAD_H

#include "io/io.h"

/* The state of a walk over descriptors in their order; all zero at the start. */
struct sl_offload_undo {
	uint8_t hdr[128]; /* headers of the packet under way */
	uint32_t before;  /* bytes of its payload so far */
	uint16_t nr;      /* segments so far */
};

/* Finishes the packet of d in its frame: it is a packet of its own then, without flags. more: the
 * next descriptor carries on this one. */
void sl_offload_undo(struct sl_offload_undo *u, struct sl_tx_desc *d, bool more);

#endif
