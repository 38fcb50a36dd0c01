/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides by rules whether a socket on a device is the kernel's. The rules that the program has
 * added come first, then those of the device; the configuration file's while no device is known. */
#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"
#include "stack/port.h"

/* By all rules but those that the program has added. */
static enum sl_rule_action decide_given(const struct sl_port *port, const struct sl_rule_ask *ask,
					struct sl_narrow *narrow)
{
	unsigned n;
	const struct sl_rule *rules = port ? port->info.rules : NULL, *hit;
	enum sl_rule_action action;

	if (rules)
		n = sl_rules_used(rules);
	else
		rules = sl_rules(&n);
	action = sl_rule_decide(rules, n, ask, &hit);
	*narrow = hit ? hit->narrow : (struct sl_narrow){0};
	if (hit && port && port->info.rules_rw)
		__atomic_fetch_add(&port->info.rules_rw[hit - rules].hits, 1, __ATOMIC_RELAXED);
	return action;
}

enum sl_rule_action sl_port_decide_narrow(const struct sl_port *port,
					  const struct sl_rule_ask *asked, struct sl_narrow *narrow)
{
	unsigned nadded;
	const struct sl_rule *hit, *added = sl_rules_added(&nadded);
	enum sl_rule_action action;
	struct sl_rule_ask ask = *asked;

	ask.vni_after = port ? port->vni_after : 0;
	if (added) {
		action = sl_rule_decide(added, nadded, &ask, &hit);
		*narrow = hit ? hit->narrow : (struct sl_narrow){0};
		if (hit || action == SL_RULE_NONE)
			return action;
	}
	return decide_given(port, &ask, narrow);
}

enum sl_rule_action sl_port_decide(const struct sl_port *port, uint32_t role,
				   const struct sl_addr *first, uint16_t first_port,
				   const struct sl_addr *second, uint16_t second_port)
{
	struct sl_narrow narrow;

	return sl_port_decide_narrow(
		port, &(struct sl_rule_ask){role, first, first_port, second, second_port, 0},
		&narrow);
}

bool sl_port_may_move(const struct sl_port *port, const struct sl_rule_ask *asked,
		      enum sl_rule_action to)
{
	struct sl_narrow narrow;
	struct sl_rule_ask ask = *asked;
	unsigned nadded;

	ask.vni_after = port->vni_after;
	return sl_port_decide_narrow(port, asked, &narrow) == to &&
	       (!sl_rules_added(&nadded) || decide_given(port, &ask, &narrow) == to);
}
