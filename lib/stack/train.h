/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments in a row become one packet, where the device segments (train.c). */
#ifndef SL_TRAIN_H
#define SL_TRAIN_H

#include "io/io.h"
#include "wire/tcp_seg.h"

struct sl_leg;

/* The TCP packet posted last, which the device segments (TSO), and the fields that the next
 * segment must match to be appended to it. */
struct sl_train {
	const struct sl_tx *tx;
	uint32_t open;  /* tx->open when it was posted; 0: no packet can be continued */
	const void *of; /* the connection; compared only */
	uint8_t *flags; /* TCP flags byte in its header */
	uint8_t hdr;    /* header bytes */
	uint8_t n;      /* segments so far */
	uint32_t bytes; /* payload bytes so far */
	struct sl_tcp_seg first;
};

/* Posts a TCP segment with d->hdr bytes of headers; of: the connection. On a device with TSO the
 * next segments may be appended to it (sl_train_post()); where they may not, d->hdr is set to 0. */
bool sl_leg_post_tcp(struct sl_leg *leg, struct sl_tx_desc *d, const struct sl_tcp_seg *seg,
		     const void *of);
/* True: seg continues the packet posted last, so that sl_train_post() can append its bytes without
 * headers. */
bool sl_train_takes(const struct sl_leg *leg, const struct sl_tcp_seg *seg, const void *of);
bool sl_train_post(struct sl_leg *leg, uint32_t frame, uint16_t off, const struct sl_tcp_seg *seg);

#endif
