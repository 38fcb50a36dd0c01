/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the peer of a TCP connection that its other end is gone.
 *
 * The kernel does it by a reset with the sequence number that would have come next
 * (tcp_send_active_reset()). But the last sequence number of a killed process may not be known, or
 * its last segment was lost; and a peer does not believe a reset with another sequence number (RFC
 * 5961 3.2). So this also asks the peer: it answers a segment that cannot be right with an
 * acknowledgment that says where it is (RFC 9293 3.10.7.4, RFC 5961 5.2). The answer arrives at the
 * kernel, since the claim is gone; the kernel has no such connection, and resets it with the number
 * that the acknowledgment names. There is only one question: the guards, which hold resets back for
 * a while where a port has claims, are to let this reset go. (To ask without the first reset would
 * not do: a peer that has just answered a similar segment is silent, for half a second in Linux,
 * see net.ipv4.tcp_invalid_ratelimit.) */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/addr.h"
#include "base/sys.h"
#include "ctl/claim/stray.h"
#include "wire/csum.h"
#include "death.h"

static int raw_fd[2] = {-1, -1}; /* IPv4, IPv6 */

/* Keeps a socket for sending only: an unbound one would be given a copy of every segment that comes
 * to the host. (The source address is given with each packet.) */
static void deafen(int fd, int family)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7ffffffe)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_addr.s6_addr = {[0] = 1, [15] = 1}}; /* RFC 6666 */
	int none = 0, one = 1;

	sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &none, sizeof(none));
	if (family == AF_INET) {
		sl_sys_setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
		sl_sys_bind(fd, &v4, sizeof(v4));
	} else {
		sl_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof(one));
		sl_sys_bind(fd, &v6, sizeof(v6));
	}
}

static int raw_socket(int family)
{
	int *fd = &raw_fd[family == AF_INET6];

	if (*fd >= 0)
		return *fd;
	*fd = sl_sys_socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (*fd >= 0)
		deafen(*fd, family);
	return *fd;
}

void sl_farewell_open(void)
{
	(void)raw_socket(AF_INET);
	(void)raw_socket(AF_INET6);
}

static void fill_csum(const struct sl_flow_key *k, struct tcphdr *th)
{
	uint8_t rest[4] = {0, IPPROTO_TCP, 0, sizeof(*th)};
	const struct sl_addr local = sl_addr_of(k->local);
	uint64_t sum;

	th->check = 0;
	sum = sl_csum_add(0, k->local, 16);
	if (sl_addr_is_v4(&local)) {
		sum = sl_csum_add(0, k->local + 12, 4);
		sum = sl_csum_add(sum, k->remote + 12, 4);
	} else {
		sum = sl_csum_add(sum, k->remote, 16);
	}
	sum = sl_csum_add(sum, rest, sizeof(rest));
	th->check = sl_csum_fold(sl_csum_add(sum, th, sizeof(*th)));
}

/* Both segments are acknowledgments. (The guards hold back no reset with an ACK.) */
static struct tcphdr segment(const struct sl_flow_key *k, uint32_t seq, uint32_t ack)
{
	return (struct tcphdr){
		.source = htons(k->local_port),
		.dest = htons(k->remote_port),
		.seq = htonl(seq),
		.ack_seq = htonl(ack),
		.doff = sizeof(struct tcphdr) / 4,
		.ack = 1,
	};
}

/* The source is the connection's own address, also if the route prefers another now. */
static void send_from(int family, const struct sl_flow_key *k, const struct tcphdr *th,
		      uint32_t scope)
{
	const struct sl_addr remote = sl_addr_of(k->remote);
	struct sockaddr_storage to;
	socklen_t tolen = sizeof(to);
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} c = {0};
	struct iovec iov = {sl_unconst(th), sizeof(*th)};
	struct msghdr msg = {
		.msg_name = &to, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.space};
	struct in_pktinfo *p4 = (struct in_pktinfo *)CMSG_DATA(&c.align);
	struct in6_pktinfo *p6 = (struct in6_pktinfo *)CMSG_DATA(&c.align);

	sl_addr_to_sockaddr(&remote, 0, sl_addr_is_linklocal(&remote) ? scope : 0, family,
			    (struct sockaddr *)&to, &tolen);
	msg.msg_namelen = tolen;
	if (family == AF_INET) {
		c.align.cmsg_level = IPPROTO_IP;
		c.align.cmsg_type = IP_PKTINFO;
		c.align.cmsg_len = CMSG_LEN(sizeof(*p4));
		memcpy(&p4->ipi_spec_dst, k->local + 12, 4);
	} else {
		c.align.cmsg_level = IPPROTO_IPV6;
		c.align.cmsg_type = IPV6_PKTINFO;
		c.align.cmsg_len = CMSG_LEN(sizeof(*p6));
		memcpy(&p6->ipi6_addr, k->local, 16);
	}
	msg.msg_controllen = CMSG_SPACE(family == AF_INET ? sizeof(*p4) : sizeof(*p6));
	sl_sys_sendmsg(raw_socket(family), &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Makes a segment most likely half the sequence space away from the connection's. Nobody can guess
 * the number, so an attacker has no use for it. */
static struct tcphdr question(const struct sl_flow_key *k)
{
	uint32_t seq[2] = {0};

	sl_sys(SYS_getrandom, seq, sizeof(seq), 0);
	return segment(k, seq[0], seq[1]);
}

static void send_segment(int family, const struct sl_flow_key *k, struct tcphdr th, uint32_t scope)
{
	fill_csum(k, &th);
	send_from(family, k, &th, scope);
}

void sl_farewell(const struct sl_flow_key *k, uint32_t scope, const struct sl_tcp_ends *ends)
{
	const struct sl_addr local = sl_addr_of(k->local);
	int family = sl_addr_is_v4(&local) ? AF_INET : AF_INET6;

	if (raw_socket(family) < 0)
		return;
	if (ends) {
		struct tcphdr reset = segment(k, ends->snd_nxt, ends->rcv_nxt);

		reset.rst = 1;
		send_segment(family, k, reset, scope);
	}
	sl_embedded_let_reset(k);
	send_segment(family, k, question(k), scope);
}
