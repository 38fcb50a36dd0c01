/* SPDX-License-Identifier: BSD-2-Clause */
/* An IP address of either family: IPv4 is held as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). */
#ifndef SL_ADDR_H
#define SL_ADDR_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base.h"

struct sl_addr {
	union {
		uint8_t b[16];
		uint32_t w[4]; /* network order */
		uint64_t q[2]; /* network order */
		struct in6_addr in6;
	};
};

static inline struct sl_addr sl_addr_v4(uint32_t be_addr)
{
	struct sl_addr a;

	a.q[0] = 0;
	a.w[2] = __builtin_bswap32(0xffff);
	a.w[3] = be_addr;
	return a;
}

static inline struct sl_addr sl_addr_v6(const void *in6)
{
	struct sl_addr a;

	memcpy(a.b, in6, 16);
	return a;
}

static inline bool sl_addr_is_v4(const struct sl_addr *a)
{
	return a->q[0] == 0 && a->w[2] == __builtin_bswap32(0xffff);
}

/* Reads an address from bytes that lie anywhere: the maps' keys do not align them. */
static inline struct sl_addr sl_addr_of(const uint8_t b[16])
{
	struct sl_addr a;

	__builtin_memcpy(a.b, b, sizeof(a.b));
	return a;
}

static inline bool sl_addr_eq(const struct sl_addr *a, const struct sl_addr *b)
{
	return ((a->q[0] ^ b->q[0]) | (a->q[1] ^ b->q[1])) == 0;
}

/* Adds an address to a hash (sl_mix()). */
static inline uint64_t sl_addr_mix(uint64_t h, const struct sl_addr *a)
{
	return sl_mix(sl_mix(h, a->q[0]), a->q[1]);
}

/* 0.0.0.0 or :: */
static inline bool sl_addr_is_any(const struct sl_addr *a)
{
	return a->q[0] == 0 && (a->q[1] == 0 || (sl_addr_is_v4(a) && a->w[3] == 0));
}

static inline bool sl_addr_is_multicast(const struct sl_addr *a)
{
	return sl_addr_is_v4(a) ? (a->b[12] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

/* The Ethernet address of a group's packets (RFC 1112 6.4, RFC 2464 7). */
static inline void sl_addr_group_mac(const struct sl_addr *group, uint8_t mac[6])
{
	static const uint8_t v4[3] = {0x01, 0x00, 0x5e};

	if (sl_addr_is_v4(group)) {
		memcpy(mac, v4, 3);
		mac[3] = group->b[13] & 0x7f;
		memcpy(mac + 4, group->b + 14, 2);
	} else {
		memset(mac, 0x33, 2);
		memcpy(mac + 2, group->b + 12, 4);
	}
}

/* 127.0.0.0/8 or ::1 */
static inline bool sl_addr_is_loopback(const struct sl_addr *a)
{
	return sl_addr_is_v4(a) ? a->b[12] == 127
				: a->q[0] == 0 && a->w[2] == 0 && a->w[3] == __builtin_bswap32(1);
}

static inline bool sl_addr_is_linklocal(const struct sl_addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* Longest text: an IPv6 address. Returns buf. */
#define SL_ADDR_STRLEN INET6_ADDRSTRLEN
const char *sl_addr_str(const struct sl_addr *a, char buf[SL_ADDR_STRLEN]);

/* From a socket address of AF_INET or AF_INET6: address, port (host order), scope id (0 for
 * IPv4). Returns 0, -EINVAL when len is too short, -EAFNOSUPPORT for another family. */
int sl_addr_from_sockaddr(const struct sockaddr *sa, socklen_t len, struct sl_addr *addr,
			  uint16_t *port, uint32_t *scope_id);

/* To a socket address of the given family (an IPv4 address in an AF_INET6 socket is mapped).
 * Writes at most *len bytes and sets *len to the full length, as getpeername(2) does. sa may be
 * the program's (base/guard.h): 0, or -EFAULT. */
int sl_addr_to_sockaddr(const struct sl_addr *addr, uint16_t port, uint32_t scope_id, int family,
			struct sockaddr *sa, socklen_t *len);

#endif
