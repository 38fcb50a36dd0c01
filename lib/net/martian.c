/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the sources of received packets as the kernel would.
 *
 * Theory of operation. The steering program passes packets with impossible addresses to the kernel
 * (bpf/martian.bpf.h). They are refused here too, since a steering program left by another version
 * may redirect them. The steering program cannot know the routing: the kernel refuses an IPv4
 * source without a route, or without one by the device (rp_filter), and its own addresses (unless
 * accept_local is set). We ask the kernel by RTM_GETROUTE with the device that the packet came by,
 * so the answer is that of ip_route_input() with all rules and settings. IPv6 has no such check.
 *
 * Without rp_filter only the host's own addresses can be refused, and the mirror knows these. So
 * the kernel is asked only about them, and a flood of invented sources costs no system call. With
 * rp_filter such a flood costs one for each span of sources that the kernel routes alike (span.c).
 *
 * The destination of a packet for a socket of ours is an address of this host as a rule. It is
 * looked up in the mirror once after each routing event. If it is gone, the kernel is asked, once
 * as well, which may take it for its own by a route of type local. */
#include "net/martian.h"

#include <linux/netconf.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "net/net.h"
#include "net/rtnl.h"

/* How long an answer is valid. Routes and rp_filter make events, accept_local does not. */
#define GOOD_S  8
#define SHORT_S 1 /* for a refusal, and for an address of this host */

/* Addresses ------------------------------------------------------------------------------------ */

/* 240/4 is refused only by routing, as in the kernel. */
static bool is_odd4(const uint8_t *src, const uint8_t *dst)
{
	uint32_t s;

	memcpy(&s, src, sizeof(s));
	return src[0] == 0 || src[0] == 127 || (src[0] & 0xf0) == 0xe0 || s == UINT32_MAX ||
	       dst[0] == 0 || dst[0] == 127;
}

/* The first half is 0 in ::, ::1 and addresses that hold an IPv4 address. */
static bool is_odd6(const struct sl_addr *src, const struct sl_addr *dst)
{
	return !src->q[0] || src->b[0] == 0xff || !dst->q[0];
}

/* Asking the kernel --------------------------------------------------------------------------- */

/* Reads an answer of RTM_GETNETCONF: stores the value of rp_filter in *arg, an int. */
static int on_netconf(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;

	mnl_attr_for_each (a, nlh, sizeof(struct netconfmsg))
		if (mnl_attr_get_type(a) == NETCONFA_RP_FILTER &&
		    !mnl_attr_validate(a, MNL_TYPE_U32))
			*(int *)arg = (int)mnl_attr_get_u32(a);
	return 0;
}

/* Asks by netlink: a file of /proc would take a descriptor for a moment, and another thread of the
 * program counts on the lowest number. */
static bool filters_of(int32_t ifindex)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct netconfmsg *msg;
	int filter = 1; /* if the setting cannot be read, ask the kernel about sources */

	nlh->nlmsg_type = RTM_GETNETCONF;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	msg->ncm_family = AF_INET;
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, (uint32_t)ifindex);
	(void)sl_rtnl_ask(nlh, on_netconf, &filter);
	return filter > 0;
}

/* The larger of the two settings counts (Documentation/networking/ip-sysctl.rst). */
static bool has_filter(struct sl_sources *s, uint32_t ifindex, uint32_t second, uint32_t gen)
{
	typeof(s->filter[0]) *f = &s->filter[ifindex % SL_SOURCE_DEVICES];

	if (f->second == second && f->ifindex == ifindex && f->gen == gen)
		return f->is_on;
	f->is_on = filters_of(NETCONFA_IFINDEX_ALL) || filters_of((int32_t)ifindex);
	f->second = second;
	f->ifindex = ifindex;
	f->gen = gen;
	return f->is_on;
}

/* Stores the type of the route in *arg. */
static int on_answer(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(*rtm))
		*(uint8_t *)arg = rtm->rtm_type;
	return 0;
}

/* Asks the kernel, which stores the type of the packet's route. 0: it accepts the packet; an error
 * of is_refusal(): it does not; else it could not be asked. */
static int ask_route(const struct sl_in *in, const struct sl_addr *src, const struct sl_addr *dst,
		     uint8_t *type)
{
	bool v4 = sl_addr_is_v4(dst);
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = v4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = rtm->rtm_src_len = v4 ? 32 : 128;
	rtm->rtm_tos = in->pkt.tos & 0x1c; /* IPTOS_RT_MASK */
	sl_rtnl_put_addr(nlh, RTA_DST, dst);
	sl_rtnl_put_addr(nlh, RTA_SRC, src);
	mnl_attr_put_u32(nlh, RTA_IIF, in->ifindex);
	return sl_rtnl_ask(nlh, on_answer, type);
}

static bool is_refusal(int err)
{
	return err == -EINVAL || err == -EXDEV || err == -EHOSTUNREACH || err == -ENETUNREACH;
}

/* The table ------------------------------------------------------------------------------------ */

static uint32_t set_of(uint32_t addr, uint32_t dev)
{
	static struct sl_hash_key *key; /* lanes that race for it ask the kernel once more */

	return sl_hash_two(sl_hash_key_get(&key), addr, dev) % SL_SOURCE_SETS;
}

static struct sl_source *source_find(struct sl_sources *s, uint32_t set, uint32_t addr,
				     uint32_t dev)
{
	for (unsigned i = 0; i < SL_SOURCE_WAYS; i++)
		if (s->source[set][i].addr == addr && s->source[set][i].dev == dev)
			return &s->source[set][i];
	return NULL;
}

static struct sl_source *source_evict(struct sl_sources *s, uint32_t set)
{
	return &s->source[set][s->next[set]++ % SL_SOURCE_WAYS];
}

static bool judge_source(struct sl_in *in, struct sl_source *at, const struct sl_addr *src,
			 const struct sl_addr *dst, uint32_t second)
{
	uint32_t gen = sl_load_acquire(&sl_route_gen); /* read before the kernel is asked */
	bool good = true, own = sl_addr_is_local(src);
	uint8_t type;
	int err;

	if (has_filter(in->sources, in->ifindex, second, gen) || own) {
		err = ask_route(in, src, dst, &type);
		if (err && !is_refusal(err))
			return true; /* no mirror: accept, as without a filter, and do not remember
					it */
		good = !err;
	}
	*at = (struct sl_source){
		.addr = src->w[3],
		.dev = in->ifindex << 1 | sl_addr_is_multicast(dst),
		.gen = gen,
		.good = (second + (good && !own ? GOOD_S : SHORT_S)) << 1 | good,
	};
	return good;
}

/* Remembers the addresses, so that the next packet with them needs no check. */
static void remember_ends(struct sl_in *in, uint32_t gen)
{
	struct sl_sources *s = in->sources;

	memcpy(&s->ends, in->pkt.data + in->pkt.l3 + offsetof(struct iphdr, saddr),
	       sizeof(s->ends));
	s->ends_gen = gen;
	s->ends_ifindex = in->ifindex;
	in->ends = s->ends;
}

/* The entry of a source. *known: it is valid; else the caller must write it anew. */
static struct sl_source *source_get(struct sl_sources *s, uint32_t addr, uint32_t dev,
				    uint32_t second, bool *known)
{
	uint32_t set = set_of(addr, dev);
	struct sl_source *at = source_find(s, set, addr, dev);

	*known = at && at->gen == sl_load(&sl_route_gen) && second < at->good >> 1;
	return at ? at : source_evict(s, set);
}

static bool is_good4(struct sl_in *in, const struct sl_addr *src, const struct sl_addr *dst)
{
	uint64_t now_ns = sl_now_ns();
	uint32_t second = (uint32_t)(now_ns / 1000000000), gen = sl_load(&sl_route_gen),
		 dev = in->ifindex << 1 | sl_addr_is_multicast(dst);
	struct sl_sources *s = in->sources;
	struct sl_addr first = *src;
	struct sl_source *at;
	bool known;

	at = source_get(s, src->w[3], dev, second, &known);
	if (!known && has_filter(s, in->ifindex, second, gen) &&
	    sl_span_use(&s->asks, now_ns, &first))
		at = source_get(s, first.w[3], dev, second, &known);
	if (!known)
		return judge_source(in, at, &first, dst, second);
	if (at->good & 1 && at->good >> 1 > second + SHORT_S)
		remember_ends(in, at->gen);
	return at->good & 1;
}

uint64_t sl_sources_begin(const struct sl_sources *s, uint32_t ifindex)
{
	if (!s || s->ends_ifindex != ifindex || s->ends_gen != sl_load(&sl_route_gen))
		return 0;
	return s->ends;
}

static SL_COLD bool judge_dest(struct sl_in *in, struct sl_dest *at, const struct sl_addr *dst,
			       uint32_t gen)
{
	uint8_t type = RTN_LOCAL;
	struct sl_addr src;
	int err = 0;

	if (!sl_addr_is_local(dst)) {
		sl_pkt_saddr(&in->pkt, &src);
		err = ask_route(in, &src, dst, &type);
	}
	*at = (struct sl_dest){.gen = gen, .good = !is_refusal(err) && type == RTN_LOCAL};
	if (!err || is_refusal(err) || err == -ENOTCONN) /* no mirror: accept */
		at->addr = *dst;
	return at->good;
}

bool sl_dest_is_good(struct sl_in *in)
{
	uint32_t gen = sl_load_acquire(&sl_route_gen); /* read before the kernel is asked */
	struct sl_sources *s = in->sources;
	struct sl_dest *at;
	struct sl_addr dst;
	bool good;

	if (!s)
		return true;
	sl_pkt_daddr(&in->pkt, &dst);
	if (sl_addr_is_multicast(&dst)) /* of a membership; many take turns */
		return true;
	at = &s->dest[dst.b[15] % SL_DESTS];
	good = at->gen == gen && sl_addr_eq(&at->addr, &dst) ? at->good
							     : judge_dest(in, at, &dst, gen);
	if (good && in->pkt.v6) {
		memcpy(s->to6, dst.q, sizeof(s->to6));
		s->to6_gen = gen;
	} else if (good) {
		s->to4 = dst.w[3];
		s->to4_gen = gen;
	}
	return good;
}

bool sl_source_is_good(struct sl_in *in)
{
	const uint8_t *ip = in->pkt.data + in->pkt.l3;
	struct sl_addr src, dst;

	sl_pkt_saddr(&in->pkt, &src);
	sl_pkt_daddr(&in->pkt, &dst);
	if (in->pkt.v6)
		return !is_odd6(&src, &dst);
	if (is_odd4(ip + offsetof(struct iphdr, saddr), ip + offsetof(struct iphdr, daddr)))
		return false;
	return !in->sources || is_good4(in, &src, &dst);
}
