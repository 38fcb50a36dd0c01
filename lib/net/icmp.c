/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP errors about our segments. The kernel does not know these connections, so the steering
 * program sends the errors here. Anyone can forge them: their contents are checked, not trusted. */
#include "net/icmp.h"

#include <errno.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>

#include "net/ipconf.h"

#define MIN_PMTU6 1280u /* RFC 8201 4: a report of less is dropped */

static sl_icmp_handler handlers[SL_SLOT_KINDS];

void sl_in_register_icmp(enum sl_slot_kind kind, sl_icmp_handler handler)
{
	handlers[kind] = handler;
}

/* Equal to Linux' icmp_err_convert (net/ipv4/icmp.c) and tab_unreach (net/ipv6/icmp.c). Which of
 * them are fatal makes no difference: RFC 5927 5.2 asks to treat hard errors of a synchronised
 * connection as soft, and any error ends one that is not. */
static const int unreach4[] = {
	[ICMP_NET_UNREACH] = ENETUNREACH,     [ICMP_HOST_UNREACH] = EHOSTUNREACH,
	[ICMP_PROT_UNREACH] = ENOPROTOOPT,    [ICMP_PORT_UNREACH] = ECONNREFUSED,
	[ICMP_FRAG_NEEDED] = EMSGSIZE,        [ICMP_SR_FAILED] = EOPNOTSUPP,
	[ICMP_NET_UNKNOWN] = ENETUNREACH,     [ICMP_HOST_UNKNOWN] = EHOSTDOWN,
	[ICMP_HOST_ISOLATED] = ENONET,        [ICMP_NET_ANO] = ENETUNREACH,
	[ICMP_HOST_ANO] = EHOSTUNREACH,       [ICMP_NET_UNR_TOS] = ENETUNREACH,
	[ICMP_HOST_UNR_TOS] = EHOSTUNREACH,   [ICMP_PKT_FILTERED] = EHOSTUNREACH,
	[ICMP_PREC_VIOLATION] = EHOSTUNREACH, [ICMP_PREC_CUTOFF] = EHOSTUNREACH,
};
static const int unreach6[] = {
	[ICMPV6_NOROUTE] = ENETUNREACH,        [ICMPV6_ADM_PROHIBITED] = EACCES,
	[ICMPV6_NOT_NEIGHBOUR] = EHOSTUNREACH, [ICMPV6_ADDR_UNREACH] = EHOSTUNREACH,
	[ICMPV6_PORT_UNREACH] = ECONNREFUSED,  [ICMPV6_POLICY_FAIL] = EACCES,
	[ICMPV6_REJECT_ROUTE] = EACCES,
};

static bool says4(struct sl_in_icmp *e, const uint8_t *icmp)
{
	/* The kernel tells nobody of fragments that came too late. */
	if (e->type == ICMP_TIME_EXCEEDED) {
		e->err = EHOSTUNREACH;
		return e->code != ICMP_EXC_FRAGTIME;
	}
	if (e->type == ICMP_PARAMETERPROB) {
		e->err = EPROTO;
		e->info = icmp[4];
		return true;
	}
	if (e->type != ICMP_DEST_UNREACH || e->code >= sl_array_len(unreach4))
		return false;
	e->err = unreach4[e->code];
	e->no_way = e->code == ICMP_NET_UNREACH || e->code == ICMP_HOST_UNREACH;
	if (e->code != ICMP_FRAG_NEEDED)
		return true;
	/* RFC 1191 4; 0 from a router that does not know the field. Less than the least is an
	 * attack, or a router of 1983. */
	e->mtu = sl_max(sl_get_be16(icmp + 6), sl_ip_min_pmtu()) - 20;
	return sl_ip_hears_mtus();
}

static bool says6(struct sl_in_icmp *e, const uint8_t *icmp)
{
	e->info = sl_get_be32(icmp + 4);
	switch (e->type) {
	case ICMPV6_PKT_TOOBIG:
		e->mtu = sl_get_be32(icmp + 4);
		if (e->mtu < MIN_PMTU6)
			return false;
		e->err = EMSGSIZE;
		e->mtu = sl_min(e->mtu, 65535u) - 40;
		return true;
	case ICMPV6_TIME_EXCEED:
		e->err = EHOSTUNREACH;
		return true;
	case ICMPV6_PARAMPROB:
		e->err = EPROTO;
		return true;
	case ICMPV6_DEST_UNREACH:
		if (e->code >= sl_array_len(unreach6))
			return false;
		e->err = unreach6[e->code];
		e->no_way = e->code == ICMPV6_NOROUTE;
		return true;
	}
	return false;
}

/* Reads the segment that the error is about: addresses, port numbers and sequence number are
 * always there (RFC 792). Its source must be the address that got the error. */
static bool read_segment(const struct sl_pkt *p, struct sl_in_icmp *e)
{
	struct sl_pkt inner = *p;
	const uint8_t *ip = p->data + p->payload;
	struct sl_addr to;
	uint32_t hlen;

	if (p->payload_len < 28 || ip[0] >> 4 != (p->v6 ? 6 : 4))
		return false;
	hlen = p->v6 ? 40 : (ip[0] & 15) * 4u;
	if (hlen < 20 || p->payload_len < hlen + 8)
		return false;
	if (ip[p->v6 ? 6 : 9] != IPPROTO_TCP || (!p->v6 && sl_get_be16(ip + 6) & 0x1fff))
		return false;
	inner.l3 = p->payload;
	sl_pkt_saddr(&inner, &e->local);
	sl_pkt_daddr(&inner, &e->remote);
	sl_pkt_daddr(p, &to);
	e->inner = p->payload;
	e->l4 = (uint16_t)(p->payload + hlen);
	ip += hlen;
	e->lport = sl_get_be16(ip);
	e->rport = sl_get_be16(ip + 2);
	e->seq = sl_get_be32(ip + 4);
	return sl_addr_eq(&to, &e->local);
}

void sl_icmp_input(const struct sl_slot *s, struct sl_in *in)
{
	sl_icmp_handler handler = handlers[sl_load(&s->kind)];
	const uint8_t *icmp = in->pkt.data + in->pkt.l4;
	struct sl_in_icmp e = {.type = icmp[0], .code = icmp[1], .v6 = in->pkt.v6};

	if (!handler || !(e.v6 ? says6(&e, icmp) : says4(&e, icmp)))
		return;
	if (read_segment(&in->pkt, &e))
		handler(s->obj, &e, in);
}
