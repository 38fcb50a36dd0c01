/* SPDX-License-Identifier: BSD-2-Clause */
/* A leg is a lane's presence on a port: one XSK for each receive queue, and the queue that sends.
 * Functions without a file's name are in leg.c. */
#ifndef SL_LEG_H
#define SL_LEG_H

#include "base/base.h"
#include "io/io.h"
#include "io/xsk.h"

struct sl_lane;
struct sl_port;
struct sl_tunnel;

/* A lane's presence on a port. */
struct sl_leg {
	struct sl_port *port;
	struct sl_lane *lane;
	struct sl_tx *tx;
	struct sl_leg *below; /* the leg that carries a VLAN device's packets; else NULL */
	bool is_class;        /* below it is the leg of its port: sends by another queue alone */
	struct sl_tunnel *tunnel; /* a VXLAN device's: wraps its packets; else NULL */
	struct sl_tx *verbs; /* the NIC's own send queue, used by tx now or before; NULL: none, or
				below has it */
	uint64_t verbs_ns;   /* when the queue was opened or, after a failure, when to try for a
				new one; 0: never had one */
	uint32_t verbs_wait; /* seconds to wait, doubled after each failure */
	uint32_t first;      /* first index in the table `lanes`, used in claims */
	uint32_t nqueues;    /* 0 for a VLAN device */
	uint32_t tx_queue;   /* queue of the XSK that sends when there is no verbs queue */
	bool dead;           /* the device is gone: nothing is sent any more */
	bool again;          /* the last kick did not start every packet */
	struct sl_tx none;   /* tx points here after the leg was closed */
	struct sl_xsk xsk[];
};

/* True: sl_lanes_leave() has closed this leg. */
static inline bool sl_leg_is_closed(const struct sl_leg *leg)
{
	return leg->tx == &leg->none;
}

/* Transmit, lane held: posts a frame whose packet starts at off; the kick starts it. False: no
 * room now (the caller keeps the frame). */
bool sl_leg_post_desc(struct sl_leg *leg, const struct sl_tx_desc *d);
static inline bool sl_leg_post(struct sl_leg *leg, uint32_t frame, uint16_t off, uint16_t len)
{
	struct sl_tx_desc d = {.frame = frame, .off = off, .len = len};

	return sl_leg_post_desc(leg, &d);
}

/* Posts a packet in n frames, all or none. The leg's caps must have SL_TX_SG. */
bool sl_leg_post_long(struct sl_leg *leg, const struct sl_tx_desc *d, unsigned n);

/* Asks for the time at which the packet posted last leaves; sl_tx_on_stamp reports it. False: the
 * device cannot, or too many are asked for. Lane held. */
bool sl_leg_stamp(struct sl_leg *leg, void *who, uint64_t what);
static inline bool sl_leg_has_stamps(const struct sl_leg *leg)
{
	return leg->tx->caps & SL_TX_STAMP;
}

/* leg_open.c: the leg for packets of that priority: leg, or one that sends by the queue that mqprio
 * or taprio give them on the device. Lane held. */
struct sl_leg *sl_leg_by_prio(struct sl_leg *leg, uint32_t prio);

/* Number of descriptors that can be posted now. */
static inline uint32_t sl_leg_room(const struct sl_leg *leg)
{
	return leg->tx->ops->room ? leg->tx->ops->room(leg->tx) : UINT32_MAX;
}

/* Starts the posted packets. 0 (also while the link is down: frames wait on the ring), -EAGAIN
 * (ring full) or -ENODEV (the device is gone: the leg is dead). */
int sl_leg_kick(struct sl_leg *leg);
/* stack.c: handles a packet as if the leg had received it; the frame goes back to the lane. Lane
 * held. */
void sl_leg_input(struct sl_leg *leg, const struct sl_rx_desc *desc);
/* nic.c: gives a new leg the NIC's own send queue, if one is available. */
void sl_leg_open_verbs(struct sl_leg *leg);

/* True: the leg sends by the NIC's own queue. */
static inline bool sl_leg_is_by_nic(const struct sl_leg *leg)
{
	const struct sl_leg *own = leg;

	while (own->below)
		own = own->below;
	return own->verbs && leg->tx == own->verbs;
}

/* The queue of the leg that sends by AF_XDP. */
static inline struct sl_tx *sl_leg_xdp(struct sl_leg *leg)
{
	return &leg->xsk[leg->tx_queue].tx;
}
/* Moves all legs of the lane that use `from` to `to`: the device's leg and those of its VLAN
 * devices. Lane held. */
void sl_leg_swap(struct sl_lane *lane, const struct sl_tx *from, struct sl_tx *to);

#endif
