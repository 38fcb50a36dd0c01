/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts what waits in our queue of a socket into the kernel's queue of it.
 *
 * Theory of operation: another process that has the socket (a child, whoever got it by SCM_RIGHTS)
 * or the C library's streams read the kernel's queue only. A datagram gets there by being sent once
 * more, with the headers that it came with, through a raw socket to the host's own address: the
 * route to it is a local one, so it comes back by the loopback device and is not looked at as
 * coming from outside. This needs CAP_NET_RAW, as the bypass itself does. */
#include <errno.h>
#include <linux/ip.h>
#include <netinet/ip6.h>
#include <linux/udp.h>

#include "base/log.h"
#include "base/sys.h"
#include "sock/sock.h"
#include "wire/csum.h"
#include "wire/wire.h"

struct packet {
	union {
		struct iphdr v4;
		struct ip6_hdr v6;
	} ip;
	struct udphdr udp;
	struct iovec iov[3];
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to;
	socklen_t tolen;
};

static void fill_v4(struct packet *p, const struct sl_dgram *d, const struct sl_addr *src,
		    const struct sl_addr *dst)
{
	p->ip.v4 = (struct iphdr){.version = 4,
				  .ihl = 5,
				  .tos = d->tos,
				  .ttl = d->ttl,
				  .protocol = IPPROTO_UDP,
				  .saddr = src->w[3],
				  .daddr = dst->w[3]};
	p->udp.check = 0; /* none: it does not leave the host */
	p->iov[0] = (struct iovec){&p->ip, sizeof(p->ip.v4)};
	p->to.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = dst->w[3]};
	p->tolen = sizeof(p->to.in);
}

static void fill_v6(struct packet *p, const struct sl_dgram *d, const struct sl_addr *src,
		    const struct sl_addr *dst)
{
	uint16_t len = (uint16_t)(sizeof(p->udp) + d->len);
	uint64_t sum;

	p->ip.v6 = (struct ip6_hdr){.ip6_flow = htonl(6u << 28 | (uint32_t)d->tos << 20),
				    .ip6_plen = htons(len),
				    .ip6_nxt = IPPROTO_UDP,
				    .ip6_hlim = d->ttl};
	memcpy(&p->ip.v6.ip6_src, src->b, 16);
	memcpy(&p->ip.v6.ip6_dst, dst->b, 16);
	p->udp.check = 0;
	sum = sl_pseudo_sum(src, dst, IPPROTO_UDP, len);
	sum = sl_csum_add(sum, &p->udp, sizeof(p->udp));
	sum = sl_csum_add(sum, sl_dgram_data(d), d->len);
	p->udp.check = sl_csum_fold(sum);
	if (!p->udp.check)
		p->udp.check = 0xffff; /* RFC 8200, 8.1 */
	p->iov[0] = (struct iovec){&p->ip, sizeof(p->ip.v6)};
	p->to.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_scope_id = d->ifindex};
	memcpy(&p->to.in6.sin6_addr, dst->b, 16);
	p->tolen = sizeof(p->to.in6);
}

/* fd: a raw socket of the datagram's family. 0 or -errno. */
static int send_again(int fd, const struct sl_sock *sk, const struct sl_dgram *d)
{
	struct sl_addr src, dst;
	struct packet p;
	struct msghdr m = {.msg_iov = p.iov, .msg_iovlen = 3};
	uint16_t sport;
	long n;

	sl_dgram_addrs(d, &src, &sport, &dst);
	if (sl_addr_is_multicast(&dst))
		return -EADDRNOTAVAIL; /* it would go to everybody */
	p.udp.source = htons(sport);
	p.udp.dest = htons(sk->local_port);
	p.udp.len = htons((uint16_t)(sizeof(p.udp) + d->len));
	if (d->v6)
		fill_v6(&p, d, &src, &dst);
	else
		fill_v4(&p, d, &src, &dst);
	p.iov[1] = (struct iovec){&p.udp, sizeof(p.udp)};
	p.iov[2] = (struct iovec){(void *)sl_dgram_data(d), d->len};
	m.msg_name = &p.to.sa;
	m.msg_namelen = p.tolen;
	n = sl_sys_sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? (int)n : 0;
}

void sl_sock_requeue(struct sl_sock *sk, struct sl_lane *lane)
{
	int fd[2] = {-ENOTSOCK, -ENOTSOCK}, err = 0, lost = 0;
	struct sl_dgram *d;

	while ((d = sl_udp_peek(&sk->udp))) {
		int *raw = &fd[d->v6];

		if (*raw == -ENOTSOCK)
			*raw = sl_sys_socket(d->v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC,
					     IPPROTO_RAW);
		err = *raw < 0 ? *raw : send_again(*raw, sk, d);
		lost += err < 0;
		sl_udp_pop(&sk->udp, &lane->frames);
	}
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			sl_sys_close(fd[i]);
	if (lost)
		sl_debug("sock", "fd %d: %d datagrams lost on the way to the kernel: %s", sk->fd,
			 lost, strerrorname_np(-err));
}
