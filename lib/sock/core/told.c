/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of addresses, for the log of socket calls. */
#include "sock/core/told.h"

#include <netinet/in.h>
#include <stdio.h>

#include "base/guard.h"

const char *sl_told_name(const struct sockaddr *addr, socklen_t len, char buf[SL_TOLD_NAME])
{
	struct sockaddr_in6 copy = {0};
	char text[SL_ADDR_STRLEN];
	struct sl_addr a;
	uint32_t scope;
	uint16_t port;

	len = sl_min(len, (socklen_t)sizeof(copy));
	if (!addr || sl_guard_copy(&copy, addr, len))
		snprintf(buf, SL_TOLD_NAME, "%p", (const void *)addr);
	else if (sl_addr_from_sockaddr((struct sockaddr *)&copy, len, &a, &port, &scope))
		snprintf(buf, SL_TOLD_NAME, "family %d", copy.sin6_family);
	else
		snprintf(buf, SL_TOLD_NAME, sl_addr_is_v4(&a) ? "%s:%u" : "[%s]:%u",
			 sl_addr_str(&a, text), port);
	return buf;
}
