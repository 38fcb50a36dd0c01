/* SPDX-License-Identifier: BSD-2-Clause */
/* nic.c: legs that receive by a queue of the NIC. */
#ifndef SL_NIC_RX_H
#define SL_NIC_RX_H

#include "stack/leg.h"

/* Lets the broker make rules of NICs for claims (ctl/steer/nic_rule.h). Before a device is opened.
 */
void sl_nic_rx_init(void);
/* Opens the queue by which a new leg receives, where its device steers itself. 0 or -errno, and
 * *why. */
int sl_leg_open_rx(struct sl_leg *leg, const char **why);
/* Has ICMP errors read that come by a device which steers itself, or by a VLAN device over it. The
 * tables' lock is held. */
void sl_nic_rx_errors(const struct sl_port *port);
/* The keeper calls this once a second: hands ICMP errors about our connections to their lanes,
 * which no rule of the NIC brings, those of VLAN devices over the device included. No lane held.
 */
void sl_nic_rx_look(uint32_t ifindex);
void sl_nic_rx_close(uint32_t ifindex); /* the keeper: the device is used no more */
void sl_nic_rx_child(void);             /* in a forked child */
/* Why a queue of the device receives nothing any more; NULL: all do. No lane held. */
const char *sl_nic_rx_dead(const struct sl_port *port);

#endif
