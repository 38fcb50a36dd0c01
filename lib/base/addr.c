/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses to and from text and socket addresses. */
#include "base/addr.h"

#include "base/guard.h"

#include <arpa/inet.h>
#include <errno.h>

const char *sl_addr_str(const struct sl_addr *a, char buf[SL_ADDR_STRLEN])
{
	if (sl_addr_is_v4(a))
		inet_ntop(AF_INET, &a->w[3], buf, SL_ADDR_STRLEN);
	else
		inet_ntop(AF_INET6, a->b, buf, SL_ADDR_STRLEN);
	return buf;
}

int sl_addr_from_sockaddr(const struct sockaddr *sa, socklen_t len, struct sl_addr *addr,
			  uint16_t *port, uint32_t *scope_id)
{
	*scope_id = 0;
	if (len < sizeof(sa->sa_family))
		return -EINVAL;
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		if (len < sizeof(in))
			return -EINVAL;
		memcpy(&in, sa, sizeof(in));
		*addr = sl_addr_v4(in.sin_addr.s_addr);
		*port = ntohs(in.sin_port);
		return 0;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		/* SIN6_LEN_RFC2133: the scope id may be missing. */
		if (len < offsetof(struct sockaddr_in6, sin6_scope_id))
			return -EINVAL;
		memset(&in6, 0, sizeof(in6));
		memcpy(&in6, sa, sl_min((size_t)len, sizeof(in6)));
		*addr = sl_addr_v6(&in6.sin6_addr);
		*port = ntohs(in6.sin6_port);
		*scope_id = in6.sin6_scope_id;
		return 0;
	}
	return -EAFNOSUPPORT;
}

int sl_addr_to_sockaddr(const struct sl_addr *addr, uint16_t port, uint32_t scope_id, int family,
			struct sockaddr *sa, socklen_t *len)
{
	int err;

	if (family == AF_INET) {
		struct sockaddr_in in = {
			.sin_family = AF_INET,
			.sin_port = htons(port),
			.sin_addr.s_addr = addr->w[3],
		};

		err = sl_guard_copy(sa, &in, sl_min((size_t)*len, sizeof(in)));
		*len = sizeof(in);
	} else {
		struct sockaddr_in6 in6 = {
			.sin6_family = AF_INET6,
			.sin6_port = htons(port),
			.sin6_addr = addr->in6,
			.sin6_scope_id = sl_addr_is_linklocal(addr) ? scope_id : 0,
		};

		err = sl_guard_copy(sa, &in6, sl_min((size_t)*len, sizeof(in6)));
		*len = sizeof(in6);
	}
	return err;
}
