/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of a device that is gone becomes free for the next one (retire.c). */
#ifndef SL_RETIRE_H
#define SL_RETIRE_H

#include "base/base.h"

struct sl_port;

/* True: another device may reuse the port's place. Called by the keeper. */
bool sl_port_may_retire(const struct sl_port *p);
/* Frees p's place after sl_port_may_retire() said true. Call without a lane's lock. */
void sl_port_retire(struct sl_port *p);
/* sl_ports_leave() retires every port, used or not, and refuses to open ports until
 * sl_ports_close(false). Call after sl_policy_stop(), so that the policy uses none of them. */
void sl_ports_leave(void);
#endif
