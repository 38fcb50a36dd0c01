/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a device, each for one group of processes. */
#ifndef SL_CTL_PART_H
#define SL_CTL_PART_H

#include "ctl/device/device.h"

/* Divides a device among that many groups, if possible; else, and where rings are lent once
 * (sl_rings_lent_once()), it stays whole. */
void sl_parts_make(struct sl_device *port, uint32_t want, bool lent_once);
/* Makes the device whole again, with no group using it. */
void sl_parts_end(struct sl_device *port);
/* sl_parts_word() writes the division for the reaper, "" for a whole device; sl_parts_clean() is
 * the reaper's undoing of it. */
#define SL_PARTS_WORD 16
void sl_parts_word(const struct sl_device *port, char word[SL_PARTS_WORD]);
void sl_parts_clean(uint32_t ifindex, const char *word);
/* Adds a use of the part, by the group with that packet memory. */
void sl_part_take(struct sl_part *part, uint32_t umem);
/* sl_part_of() finds the part of this packet memory, sl_part_unused() a free one; or NULL. */
struct sl_part *sl_part_of(struct sl_device *port, uint32_t umem);
struct sl_part *sl_part_unused(struct sl_device *port);
/* True: the queue belongs to a part whose queues are bound. */
bool sl_queue_is_bound(const struct sl_device *port, uint32_t queue);
/* True: both claims' packets come by the same part's queues. (Claims that pass use no queues.) */
bool sl_part_is_same(const struct sl_device *port, const struct sl_claim *a,
		     const struct sl_claim *b);
/* Describes the device as the group of this part sees it. */
void sl_part_describe(const struct sl_part *part, struct sl_port_info *out);

#endif
