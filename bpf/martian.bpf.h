/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Addresses and frames that no wire may have (RFC 1122 3.2.1.3, RFC 4291 2.5.2, 2.5.3 and 2.7).
 * Such packets are passed: the kernel drops and counts them, or takes them where its settings allow
 * that (route_localnet, drop_unicast_in_l2_multicast). User space looks once more, and asks the
 * kernel about addresses of this host as sources (lib/net/martian.c): the kernel takes these over
 * IPv6, and over IPv4 with accept_local, and then so must we, since a connection to oneself over a
 * device is offloaded at both ends. */
#ifndef SL_MARTIAN_BPF_H
#define SL_MARTIAN_BPF_H

#include "find.bpf.h"

/* The steering program looks at the source of each packet, since an entry of `recent` may be for
 * all senders of a port. 0/8, 127/8 and all from 224/4 on. */
static __always_inline int is_odd_source4(const struct iphdr *ip)
{
	__u32 first = *(const __u8 *)&ip->saddr;

	return first - 1 >= 223 || first == 127;
}

/* The first 64 bits are 0 of ::, ::1, and of all that hold an address of IPv4 (::ffff:0:0/96): the
 * maps' keys have IPv4 as such. */
static __always_inline int is_odd_source6(const struct ipv6hdr *ip)
{
	const __be32 *s = ip->saddr.in6_u.u6_addr32;

	return !(s[0] | s[1]) || *(const __u8 *)s == 0xff;
}

static __always_inline int has_odd_source(const struct sl_pkt *p)
{
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		return !ip || is_odd_source6(ip);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		return !ip || is_odd_source4(ip);
	}
}

/* That and the rest, for packets that nothing was remembered for: destinations that are claimed by
 * hand alone. Global for its stack (steer_icmp()
 * says why), as the walks of parse.bpf.h are for the verifier. */
__noinline int has_odd_ends(struct xdp_md *ctx, __u32 l3, __u32 v6)
{
	struct sl_pkt p = sl_view(ctx);
	__u32 a[4], first;

	p.l3 = sl_bounded(l3);
	p.v6 = v6;
	if (load_addr(&p, 0, a))
		return 1;
	first = *(__u8 *)&a[3];
	if (v6 ? !(a[0] | a[1]) : !first || first == 127)
		return 1;
	return has_odd_source(&p);
}

/* Is the destination a multicast address? */
static __always_inline int is_to_group(const struct sl_pkt *p)
{
	__u32 a[4];

	if (load_addr(p, 0, a))
		return 0;
	return p->v6 ? *(__u8 *)a == 0xff : (*(__u8 *)&a[3] & 0xf0) == 0xe0;
}

/* A frame for this station; of those for several, only datagrams for a group: TCP has none of them,
 * and what else is for one host alone the kernel takes or not by a setting. What is for another
 * station (promiscuous mode) is not ours, whatever address is in it. */
static __always_inline int is_for_us(const struct sl_pkt *p, const struct sl_port_config *cfg)
{
	__u16 *mac = sl_at(p, 0, 6);

	if (!mac)
		return 0;
	if (mac[0] == cfg->mac[0] && mac[1] == cfg->mac[1] && mac[2] == cfg->mac[2])
		return 1;
	return *(__u8 *)mac & 1 && p->proto == IPPROTO_UDP && is_to_group(p);
}

#endif
