/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of destinations: which entry of `paces` holds for one, and how it reads. */
#ifndef SL_PACE_RULE_H
#define SL_PACE_RULE_H

#include "base/addr.h"
#include "steer.h"

/* The entry for a destination (port in host order): with address and port, else with the address
 * (the longest prefix first), else with the port, else with neither; of equal ones the first. The n
 * entries may change meanwhile. NULL: none. Any thread, no system call, no lock. */
const struct sl_pace_rule *sl_pace_rule_find(const struct sl_pace_rule *r, unsigned n,
					     const struct sl_addr *dst, uint16_t port);
/* True: both are for the same destinations. */
bool sl_pace_rule_is_for_same(const struct sl_pace_rule *a, const struct sl_pace_rule *b);

#define SL_PACE_TEXT_MAX 112
/* The entry as the rest of a `pace` line: "192.0.2.1:5001 300mbit burst 9000". Returns buf. */
const char *sl_pace_rule_text(const struct sl_pace_rule *r, char buf[SL_PACE_TEXT_MAX]);

#endif
