/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the daemon's policy parser takes any bytes, and the resulting policy can be queried.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/sluiced/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(void *arg, unsigned line, const char *expected, const char *found)
{
	if (!line || !*expected || !found)
		abort();
}

static bool any_name(const char *name, bool group, uint32_t *id)
{
	*id = (uint32_t)strlen(name);
	return *id % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sl_policy p;
	uint32_t gids[2] = {3, 5};

	sl_policy_parse((const char *)data, size, &p, any_name, check_error, NULL);
	if (p.n > SL_POLICY_MAX)
		abort();
	for (uint32_t uid = 0; uid < 8; uid++) {
		const struct sl_policy_rule *r = sl_policy_find(&p, uid, gids, 2);

		if (!r)
			continue;
		if (!r->allow || r->limits.lanes > SL_SESSION_LANES ||
		    r->limits.flows > SL_MAX_FLOWS)
			abort();
		(void)sl_limits_allow_device(&r->limits, "eth0");
		if (sl_limits_allow_group(&r->limits, "feed") && !r->limits.groups[0])
			abort();
	}
	return 0;
}
