/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of AF_XDP sockets. */
#ifndef SL_CTL_RING_H
#define SL_CTL_RING_H

#include "ctl/device/device.h"
#include "ctl/umem/memory.h"

/* Maps rings, in the broker or in the process that gets the socket. sl_queue_map() maps a queue's
 * rings (fill, comp: entries) from its anchor, sl_lease_map() a lane's from the lease's descriptor.
 * -EBUSY: see sl_rings_lent_once(). */
struct xdp_mmap_offsets;
int sl_ring_offsets(int fd, struct xdp_mmap_offsets *off);
int sl_queue_map(struct sl_queue *q, uint32_t fill, uint32_t comp);
void sl_queue_unmap(struct sl_queue *q);
int sl_lease_map(struct sl_xsk_lease *l);
/* Maps the ring of l->packet_fd, which has l->packet_places, again. 0 or -errno. */
int sl_packet_ring_map(struct sl_xsk_lease *l);
/* Unmaps the ring and closes the socket, if the lease has one; the kernel deletes the private
 * device with the socket's last descriptor. */
void sl_packet_ring_close(struct sl_xsk_lease *l);
/* Unmaps the ring alone, if it is mapped. */
void sl_packet_ring_unmap(struct sl_xsk_lease *l);
/* Unmaps a lease's rings and closes its descriptors. */
void sl_lease_close(struct sl_xsk_lease *l);
/* True: this kernel cannot map rings after bind (before Linux 6.4), so they are mapped before it.
 */
bool sl_rings_lent_once(void);
void sl_rings_are_lent_once(void);
/* Finds sl_rings_lent_once() out with a bound queue, if it is not known. */
void sl_rings_try(const struct sl_queue *q);

#endif
