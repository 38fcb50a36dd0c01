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

#endif
