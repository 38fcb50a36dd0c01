/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving datagrams. */
#ifndef SL_RECV_H
#define SL_RECV_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/base.h"

struct sl_dgram;
struct sl_sock;

/* Arguments common to all receive calls. */
struct sl_rx_req {
	const struct iovec *iov;
	size_t niov;
	struct msghdr *msg; /* NULL: no name, no control */
	int flags;
	size_t len; /* of all pieces */
};

/* Receives one datagram, ours or the kernel's; waits for it if the socket and the flags say so.
 * Bytes, or -errno as recvmsg(2). No lane held. */
ssize_t sl_dgram_recv(struct sl_sock *sk, int fd, const struct sl_rx_req *r);
/* Receives a datagram that the kernel has for the socket, if it is time to look for one. -EAGAIN:
 * there is none, as far as we know. Never waits. No lane held. */
ssize_t sl_dgram_from_kernel(struct sl_sock *sk, int fd, const struct sl_rx_req *r);

/* With SLUICE_LATENCY_STATS: when a datagram came, in CLOCK_MONOTONIC. */
struct sl_dgram_came {
	uint64_t ns;    /* to the driver or the lane */
	uint64_t hw_ns; /* to the device; 0: not known */
};
/* Lane held. */
struct sl_dgram_came sl_dgram_came(const struct sl_dgram *d);
/* Counts how long a datagram that is read now has waited. Lane held. */
void sl_dgram_note_read(struct sl_sock *sk, const struct sl_dgram_came *came);

#endif
