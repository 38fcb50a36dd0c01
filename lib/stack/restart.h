/* SPDX-License-Identifier: BSD-2-Clause */
/* Some drivers take the link down when a port is opened (restart.c). */
#ifndef SL_RESTART_H
#define SL_RESTART_H

#include "base/base.h"

struct sl_port;

/* Call sl_port_opened() after
 * opening and sl_port_has_link() when the link is up. sl_port_cost_link(): opening took the link
 * down and nobody has seen it come back. sl_port_wait_link() sleeps until it is back. */
void sl_port_opened(struct sl_port *p);
void sl_port_has_link(struct sl_port *p);
bool sl_port_cost_link(const struct sl_port *p);
void sl_port_wait_link(struct sl_port *p);
/* sl_port_restarts(): the link or the neighbours may still be missing. sl_port_restarted(): that
 * time is over, and had not ended at since_ns. */
bool sl_port_restarts(const struct sl_port *p);
bool sl_port_restarted(const struct sl_port *p, uint64_t since_ns);

#endif
