/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums and segments in software, for packets that a device with offloads did not send. */
#include "io/offload.h"

#include <string.h>

#include "wire/finish.h"

void sl_offload_undo(struct sl_offload_undo *u, struct sl_tx_desc *d, bool more)
{
	bool carries_on = d->flags & SL_TXD_CONT;
	uint8_t *frame;

	if (carries_on) {
		d->off -= d->hdr;
		d->len += d->hdr;
	}
	frame = sl_frame_ptr(d->frame) + d->off;
	if (carries_on) {
		memcpy(frame, u->hdr, d->hdr);
	} else if (more) {
		memcpy(u->hdr, frame, d->hdr);
		u->before = u->nr = 0;
	}
	if (carries_on || more) {
		sl_finish_segment(frame, d->len, u->nr++, u->before, !more);
		u->before += (uint32_t)d->len - d->hdr;
	}
	if (d->flags & SL_TXD_CSUM)
		sl_finish_csum(frame, d->len);
	d->flags = d->hdr = 0;
}
