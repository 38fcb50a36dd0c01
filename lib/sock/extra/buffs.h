/* SPDX-License-Identifier: BSD-2-Clause */
/* The buffers of packets that sl_lane_poll() reports: their memory, and how often each is held. */
#ifndef SL_BUFFS_H
#define SL_BUFFS_H

#include "base/lock.h"
#include "sluice_extra.h"

struct sl_buff_own;
/* A lane's unused buffers. */
struct sl_buff_list {
	struct sl_lock lock;
	struct sl_buff_own *first;
};

/* Fills desc with a buffer for each piece of a packet, which fd holds under the name id. False: no
 * memory. */
bool sl_buffs_make(struct sl_buff_list *from, int fd, void *id, const struct iovec *iov, size_t n,
		   struct sl_packet_desc *desc);
/* In a forked child: all buffers are the parent's. */
void sl_buffs_child(void);

#endif
