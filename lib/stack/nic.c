/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane sends by the NIC's own queue (verbs), where one is available, and receives by one where
 * that is asked for; then the broker's claims become rules of the NIC.
 *
 * Theory of operation: when a queue has failed, the next kick moves to AF_XDP, together with the
 * packets that have not left. The keeper closes the queue and tries to open another after a
 * second, then after two, four, and so on: a device that was reset or plugged in again is used
 * again, and a broken one costs little. The lane changes back when its AF_XDP ring is empty, so
 * packets are not reordered. No event reports a failed queue. So the keeper wakes once a second
 * while packets are under way in one (lane->watched, set by the first kick), and when a retry is
 * due. */
#include <errno.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/steer/nic_rule.h"
#include "io/nic/verbs_rx.h"
#include "io/verbs.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/nic_rx.h"
#include "stack/pace.h"
#include "stack/port.h"

#define NS          1000000000ull
#define WAIT_MAX    64u /* seconds */
#define STEADY_NS   (60 * NS)
#define DEPTH_LEAST 64u /* buffers of a receive queue */
#define KICKS_EMPTY 64  /* kicks that empty a ring, at 32 packets each (copy mode) */

static uint64_t look_ns = UINT64_MAX; /* next time to try to open a queue */

static struct sl_tx *open_nic_queue(struct sl_leg *leg, struct sl_verbs_info *info,
				    const char **why)
{
	const struct sl_port_info *port = &leg->port->info;
	struct sl_verbs_want want = {
		.depth = 64,
		.inline_bytes = (uint32_t)sl_settings.tx_max_inline,
		.device_bytes = (uint32_t)sl_settings.ring_dev_mem_tx,
		.stats = leg->lane->stats,
		.frames = &leg->lane->frames,
	};

	while (want.depth < (uint32_t)sl_settings.tx_wre)
		want.depth *= 2;
	return sl_verbs_open(port->ifindex, port->ifname, &want, info, why);
}

static void say(const struct sl_leg *leg, const struct sl_verbs_info *info, const char *again)
{
	sl_info("lane", "lane %u sends on %s by verbs%s (%s, %u packets, inline up to %u%s)",
		leg->lane->id, leg->port->info.ifname, again, info->device, info->depth,
		info->inline_bytes, info->direct ? ", written directly" : "");
}

void sl_leg_open_verbs(struct sl_leg *leg)
{
	struct sl_verbs_info info;
	const char *why;

	if (sl_settings.tx_backend == SL_TX_XSK)
		return;
	leg->verbs = open_nic_queue(leg, &info, &why);
	if (leg->verbs) {
		leg->tx = leg->verbs;
		leg->verbs_ns = sl_now_ns();
		say(leg, &info, "");
	} else if (why) {
		sl_info("lane", "lane %u sends on %s by AF_XDP: %s", leg->lane->id,
			leg->port->info.ifname, why);
	}
}

/* A queue that fails ----------------------------------------------------------------------------
 */

static void wait_longer(struct sl_leg *leg)
{
	leg->verbs_wait = leg->verbs_wait ? sl_min(2 * leg->verbs_wait, WAIT_MAX) : 1;
}

/* True: packets are under way in the queue. */
static bool check_queue(struct sl_lane *lane, struct sl_leg *leg, uint64_t now)
{
	struct sl_tx *verbs = leg->verbs;

	sl_tx_reap(verbs, &lane->frames);
	sl_verbs_check(verbs, now);
	if (!sl_verbs_dead(verbs))
		return !sl_verbs_is_idle(verbs);
	if (leg->tx == verbs)
		sl_leg_kick(leg); /* the kick sees the failure and leaves the queue */
	leg->verbs = NULL;
	verbs->ops->close(verbs, &lane->frames);
	/* After a long time without failure the delays start anew. */
	if (now - leg->verbs_ns > STEADY_NS)
		leg->verbs_wait = 0;
	wait_longer(leg);
	leg->verbs_ns = now + leg->verbs_wait * NS;
	return false;
}

static void check_queues(struct sl_lane *lane, uint64_t now)
{
	bool watched = sl_lane_pace_check(lane, now);

	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->verbs)
			watched |= check_queue(lane, lane->leg[i], now);
	sl_store(&lane->watched, watched);
}

/* Back to the NIC's queue ---------------------------------------------------------------------- */

/* Lane held. */
static bool go_back(struct sl_lane *lane, struct sl_leg *leg, struct sl_tx *verbs)
{
	struct sl_tx *tx = sl_leg_xdp(leg);

	for (int i = 0; i < KICKS_EMPTY && !sl_xsk_tx_is_empty(&leg->xsk[leg->tx_queue]); i++)
		if (tx->ops->kick(tx) && i)
			break;
	tx->ops->reap(tx, &lane->frames);
	if (!sl_xsk_tx_is_empty(&leg->xsk[leg->tx_queue]))
		return false;
	leg->verbs = verbs;
	sl_leg_swap(lane, tx, verbs);
	return true;
}

/* Opening a queue takes milliseconds: call without the lane's lock. */
static void look_for_queue(struct sl_lane *lane, struct sl_leg *leg, uint64_t now)
{
	struct sl_verbs_info info;
	struct sl_frames none = {0};
	struct sl_tx *verbs;
	const char *why;
	bool back = false;

	leg->verbs_ns = now + leg->verbs_wait * NS;
	verbs = open_nic_queue(leg, &info, &why);
	if (!verbs) {
		wait_longer(leg);
		return;
	}
	if (sl_lane_lock(lane)) {
		back = go_back(lane, leg, verbs);
		sl_lane_unlock(lane);
	}
	if (!back) {
		verbs->ops->close(verbs, &none);
		return;
	}
	leg->verbs_ns = now;
	say(leg, &info, " again");
}

/* True: the leg had a NIC queue and has none now. */
static bool is_without_queue(const struct sl_leg *leg)
{
	return leg->verbs_ns && !leg->verbs && !leg->dead;
}

static void check_lane(struct sl_lane *lane, void *arg)
{
	uint64_t now = sl_now_ns();
	bool any = lane->watched;
	uint32_t n;

	sl_lane_tcp_relieve(lane);
	n = sl_load_acquire(&lane->nlegs);
	for (uint32_t i = 0; i < n; i++)
		any |= lane->leg[i]->verbs != NULL;
	if (any && sl_lane_lock(lane)) {
		check_queues(lane, now);
		sl_lane_unlock(lane);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct sl_leg *leg = lane->leg[i];

		if (is_without_queue(leg) && now > leg->verbs_ns)
			look_for_queue(lane, leg, now);
		if (is_without_queue(leg))
			look_ns = sl_min(look_ns, leg->verbs_ns);
	}
}

uint64_t sl_lanes_look_us(void)
{
	return look_ns == UINT64_MAX ? UINT64_MAX : look_ns / 1000 + 1;
}

void sl_lanes_check(void)
{
	look_ns = UINT64_MAX;
	sl_lane_for_each(check_lane, NULL);
}

/* Receiving -------------------------------------------------------------------------------------
 */

/* A lane's leg on a device. */
struct find {
	uint32_t ifindex, lane;
	struct sl_leg *leg; /* NULL: none */
};

static void look(struct sl_lane *lane, void *arg)
{
	struct find *f = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n && lane->id == f->lane; i++) {
		struct sl_leg *leg = sl_load_acquire(&lane->leg[i]);

		if (!leg->below && !leg->is_class &&
		    sl_load_acquire(&leg->port)->info.ifindex == f->ifindex)
			f->leg = leg;
	}
}

static struct sl_leg *find_leg(uint32_t ifindex, uint32_t lane)
{
	struct find f = {.ifindex = ifindex, .lane = lane};

	sl_lane_for_each(look, &f);
	return f.leg;
}

static int rule_add(uint32_t ifindex, const struct sl_nic_rule *r, uint64_t *id, const char **why)
{
	struct sl_leg *leg = find_leg(ifindex, r->lane);
	struct sl_verbs_rule rule = {
		.key = r->key,
		.narrow = r->narrow,
		.claim = r->claim,
		.n = r->n,
		.priority = r->priority,
		.vxlan_port = r->vxlan_port,
	};
	int saved = errno, err;

	if (!leg) {
		*why = "the receive queue is closed";
		return -ENODEV;
	}
	memcpy(rule.mac, r->mac, sizeof(rule.mac));
	err = sl_verbs_rule_add(&leg->xsk[0], &rule, id, why);
	errno = saved;
	return err;
}

static int rule_move(uint32_t ifindex, uint32_t lane, uint64_t id, const struct sl_claim *claim,
		     uint32_t n)
{
	struct sl_leg *leg = find_leg(ifindex, lane);

	return leg ? sl_verbs_rule_move(&leg->xsk[0], id, claim, n) : 0;
}

static void rule_del(uint32_t ifindex, uint32_t lane, uint64_t id)
{
	struct sl_leg *leg = find_leg(ifindex, lane);
	int saved = errno;

	if (leg)
		sl_verbs_rule_del(&leg->xsk[0], id);
	errno = saved;
}

void sl_nic_rx_init(void)
{
	static const struct sl_nic_ops ops = {
		.may = sl_verbs_rx_may,
		.add = rule_add,
		.move = rule_move,
		.del = rule_del,
	};

	sl_nic_ops = &ops;
}

struct vlan {
	uint32_t lower, ifindex; /* ifindex: of the VLAN device; 0: there is none */
	uint16_t vid;
};

static bool look_for_vlan(const struct sl_link *link, void *arg)
{
	struct vlan *v = arg;

	if (link->lower == v->lower && link->vlan_tag == v->vid)
		v->ifindex = link->ifindex;
	return !v->ifindex;
}

/* The kernel's connections of a claimed listener, other flows that are let pass, and packets of
 * VLAN devices. Of a VLAN that has no device here the kernel takes none. */
static void pass(uint32_t ifindex, uint16_t vid, const void *ip, size_t bytes)
{
	struct vlan v = {.lower = ifindex, .ifindex = vid ? 0 : ifindex, .vid = vid};

	if (vid)
		sl_link_for_each(look_for_vlan, &v);
	if (v.ifindex)
		(void)sl_broker_inject(-1, ip, bytes, v.ifindex);
}

/* A quarter of the frames at most wait in receive queues, in all of them together: each lane has
 * free frames of its own besides. A queue gets half of what is left of that quarter, and small ones
 * get half as much again. Returns 0 if there is not even that: lanes that had no frame left could
 * not send. */
static uint32_t depth_of(void)
{
	uint32_t all = sl_pool.nframes / 4, used = sl_verbs_rx_buffers(), depth = DEPTH_LEAST, most;

	if (used + depth > all + all / 2)
		return 0;

	most = used < all ? (all - used) / 2 : 0;
	most = sl_min((uint32_t)sl_settings.rx_wre, most);
	while (2 * depth <= most)
		depth *= 2;
	return depth;
}

/* ICMP errors: no rule brings them here, since the kernel needs all other messages of ICMP. It
 * hands copies of the errors to raw sockets, which the keeper reads once a second. (A router's
 * report is wanted before the second retransmission.)
 * ------------------------------------------------------
 */

#define ICMP_MOST  1500u
#define ICMP_OFF   272u /* where a packet begins in its frame, as elsewhere */
#define ICMP_BATCH 64   /* errors of a second */
/* <linux/icmp.h> has these numbers, and does not go with other headers. */
#define ICMP4_FILTER     1
#define ICMP4_UNREACH    3
#define ICMP4_EXCEEDED   11
#define ICMP4_PARAM_PROB 12

static struct icmp_sockets {
	uint32_t ifindex; /* 0: free */
	uint32_t lower;   /* the device that has the rules */
	uint32_t vlan;    /* as in struct sl_flow_key */
	int fd4, fd6;
} icmps[32];

static int open_raw(int family, int proto, const char *ifname)
{
	uint32_t most4 = ~(1u << ICMP4_UNREACH | 1u << ICMP4_EXCEEDED | 1u << ICMP4_PARAM_PROB);
	struct icmp6_filter most6;
	int fd = sl_fd_keep(sl_sys_socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, proto));
	int err;

	if (fd < 0)
		return -1;
	memset(&most6, 0xff, sizeof(most6)); /* a bit that is set: not wanted */
	for (unsigned type = ICMP6_DST_UNREACH; type <= ICMP6_PARAM_PROB; type++)
		ICMP6_FILTER_SETPASS(type, &most6);
	err = family == AF_INET
		      ? sl_sys_setsockopt(fd, SOL_RAW, ICMP4_FILTER, &most4, sizeof(most4))
		      : sl_sys_setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &most6, sizeof(most6));
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ifname,
					(socklen_t)strlen(ifname));
	if (!err)
		return fd;
	sl_sys_close(fd);
	return -1;
}

static struct icmp_sockets *icmp_of(uint32_t ifindex)
{
	for (uint32_t i = 0; i < sl_array_len(icmps); i++)
		if (sl_load_acquire(&icmps[i].ifindex) == ifindex)
			return &icmps[i];
	return NULL;
}

void sl_nic_rx_errors(const struct sl_port *port)
{
	struct icmp_sockets *i = icmp_of(port->info.ifindex) ? NULL : icmp_of(0);

	if (!i)
		return;
	i->lower = port->lower;
	i->vlan = port->vlan;
	i->fd4 = open_raw(AF_INET, IPPROTO_ICMP, port->info.ifname);
	i->fd6 = open_raw(AF_INET6, IPPROTO_ICMPV6, port->info.ifname);
	sl_store_release(&i->ifindex, port->info.ifindex);
}

static void close_icmp(struct icmp_sockets *i)
{
	if (i->fd4 >= 0)
		sl_sys_close(i->fd4);
	if (i->fd6 >= 0)
		sl_sys_close(i->fd6);
	sl_store_release(&i->ifindex, 0);
}

void sl_nic_rx_close(uint32_t ifindex)
{
	for (uint32_t i = 0; i < sl_array_len(icmps); i++)
		if (sl_load_acquire(&icmps[i].ifindex) && icmps[i].lower == ifindex)
			close_icmp(&icmps[i]);
}

void sl_nic_rx_child(void)
{
	for (uint32_t i = 0; i < sl_array_len(icmps); i++)
		if (icmps[i].ifindex)
			close_icmp(&icmps[i]);
}

/* Reads which flow of ours the error is about, from the packet that it quotes. */
static bool read_quote(const uint8_t *q, uint32_t n, bool v6, struct sl_flow_key *k)
{
	uint32_t l4 = v6 ? 40 : (q[0] & 15) * 4u;

	if (n < l4 + 8 || l4 < 20 || q[0] >> 4 != (v6 ? 6 : 4) || q[v6 ? 6 : 9] != IPPROTO_TCP)
		return false;
	memset(k, 0, sizeof(*k));
	if (v6) {
		memcpy(k->local, q + 8, 16);
		memcpy(k->remote, q + 24, 16);
	} else {
		memset(k->local + 10, 0xff, 2);
		memset(k->remote + 10, 0xff, 2);
		memcpy(k->local + 12, q + 12, 4);
		memcpy(k->remote + 12, q + 16, 4);
	}
	k->local_port = (uint16_t)(q[l4] << 8 | q[l4 + 1]);
	k->remote_port = (uint16_t)(q[l4 + 2] << 8 | q[l4 + 3]);
	k->proto = IPPROTO_TCP;
	return true;
}

/* Hands the packet, from its IP header on, to the lane of the claim. */
static void deliver(uint32_t ifindex, const struct sl_claim *c, const uint8_t *ip, uint32_t n)
{
	const struct sl_port *port = sl_port_find(ifindex);
	struct sl_leg *leg = port ? find_leg(ifindex, c->lane / port->info.nqueues) : NULL;
	bool v6 = ip[0] >> 4 == 6;
	uint32_t frame, l3 = 14;
	uint8_t *at;

	if (!leg || !sl_lane_lock(leg->lane))
		return;
	frame = sl_leg_is_closed(leg) ? SL_NO_FRAME : sl_frame_get_last(&leg->lane->frames);
	if (frame != SL_NO_FRAME) {
		const struct sl_meta m = {
			.magic = SL_META_MAGIC,
			.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
			.flags = SL_META_VLAN(SL_CLAIM_VLAN_NR(c->flags)),
			.l3 = (uint16_t)l3,
			.l4 = (uint16_t)(l3 + (v6 ? 40 : (ip[0] & 15) * 4u)),
			.slot = c->slot,
			.gen = c->gen,
		};
		const struct sl_rx_desc d = {.frame = frame,
					     .off = ICMP_OFF,
					     .len = (uint16_t)(l3 + n),
					     .csum_ok = true};

		at = sl_frame_ptr(frame) + ICMP_OFF;
		memset(at, 0, l3);
		at[12] = v6 ? 0x86 : 0x08;
		at[13] = v6 ? 0xdd : 0x00;
		memcpy(at + l3, ip, n);
		memcpy(at - sizeof(m), &m, sizeof(m));
		sl_leg_input(leg, &d);
	}
	sl_lane_unlock(leg->lane);
}

static void take_error(const struct icmp_sockets *i, const uint8_t *ip, uint32_t n)
{
	bool v6 = ip[0] >> 4 == 6;
	uint32_t icmp = v6 ? 40 : (ip[0] & 15) * 4u;
	struct sl_flow_key k;
	struct sl_claim c;

	if (n <= icmp + 8 || !read_quote(ip + icmp + 8, n - icmp - 8, v6, &k))
		return;
	k.vlan = i->vlan;
	if (sl_nic_find(i->lower, &k, &c))
		deliver(i->lower, &c, ip, n);
}

/* (A raw socket of IPv6 gets no IP header; an error is sent to the quoted packet's source.) */
static void put_header6(uint8_t *ip, const struct sockaddr_in6 *from, uint32_t n)
{
	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[4] = (uint8_t)(n >> 8);
	ip[5] = (uint8_t)n;
	ip[6] = IPPROTO_ICMPV6;
	ip[7] = 64;
	memcpy(ip + 8, &from->sin6_addr, 16);
	memcpy(ip + 24, ip + 40 + 8 + 8, 16);
}

static void read_errors(const struct icmp_sockets *i)
{
	uint8_t buf[ICMP_MOST];
	struct sockaddr_in6 from;
	socklen_t len;
	long n;

	for (int k = 0; i->fd4 >= 0 && k < ICMP_BATCH; k++) {
		n = sl_sys_recvfrom(i->fd4, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL);
		if (n < 0)
			break;
		if (n >= 20)
			take_error(i, buf, (uint32_t)n);
	}
	for (int k = 0; i->fd6 >= 0 && k < ICMP_BATCH; k++) {
		len = sizeof(from);
		n = sl_sys_recvfrom(i->fd6, buf + 40, sizeof(buf) - 40, MSG_DONTWAIT, (void *)&from,
				    &len);
		if (n < 0)
			break;
		if (n < 8 + 40)
			continue;
		put_header6(buf, &from, (uint32_t)n);
		take_error(i, buf, (uint32_t)n + 40);
	}
}

void sl_nic_rx_look(uint32_t ifindex)
{
	struct sl_link link;

	for (uint32_t k = 0; k < sl_array_len(icmps); k++) {
		struct icmp_sockets *i = &icmps[k];
		uint32_t own = sl_load_acquire(&i->ifindex);

		if (!own || i->lower != ifindex)
			continue;
		if (own != ifindex && !sl_link_get(own, &link)) /* a VLAN device that is gone */
			close_icmp(i);
		else
			read_errors(i);
	}
}

int sl_leg_open_rx(struct sl_leg *leg, const char **why)
{
	const struct sl_port_info *port = &leg->port->info;
	struct sl_verbs_rx_want want = {
		.ifindex = port->ifindex,
		.ifname = port->ifname,
		.depth = depth_of(),
		.frames = &leg->lane->frames,
		.pass = pass,
	};
	int err;

	if (!(port->flags & SL_PORT_VERBS))
		return 0;
	if (!want.depth) {
		*why = "packet memory has no room for one more receive queue";
		return -ENOBUFS;
	}
	err = sl_verbs_rx_open(&leg->xsk[0], &want, why);
	if (!err)
		sl_nic_rx_errors(leg->port);
	if (!err)
		sl_info("lane", "lane %u receives on %s by verbs (%s, %u buffers%s)", leg->lane->id,
			port->ifname, want.name, want.depth, want.direct ? ", read directly" : "");
	return err;
}

struct dead_walk {
	const struct sl_port *port;
	const char *why;
};

static void look_dead(struct sl_lane *lane, void *arg)
{
	struct dead_walk *w = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n && !w->why; i++) {
		struct sl_leg *leg = sl_load_acquire(&lane->leg[i]);

		if (leg->port == w->port && leg->nqueues)
			w->why = sl_verbs_rx_dead(&leg->xsk[0]);
	}
}

const char *sl_nic_rx_dead(const struct sl_port *port)
{
	struct dead_walk w = {.port = port};

	if (port->info.flags & SL_PORT_VERBS)
		sl_lane_for_each(look_dead, &w);
	return w.why;
}
