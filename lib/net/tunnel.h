/* SPDX-License-Identifier: BSD-2-Clause */
/* The way out of a VXLAN device: frames leave by the device below, wrapped here. */
#ifndef SL_TUNNEL_H
#define SL_TUNNEL_H

#include "net/net.h"

struct sl_tunnel;

/* The layer above tells a tunnel about its lane by this. What the pointers name lives as long as
 * the tunnel. All calls are made with the lane held. */
struct sl_tunnel_low {
	const uint32_t *ifindex;             /* of the VXLAN device now; atomic */
	void *leg;                           /* the lane's on the device below */
	struct sl_tx **tx;                   /* its queue now */
	const char *ifname;                  /* the device's name */
	struct sl_frames *frames;            /* the lane's */
	const uint16_t *port_min, *port_max; /* ip_local_port_range; 0: not known */
	bool (*is_closed)(const void *leg);
	int (*kick)(void *leg); /* as sl_tx_ops's, and changes the queue if that is dead */
	/* Calls sl_dst_get() for the lane. */
	struct sl_dst *(*dst)(void *leg, const struct sl_route_key *key, uint64_t now_ns);
	/* Has the kernel's device send the frame, for a process that may have no packet socket. */
	void (*send)(void *port, const void *frame, size_t bytes);
	void *port; /* of the VXLAN device */
};

/* Makes the way out of the VXLAN device. NULL with errno set: it cannot be made. */
struct sl_tunnel *sl_tunnel_open(const struct sl_tunnel_low *low);
struct sl_tx *sl_tunnel_tx(struct sl_tunnel *t);
/* Lane held. */
void sl_tunnel_close(struct sl_tunnel *t);
/* A forked child closes its copy of the descriptors. */
void sl_tunnel_child(const struct sl_tunnel *t);

#endif
