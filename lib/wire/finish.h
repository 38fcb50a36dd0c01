/* SPDX-License-Identifier: BSD-2-Clause */
/* Finishes packets of ours in software, as a NIC with offloads would. */
#ifndef SL_FINISH_H
#define SL_FINISH_H

#include "base/base.h"

/* Writes the checksums of a frame of ours (build.c), whatever stands in their fields: IPv4 header,
 * UDP, TCP. len: bytes of the frame. */
void sl_finish_csum(uint8_t *frame, size_t len);

/* Turns a copy of a large segment's headers into the headers of its segment number nr, which has
 * `before` bytes of payload before it: sets lengths, IP ID and sequence number, and keeps PSH and
 * FIN only in the last one. Leaves the checksums. len: bytes of that segment's frame. */
void sl_finish_segment(uint8_t *frame, size_t len, unsigned nr, uint32_t before, bool last);

/* Completes the headers of a large TCP segment, whose frame has len bytes, for the kernel to
 * segment it: sets the length, and the checksum of the pseudo-header alone. Returns where the TCP
 * header begins; -1: the packet has a VLAN tag, which cannot be done. */
int sl_finish_large(uint8_t *frame, size_t len);

#endif
