/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving by a packet socket's ring (packet(7); kernel: Documentation/networking/packet_mmap.rst,
 * net/packet/af_packet.c).
 *
 * Theory of operation: the steering program (bpf/steer_skb.bpf.c) sends claimed packets to a
 * private device where this socket alone listens. A packet that fits a place of the ring is copied
 * into a frame at once, and the place is given back, so a program that does not read stalls nobody.
 * A longer one (the kernel hands over up to 64 KB that it has not segmented yet, or has put
 * together) waits whole in the socket's queue, with its first bytes in the ring: recvmsg() copies
 * it from there into as many frames as it needs. It is handed up in pieces of at most SL_RX_BUFS
 * frames, each with headers of its own; a packet that stands for several datagrams is cut into
 * them. To the rooms above all of this looks as if it had come by XDP: the record is in front of
 * the packet, and the Ethernet addresses, whose place the record had, are zero.
 *
 * Bytes in the kernel's queue are copied once when the program reads them soon, since they are
 * still in the core's cache when they are copied for the second time. Bytes that wait in frames
 * have left it, and take memory from all. So while programs have much unread (rx->full), large
 * packets stay in the kernel's queue, and each turn takes one. */
#include "io/packet.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/sys.h"
#include "io/split.h"
#include "steer.h"

#define OFF     272u /* where a packet begins in its frame: with the record in front, as with XDP */
#define ADDRS   12u  /* the Ethernet addresses, or the record */
#define PENDING 128u /* frames of a packet at most */
/* Frames of a burst after which no more packets are taken: those of four of the longest ones. Fewer
 * cost more acknowledgments, more leave the core's cache before they are read. */
#define ENOUGH 144u

struct sl_packet {
	uint8_t *ring;
	uint32_t n, next; /* places of the ring, and the next one to look at */
	uint32_t place;   /* bytes of a place */
	struct sl_frames *frames;
	uint32_t room; /* bytes of a packet that a frame holds */
	bool starved;  /* there were no frames for the packet that waits */
	/* Pieces of a packet that were not handed up yet. */
	uint32_t npending, pending;
	struct sl_rx_desc desc[PENDING];
	struct iovec iov[PENDING + 1];
};

/* A place in the ring that the kernel has filled. */
struct place {
	struct tpacket2_hdr *h;
	const uint8_t *data;
	struct sl_packet_record rec;
	struct virtio_net_hdr vnet;
};

static struct sl_packet *packet_of(struct sl_rx *rx)
{
	return sl_container_of(rx, struct sl_xsk, rx)->packet;
}

/* Writes the record in front of the packet, in the form of bpf/meta.h. */
static void put_meta(uint32_t frame, const struct place *pl, uint16_t l3)
{
	uint8_t *at = sl_frame_ptr(frame) + OFF;
	struct sl_meta m = {
		.magic = SL_META_MAGIC,
		.proto = pl->rec.proto,
		.flags = pl->rec.flags & (uint8_t)~SL_META_HW,
		.l3 = l3,
		.l4 = (uint16_t)(l3 + pl->rec.l4_words * 4u),
		.slot = pl->rec.slot,
		.gen = pl->rec.gen,
	};

	memset(at, 0, ADDRS);
	memcpy(at - sizeof(m), &m, sizeof(m));
	if (m.flags & SL_META_SW) { /* the kernel's stamp is by CLOCK_REALTIME */
		uint64_t real = pl->h->tp_sec * 1000000000ull + pl->h->tp_nsec, now = sl_now_ns();
		uint64_t stamp = now - (sl_mono_to_real_ns(now) - real);

		memcpy(at - sizeof(struct sl_meta_stamped), &stamp, sizeof(stamp));
	}
}

/* Frames are taken last in, first out: the program has just read the bytes of the frame that came
 * back last, so it is in the core's cache. */
static inline uint32_t frame_get(struct sl_frames *c)
{
	uint32_t f;

	if (!sl_frames_spent(c))
		return sl_frame_get_spent(c);
	f = c->spent[--c->spent_tail & (SL_FRAME_SPENT - 1)];
	sl_frame_own(f, 1);
	return f;
}

/* Large packets --------------------------------------------------------------------------------
 */

/* Plans the frames of one piece of len payload bytes. False: it needs too many, or none is free
 * (starved). */
static bool plan_piece(struct sl_packet *p, const struct sl_split *s, uint32_t len)
{
	uint32_t first = p->npending, left = s->hlen + len, skip = first ? s->hlen : 0;

	do {
		uint32_t n = sl_min(left, p->room), frame;

		if (p->npending - first == SL_RX_BUFS || p->npending == PENDING)
			return false;
		frame = frame_get(p->frames);
		if (frame == SL_NO_FRAME) {
			p->starved = true;
			return false;
		}
		left -= n;
		p->desc[p->npending] = (struct sl_rx_desc){
			.frame = frame,
			.off = OFF,
			.len = (uint16_t)n,
			.more = left > 0,
			.csum_ok = s->csum_ok,
		};
		p->iov[++p->npending] = (struct iovec){
			.iov_base = sl_frame_ptr(frame) + OFF + skip,
			.iov_len = n - skip,
		};
		skip = 0;
	} while (left);
	return true;
}

/* Payload bytes of each piece but the last. */
static uint32_t piece_bytes(const struct sl_packet *p, const struct sl_split *s)
{
	if (s->stream)
		return SL_RX_BUFS * p->room - s->hlen;
	return s->segment ? s->segment : s->total;
}

static void unplan(struct sl_packet *p)
{
	for (uint32_t i = p->pending; i < p->npending; i++)
		sl_frame_free(p->frames, p->desc[i].frame);
	p->npending = p->pending = 0;
}

static bool plan(struct sl_packet *p, const struct sl_split *s)
{
	uint32_t most = piece_bytes(p, s), left = s->total - s->hlen, len;
	bool ok;

	p->npending = p->pending = 0;
	do {
		len = sl_min(left, most);
		ok = s->hlen < p->room && plan_piece(p, s, len);
		left -= len;
	} while (ok && left);
	if (!ok)
		unplan(p);
	return ok;
}

/* Writes headers and record of each piece; head: the packet's own headers. */
static void finish(struct sl_packet *p, const struct sl_split *s, const struct place *pl,
		   const uint8_t *head)
{
	uint32_t most = piece_bytes(p, s), payload = s->total - s->hlen, at = 0, index = 0;
	bool begins = true;

	for (uint32_t i = 0; i < p->npending; i++) {
		uint8_t *h = sl_frame_ptr(p->desc[i].frame) + OFF;

		if (begins) {
			uint32_t len = sl_min(most, payload - at);

			memcpy(h, head, s->hlen);
			if (s->segment)
				sl_split_header(s, h, index++, at, len);
			put_meta(p->desc[i].frame, pl, s->l3);
			at += len;
		}
		begins = !p->desc[i].more;
	}
}

/* Moves the packet from the socket's queue into the frames of the plan. Without a plan drops it. */
static bool fetch(const struct sl_packet *p, int fd, uint32_t total)
{
	struct virtio_net_hdr vnet;
	struct iovec iov[PENDING + 1];
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = p->npending + 1};

	memcpy(iov, p->iov, (p->npending + 1) * sizeof(iov[0]));
	iov[0] = (struct iovec){&vnet, sizeof(vnet)};
	return sl_sys_recvmsg(fd, &m, MSG_DONTWAIT) == (long)(sizeof(vnet) + total);
}

/* Copies a packet that is whole in its place into the frames of the plan. */
static void scatter(const struct sl_packet *p, const uint8_t *data)
{
	for (uint32_t i = 1; i <= p->npending; i++) {
		memcpy(p->iov[i].iov_base, data, p->iov[i].iov_len);
		data += p->iov[i].iov_len;
	}
}

static bool is_record(const struct place *pl)
{
	return pl->rec.magic == SL_PACKET_MAGIC;
}

/* Handles a packet that needs more than a copy into one frame. False: no frames; it stays. */
static SL_APART bool take_large(struct sl_xsk *x, const struct place *pl)
{
	struct sl_packet *p = x->packet;
	bool queued = pl->h->tp_status & TP_STATUS_COPY;
	uint32_t snap = pl->h->tp_snaplen, total = pl->h->tp_len;
	struct sl_split s;
	bool ok;

	p->npending = p->pending = 0;
	ok = is_record(pl) && (queued || snap == total) &&
	     !sl_split_parse(&s, pl->data, snap, total, &pl->rec, &pl->vnet);

	if (ok && !plan(p, &s)) {
		if (p->starved)
			return false;
		ok = false;
	}
	if (queued)
		ok = fetch(p, x->rx_fd, total) && ok;
	else if (ok)
		scatter(p, pl->data);
	if (ok) {
		finish(p, &s, pl, pl->data);
	} else {
		unplan(p);
		sl_store(&x->rx_lost, x->rx_lost + 1);
	}
	return true;
}

/* Receiving ------------------------------------------------------------------------------------
 */

/* Hands up pieces that wait, whole ones only. Returns how many descriptors. */
static SL_APART unsigned hand_up(struct sl_packet *p, struct sl_rx_desc *descs, unsigned n)
{
	unsigned k = 0;

	while (p->pending < p->npending && (k < n || descs[k - 1].more))
		descs[k++] = p->desc[p->pending++];
	return k;
}

/* Takes a packet that fits a frame. False: no frame; it stays. */
static inline bool take_small(struct sl_xsk *x, const struct place *pl, struct sl_rx_desc *d,
			      unsigned *k)
{
	uint32_t len = pl->h->tp_snaplen, frame, l3;
	uint16_t type;

	l3 = sl_split_l3(pl->data, len, &type);
	if (!is_record(pl) || !l3)
		return true; /* not ours, by mistake: the device gets claimed packets */
	frame = frame_get(x->packet->frames);
	if (sl_unlikely(frame == SL_NO_FRAME)) {
		x->packet->starved = true;
		return false;
	}
	memcpy(sl_frame_ptr(frame) + OFF + ADDRS, pl->data + ADDRS, len - ADDRS);
	put_meta(frame, pl, (uint16_t)l3);
	*d = (struct sl_rx_desc){
		.frame = frame,
		.off = OFF,
		.len = (uint16_t)len,
		.csum_ok = sl_split_is_summed(&pl->vnet, l3 + pl->rec.l4_words * 4u),
	};
	++*k;
	return true;
}

/* Reads the next place that the kernel has filled. False: there is none. */
static inline bool look(const struct sl_packet *p, struct place *pl)
{
	pl->h = (struct tpacket2_hdr *)(p->ring + (size_t)p->next * p->place);
	/* Pairs with the kernel's barrier in front of the status (__packet_set_status). */
	if (!(sl_load_acquire(&pl->h->tp_status) & TP_STATUS_USER))
		return false;
	pl->data = (uint8_t *)pl->h + pl->h->tp_mac;
	sl_packet_mend(sl_unconst(pl->data));
	memcpy(&pl->rec, pl->data, sizeof(pl->rec));
	memcpy(&pl->vnet, pl->data - sizeof(pl->vnet), sizeof(pl->vnet));
	return true;
}

static inline void give_back(struct sl_packet *p, struct tpacket2_hdr *h)
{
	sl_store_release(&h->tp_status, TP_STATUS_KERNEL);
	p->next = p->next + 1 == p->n ? 0 : p->next + 1;
}

static inline bool is_small(const struct sl_packet *p, const struct place *pl)
{
	return pl->vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE && pl->h->tp_len <= p->room &&
	       pl->h->tp_len == pl->h->tp_snaplen && pl->h->tp_len >= ETH_HLEN;
}

/* A packet that the kernel has put together counts as one, with all its pieces: TCP acknowledges at
 * the end of the turn, so a part of it would cost as much as the whole. */
static unsigned packet_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n)
{
	struct sl_xsk *x = sl_container_of(rx, struct sl_xsk, rx);
	struct sl_packet *p = x->packet;
	unsigned room = n + SL_RX_MORE + 1 - SL_RX_BUFS, k = 0;
	struct place pl;

	rx->several = rx->left = false;
	if (sl_unlikely(p->pending < p->npending)) {
		k = hand_up(p, descs, room);
		rx->several = true;
	}
	p->starved = false;
	while (n && k < sl_min(room, ENOUGH) && look(p, &pl)) {
		if (sl_likely(is_small(p, &pl))) {
			if (!take_small(x, &pl, &descs[k], &k))
				break;
		} else {
			if (!take_large(x, &pl))
				break;
			k += hand_up(p, descs + k, room - k);
			rx->several = true;
			rx->left = rx->full;
		}
		n--;
		give_back(p, pl.h);
		if (sl_unlikely(rx->left))
			break;
	}
	return k;
}

static bool packet_refill(struct sl_rx *rx, struct sl_frames *cache)
{
	return !packet_of(rx)->starved;
}

static int packet_fd(struct sl_rx *rx)
{
	return sl_container_of(rx, struct sl_xsk, rx)->rx_fd;
}

static void packet_rx_close(struct sl_rx *rx, struct sl_frames *cache)
{
	sl_packet_close(sl_container_of(rx, struct sl_xsk, rx), cache);
}

static const struct sl_rx_ops packet_rx_ops = {
	.name = "packet",
	.burst = packet_burst,
	.refill = packet_refill,
	.fd = packet_fd,
	.close = packet_rx_close,
};

/* Opening --------------------------------------------------------------------------------------
 */

/* Bytes of packets that the socket's queue has room for: the kernel doubles SO_RCVBUF for what it
 * needs beside them. 0: unknown. */
static uint32_t queue_bytes(int fd)
{
	int n = 0;

	return sl_sys_get_int(fd, SOL_SOCKET, SO_RCVBUF, &n) ? 0 : (uint32_t)sl_max(n, 0) / 2;
}

int sl_packet_open(struct sl_xsk *x, const struct sl_packet_ring *r, struct sl_frames *frames)
{
	struct sl_packet *p = sl_calloc(1, sizeof(*p));
	uint32_t bytes = queue_bytes(r->fd);

	if (!p)
		return -ENOMEM;
	p->frames = frames;
	if (bytes)
		frames->queue_bytes =
			sl_min(frames->queue_bytes ? frames->queue_bytes : bytes, bytes);
	p->room = (1u << sl_pool.shift) - OFF;
	p->ring = r->map;
	p->n = r->places;
	p->place = r->place_bytes;
	x->rx_full = x->rx_lost = 0;
	x->packet = p;
	x->rx.ops = &packet_rx_ops;
	sl_store_release(&x->rx_fd, r->fd);
	return 0;
}

void sl_packet_close(struct sl_xsk *x, struct sl_frames *cache)
{
	struct sl_packet *p = x->packet;

	if (!p)
		return;
	p->frames = cache;
	unplan(p);
	sl_sys_close(x->rx_fd);
	sl_store(&x->rx_fd, 0);
	sl_sys(SYS_munmap, p->ring, (size_t)p->n * p->place);
	x->packet = NULL;
	x->rx.ops = &sl_xsk_rx_ops;
	sl_free(p);
}

void sl_packet_child(const struct sl_xsk *x)
{
	if (x->rx_fd)
		sl_sys_close(x->rx_fd);
}

void sl_packet_read_counts(struct sl_xsk *x, struct sl_xsk_counts *c)
{
	struct tpacket_stats st = {0};
	socklen_t len = sizeof(st);
	int fd = sl_load_acquire(&x->rx_fd);

	/* Each look sets the kernel's counts to 0. */
	if (fd && !sl_sys_getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
		x->rx_full += st.tp_drops;
	c->rx_ring_full += x->rx_full;
	c->rx_dropped += sl_load(&x->rx_lost);
}

void sl_packet_read_posted(const struct sl_xsk *x, struct sl_xsk_posted *p)
{
	p->frames += x->packet->n;
	p->looked_at += x->packet->n;
}
