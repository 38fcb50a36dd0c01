/* SPDX-License-Identifier: BSD-2-Clause */
/* Small packets are copied together into one frame while frames are scarce. */
#include "io/scrap.h"

#include <string.h>

uint32_t sl_scrap_put(struct sl_frames *c, const void *data, uint32_t len, uint32_t align,
		      uint16_t *off)
{
	uint32_t at = (c->scrap_at + align - 1) & ~(align - 1), frame;

	if (!c->scrap || at + len > 1u << sl_pool.shift) {
		frame = sl_frame_get(c);
		if (frame == SL_NO_FRAME)
			return SL_NO_FRAME;
		sl_frames_close_scrap(c);
		c->scrap = frame + 1;
		at = 0;
	}
	frame = c->scrap - 1;
	memcpy(sl_frame_ptr(frame) + at, data, len);
	c->scrap_at = at + len;
	sl_frame_ref(frame);
	*off = (uint16_t)at;
	return frame;
}
