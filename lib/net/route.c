/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel for one destination: RTM_GETROUTE, and what the answer means for sending.
 *
 * The kernel answers as its own send would decide: policy rules, metrics, path MTU exceptions, the
 * choice among several next hops. Missing parts are asked separately. For IPv6 the answer does not
 * tell whether this host is a member of the group (IPv4 does, by RTCF_LOCAL), so we search its
 * list of groups. It also lacks IPv6's own MTU for the device (set by a router or the sysctl,
 * without a reliable event), so we ask for the device. */
#include <errno.h>
#include <linux/if.h>
#include <linux/in_route.h>
#include <linux/ipv6.h>
#include <string.h>

#include "net/ipconf.h"
#include "net/rtnl.h"

#ifndef IFA_MULTICAST
#define IFA_MULTICAST 7
#endif
#ifndef RTM_GETMULTICAST
#define RTM_GETMULTICAST 58
#endif
#ifndef RTAX_FASTOPEN_NO_COOKIE
#define RTAX_FASTOPEN_NO_COOKIE 17
#endif
#define TOS_ROUTED      0xfc     /* without the ECN bits */
#define RTO_MIN_MOST_MS 120000u  /* tcp_rto_max */
#define RTT_MOST        8000000u /* RTAX_RTT is in eighths of a millisecond */

/* Parsing ---------------------------------------------------------------------------------- */

static uint8_t segments(const struct nlattr *a)
{
	return (uint8_t)sl_min(sl_rtnl_u32(a, 0), 255u);
}

/* The metrics of a route that TCP uses. A congestion window and a least time-out that are not
 * locked are only memories of an earlier connection (dst_metric_locked()). */
static void parse_tcp_metrics(const struct nlattr **tb, struct sl_route_tcp *out)
{
	uint32_t locks = sl_rtnl_u32(tb[RTAX_LOCK], 0);
	const struct nlattr *cc = tb[RTAX_CC_ALGO];

	out->window = sl_rtnl_u32(tb[RTAX_WINDOW], 0);
	if (locks & 1u << RTAX_RTO_MIN)
		out->rto_min_ms = sl_min(sl_rtnl_u32(tb[RTAX_RTO_MIN], 0), RTO_MIN_MOST_MS);
	if (locks & 1u << RTAX_CWND)
		out->cwnd_most = sl_rtnl_u32(tb[RTAX_CWND], 0);
	out->ssthresh = sl_rtnl_u32(tb[RTAX_SSTHRESH], 0);
	out->rtt_us = sl_min(sl_rtnl_u32(tb[RTAX_RTT], 0), RTT_MOST) * 125u;
	out->reordering = sl_rtnl_u32(tb[RTAX_REORDERING], 0);
	out->init_cwnd = segments(tb[RTAX_INITCWND]);
	out->init_rwnd = segments(tb[RTAX_INITRWND]);
	out->quickack = sl_rtnl_u32(tb[RTAX_QUICKACK], 0) != 0;
	out->ecn = sl_rtnl_u32(tb[RTAX_FEATURES], 0) & RTAX_FEATURE_ECN;
	out->tfo_no_cookie = sl_rtnl_u32(tb[RTAX_FASTOPEN_NO_COOKIE], 0) != 0;
	if (cc) /* (the text may have no end) */
		strncpy(out->congestion, mnl_attr_get_payload(cc),
			sl_min((size_t)mnl_attr_get_payload_len(cc), sizeof(out->congestion) - 1));
}

static void parse_metrics(const struct nlattr *metrics, struct sl_route *out)
{
	const struct nlattr *tb[RTAX_MAX + 1];

	if (!metrics)
		return;
	sl_rtnl_nested(metrics, tb, RTAX_MAX);
	out->mtu = sl_rtnl_u32(tb[RTAX_MTU], 0);
	out->mtu_locked = out->mtu && sl_rtnl_u32(tb[RTAX_LOCK], 0) & 1u << RTAX_MTU;
	out->hoplimit = (uint8_t)sl_min(sl_rtnl_u32(tb[RTAX_HOPLIMIT], 0), 255u);
	out->adv_mss = (uint16_t)sl_min(sl_rtnl_u32(tb[RTAX_ADVMSS], 0), 65535u);
	parse_tcp_metrics(tb, &out->tcp);
	out->has_tcp = memcmp(&out->tcp, &(struct sl_route_tcp){0}, sizeof(out->tcp)) != 0;
}

/* The next hop: a gateway of the same family, of another (RTA_VIA), or the destination. */
static void parse_nexthop(const struct nlattr **tb, int family, const struct sl_addr *dst,
			  struct sl_route *out)
{
	const struct rtvia *via;
	size_t n;

	out->nexthop = *dst;
	if (sl_rtnl_addr(tb[RTA_GATEWAY], family, &out->nexthop) || !tb[RTA_VIA])
		return;
	via = mnl_attr_get_payload(tb[RTA_VIA]);
	n = mnl_attr_get_payload_len(tb[RTA_VIA]);
	if (n == sizeof(*via) + 16 && via->rtvia_family == AF_INET6) {
		out->nexthop = sl_addr_v6(via->rtvia_addr);
	} else if (n == sizeof(*via) + 4 && via->rtvia_family == AF_INET) {
		uint32_t v4;

		memcpy(&v4, via->rtvia_addr, 4);
		out->nexthop = sl_addr_v4(v4);
	} else {
		out->kind = SL_ROUTE_OTHER;
	}
}

/* IPv6 reports some refusals as a route with an error in it. */
static int error_of_type(uint8_t type)
{
	switch (type) {
	case RTN_UNREACHABLE:
		return -EHOSTUNREACH;
	case RTN_PROHIBIT:
		return -EACCES;
	case RTN_BLACKHOLE:
		return -EINVAL;
	case RTN_THROW:
		return -ENETUNREACH;
	default:
		return 0;
	}
}

static int cached_error(const struct nlattr *a)
{
	const struct rta_cacheinfo *ci;

	if (!a || mnl_attr_get_payload_len(a) < sizeof(*ci))
		return 0;
	ci = mnl_attr_get_payload(a);
	/* For IPv4 the field is only the last error of ICMP; the kernel's value is positive. */
	return (int)ci->rta_error > 0 ? -(int)ci->rta_error : (int)ci->rta_error;
}

/* True: the answer is an exception, which other destinations of the same route do not have. IPv4
 * has RTM_F_CLONED in each answer, IPv6 a lifetime in routes that a router advertises. */
static bool is_exception(const struct rtmsg *rtm, const struct nlattr *cacheinfo)
{
	const struct rta_cacheinfo *ci;

	if (rtm->rtm_family == AF_INET6)
		return rtm->rtm_flags & RTM_F_CLONED;
	if (rtm->rtm_flags & RTCF_REDIRECTED)
		return true;
	if (!cacheinfo || mnl_attr_get_payload_len(cacheinfo) < sizeof(*ci))
		return false;
	ci = mnl_attr_get_payload(cacheinfo);
	return ci->rta_expires != 0;
}

static enum sl_route_kind kind_of(const struct rtmsg *rtm)
{
	switch (rtm->rtm_type) {
	case RTN_UNICAST:
		/* The broadcast address of a subnet routed as unicast is still sent as broadcast.
		 */
		return rtm->rtm_flags & RTCF_BROADCAST ? SL_ROUTE_BROADCAST : SL_ROUTE_DEVICE;
	case RTN_MULTICAST:
		return rtm->rtm_flags & RTCF_LOCAL ? SL_ROUTE_LOCAL : SL_ROUTE_MULTICAST;
	case RTN_LOCAL:
	case RTN_ANYCAST:
		return SL_ROUTE_LOCAL;
	case RTN_BROADCAST:
		return SL_ROUTE_BROADCAST;
	default:
		return SL_ROUTE_OTHER;
	}
}

int sl_route_parse(const struct nlmsghdr *nlh, const struct sl_route_key *key, struct sl_route *out)
{
	const struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	int family = sl_rtnl_family(&key->dst);

	if (nlh->nlmsg_type != RTM_NEWROUTE || !sl_rtnl_attrs(nlh, sizeof(*rtm), tb, RTA_MAX) ||
	    rtm->rtm_family != family)
		return -EBADMSG;
	out->kind = kind_of(rtm);
	out->ifindex = sl_rtnl_u32(tb[RTA_OIF], 0);
	out->is_own = is_exception(rtm, tb[RTA_CACHEINFO]);
	parse_metrics(tb[RTA_METRICS], out);
	parse_nexthop(tb, family, &key->dst, out);
	if (!sl_rtnl_addr(tb[RTA_PREFSRC], family, &out->src))
		out->src = key->src;
	if (tb[RTA_ENCAP] || tb[RTA_ENCAP_TYPE] || tb[RTA_MULTIPATH] || tb[RTA_NEWDST])
		out->kind = SL_ROUTE_OTHER;
	out->error = error_of_type(rtm->rtm_type);
	if (family == AF_INET6 && !out->error)
		out->error = cached_error(tb[RTA_CACHEINFO]);
	if (out->error)
		out->kind = SL_ROUTE_UNREACHABLE;
	return 0;
}

bool sl_route_is_refusal(int error)
{
	switch (error) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EACCES:
	case -EINVAL: /* a blackhole route */
	case -ENODEV:
	case -ENETDOWN:
	case -EADDRNOTAVAIL:
		return true;
	default:
		return false;
	}
}

/* Groups of IPv6 --------------------------------------------------------------------------- */

struct member {
	const struct sl_addr *group;
	uint32_t ifindex;
	bool found;
};

static int member_on_msg(const struct nlmsghdr *nlh, void *arg)
{
	struct member *m = arg;
	const struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct sl_addr group;

	if (!sl_rtnl_attrs(nlh, sizeof(*ifa), tb, IFA_MAX) || ifa->ifa_index != m->ifindex)
		return 0;
	if (sl_rtnl_addr(tb[IFA_MULTICAST], AF_INET6, &group) && sl_addr_eq(&group, m->group))
		m->found = true;
	return 0;
}

/* 1: this host is a member of the group on the device, 0: not, or -errno. */
static int group6_is_joined(const struct sl_addr *group, uint32_t ifindex)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct member m = {.group = group, .ifindex = ifindex};
	struct ifaddrmsg *ifa;
	int err;

	nlh->nlmsg_type = RTM_GETMULTICAST;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET6;
	ifa->ifa_index = ifindex; /* a filter where strict checking exists */
	err = sl_rtnl_ask(nlh, member_on_msg, &m);
	if (err && err != -EINTR)
		return err;
	/* If the list changed meanwhile, the generation has changed or the age limit makes us ask
	 * again. */
	return m.found;
}

/* IPv6 settings of a device ------------------------------------------------------------------ */

static int conf6_on_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[IFLA_MAX + 1], *af[AF_INET6 + 1], *inet6[IFLA_INET6_MAX + 1];
	struct sl_route *out = arg;
	const struct nlattr *attr;
	const uint32_t *conf;

	if (!sl_rtnl_attrs(nlh, sizeof(struct ifinfomsg), tb, IFLA_MAX) || !tb[IFLA_AF_SPEC])
		return 0;
	sl_rtnl_nested(tb[IFLA_AF_SPEC], af, AF_INET6);
	if (!af[AF_INET6])
		return 0;
	sl_rtnl_nested(af[AF_INET6], inet6, IFLA_INET6_MAX);
	attr = inet6[IFLA_INET6_CONF];
	if (!attr || mnl_attr_get_payload_len(attr) < (DEVCONF_MTU6 + 1) * sizeof(uint32_t))
		return 0;
	conf = mnl_attr_get_payload(attr);
	if (!out->mtu)
		out->mtu = conf[DEVCONF_MTU6];
	if (!out->hoplimit)
		out->hoplimit = (uint8_t)sl_min(conf[DEVCONF_HOPLIMIT], 255u);
	return 0;
}

/* The question ----------------------------------------------------------------------------- */

static void build_request(struct nlmsghdr *nlh, const struct sl_route_key *key)
{
	bool v4 = sl_addr_is_v4(&key->dst);
	uint8_t bits = v4 ? 32 : 128;
	struct rtmsg *rtm;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = v4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = bits;
	rtm->rtm_tos = key->tos & TOS_ROUTED;
	sl_rtnl_put_addr(nlh, RTA_DST, &key->dst);
	if (!sl_addr_is_any(&key->src)) {
		rtm->rtm_src_len = bits;
		sl_rtnl_put_addr(nlh, RTA_SRC, &key->src);
	}
	if (key->oif)
		mnl_attr_put_u32(nlh, RTA_OIF, key->oif);
	if (key->mark)
		mnl_attr_put_u32(nlh, RTA_MARK, key->mark);
	if (sl_likely(!key->proto))
		return;
	mnl_attr_put_u8(nlh, RTA_IP_PROTO, key->proto);
	if (key->sport)
		mnl_attr_put_u16(nlh, RTA_SPORT, htons(key->sport));
	if (key->dport)
		mnl_attr_put_u16(nlh, RTA_DPORT, htons(key->dport));
}

struct question {
	const struct sl_route_key *key;
	struct sl_route *out;
};

static int on_answer(const struct nlmsghdr *nlh, void *arg)
{
	struct question *q = arg;

	return sl_route_parse(nlh, q->key, q->out);
}

/* Adds what only the mirror knows: the device's MTU, and that loopback is not a wire. */
static int complete(const struct sl_route_key *key, struct sl_route *out)
{
	bool v4 = sl_addr_is_v4(&key->dst);
	struct sl_link link;
	int joined;

	if (out->kind == SL_ROUTE_UNREACHABLE)
		return 0;
	if (!sl_link_get(out->ifindex, &link))
		return -EAGAIN; /* the device is so new that its event is still under way */
	if (link.flags & IFF_LOOPBACK)
		out->kind = SL_ROUTE_LOCAL;
	if ((!out->mtu || !out->hoplimit) && !v4 && out->kind != SL_ROUTE_LOCAL)
		(void)sl_link_ask(out->ifindex, conf6_on_msg, out);
	if (!out->hoplimit)
		out->hoplimit = v4 ? sl_ip_default_ttl() : SL_IP_TTL;
	out->mtu = out->mtu ? sl_min(out->mtu, link.mtu) : link.mtu;
	if (out->kind != SL_ROUTE_MULTICAST || v4)
		return 0;
	joined = group6_is_joined(&key->dst, out->ifindex);
	if (joined > 0)
		out->kind = SL_ROUTE_LOCAL;
	return sl_min(joined, 0);
}

int sl_route_get(const struct sl_route_key *key, struct sl_route *out)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct question q = {.key = key, .out = out};
	int err;

	memset(out, 0, sizeof(*out));
	/* Read before asking, so that a later change makes the answer stale. */
	out->gen = sl_load_acquire(&sl_route_gen);
	if (!sl_addr_is_any(&key->src) && sl_addr_is_v4(&key->src) != sl_addr_is_v4(&key->dst))
		return -EINVAL;
	build_request(nlh, key);
	err = sl_rtnl_ask(nlh, on_answer, &q);
	if (err && sl_route_is_refusal(err)) {
		out->kind = SL_ROUTE_UNREACHABLE;
		out->error = err;
		return 0;
	}
	return err ? err : complete(key, out);
}

/* Recent answers ------------------------------------------------------------------------------- */

#define RECALL_NS 1000000000ull /* life of an answer, as SL_DST_REASK_NS in a lane */

static struct recalled {
	struct sl_route_key key;
	struct sl_route route;
	uint64_t asked_ns; /* 0: empty */
} recalled[8];
static uint32_t recall_next;
static struct sl_lock recall_lock; /* no other lock is taken while this is held */

static bool recall(const struct sl_route_key *key, uint64_t now_ns, struct sl_route *out)
{
	for (unsigned i = 0; i < sl_array_len(recalled); i++) {
		const struct recalled *r = &recalled[i];

		if (r->asked_ns && now_ns - r->asked_ns < RECALL_NS &&
		    sl_route_key_eq(&r->key, key) && r->route.gen == sl_load(&sl_route_gen)) {
			*out = r->route;
			return true;
		}
	}
	return false;
}

static void keep(const struct sl_route_key *key, uint64_t now_ns, const struct sl_route *route)
{
	recalled[recall_next++ % sl_array_len(recalled)] = (struct recalled){*key, *route, now_ns};
}

int sl_route_recall(const struct sl_route_key *key, uint64_t now_ns, struct sl_route *out)
{
	bool known = false;
	int err;

	if (sl_lock(&recall_lock)) {
		known = recall(key, now_ns, out);
		sl_unlock(&recall_lock);
	}
	if (known)
		return 0;
	err = sl_route_get(key, out);
	if (!err && out->kind != SL_ROUTE_UNREACHABLE && sl_lock(&recall_lock)) {
		keep(key, now_ns, out);
		sl_unlock(&recall_lock);
	}
	return err;
}

void sl_route_child(void)
{
	memset(&recall_lock, 0, sizeof(recall_lock));
	memset(recalled, 0, sizeof(recalled));
}
