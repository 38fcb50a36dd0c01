/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory and XSKs, for the code that works with their frames and rings. */
#ifndef SL_CTL_MEMORY_H
#define SL_CTL_MEMORY_H

#include "base/base.h"
#include "base/share/share_watch.h"
#include "ctl/device/port.h"
#include "steer.h"

/* A lane's XSK on an RX queue. Fill and completion rings belong to the queue and are shared by
 * its lanes. The broker keeps an XSK of its own on each queue, so these rings (and the frames in
 * them) stay when the last lane closes, until the port is closed.
 *
 * The rings are mapped already, since kernels before 6.4 let that be done only before bind. The
 * caller unmaps rx_map and tx_map; fill_map and comp_map belong to the broker. NULL (a lease that
 * came over a socket): the caller maps the ring from the descriptor and owns the mapping.
 *
 * The fill ring of a queue has frames in it before bind (a driver may stay deaf otherwise). */
#define SL_PACKET_PLACE  2048u /* bytes of a place: an Ethernet packet of 1,500 fits */
#define SL_PACKET_PLACES 2048u /* at most, in a lane's ring */
struct sl_xsk_lease {
	int fd; /* bound XSK; the caller owns it */
	uint32_t queue;
	uint32_t rx_size, tx_size, fill_size, comp_size; /* entries */
	void *rx_map, *tx_map, *fill_map, *comp_map;
	size_t rx_bytes, tx_bytes;       /* of the mappings */
	uint32_t share_queue, share_xsk; /* records in the group's memory */
	bool zerocopy;
	uint32_t near; /* the XSK can send only from frames below this number; 0: from all */
	/* Places in the ring of the packet socket by which the lane receives for all its queues
	 * (the first lease alone has it). 0: it receives by XSKs, and what follows is not set. */
	uint32_t packet_places;
	int packet_fd;     /* the caller owns it */
	void *packet_ring; /* as rx_map */
	bool unbound; /* only in the daemon: to be bound when the process has mapped its rings */
};

/* The packet memory of a group, or of this process alone: one memfd, registered as UMEM with every
 * XSK. */
#define SL_UMEM_QUEUES (32 * SL_MAX_QUEUES) /* records in a group's memory */
#define SL_UMEM_XSKS   (2 * SL_MAX_XSKS)
struct sl_umem_info {
	uint32_t id; /* distinguishes the memories of one broker; 0: the embedded broker's only one
		      */
	int memfd; /* owned by the broker; map it, do not close it; -1: a process alone has none */
	void *base;
	uint32_t nframes;
	uint32_t frame_size; /* bytes, a power of two */
	uint32_t headroom;   /* bytes the kernel leaves free in front of a received frame, beside
				XDP_PACKET_HEADROOM */
	bool huge;           /* on huge pages */
	/* Owners of the frames, and the state of the queues' rings: shared with the other processes
	 * of the group; this process is `member` of it. The descriptors (told_fd: one for reading),
	 * the sizes above, the geometry and a member number are all that sl_pool_attach() needs in
	 * another process. */
	int share_fd; /* owned by the broker */
	int told_fd;  /* messages of the group's owner to its members; -1: a process alone */
	struct sl_share_geometry geometry;
	struct sl_share share;
	uint8_t member;
};

/* Sizes of a frame, in bytes; there are no others. */
#define SL_FRAME_SIZE_SMALL 2048u
#define SL_FRAME_SIZE_LARGE 4096u
static inline bool sl_is_frame_size(uint32_t bytes)
{
	return bytes == SL_FRAME_SIZE_SMALL || bytes == SL_FRAME_SIZE_LARGE;
}

/* Checks what another process says of a memory. */
static inline bool sl_umem_is_sound(uint32_t nframes, uint32_t frame_size, uint32_t headroom,
				    const struct sl_share_geometry *g)
{
	return sl_is_frame_size(frame_size) && headroom < frame_size && g->nframes == nframes &&
	       sl_share_geometry_is_sound(g) && 1u << g->frame_shift == frame_size;
}

/* Where packets come by packet sockets, an XSK only sends: so much of the memory of a process alone
 * is registered with it (io/far.h), and made at the start. Whole huge pages. */
#define SL_UMEM_NEAR_BYTES (2u << 20)
/* The daemon registers so much of a group's memory where XSKs only send. The lowest frames are
 * bounce frames (base/share/share_bounce.h). */
#define SL_UMEM_LENT_NEAR_BYTES (8u << 20)

/* Free in front of a received frame beside XDP_PACKET_HEADROOM: room for wider headers on the way
 * out of a frame that is sent on. With XDP_PACKET_HEADROOM it puts the metadata record at the start
 * of a cache line. */
#define SL_UMEM_HEADROOM 16
#define SL_ETH_MOST      22 /* Ethernet header and two VLAN tags */

/* Bytes of the longest packet, from its Ethernet header on, that fits in one frame.
 * XDP_PACKET_HEADROOM lies in front of it; a NIC's buffer (i40e, ice) is counted in units of 128
 * bytes; the longest metadata record may have to lie in the packet. */
static inline uint32_t sl_umem_room(const struct sl_umem_info *u)
{
	return ((u->frame_size - 256 - u->headroom) & ~127u) -
	       (uint32_t)(sizeof(struct sl_mark) + sizeof(struct sl_meta_hw));
}

/* Bytes of the longest IP packet that fits in one frame. */
static inline uint32_t sl_umem_mtu(const struct sl_umem_info *u)
{
	return sl_umem_room(u) - SL_ETH_MOST;
}

/* Bytes of the longest IP packet that comes in several frames (SL_PORT_FRAGS): a jumbo frame, and
 * no more than sl_broker_inject() takes. */
#define SL_PACKET_MOST 9216

/* Bytes of the longest packet that sl_broker_inject() takes: without VLAN tags it may be that much
 * longer. */
#define SL_INJECT_MAX (SL_PACKET_MOST + 8)

/* sl_umem_mtu() for frames of that size with the headroom that we use. */
static inline uint32_t sl_frame_mtu(uint32_t frame_size)
{
	const struct sl_umem_info u = {.frame_size = frame_size, .headroom = SL_UMEM_HEADROOM};

	return sl_umem_mtu(&u);
}

/* True: XSKs get packets that this driver receives in several buffers. */
bool sl_broker_gathers(const char *driver);
/* Bytes of a frame that suffices for the devices that exist now. Any thread. */
uint32_t sl_broker_frame_size(void);

#endif
