/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Addresses and frames that no wire may have (RFC 1122 3.2.1.3, RFC 4291 2.5.2, 2.5.3 and 2.7). The
 * steering program passes such packets to the kernel, which drops and counts them, or takes them
 * where its settings allow that (route_localnet, drop_unicast_in_l2_multicast). User space checks
 * once more, and asks the kernel about source addresses that are this host's own
 * (lib/net/martian.c): the kernel accepts those over IPv6, and over IPv4 with accept_local. Sluice
 * must accept them then, too, since a connection of this host to itself over a device is offloaded
 * at both ends. */
#ifndef SL_MARTIAN_BPF_H
#define SL_MARTIAN_BPF_H

#include "find.bpf.h"

/* True: the source is in 0/8, in 127/8, or in 224/4 or above. Checked for each packet, since an
 * entry of `recent` may stand for all senders to a port. */
static __always_inline int is_odd_source4(const struct iphdr *ip)
{
	__u32 first = *(const __u8 *)&ip->saddr;

	return first - 1 >= 223 || first == 127;
}

/* True: a multicast source, or one whose first 64 bits are 0: ::, ::1, and all that hold an IPv4
 * address (::ffff:0:0/96), which the map keys would take for IPv4. */
static __always_inline int is_odd_source6(const struct ipv6hdr *ip)
{
	const __be32 *s = ip->saddr.in6_u.u6_addr32;

	return !(s[0] | s[1]) || *(const __u8 *)s == 0xff;
}

static __always_inline int has_odd_source(const struct sl_view *p)
{
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		return !ip || is_odd_source6(ip);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		return !ip || is_odd_source4(ip);
	}
}

/* True: the source or the destination is an address that no wire may have. Called only for packets
 * that are not in `recent`: such a destination is claimed only when somebody edits the maps by
 * hand. Global, so that its stack is its own (steer_icmp() says why). */
__noinline int has_odd_ends(struct sl_ctx *ctx, __u32 l3, __u32 v6)
{
	struct sl_view p = sl_view(ctx);
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

/* True: the destination is a multicast address. */
static __always_inline int is_to_group(const struct sl_view *p)
{
	__u32 a[4];

	if (load_addr(p, 0, a))
		return 0;
	return p->v6 ? *(__u8 *)a == 0xff : (*(__u8 *)&a[3] & 0xf0) == 0xe0;
}

/* True: the frame is for this station. Of frames for several stations only datagrams to a multicast
 * group count: TCP has none, and whether the kernel takes a unicast packet in such a frame is a
 * setting. A frame for another station (promiscuous mode) is never ours, whatever its IP
 * address. */
static __always_inline int is_for_us(const struct sl_view *p, const struct sl_port_config *cfg)
{
	__u16 *mac = sl_at(p, 0, 6);

	if (!mac)
		return 0;
	if (mac[0] == cfg->mac[0] && mac[1] == cfg->mac[1] && mac[2] == cfg->mac[2])
		return 1;
	return *(__u8 *)mac & 1 && p->proto == IPPROTO_UDP && is_to_group(p);
}

#endif
