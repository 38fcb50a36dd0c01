/* SPDX-License-Identifier: BSD-2-Clause */
/* The administrator's rates of destinations (`paces`, bpf/steer.h), as the ports' maps have them.
 */
#ifndef SL_STACK_PACES_H
#define SL_STACK_PACES_H

#include "base/pace.h"
#include "stack/port.h"

/* Entries of the ports' maps to look at: 0 where no port has a rate, so that a path to a new
 * destination then costs one load. More than SL_MAX_PACES: not counted yet. */
extern uint32_t sl_paces_used;

/* True: what the maps say has changed since the last call. The keeper's. */
bool sl_paces_changed(void);
/* The rate of a destination (port in host order) by that port; bytes_s 0: none. Any thread. */
struct sl_pace_ask sl_paces_ask(const struct sl_port *port, const struct sl_addr *dst,
				uint16_t l4_port);
/* The lower of a socket's own rate and that of its destination, with its burst. */
static inline struct sl_pace_ask sl_paces_lower(const struct sl_pace_ask *own,
						const struct sl_pace_ask *rule)
{
	return rule->bytes_s && (!own->bytes_s || rule->bytes_s < own->bytes_s) ? *rule : *own;
}

#endif
