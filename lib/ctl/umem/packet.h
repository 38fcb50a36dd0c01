/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a lane's packet socket. */
#ifndef SL_CTL_PACKET_H
#define SL_CTL_PACKET_H

#include "ctl/umem/memory.h"

/* Makes the receive ring of l->packet_fd, at most `entries` places, binds the socket to the device
 * of that number in its network namespace, and maps the ring into l. While the broker has it mapped
 * the kernel lets no other process that has the socket make another, larger ring. 0 or -errno. */
int sl_packet_ring_make(struct sl_xsk_lease *l, uint32_t ifindex, uint32_t entries);
/* Shows `late` the packets in the mapped ring of a dead process, and takes them out. packet begins
 * with Ethernet addresses of zero, and a struct sl_meta stands in front of it, as in a frame; the
 * copy is the caller's until the next packet. All of it is as the dead process may have written it,
 * and any child of it may still write to the ring. Leaves out packets that the kernel has not
 * segmented: their senders repeat them. Broker lock. */
typedef void sl_packet_late_fn(void *arg, const uint8_t *packet, uint32_t bytes);
void sl_packet_ring_take(const struct sl_xsk_lease *l, sl_packet_late_fn *late, void *arg);

#endif
