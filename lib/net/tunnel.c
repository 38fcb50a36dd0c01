/* SPDX-License-Identifier: BSD-2-Clause */
/* The way out of a VXLAN device.
 *
 * Theory of operation: a frame gets its outer headers in the room in front of it, and is posted on
 * the queue of the device below. The headers are made once for a station of the inner network: the
 * mirror of the fdb (net/vxlan.h) says which host is behind it, the lane's destinations (net/out.c)
 * by which route and neighbour that is reached. All of these are followed by their generations.
 * Other frames leave by a packet socket on the VXLAN device, the daemon's where one serves, and the
 * kernel wraps them: frames to
 * groups, to stations that several hosts or none has, to hosts that another device or no neighbour
 * leads to, packets longer than the path, and the first ones, while an answer is awaited. Several
 * segments of TCP's in a row (stack/train.c) leave by the VXLAN device, too, where the device below
 * has them by a packet socket: no packet socket takes a packet whose headers a tunnel's are in
 * front of, and the kernel wraps all of them at once. */
#include "net/tunnel.h"

#include <errno.h>
#include <linux/if_link.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/log.h"
#include "io/far.h"
#include "io/gso.h"
#include "net/vxlan.h"
#include "wire/vxlan.h"

#define WAYS 8 /* stations whose headers are kept */

/* The headers for a station. */
struct way {
	uint64_t key;                /* key_of(); 0: none */
	uint32_t route_gen, fdb_gen; /* at which it was made */
	uint32_t serial;             /* of dst */
	struct sl_dst *dst;          /* NULL: the kernel's device sends */
	struct sl_vxlan_hdr hdr;
};

struct sl_tunnel {
	struct sl_tx tx;
	uint32_t ifindex; /* of the VXLAN device, as of the last look */
	struct sl_tunnel_low low;
	struct sl_far *far;               /* on the VXLAN device */
	struct sl_gso *gso;               /* there, too; NULL: each segment by itself */
	bool inner_tos;                   /* outer headers depend on the inner TOS */
	bool pending;                     /* low has frames of ours since its last kick */
	bool remade;                      /* the device was, and gso is on the old one */
	const struct sl_hash_key *secret; /* of source ports; no child has it */
	const char *said;                 /* why the kernel's device sends, as last logged */
	struct way *last;                 /* of the last frame */
	struct way way[WAYS];
};

static bool is_closed(const struct sl_tunnel *t)
{
	return t->low.is_closed(t->low.leg);
}

/* Station and TOS of an inner frame. Bit 63 makes it nonzero. */
static uint64_t key_of(const struct sl_tunnel *t, const uint8_t *inner)
{
	uint64_t key;

	memcpy(&key, inner, sizeof(key));
	key &= 0xffffffffffffull;
	if (sl_unlikely(t->inner_tos)) {
		uint8_t tos =
			inner[12] == 0x08 ? inner[15] : (uint8_t)(inner[14] << 4 | inner[15] >> 4);

		key |= (uint64_t)(tos >> 2) << 48;
	}
	return key | 1ull << 63;
}

static bool is_fresh(const struct way *w, uint64_t now)
{
	if (sl_unlikely(w->route_gen != sl_load(&sl_route_gen) ||
			w->fdb_gen != sl_load(&sl_fdb_gen)))
		return false;
	return !w->dst || (w->dst->serial == w->serial && sl_dst_fresh(w->dst, now));
}

/* Why the kernel's device must send to the host; NULL: it need not. */
static const char *obstacle(const struct sl_link *link, const struct sl_fdb *fdb)
{
	if (link->vxlan.flags & SL_VXLAN_OUT_RSC)
		return "it changes frames to routers (rsc)";
	if (link->vxlan.flags & SL_VXLAN_OUT_REMSUM)
		return "it leaves checksums to the receiver (remcsumtx)";
	if (fdb->vni != SL_FDB_NO_VNI && fdb->vni + 1 != link->vni_after)
		return "a station is in another VNI";
	if (sl_load(&sl_route_by_port))
		return "a rule of routing looks at ports";
	return NULL;
}

static void ports_of(const struct sl_tunnel *t, const struct sl_vxlan_out *out,
		     struct sl_vxlan_build *b)
{
	b->port_min = out->port_min;
	b->port_max = out->port_max;
	if (b->port_min < b->port_max)
		return;
	b->port_min = *t->low.port_min ? *t->low.port_min : 32768;
	b->port_max = *t->low.port_min ? *t->low.port_max : 60999;
}

static void make_headers(const struct sl_tunnel *t, struct way *w, const struct sl_link *link,
			 const struct sl_fdb *fdb)
{
	const struct sl_vxlan_out *out = &link->vxlan;
	const struct sl_dst *d = w->dst;
	bool v4 = sl_addr_is_v4(&fdb->remote);
	struct sl_vxlan_build b = {
		.src = d->route.src,
		.dst = fdb->remote,
		.vni = link->vni_after - 1,
		.label = out->label,
		.dport = fdb->port ? fdb->port : out->port,
		.mtu = (uint16_t)sl_min(d->route.mtu, 65535u),
		.tos = out->tos == SL_VXLAN_TOS_INNER ? 0 : out->tos,
		.ttl = out->ttl ? out->ttl : d->route.hoplimit,
		.inner_tos = out->tos == SL_VXLAN_TOS_INNER,
		.inner_ttl = out->flags & SL_VXLAN_OUT_TTL,
		.inner_df = out->df == VXLAN_DF_INHERIT,
		.df = out->df == VXLAN_DF_SET,
		.sum = out->flags & (v4 ? SL_VXLAN_OUT_SUM4 : SL_VXLAN_OUT_SUM6),
		.secret = &t->secret->k[1],
	};

	if (out->flags & SL_VXLAN_OUT_LOCAL)
		b.src = sl_addr_of(out->local);
	memcpy(b.smac, d->smac, 6);
	memcpy(b.dmac, d->dmac, 6);
	ports_of(t, out, &b);
	sl_build_vxlan_hdr(&w->hdr, &b);
}

static struct sl_dst *find_dst(struct sl_tunnel *t, uint64_t key, const struct sl_link *link,
			       const struct sl_fdb *fdb, uint64_t now)
{
	const struct sl_vxlan_out *out = &link->vxlan;
	bool v4 = sl_addr_is_v4(&fdb->remote), local = out->flags & SL_VXLAN_OUT_LOCAL;
	struct sl_route_key r = {
		.dst = fdb->remote,
		.oif = fdb->ifindex,
		.tos = t->inner_tos ? (uint8_t)(key >> 46) & 0xfc : out->tos & 0xfc,
	};

	if (local)
		r.src = sl_addr_of(out->local);
	else if (v4)
		r.src = sl_addr_v4(0);
	if (local && sl_addr_is_v4(&r.src) != v4)
		return NULL;
	return t->low.dst(t->low.leg, &r, now);
}

static struct sl_far *open_far(const struct sl_tunnel_low *low, uint32_t ifindex)
{
	struct sl_far *far = sl_far_open(ifindex, low->frames);

	return far || errno != EPERM ? far : sl_far_open_by(low->send, low->port, low->frames);
}

/* The device was deleted and made anew: the packet socket is on the old one. */
static void follow_device(struct sl_tunnel *t)
{
	uint32_t ifindex = sl_load(t->low.ifindex);
	struct sl_far *far;

	if (ifindex == t->ifindex || !ifindex)
		return;
	far = open_far(&t->low, ifindex);
	if (!far)
		return;
	sl_far_close(t->far);
	t->far = far;
	t->ifindex = ifindex;
	t->remade = true;
}

/* Segments in a row go whole to the kernel if they would on the device below. */
static void open_gso(struct sl_tunnel *t)
{
	struct sl_link link;

	if (t->gso)
		sl_gso_free(t->gso);
	t->gso = NULL;
	t->remade = false;
	t->tx.open = 0;
	if (sl_gso_is_before(*t->low.tx) && sl_link_get(t->ifindex, &link))
		t->gso = sl_gso_make(t->ifindex, link.name, !link.no_qdisc, t->low.frames);
	t->tx.caps = t->gso ? SL_TX_TSO : 0;
	t->tx.segs = SL_TSO_SEGS;
}

/* Finds out where frames to the station go. */
static SL_COLD void make_way(struct sl_tunnel *t, struct way *w, uint64_t key, uint64_t now)
{
	uint8_t mac[6];
	struct sl_link link;
	const char *why;
	struct sl_dst *d;
	struct sl_fdb fdb;

	follow_device(t);
	memcpy(mac, &key, sizeof(mac));
	*w = (struct way){
		.key = key, .route_gen = sl_load(&sl_route_gen), .fdb_gen = sl_load(&sl_fdb_gen)};
	if (mac[0] & 1 || !sl_link_get(t->ifindex, &link) || !link.vni_after)
		return;
	t->inner_tos = link.vxlan.tos == SL_VXLAN_TOS_INNER;
	fdb = sl_fdb_get(t->ifindex, mac);
	if (fdb.state != SL_FDB_REMOTE)
		return;
	why = obstacle(&link, &fdb);
	if (why && why != t->said)
		sl_info("port", "%s: the kernel wraps what leaves: %s", link.name, t->said = why);
	if (why)
		return;
	d = find_dst(t, key, &link, &fdb, now);
	if (!d)
		return;
	w->dst = d;
	w->serial = d->serial;
	w->route_gen = d->route.gen;
	if (d->leg == t->low.leg && d->mac_ok)
		make_headers(t, w, &link, &fdb);
	if (w->hdr.len && !t->said)
		sl_info("port", "%s: wrapped here, to leave by %s", link.name, t->low.ifname);
	if (w->hdr.len && !t->said)
		t->said = "";
}

static struct way *way_of(struct sl_tunnel *t, const uint8_t *inner)
{
	uint64_t key = key_of(t, inner), now = sl_now_ns();
	struct way *w = t->last;

	if (sl_unlikely(w->key != key))
		w = t->last = &t->way[sl_mix(0, key) >> 32 & (WAYS - 1)];
	if (sl_unlikely(w->key != key || !is_fresh(w, now)))
		make_way(t, w, key, now);
	return w;
}

static bool post_one(struct sl_tunnel *t, const struct sl_tx_desc *d)
{
	uint8_t *inner = sl_frame_ptr(d->frame) + d->off;
	struct sl_tx_desc out = {.frame = d->frame};
	struct way *w;
	unsigned n;

	if (sl_unlikely(is_closed(t)))
		return sl_far_send(t->far, d, 1);
	w = way_of(t, inner);
	n = sl_build_vxlan(&w->hdr, inner, d->len, d->off, w->dst ? w->dst->ip_id : 0);
	if (sl_unlikely(!n))
		return sl_far_send(t->far, d, 1);
	out.off = (uint16_t)(d->off - n);
	out.len = (uint16_t)(d->len + n);
	if (sl_unlikely((*t->low.tx)->ops->post(*t->low.tx, &out, 1) == 0))
		return false;
	w->dst->ip_id++;
	t->pending = true;
	return true;
}

/* Sends the run of segments: whole, behind what was posted before it, or one by one. */
static void end_run(struct sl_tunnel *t)
{
	const struct sl_tx_desc *run;
	uint32_t n;

	t->tx.open = 0;
	if (!is_closed(t) && sl_gso_holds(t->gso) > 1 && !t->remade && sl_gso_empties(*t->low.tx) &&
	    sl_gso_send(t->gso))
		return;
	run = sl_gso_single(t->gso, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!post_one(t, &run[i])) /* lost, and the peer asks for it again */
			sl_frame_sent(t->low.frames, run[i].frame);
}

static bool has_room(struct sl_tunnel *t, uint32_t n)
{
	struct sl_tx *low = *t->low.tx;

	return is_closed(t) || !low->ops->room || low->ops->room(low) > n;
}

static SL_APART bool post_run(struct sl_tunnel *t, const struct sl_tx_desc *d)
{
	if (!has_room(t, sl_gso_holds(t->gso)))
		return false;
	if (sl_gso_holds(t->gso) && !(d->flags & SL_TXD_CONT))
		end_run(t);
	if (t->remade)
		open_gso(t);
	if (!d->hdr || !t->gso)
		return post_one(t, d);
	t->tx.open = sl_gso_add(t->gso, d);
	return true;
}

static unsigned tunnel_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_tunnel *t = sl_container_of(tx, struct sl_tunnel, tx);
	unsigned i = 0;

	while (i < n && (t->gso && (descs[i].hdr || sl_gso_holds(t->gso)) ? post_run(t, &descs[i])
									  : post_one(t, &descs[i])))
		i++;
	tx->posted += i;
	tx->unreaped += i;
	return i;
}

static int tunnel_kick(struct sl_tx *tx)
{
	struct sl_tunnel *t = sl_container_of(tx, struct sl_tunnel, tx);
	int err;

	if (t->gso && sl_gso_holds(t->gso))
		end_run(t);
	tx->posted = 0;
	if (!t->pending || is_closed(t))
		return 0;
	err = (*t->low.tx)->ops->kick(*t->low.tx);
	if (sl_unlikely(err == -EIO))
		err = t->low.kick(t->low.leg);
	t->pending = err == -EAGAIN;
	return err;
}

static unsigned tunnel_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_tunnel *t = sl_container_of(tx, struct sl_tunnel, tx);
	unsigned n = sl_far_release(t->far);

	tx->unreaped = 0;
	return n + (is_closed(t) ? 0 : sl_tx_reap(*t->low.tx, cache));
}

static uint32_t tunnel_room(struct sl_tx *tx)
{
	const struct sl_tunnel *t = sl_container_of(tx, struct sl_tunnel, tx);

	uint32_t held = t->gso ? sl_gso_holds(t->gso) : 0, room;

	if (is_closed(t) || !(*t->low.tx)->ops->room)
		return UINT32_MAX;
	room = (*t->low.tx)->ops->room(*t->low.tx);
	return room > held ? room - held : 0;
}

static void tunnel_tx_close(struct sl_tx *tx, struct sl_frames *cache)
{
	(void)cache;
	sl_tunnel_close(sl_container_of(tx, struct sl_tunnel, tx));
}

static const struct sl_tx_ops tunnel_ops = {
	.name = "VXLAN",
	.post = tunnel_post,
	.kick = tunnel_kick,
	.reap = tunnel_reap,
	.close = tunnel_tx_close,
	.room = tunnel_room,
};

struct sl_tunnel *sl_tunnel_open(const struct sl_tunnel_low *low)
{
	static struct sl_hash_key *key; /* one for all, so that a flow has one source port */
	const struct sl_hash_key *secret = sl_hash_key_get(&key);
	struct sl_tunnel *t = secret->k[0] ? sl_calloc(1, sizeof(*t)) : NULL;

	if (!t) {
		errno = ENOMEM;
		return NULL;
	}
	t->ifindex = sl_load(low->ifindex);
	t->far = open_far(low, t->ifindex);
	if (!t->far) {
		sl_free(t);
		return NULL;
	}
	t->tx.ops = &tunnel_ops;
	t->low = *low;
	t->last = t->way;
	t->secret = secret;
	open_gso(t);
	return t;
}

struct sl_tx *sl_tunnel_tx(struct sl_tunnel *t)
{
	return &t->tx;
}

void sl_tunnel_close(struct sl_tunnel *t)
{
	sl_far_close(t->far);
	if (t->gso)
		sl_gso_free(t->gso);
	sl_free(t);
}

void sl_tunnel_child(const struct sl_tunnel *t)
{
	sl_far_child(t->far);
	if (t->gso)
		sl_gso_leave(t->gso);
}
