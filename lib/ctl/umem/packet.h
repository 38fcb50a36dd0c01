/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a lane's packet socket. */
#ifndef SL_CTL_PACKET_H
#define SL_CTL_PACKET_H

#include "ctl/umem/memory.h"

/* Makes the receive ring of l->packet_fd, at most `entries` places, binds the socket to the device
 * of that number in its network namespace, and maps the ring into l. While the broker has it mapped
 * the kernel lets no other process that has the socket make another, larger ring. 0 or -errno. */
int sl_packet_ring_make(struct sl_xsk_lease *l, uint32_t ifindex, uint32_t entries);
#endif
