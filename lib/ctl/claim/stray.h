/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows whose segments the kernel gets. */
#ifndef SL_CTL_STRAY_H
#define SL_CTL_STRAY_H

#include "ctl/device/port.h"

/* sl_broker_port_strays() for the claims of that process. */
unsigned sl_embedded_port_strays(uint32_t ifindex, uint32_t pid, unsigned skip,
				 struct sl_stray_told *out, unsigned max);
/* The flow's process is dead: the kernel's answers to its peer are not held back any more. */
void sl_embedded_let_reset(const struct sl_flow_key *key);

#endif
