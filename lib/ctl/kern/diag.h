/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds sockets of the host that would lose packets if a port were claimed: sock_diag(7). */
#ifndef SL_DIAG_H
#define SL_DIAG_H

#include "base/addr.h"
#include "base/base.h"

/* The claim that is about to be made. */
struct sl_diag_claim {
	struct sl_addr local; /* bound address, or the group that is joined; any: wildcard */
	uint16_t port;        /* host order */
	uint32_t ifindex;     /* SO_BINDTODEVICE, 0: none */
	bool dual;            /* AF_INET6, wildcard, without IPV6_V6ONLY: IPv4 comes here too */
	bool tcp;             /* TCP sockets that listen, instead of UDP sockets */
};

/* True: the socket with this inode (st_ino of its descriptor) belongs to the caller. */
typedef bool (*sl_diag_is_ours)(uint32_t inode, void *arg);

/* Looks, in the caller's network namespace, for another program's socket on that port whose address
 * overlaps: equal, or either one a wildcard that takes the other's family, on the same device or on
 * any. A group is an address like any other: sockets bound to the wildcard get the packets of every
 * group the host has joined (IP_MULTICAST_ALL). Connected sockets count too. Raw and packet sockets
 * are not looked for, although they get no copy of claimed packets.
 *
 * Returns 1 and the inode of the first one found, 0, or -errno when neither sock_diag nor /proc/net
 * can be asked. Dumps the namespace's UDP sockets once for each family: at claim time, not on the
 * packet path. Any thread; no interposed calls, no allocation. */
int sl_diag_shared(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		   uint32_t *inode);

struct sl_diag_sock;
/* True: sl_diag_shared() would count that socket, if it is not the caller's. */
bool sl_diag_overlaps(const struct sl_diag_claim *claim, const struct sl_diag_sock *s);

/* A connection of the kernel's TCP. */
struct sl_diag_conn {
	struct sl_addr local, remote;
	uint16_t remote_port; /* host order */
	uint8_t state;        /* TCP's, as in /proc/net/tcp */
};
#define SL_DIAG_TIME_WAIT 6
/* Calls fn for each connection of the namespace with that local port (perhaps twice for one). 0 or
 * -errno. */
int sl_diag_tcp_conns(uint16_t port, void (*fn)(const struct sl_diag_conn *c, void *arg),
		      void *arg);

/* For tests: each way alone. netlink answers -ENOENT where the kernel has no udp_diag. */
int sl_diag_netlink(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		    uint32_t *inode);
int sl_diag_proc(const struct sl_diag_claim *claim, sl_diag_is_ours is_ours, void *arg,
		 uint32_t *inode);

#endif
