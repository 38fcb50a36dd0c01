/* SPDX-License-Identifier: BSD-2-Clause */
/* What a NIC with offloads does to packets of ours, in software. */
#ifndef SL_FINISH_H
#define SL_FINISH_H

#include "base/base.h"

/* Writes the checksums of a frame of ours (build.c), whatever stood there: IPv4 header, UDP, TCP.
 */
void sl_finish_csum(uint8_t *frame, size_t len);

/* Makes a segment of a copy of the headers of a large one: its number, how many bytes of payload
 * were before it; PSH and FIN are the last one's. Lengths, IP ID, sequence number; not the
 * checksums. */
void sl_finish_segment(uint8_t *frame, size_t len, unsigned nr, uint32_t before, bool last);

/* Makes the headers of a large TCP segment, len bytes in all, those that the kernel wants of a
 * packet to be segmented: its length, the checksum of the pseudo-header alone. Where the TCP header
 * begins; -1: not in a VLAN. */
int sl_finish_large(uint8_t *frame, size_t len);

#endif
