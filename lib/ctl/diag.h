/* SPDX-License-Identifier: BSD-2-Clause */
/* Which sockets of the host would lose packets if a port were claimed: sock_diag(7). */
#ifndef SL_DIAG_H
#define SL_DIAG_H

#include "base/addr.h"
#include "base/base.h"

/* What is going to be claimed. */
struct sl_diag_claim {
	struct sl_addr local; /* bound address, or the group that is joined; any: wildcard */
	uint16_t port;        /* host order */
	uint32_t ifindex;     /* SO_BINDTODEVICE, 0: none */
	bool dual;            /* AF_INET6, wildcard, without IPV6_V6ONLY: IPv4 comes here too */
	bool tcp;             /* TCP sockets that listen, not UDP's */
};

/* Does the socket with this inode (st_ino of its descriptor) belong to the caller? */
typedef bool (*sl_diag_is_ours)(uint32_t inode, void *arg);

/* Is there, in the caller's network namespace, a socket of another program on that port whose
 * address overlaps: equal, or either one a wildcard that takes the other's family, on the same
 * device or on any? A group is an address like any other: sockets bound to the wildcard get the
 * packets of every group the host has joined (IP_MULTICAST_ALL). Connected sockets count too.
 * Sockets of programs that wait for such packets by another way (raw, packet sockets) are not
 * looked for: they get no copy of what is claimed.
 *
 * Returns 1 and the inode of the first one found, 0, or -errno when neither sock_diag nor
 * /proc/net can be asked. One dump of the namespace's UDP sockets for each family: at claim time,
 * not on the packet path. Any thread; no interposed calls, no allocation. */
int sl_diag_shared(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		   uint32_t *inode);

/* A connection of the kernel's TCP. */
struct sl_diag_conn {
	struct sl_addr local, remote;
	uint16_t remote_port; /* host order */
	uint8_t state;        /* TCP's, as in /proc/net/tcp */
};
#define SL_DIAG_TIME_WAIT 6
/* Calls fn for each of the namespace that has that local port (one may be told twice). 0 or
 * -errno. */
int sl_diag_tcp_conns(uint16_t port, void (*fn)(const struct sl_diag_conn *c, void *arg),
		      void *arg);

/* For tests: the two ways apart. netlink answers -ENOENT where the kernel has no udp_diag. */
int sl_diag_netlink(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		    uint32_t *inode);
int sl_diag_proc(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		 uint32_t *inode);

#endif
