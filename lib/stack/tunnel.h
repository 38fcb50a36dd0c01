/* SPDX-License-Identifier: BSD-2-Clause */
/* The way out of a VXLAN device: frames leave by the device below, wrapped here. */
#ifndef SL_TUNNEL_H
#define SL_TUNNEL_H

#include "io/io.h"

struct sl_leg;
struct sl_tunnel;

/* Makes the way out of the VXLAN device, by low, the lane's leg on the device below. NULL with
 * errno set: it cannot be made. */
struct sl_tunnel *sl_tunnel_open(uint32_t ifindex, struct sl_leg *low);
struct sl_tx *sl_tunnel_tx(struct sl_tunnel *t);
/* Lane held. */
void sl_tunnel_close(struct sl_tunnel *t);
/* A forked child closes its copy of the descriptors. */
void sl_tunnel_child(const struct sl_tunnel *t);

#endif
