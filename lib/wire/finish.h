/* SPDX-License-Identifier: BSD-2-Clause */
/* Finishes packets of ours in software, as a NIC with offloads would. */
#ifndef SL_FINISH_H
#define SL_FINISH_H

#include "base/base.h"

/* Writes the checksums of a frame of ours (build.c), whatever stood there: IPv4 header, UDP, TCP.
 */
void sl_finish_csum(uint8_t *frame, size_t len);

/* Turns a copy of a large segment's headers into those of its segment number nr, with `before`
 * bytes of payload before it: lengths, IP ID, sequence number; PSH and FIN stay in the last one
 * only. Leaves the checksums. */
void sl_finish_segment(uint8_t *frame, size_t len, unsigned nr, uint32_t before, bool last);

/* Completes the headers of a large TCP segment, len bytes in all, as the kernel wants them of a
 * packet that it has to segment: the length, and the checksum of the pseudo-header alone. Returns
 * where the TCP header begins; -1: the packet is in a VLAN, which cannot be done. */
int sl_finish_large(uint8_t *frame, size_t len);

#endif
