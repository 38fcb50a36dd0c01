/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of a device that is gone becomes free for the next one, and a device that has lost its
 * steering program is opened anew (retire.c). */
#ifndef SL_RETIRE_H
#define SL_RETIRE_H

#include "base/base.h"

struct sl_port;

/* True: the port is not needed any more: its device is gone, or lost and to be opened anew, and no
 * VLAN device uses it. Called by the keeper. */
bool sl_port_may_retire(const struct sl_port *p);
/* Frees p's place after sl_port_may_retire() said true. Call without a lane's lock. */
void sl_port_retire(struct sl_port *p);
/* sl_ports_leave() retires every port, used or not, and refuses to open ports until
 * sl_ports_close(false). Call after sl_policy_stop(), so that the policy uses none of them. */
void sl_ports_leave(void);

/* The keeper's. Notes a device whose port was retired while it exists. */
void sl_lost_add(uint32_t ifindex);
bool sl_lost_any(void); /* true: there are such devices */
/* Tries to open each of them, unless it was refused a little while ago. True: one is open. */
bool sl_lost_open(void);
void sl_lost_child(void); /* in a child of fork: forgets all */
#endif
