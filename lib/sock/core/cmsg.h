/* SPDX-License-Identifier: BSD-2-Clause */
/* Ancillary data: what the kernel would have put beside a datagram, and what a sender puts. */
#ifndef SL_CMSG_H
#define SL_CMSG_H

#include <sys/socket.h>

#include "udp/udp.h"

struct sl_sock;

/* Writes the control messages that the socket asked for, in the kernel's order; sets
 * msg_controllen and MSG_CTRUNC. gso: segment size of coalesced datagrams, 0: none. */
void sl_cmsg_put(const struct sl_sock *sk, const struct sl_dgram *d, size_t gso,
		 struct msghdr *msg);

/* Control messages of a read from a stream: the arrival time of its last data, if the socket asked
 * for it, by our clock (0: no data came) and by the hardware's (0: no stamp), and with inq the
 * number of bytes left. msg_flags must have been set. */
void sl_cmsg_put_stream(const struct sl_sock *sk, uint64_t stamp_ns, uint64_t hw_ns, const int *inq,
			struct msghdr *msg);
struct sl_sent;
/* Control messages of a transmit stamp (ip_recv_error(), ipv6_recv_error()). msg_flags must have
 * been set. */
void sl_cmsg_put_sent(const struct sl_sock *sk, const struct sl_sent *s, struct msghdr *msg);
/* Writes the control messages of an ICMP error (SL_SENT_ICMP), and as msg_name the address that
 * refused. */
void sl_cmsg_put_icmp(const struct sl_sock *sk, const struct sl_sent *s, struct msghdr *msg);
/* Writes a control message that is the only one. msg_flags must have been set. */
void sl_cmsg_put_one(struct msghdr *msg, int level, int type, const void *data, size_t len);

/* The first and the next control message as the kernel walks them: a length that does not fit is
 * not skipped, but found by sl_cmsg_fits(). NULL: no more. */
static inline struct cmsghdr *sl_cmsg_first(const struct msghdr *m)
{
	return m->msg_controllen < sizeof(struct cmsghdr) ? NULL : (struct cmsghdr *)m->msg_control;
}
static inline size_t sl_cmsg_left(const struct msghdr *m, const struct cmsghdr *c)
{
	return (size_t)((const char *)m->msg_control + m->msg_controllen - (const char *)c);
}
static inline bool sl_cmsg_fits(const struct msghdr *m, const struct cmsghdr *c)
{
	return c->cmsg_len >= sizeof(*c) && c->cmsg_len <= sl_cmsg_left(m, c);
}
/* c fits. */
static inline struct cmsghdr *sl_cmsg_next(const struct msghdr *m, const struct cmsghdr *c)
{
	size_t step = CMSG_ALIGN(c->cmsg_len);

	return step + sizeof(*c) > sl_cmsg_left(m, c) ? NULL : sl_unconst((const char *)c + step);
}

/* Settings that sendmsg()'s control messages make for this datagram only. */
struct sl_tx_ctl {
	struct sl_addr src; /* any: the socket's */
	uint32_t oif;       /* 0: the socket's */
	int16_t tos, ttl;   /* -1: the socket's */
	uint16_t gso;       /* with has_gso, instead of the socket's; 0: none */
	bool has_gso;
	bool has_prio; /* prio instead of the socket's */
	uint8_t prio;
	bool special;    /* differs from the socket's path */
	bool asks;       /* for these transmit stamps, instead of the socket's */
	uint32_t stamps; /* SOF_TIMESTAMPING_TX_* */
};
/* The priority that IP_TOS gives to packets: rt_tos2priority(). */
static inline uint8_t sl_tos_prio(uint8_t tos)
{
	static const uint8_t prio[] = {0, 2, 6, 4}; /* best effort, bulk, interactive, both */

	return prio[tos >> 3 & 3];
}

/* Reads msg's control messages. False: there is one that we do not know; leave the call to the
 * kernel. */
bool sl_cmsg_get(const struct sl_sock *sk, const struct msghdr *msg, struct sl_tx_ctl *ctl);

#endif
