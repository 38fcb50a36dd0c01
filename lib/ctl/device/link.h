/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks whether a network device is there, and at the program that it runs. */
#ifndef SL_CTL_LINK_H
#define SL_CTL_LINK_H

#include "base/base.h"

struct sl_link_now {
	uint8_t mac[6];
	uint32_t xdp_id; /* program that the device runs, 0: none */
	uint32_t mtu;
	bool carrier;
};
/* Returns the netlink descriptor, made on first use. Call it in a call of the program, not in the
 * keeper, so that the descriptor does not appear later. */
int sl_link_open(void);
/* 0, or -errno: -ENODEV when the device is gone. */
int sl_link_look(uint32_t ifindex, struct sl_link_now *out);
void sl_link_look_child(void);

#endif
