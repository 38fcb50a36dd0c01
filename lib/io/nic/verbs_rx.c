/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives by a raw-packet queue pair.
 *
 * Theory of operation: frames of packet memory are the queue's buffers. A completion says which
 * buffer got a packet and by which rule (verbs_rule.c), so one look at the rule's target replaces
 * the steering program: the record that it would have written is written here, in front of the
 * packet, and the rooms above see a packet as by XDP. The NIC's own look at the checksums counts
 * where it vouches for both (libmlx5 tells it of IPv4 alone).
 *
 * On an mlx5 device the completions are read where the device writes them, and the requests are
 * written where it reads them (verbs_rx_mlx5.c): libmlx5's calls take a third of the time of a
 * packet. Elsewhere libibverbs does both.
 *
 * Sleeping: the completion channel's descriptor is readable once an event was asked for (armed) and
 * a packet came. An event that was read is gone, so only a thread that is about to sleep reads it,
 * and asks for the next one in the same step: at any time the queue is armed, or the descriptor
 * readable. Threads that spin neither ask nor read. */
#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "io/split.h"
#include "io/nic/verbs_rx_int.h"
#include "wire/wire.h"

#define VXLAN_OUTER 16u /* bytes of the UDP and VXLAN headers */
#define TAG_BYTES   4u
#define VID_MASK    0xfff
#define SUMS_OK     (MLX5_CQE_L3_OK | MLX5_CQE_L4_OK)
#define TAG_MASK    0xffffffu
#define INLINED     (MLX5_INLINE_SCATTER_32 | MLX5_INLINE_SCATTER_64)

static struct sl_verbs_rx *rx_of(struct sl_rx *rx)
{
	return sl_container_of(rx, struct sl_xsk, rx)->verbs;
}

/* Packets ----------------------------------------------------------------------------------------
 */

/* Where a packet's headers are, from its Ethernet header on. */
struct headers {
	uint32_t l3, l4;
	uint8_t proto;
	uint8_t dst[16];
	uint16_t port, vlan; /* vlan: the VID; 0: there is no tag */
};

/* Notes the tag behind which the IP header is. Returns the type that the tag gives. */
static SL_APART uint16_t read_tag(const uint8_t *pkt, uint32_t len, struct headers *h)
{
	if (len < ETH_HLEN + TAG_BYTES)
		return 0;
	h->vlan = sl_get_be16(pkt + ETH_HLEN) & VID_MASK;
	h->l3 += TAG_BYTES;
	return sl_get_be16(pkt + ETH_HLEN + 2);
}

/* Reads the headers. False: it has others than a rule's packet may have (two tags, a fragment). */
static inline bool read_headers(const uint8_t *pkt, uint32_t len, struct headers *h)
{
	uint16_t type = sl_get_be16(pkt + 12);
	const uint8_t *ip;

	h->l3 = ETH_HLEN;
	h->vlan = 0;
	if (sl_unlikely(type == ETH_P_8021Q))
		type = read_tag(pkt, len, h);
	ip = pkt + h->l3;
	if (sl_likely(type == ETH_P_IP && len >= h->l3 + sizeof(struct iphdr) + 8)) {
		h->l4 = h->l3 + (ip[0] & 15) * 4u;
		h->proto = ip[9];
		memset(h->dst, 0, 10);
		memset(h->dst + 10, 0xff, 2);
		memcpy(h->dst + 12, ip + 16, 4);
		if (ip[0] >> 4 != 4 || h->l4 < h->l3 + sizeof(struct iphdr) ||
		    sl_get_be16(ip + 6) & 0x3fff || h->l4 + 8 > len)
			return false;
	} else if (type == ETH_P_IPV6 && len >= h->l3 + sizeof(struct ipv6hdr) + 8) {
		h->l4 = h->l3 + sizeof(struct ipv6hdr);
		h->proto = ip[6];
		memcpy(h->dst, ip + 24, 16);
		if (ip[0] >> 4 != 6)
			return false;
	} else {
		return false;
	}
	h->port = sl_get_be16(pkt + h->l4 + 2);
	return true;
}

static inline const struct sl_verbs_target *find_target(const struct sl_verbs_rx *v, uint32_t tag,
							const struct headers *h)
{
	const struct sl_verbs_target *t;

	if (sl_unlikely(!tag))
		return sl_verbs_group_find(v, h->dst, h->port, h->vlan);
	if (tag >= sl_load_acquire(&v->ntargets))
		return NULL;
	t = sl_verbs_target(v, tag);
	return sl_likely(sl_load(&t->port) == h->port && t->proto == h->proto && t->vlan == h->vlan)
		       ? t
		       : NULL;
}

/* Moves d to the inner packet of VXLAN. */
static SL_APART bool unwrap(struct sl_rx_desc *d, struct headers *h)
{
	uint32_t n = h->l4 + VXLAN_OUTER;

	if (h->proto != IPPROTO_UDP || n + ETH_HLEN > d->len)
		return false;
	d->off = (uint16_t)(d->off + n);
	d->len = (uint16_t)(d->len - n);
	d->csum_ok = false; /* the NIC has looked at the outer one */
	return read_headers(sl_frame_ptr(d->frame) + d->off, d->len, h);
}

/* cqe: the completion; NULL: libibverbs has it. */
static SL_APART void put_stamps(struct sl_verbs_rx *v, const struct mlx5_cqe64 *cqe, uint8_t *at,
				struct sl_meta *m)
{
	struct sl_meta_hw s = {.sw.stamp_ns = sl_now_ns()};
	uint64_t raw = 0;

	m->flags |= SL_META_SW;
	if (v->stamps)
		raw = cqe ? sl_mlx5_cqe_stamp(cqe) : ibv_wc_read_completion_ts(v->cq);
	if (v->stamps && sl_verbs_clock_ns(&v->clock, raw, (uint64_t *)&s.hw_ns) && s.hw_ns)
		m->flags |= SL_META_HW;
	s.sw.meta = *m;
	memcpy(at - sizeof(s), &s, sizeof(s));
}

/* Writes the record in front of the packet. */
static inline void put_meta(struct sl_verbs_rx *v, const struct mlx5_cqe64 *cqe,
			    const struct sl_verbs_member *t, const struct sl_rx_desc *d,
			    const struct headers *h)
{
	uint8_t *at = sl_frame_ptr(d->frame) + d->off;
	uint32_t flags = sl_load(&t->flags);
	struct sl_meta m = {
		.magic = SL_META_MAGIC,
		.proto = h->proto,
		.flags = SL_META_VLAN(SL_CLAIM_VLAN_NR(flags)),
		.l3 = (uint16_t)h->l3,
		.l4 = (uint16_t)h->l4,
		.gen = sl_load_acquire(&t->gen),
		.slot = sl_load(&t->slot),
	};

	if (sl_unlikely(flags & SL_CLAIM_STAMP))
		put_stamps(v, cqe, at, &m);
	else
		memcpy(at - sizeof(m), &m, sizeof(m));
}

/* Returns which of n claims gets the packet: for a flow always the same. */
static SL_APART uint32_t pick(const struct sl_verbs_rx *v, const uint8_t *pkt,
			      const struct headers *h, uint32_t n)
{
	bool v6 = pkt[h->l3] >> 4 == 6;
	const uint8_t *src = pkt + h->l3 + (v6 ? 8 : 12);
	uint64_t a = 0, b = 0;
	uint32_t ports;

	memcpy(&a, src, v6 ? 8 : 4);
	if (v6)
		memcpy(&b, src + 8, 8);
	memcpy(&ports, pkt + h->l4, sizeof(ports));
	a = sl_mix(sl_mix(sl_mix(v->seed, a), b), ports);
	return (uint32_t)((a >> 32) * n >> 32);
}

/* Handles the packet in the frame; false: it is not for a socket of ours. cqe: as in put_stamps();
 * tag: of the rule that brought it. */
static inline bool take(struct sl_verbs_rx *v, const struct mlx5_cqe64 *cqe, uint32_t tag,
			struct sl_rx_desc *d)
{
	const struct sl_verbs_target *t = NULL;
	const struct sl_verbs_member *m;
	struct headers h;
	uint32_t n;

	if (sl_unlikely(tag && tag < sl_load_acquire(&v->ntargets) &&
			sl_verbs_target(v, tag)->tunnel)) {
		if (!read_headers(sl_frame_ptr(d->frame) + d->off, d->len, &h) || !unwrap(d, &h))
			goto other;
	} else if (sl_unlikely(!read_headers(sl_frame_ptr(d->frame) + d->off, d->len, &h))) {
		goto other;
	}
	t = find_target(v, tag, &h);
	if (sl_unlikely(!t && !h.vlan))
		goto other;
	if (sl_unlikely(!t)) /* of a VLAN device without rules: see priority_of() in nic_rule.c */
		goto pass;
	n = sl_load_acquire(&t->n);
	m = sl_load_acquire(&t->member);
	if (sl_unlikely(n > 1))
		m += pick(v, sl_frame_ptr(d->frame) + d->off, &h, n);
	if (sl_unlikely(sl_load(&m->flags) & SL_CLAIM_PASS))
		goto pass;
	put_meta(v, cqe, m, d, &h);
	return true;
pass:
	v->pass(v->ifindex, h.vlan, sl_frame_ptr(d->frame) + d->off + h.l3, d->len - h.l3);
	return false;
other:
	sl_store(&v->other, v->other + 1);
	return false;
}

/* Receiving ------------------------------------------------------------------------------------
 */

static SL_APART void die(struct sl_verbs_rx *v, const char *why)
{
	if (!v->dead)
		sl_store(&v->dead, why);
}

/* A completion that brought no packet. */
static SL_APART void fail(struct sl_verbs_rx *v, uint32_t frame, const char *why)
{
	die(v, why);
	sl_frame_free(v->frames, frame);
}

/* Gives back the completions that were looked at. k: packets for sockets among them. */
static inline unsigned done(struct sl_verbs_rx *v, struct sl_rx *rx, unsigned polled, unsigned k)
{
	v->tail += polled;
	sl_store(&v->polled, v->polled + polled);
	if (sl_unlikely(!k)) /* nobody else would give the queue new buffers */
		rx->hungry = true;
	return k;
}

/* Does as sl_verbs_rx_burst(), by libibverbs. */
static SL_APART unsigned burst_by_lib(struct sl_verbs_rx *v, struct sl_rx *rx,
				      struct sl_rx_desc *descs, unsigned n)
{
	struct ibv_poll_cq_attr attr = {0};
	unsigned k = 0, polled = 0;

	if (ibv_start_poll(v->cq, &attr))
		return 0;
	do {
		struct sl_rx_desc *d = &descs[k];

		polled++;
		*d = (struct sl_rx_desc){.frame = (uint32_t)v->cq->wr_id, .off = SL_VERBS_RX_OFF};
		sl_frame_landed(d->frame);
		if (sl_unlikely(v->cq->status != IBV_WC_SUCCESS)) {
			fail(v, d->frame, "a receive request has failed");
			continue;
		}
		d->len = (uint16_t)ibv_wc_read_byte_len(v->cq);
		d->csum_ok = ibv_wc_read_wc_flags(v->cq) & IBV_WC_IP_CSUM_OK;
		if (sl_likely(take(v, NULL, ibv_wc_read_flow_tag(v->cq), d)))
			k++;
		else
			sl_frame_spent(v->frames, d->frame);
	} while (polled < n && !ibv_next_poll(v->cq));
	ibv_end_poll(v->cq);
	return done(v, rx, polled, k);
}

/* True: the completion is of a packet that is in the oldest buffer. */
static inline bool is_packet(const struct mlx5_cqe64 *cqe, uint32_t at)
{
	return cqe->op_own >> 4 == MLX5_CQE_RESP_SEND && !(cqe->op_own & INLINED) &&
	       sl_mlx5_cqe_block(cqe) == (uint16_t)at;
}

unsigned sl_verbs_rx_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n)
{
	struct sl_verbs_rx *v = rx_of(rx);
	struct sl_verbs_rx_mlx5 *m = v->direct;
	const struct mlx5_cqe64 *cqe;
	unsigned k = 0, polled = 0;

	rx->several = false;
	if (sl_unlikely(!m))
		return burst_by_lib(v, rx, descs, n);
	while (polled < n && v->tail + polled != v->head && (cqe = sl_mlx5_cq_next(&m->cq))) {
		struct sl_rx_desc *d = &descs[k];
		uint32_t at = v->tail + polled++;

		*d = (struct sl_rx_desc){.frame = v->ring[at & v->mask], .off = SL_VERBS_RX_OFF};
		sl_frame_landed(d->frame);
		if (sl_unlikely(!is_packet(cqe, at))) {
			fail(v, d->frame, "a receive request has failed");
			continue;
		}
		d->len = (uint16_t)be32toh(cqe->byte_cnt);
		d->csum_ok = (cqe->hds_ip_ext & SUMS_OK) == SUMS_OK;
		if (sl_likely(take(v, cqe, be32toh(cqe->sop_drop_qpn) & TAG_MASK, d)))
			k++;
		else
			sl_frame_spent(v->frames, d->frame);
	}
	if (!polled)
		return 0;
	sl_mlx5_cq_release(&m->cq);
	return done(v, rx, polled, k);
}

/* Posts the n frames that are in the ring from head on. Returns how many were. */
static SL_APART uint32_t post_by_lib(struct sl_verbs_rx *v, struct sl_frames *cache, uint32_t n)
{
	struct ibv_recv_wr *bad;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = v->ring[(v->head + i) & v->mask];

		v->sge[i].addr = (uintptr_t)sl_frame_ptr(frame) + SL_VERBS_RX_OFF;
		v->wr[i].wr_id = frame;
		v->wr[i].next = i + 1 < n ? &v->wr[i + 1] : NULL;
	}
	if (!ibv_post_recv(v->qp, v->wr, &bad))
		return n;
	die(v, "the queue takes no buffers");
	for (const struct ibv_recv_wr *w = bad; w; w = w->next) {
		sl_frame_landed((uint32_t)w->wr_id);
		sl_frame_free(cache, (uint32_t)w->wr_id);
		n--;
	}
	return n;
}

/* Posts up to a batch of buffers. Returns how many. */
static uint32_t post_some(struct sl_verbs_rx *v, struct sl_frames *cache)
{
	uint32_t n = 0, frame;

	for (; n < SL_VERBS_RX_BATCH; n++) {
		frame = sl_frame_get_spent(cache);
		if (frame == SL_NO_FRAME)
			break;
		v->ring[(v->head + n) & v->mask] = frame;
		sl_frame_posted(frame, SL_FLIGHT_QP);
	}
	if (!n)
		return 0;
	if (sl_likely(v->direct != NULL))
		sl_verbs_rx_post_mlx5(v, n);
	else
		n = post_by_lib(v, cache, n);
	v->head += n;
	return n;
}

bool sl_verbs_rx_refill(struct sl_rx *rx, struct sl_frames *cache)
{
	struct sl_verbs_rx *v = rx_of(rx);
	uint32_t got = 1;

	while (got && !v->dead && v->depth - (v->head - v->tail) >= SL_VERBS_RX_BATCH)
		got = post_some(v, cache);
	return got || v->dead;
}

/* Sleeping -------------------------------------------------------------------------------------
 */

static void arm(struct sl_verbs_rx *v)
{
	uint32_t polled = sl_load(&v->polled);
	struct ibv_cq *cq;
	void *context;

	/* Nothing was taken since: an event that has come is still there to be read. */
	if (v->armed && polled == v->armed_at)
		return;
	if (v->armed && v->lib->get_cq_event(v->channel, &cq, &context))
		return; /* it has not come yet, and will */
	if (v->armed) {
		v->lib->ack_cq_events(cq, 1);
		v->events++;
	}
	if (v->direct)
		sl_verbs_rx_ask_mlx5(v);
	v->armed = v->direct || !ibv_req_notify_cq(ibv_cq_ex_to_cq(v->cq), 0);
	v->armed_at = polled;
}

void sl_verbs_rx_arm(struct sl_xsk *x)
{
	if (!sl_lock(&x->verbs_lock))
		return;
	if (x->verbs)
		arm(x->verbs);
	sl_unlock(&x->verbs_lock);
}
#endif
