/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists and looks up the kernel's sockets of the caller's network namespace: sock_diag(7) over a
 * netlink socket that stays open. */
#ifndef SL_DIAG_SOCK_H
#define SL_DIAG_SOCK_H

#include "base/addr.h"
#include "base/base.h"

/* States of TCP sockets that matter here, as in /proc/net/tcp. */
enum {
	SL_DIAG_SYN_RECV = 3,
	SL_DIAG_TIME_WAITS = 6,
	SL_DIAG_CLOSE = 7,
	SL_DIAG_LISTEN = 10,
	SL_DIAG_NEW_SYN_RECV = 12,
	SL_DIAG_BOUND = 13, /* is bound, no more; asked for only, listed as CLOSE (Linux 6.8) */
};

struct sl_diag_sock {
	struct sl_addr local, remote; /* remote: any when remote_port is 0 */
	uint16_t local_port;          /* host order */
	uint16_t remote_port;         /* host order; 0: not connected */
	uint32_t ifindex;             /* SO_BINDTODEVICE; 0: none */
	uint32_t uid;                 /* of the process that made the socket */
	uint32_t inode;               /* 0: no process holds the socket any more, or not yet */
	uint64_t cookie;              /* SO_COOKIE */
	uint32_t rqueue;              /* TCP: bytes, and a FIN, that were not read */
	uint8_t family;
	uint8_t state;
	uint8_t rcv_wscale; /* TCP connections, by sl_diag_find() only; 0: not scaled */
	bool v6only;        /* read for unconnected sockets only */
};

/* The ends of a flow (the remote one may be missing) as an arriving packet names them. */
struct sl_diag_flow {
	struct sl_addr local, remote;
	uint16_t local_port, remote_port; /* host order */
	uint32_t ifindex;                 /* device that the packet arrives by; 0: any */
	uint8_t proto;                    /* IPPROTO_UDP, IPPROTO_TCP */
};

/* Finds the socket that the kernel would give that packet to, by the kernel's own look-up. One
 * request. 0, -ENOENT (no socket, or a kernel without udp_diag or tcp_diag), -errno. */
int sl_diag_find(int netlink, const struct sl_diag_flow *f, struct sl_diag_sock *out);

/* Which sockets are asked for. */
struct sl_diag_ask {
	uint8_t proto;
	uint8_t family;  /* AF_UNSPEC: the TCP sockets of both families */
	uint16_t port;   /* local; 0: any */
	uint32_t states; /* bits by number */
};
typedef void sl_diag_fn(const struct sl_diag_sock *s, void *arg);

/* Calls fn for each of these sockets. 0, -ENOENT: the kernel has no such diag module, -errno; after
 * an error the netlink socket may hold a rest of the answer and must be closed. */
int sl_diag_dump(int netlink, const struct sl_diag_ask *ask, sl_diag_fn *fn, void *arg);

/* Begins a dump that is read in pieces. 0 or -errno. */
int sl_diag_begin(int netlink, const struct sl_diag_ask *ask);
/* Goes on until that time, with one piece at least: 1: that was all; 0: there is more; else as
 * sl_diag_dump(). */
int sl_diag_go_on(int netlink, uint64_t until_ns, sl_diag_fn *fn, void *arg);

#endif
