/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves datagrams from our queue of a socket to the kernel's.
 *
 * Theory of operation: another process that has the socket (a child, or a
 * receiver of SCM_RIGHTS) and the C library's streams read the kernel's queue only. To get a
 * datagram there the broker sends it once more, with the headers that it came with, to the host's
 * own address (sl_broker_inject()). */
#include <errno.h>
#include <linux/ip.h>
#include <netinet/ip6.h>
#include <linux/udp.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "sock/core/extra.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "wire/csum.h"
#include "wire/wire.h"

struct packet {
	union {
		struct iphdr v4;
		struct ip6_hdr v6;
	} ip;
	struct udphdr udp;
};

static void fill_v4(struct packet *p, const struct sl_dgram *d, const struct sl_addr *src,
		    const struct sl_addr *dst)
{
	sl_put_ipv4((uint8_t *)&p->ip.v4, src, dst, d->tos, IPPROTO_UDP, d->ttl);
	p->udp.check = 0; /* none: it does not leave the host */
}

static void fill_v6(struct packet *p, const struct sl_dgram *d, const struct sl_addr *src,
		    const struct sl_addr *dst)
{
	uint16_t len = (uint16_t)(sizeof(p->udp) + d->len);

	sl_put_ipv6((uint8_t *)&p->ip.v6, src, dst, (uint32_t)d->tos << 20, IPPROTO_UDP, d->ttl);
	p->ip.v6.ip6_plen = htons(len);
	p->udp.check = (uint16_t)~sl_csum_fold(sl_pseudo_sum(src, dst, IPPROTO_UDP, len));
}

/* Completes the checksum of the header in front of len bytes; it holds the pseudo-header's sum. */
static void finish_sum(uint8_t *udp, size_t len)
{
	uint16_t check = sl_csum_fold(sl_csum_add(0, udp, sizeof(struct udphdr) + len));

	if (!check)
		check = 0xffff; /* RFC 8200, 8.1 */
	memcpy(udp + offsetof(struct udphdr, check), &check, sizeof(check));
}

/* Writes headers and data in one piece; returns its length. */
static size_t assemble(const struct packet *p, const struct sl_dgram *d, uint8_t *out)
{
	size_t ip = d->v6 ? sizeof(p->ip.v6) : sizeof(p->ip.v4), at = ip + sizeof(p->udp);
	struct sl_piece piece[SL_RX_BUFS];
	unsigned n = sl_dgram_pieces(d, piece);

	memcpy(out, &p->ip, ip);
	memcpy(out + ip, &p->udp, sizeof(p->udp));
	for (unsigned i = 0; i < n; at += piece[i++].len)
		memcpy(out + at, piece[i].data, piece[i].len);
	if (d->v6)
		finish_sum(out + ip, d->len);
	return at;
}

/* Has the broker send the datagram to this host again. bytes: room for SL_INJECT_MAX. */
static int send_again(const struct sl_sock *sk, const struct sl_dgram *d, uint8_t *bytes)
{
	struct sl_addr src, dst;
	struct packet p;
	uint16_t sport;

	sl_dgram_addrs(d, &src, &sport, &dst);
	if (sl_addr_is_multicast(&dst))
		return -EADDRNOTAVAIL; /* it would go to everybody */
	if (d->len > SL_INJECT_MAX - (d->v6 ? sizeof(p.ip.v6) : sizeof(p.ip.v4)) - sizeof(p.udp))
		return -EMSGSIZE;
	p.udp.source = htons(sport);
	p.udp.dest = htons(sk->local_port);
	p.udp.len = htons((uint16_t)(sizeof(p.udp) + d->len));
	if (d->v6)
		fill_v6(&p, d, &src, &dst);
	else
		fill_v4(&p, d, &src, &dst);
	return sl_broker_inject(sk->fd, bytes, assemble(&p, d, bytes), d->v6 ? d->ifindex : 0);
}

/* Takes at most n from the queue; returns how many are lost, the last one by *err. */
static int requeue_from(const struct sl_sock *sk, struct sl_lane *lane, struct sl_udp *u,
			uint32_t n, uint8_t *bytes, int *err)
{
	struct sl_dgram *d;
	int lost = 0;

	while (n-- && (d = sl_udp_peek(u))) {
		int ret = bytes ? send_again(sk, d, bytes) : -ENOMEM;

		if (ret < 0)
			*err = ret;
		lost += ret < 0;
		sl_udp_pop(u, &lane->frames);
	}
	return lost;
}

void sl_sock_requeue(struct sl_sock *sk, struct sl_lane *lane)
{
	sl_sock_requeue_some(sk, lane, UINT32_MAX);
}

void sl_sock_requeue_some(struct sl_sock *sk, struct sl_lane *lane, uint32_t n)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	uint8_t *bytes = sl_sock_queued(sk) ? sl_malloc(SL_INJECT_MAX) : NULL;
	int err = 0, lost = 0;

	if (us->extra) {
		struct sl_udp before = us->extra->accepted;

		lost = requeue_from(sk, lane, &us->extra->accepted, UINT32_MAX, bytes, &err);
		sl_extra_uncharge(sk, &before);
	}
	lost += requeue_from(sk, lane, &us->udp, n, bytes, &err);
	sl_free(bytes);
	sl_store_release(&us->lent_moves, us->lent_moves + 1); /* (with from_unmoved() in recv.c) */
	if (lost)
		sl_debug("sock", "fd %d: %d datagrams lost on the way to the kernel: %s", sk->fd,
			 lost, strerrorname_np(-err));
}
