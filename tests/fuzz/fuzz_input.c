/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzer of the way in: any bytes as steering record and packet, through the input function to
 * sockets of every kind, and out by recvmsg. Of TCP the way ends where the protocol begins (which
 * has fuzz_tcp): segments and ICMP errors are looked at in full.
 *
 * The input is a row of packets: a struct step, the record, the frame. A step may ask for what
 * chance alone would never find (a slot that exists, offsets and checksums that are right), so that
 * the deep paths are reached as well. All memory of the pool but record and packet is poisoned. */
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#include "../pool.h"
#include "base/clock.h"
#include "base/heap.h"
#include "net/bufs.h"
#include "net/gro.h"
#include "net/run.h"
#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "steer.h"
#include "wire/csum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES    64
#define SHIFT     11
#define FIRST_FD  1000
#define MAX_STEPS 40

#define GOOD_META  (1u << 0) /* magic, slot and generation are put right */
#define GOOD_OFFS  (1u << 1) /* l3 and l4 as a steering program would have found them */
#define GOOD_LENS  (1u << 2) /* lengths of IP and UDP */
#define GOOD_SUMS  (1u << 3)
#define PARTIAL_OK (1u << 4)
#define PARTIAL    (1u << 5) /* with GOOD_SUMS: the pseudo-header's alone */
#define READ_SOME  (1u << 6) /* receive once afterwards */
#define AT_END     (1u << 7) /* the packet ends where its frame ends */

#define IN_FRAME (1u << 7) /* of rx_flags: the record is behind a mark inside the frame */

struct step {
	uint8_t flags;
	uint8_t slot;
	uint16_t len; /* of record and frame; what is left if it is more */
	uint8_t room, ctl_room;
	uint8_t rx_flags; /* MSG_*, bytes of the name's buffer; IN_FRAME */
	uint8_t want;     /* which options are on; FRAMES_OF, NO_END, FOLLOWS */
};
/* In how many frames more the packet is, and whether it does not end there. */
#define FRAMES_OF(want) ((want) >> 3 & 7)
#define NO_END          (1u << 6)
#define FOLLOWS         (1u << 7) /* of TCP: the segment behind the last one; may be aggregated */

enum { PLAIN4, CONNECTED4, PLAIN6, GRO, FAN, TCP, KINDS };

static struct sl_lane lane;
static struct sl_lane_stats lane_stats;
static struct sl_sock_stats sock_stats;
static struct sl_udp_sock sock[KINDS];
static uint32_t slot_of[KINDS];
static struct sl_gro *gro;
static struct last {
	uint8_t head[128];
	uint16_t size, l3, l4; /* 0: none */
	uint32_t text;
} last; /* TCP's last headers */

static void no_news(struct sl_udp *u)
{
	(void)u;
}

/* Gives the packet to several sockets, as mcast.c does. */
static bool fan_input(void *obj, struct sl_in *in)
{
	(void)obj;
	for (int i = 0; i < FAN; i++) {
		sl_in_ref(in);
		if (!sl_udp_input(&sock[i].udp, in))
			sl_in_put(in);
	}
	return false;
}

static volatile uint64_t seen; /* what a handler reads is there */
static bool cut;

/* Looks at all pieces, and takes up to n of them as TCP does. */
static void take_run(struct sl_in *in, unsigned n)
{
	struct sl_run *r = in->run;

	for (unsigned i = r->at; i < r->n; i++)
		for (unsigned at = 0; at < r->piece[i].len; at++)
			seen += sl_frame_ptr(r->piece[i].frame)[r->piece[i].off + at];
	for (; n && r->at < r->n; n--) {
		r->done += r->piece[r->at].len;
		sl_frame_spent(in->cache, r->piece[r->at++].frame);
	}
}

static bool tcp_input(void *obj, struct sl_in *in)
{
	const struct sl_tcp_seg *g = &in->seg;
	const uint8_t *p = sl_frame_ptr(in->frame) + (uint16_t)(in->off + in->pkt.payload);

	(void)obj;
	if (g->nsack > SL_TCP_MAX_SACK || g->tfo_len > SL_TCP_TFO_MAX ||
	    g->len != in->pkt.payload_len)
		abort();
	for (unsigned i = 0; i < g->nsack; i++)
		seen += g->sack[i].start ^ g->sack[i].end;
	for (unsigned i = 0; i < g->tfo_len; i++)
		seen += g->tfo[i];
	for (unsigned i = 0; i < g->len; i++)
		seen += p[i];
	if (in->run)
		take_run(in, g->ack & 3);
	return false;
}

static void tcp_icmp(void *obj, const struct sl_in_icmp *e, struct sl_in *in)
{
	(void)obj;
	if (e->v6 != in->pkt.v6 || e->err <= 0 || (e->mtu && (e->mtu < 532 || e->mtu > 65515)))
		abort();
}

static void start(void)
{
	sl_clock_init();
	if (pool_make(aligned_alloc(4096, (size_t)FRAMES << SHIFT), FRAMES, SHIFT) < 0 ||
	    sl_slots_init(16) < 0 || sl_fdtab_init() < 0)
		abort();
	sl_in_register(SL_SLOT_UDP, sl_udp_input);
	sl_in_register(SL_SLOT_FAN, fan_input);
	sl_in_register(SL_SLOT_TCP, tcp_input);
	sl_in_register_icmp(SL_SLOT_TCP, tcp_icmp);
	lane.stats = &lane_stats;
	sl_list_init(&lane.blocked);
	sl_list_init(&lane.reaped);
	gro = sl_gro_new(2);
	if (!gro)
		abort();
	for (int i = 0; i < KINDS; i++) {
		slot_of[i] = (uint32_t)sl_slot_new();
		sl_slot_set(slot_of[i],
			    i == FAN   ? SL_SLOT_FAN
			    : i == TCP ? SL_SLOT_TCP
				       : SL_SLOT_UDP,
			    &sock[i].udp);
		sl_fdtab_set(FIRST_FD + i, SL_FD_SOCK, &sock[i].sk);
	}
}

static void begin(void)
{
	for (int i = 0; i < KINDS; i++) {
		struct sl_sock *sk = &sock[i].sk;

		memset(&sock[i], 0, sizeof(sock[i]));
		sk->fd = FIRST_FD + i;
		sk->family = i == PLAIN6 ? AF_INET6 : AF_INET;
		sk->state = SL_STATE_OFFLOADED;
		sk->stats = &sock_stats;
		sk->lane = &lane;
		sk->local_port = 1;
		sk->nonblock = true;
		sl_list_init(&sk->watches);
		sock[i].udp = (struct sl_udp){
			.rcvbuf = 8000, .stats = &sock_stats, .lane = &lane, .on_data = no_news};
	}
	cut = false;
	last.size = 0;
	sock[CONNECTED4].udp.connected = true;
	sock[CONNECTED4].udp.remote = sl_addr_v4(0x0100000a);
	sock[CONNECTED4].udp.remote_port = 1000;
	ASAN_POISON_MEMORY_REGION(sl_pool.base, (size_t)FRAMES << SHIFT);
}

/* Everything is given back. */
static void end(void)
{
	sl_gro_end(gro);
	ASAN_UNPOISON_MEMORY_REGION(sl_pool.base, (size_t)FRAMES << SHIFT);
	for (int i = 0; i < KINDS; i++)
		sl_udp_fini(&sock[i].udp, &lane.frames);
	if (sl_frames_left() + lane.frames.n + sl_frames_spent(&lane.frames) != FRAMES)
		abort();
	for (uint32_t i = 0; i < FRAMES; i++)
		if (sl_frame_refs(i))
			abort();
}

/* Sets the offsets that bpf/parse.bpf.h would find, roughly. */
static void find_offsets(const uint8_t *f, uint32_t len, struct sl_meta *m)
{
	m->l3 = 14;
	while (m->l3 < 22 && len > m->l3 &&
	       (sl_get_be16(f + m->l3 - 2) == ETH_P_8021Q ||
		sl_get_be16(f + m->l3 - 2) == ETH_P_8021AD))
		m->l3 += 4;
	m->l4 = m->l3 + 40;
	if (len > m->l3 && f[m->l3] >> 4 == 4)
		m->l4 = (uint16_t)(m->l3 + (f[m->l3] & 15) * 4);
}

static void fix_lengths(uint8_t *f, uint32_t len, const struct sl_meta *m)
{
	if (m->l4 + 8u > len || m->l3 + 20u > m->l4)
		return;
	if (f[m->l3] >> 4 == 6)
		sl_put_be16(f + m->l3 + 4, (uint16_t)(len - m->l3 - 40));
	else
		sl_put_be16(f + m->l3 + 2, (uint16_t)(len - m->l3));
	if (m->proto == IPPROTO_UDP)
		sl_put_be16(f + m->l4 + 4, (uint16_t)(len - m->l4));
}

/* Puts the last TCP packet's headers in front, with the next sequence number. */
static void follow(uint8_t *f, uint32_t len, struct sl_meta *m)
{
	uint32_t seq;

	if (m->proto != IPPROTO_TCP || !last.size || len < last.size)
		return;
	memcpy(f, last.head, last.size);
	m->l3 = last.l3;
	m->l4 = last.l4;
	memcpy(&seq, f + m->l4 + 4, sizeof(seq));
	seq = htonl(ntohl(seq) + last.text);
	memcpy(f + m->l4 + 4, &seq, sizeof(seq));
}

static void note_last(const uint8_t *f, uint32_t len, const struct sl_meta *m)
{
	uint32_t size;

	if (m->proto != IPPROTO_TCP || m->l4 + 20u > len)
		return;
	size = m->l4 + (f[m->l4 + 12] >> 4) * 4u;
	if (size > len || size > sizeof(last.head) || size < m->l4 + 20u)
		return;
	last = (struct last){.size = (uint16_t)size, .l3 = m->l3, .l4 = m->l4, .text = len - size};
	memcpy(last.head, f, size);
}

/* Where the checksum is in the header of the record's protocol. */
static unsigned sum_at(uint8_t proto)
{
	return proto == IPPROTO_UDP ? 6 : proto == IPPROTO_TCP ? 16 : 2;
}

static void fix_sums(uint8_t *f, uint32_t len, const struct sl_meta *m, bool partial)
{
	struct sl_pkt p = {.data = f, .len = len, .l3 = m->l3, .l4 = m->l4};
	struct sl_addr src, dst;
	unsigned at = m->l4 + sum_at(m->proto);
	uint16_t ulen, v = 0;
	uint64_t sum = 0;

	if (m->l4 + 8u > len || m->l3 + 20u > m->l4)
		return;
	p.v6 = f[m->l3] >> 4 == 6;
	if (p.v6 && m->l3 + 40u > len)
		return;
	if (!p.v6) {
		memcpy(f + m->l3 + 10, &v, 2);
		v = sl_csum_fold(sl_csum_add(0, f + m->l3, m->l4 - m->l3));
		memcpy(f + m->l3 + 10, &v, 2);
	}
	ulen = m->proto == IPPROTO_UDP ? sl_get_be16(f + m->l4 + 4) : (uint16_t)(len - m->l4);
	if (m->l4 + (uint32_t)ulen > len || at + 2 > len || ulen < 8)
		return;
	sl_pkt_saddr(&p, &src);
	sl_pkt_daddr(&p, &dst);
	if (m->proto != IPPROTO_ICMP)
		sum = sl_pseudo_sum(&src, &dst, m->proto, ulen);
	v = 0;
	memcpy(f + at, &v, 2);
	v = partial ? (uint16_t)~sl_csum_fold(sum)
		    : sl_csum_fold(sl_csum_add(sum, f + m->l4, ulen));
	memcpy(f + at, &v, 2);
}

/* The record with the stamps that it says are in front of it: nothing else may be read. */
static size_t record_size(const struct sl_meta *m)
{
	if (!(m->flags & SL_META_SW))
		return sizeof(struct sl_meta);
	return m->flags & SL_META_HW ? sizeof(struct sl_meta_hw) : sizeof(struct sl_meta_stamped);
}

static void put_mark(struct sl_rx_desc *d, uint16_t room)
{
	uint16_t len = (uint16_t)(sizeof(struct sl_mark) + room);
	struct sl_mark mark = {.magic = SL_MARK_MAGIC, .len = len};
	uint8_t *f = sl_frame_ptr(d->frame) + d->off - len;

	ASAN_UNPOISON_MEMORY_REGION(f, sizeof(mark));
	memcpy(f, &mark, sizeof(mark));
	d->off -= len;
	d->len += len;
}

/* Moves what is behind the first part of d into further frames; how many there are then. The first
 * one may be written to in front of its record. */
static unsigned spread(const struct step *s, struct sl_rx_desc *d)
{
	unsigned n = 1, k = FRAMES_OF(s->want);
	uint16_t part = (uint16_t)(d->len / (k + 1)), len = d->len;

	for (; n <= k; n++) {
		uint32_t frame = sl_frame_get(&lane.frames);
		uint16_t at = (uint16_t)(n * part), here = n < k ? part : (uint16_t)(len - at);

		if (frame == SL_NO_FRAME)
			break;
		ASAN_POISON_MEMORY_REGION(sl_frame_ptr(frame), 1u << SHIFT);
		ASAN_UNPOISON_MEMORY_REGION(sl_frame_ptr(frame) + 256, here);
		memcpy(sl_frame_ptr(frame) + 256, sl_frame_ptr(d->frame) + d->off + at, here);
		d[n] = (struct sl_rx_desc){frame, 256, here, false, false};
		d[n - 1].more = true;
	}
	if (n > 1) {
		d->len = part;
		ASAN_UNPOISON_MEMORY_REGION(sl_frame_ptr(d->frame), sizeof(struct sl_more));
	}
	d[n - 1].more = s->want & NO_END;
	return n;
}

static void inject(const struct step *s, const uint8_t *data, size_t size)
{
	struct sl_in in = {.cache = &lane.frames,
			   .stats = &lane_stats,
			   .lane = &lane,
			   .ifindex = 1,
			   .partial_ok = s->flags & PARTIAL_OK};
	struct sl_rx_desc bufs[SL_RX_BUFS], d = {.frame = sl_frame_get(&lane.frames)};
	struct sl_meta m = {0};
	struct sl_meta_hw front = {.hw_ns = 1, .sw.stamp_ns = 2};
	struct sl_bufs b;
	unsigned n;
	size_t room;
	uint8_t *f;

	if (d.frame == SL_NO_FRAME)
		return;
	memcpy(&m, data, sl_min(size, sizeof(m)));
	size -= sl_min(size, sizeof(m));
	data += sizeof(m);
	d.len = (uint16_t)sl_min(size, (size_t)(1 << SHIFT) - 256);
	d.off = s->flags & AT_END ? (uint16_t)((1 << SHIFT) - d.len) : 256;
	f = sl_frame_ptr(d.frame) + d.off;
	ASAN_POISON_MEMORY_REGION(sl_frame_ptr(d.frame), 1u << SHIFT);
	ASAN_UNPOISON_MEMORY_REGION(f, d.len);
	if (d.len)
		memcpy(f, data, d.len);
	if (s->flags & GOOD_META) {
		m.magic = SL_META_MAGIC;
		m.slot = slot_of[s->slot % KINDS];
		m.gen = sl_slots[m.slot].gen;
		if (m.slot != slot_of[TCP])
			m.proto = IPPROTO_UDP;
		else if (m.proto != IPPROTO_ICMP && m.proto != IPPROTO_ICMPV6)
			m.proto = IPPROTO_TCP;
	}
	if (s->flags & GOOD_OFFS)
		find_offsets(f, d.len, &m);
	if (s->want & FOLLOWS) {
		follow(f, d.len, &m);
		in.gro = gro;
	}
	note_last(f, d.len, &m);
	if (s->flags & GOOD_LENS)
		fix_lengths(f, d.len, &m);
	if (s->flags & GOOD_LENS && s->flags & GOOD_OFFS && d.len > m.l3 + 9u && f[m.l3] >> 4 == 4)
		f[m.l3 + 9] = m.proto;
	if (s->flags & GOOD_SUMS)
		fix_sums(f, d.len, &m, s->flags & PARTIAL);
	front.sw.meta = m;
	room = record_size(&m);
	ASAN_UNPOISON_MEMORY_REGION(f - room, room);
	memcpy(f - room, (uint8_t *)&front + sizeof(front) - room, room);
	bufs[0] = d;
	n = spread(s, bufs);
	if (s->rx_flags & IN_FRAME)
		put_mark(bufs, (uint16_t)room);
	if (sl_bufs_begin(&in, &b, bufs, n, &cut) != n)
		abort();
	if (!b.none)
		sl_net_input(&in, bufs);
	if (in.bufs)
		sl_bufs_end(&in);
	for (unsigned i = 0; i < n; i++)
		if (sl_frame_refs(bufs[i].frame) == 0)
			ASAN_POISON_MEMORY_REGION(sl_frame_ptr(bufs[i].frame), 1u << SHIFT);
}

static const uint16_t wants[8] = {
	0,
	SL_WANT_PKTINFO | SL_WANT_TTL,
	SL_WANT_TOS | SL_WANT_ORIGDST,
	SL_WANT_PKTINFO6 | SL_WANT_TCLASS | SL_WANT_HOPLIMIT,
	SL_WANT_STAMP_NS | SL_WANT_OVFL,
	SL_WANT_STAMP_US | SL_WANT_STAMPING | SL_WANT_NEW_STAMP,
	SL_WANT_GRO,
	0x1fff,
};

/* Into buffers of just the size that is said. */
static void receive(const struct step *s)
{
	static const int flags[4] = {0, MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC};
	size_t room = (size_t)s->room * 8, half = room / 3;
	unsigned i = s->slot % FAN;
	struct iovec iov[2];
	struct sockaddr_storage *name = sl_malloc(s->rx_flags >> 2 & 31);
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n;

	iov[0] = (struct iovec){sl_malloc(half), half};
	iov[1] = (struct iovec){sl_malloc(room - half), room - half};
	msg.msg_name = name;
	msg.msg_namelen = s->rx_flags >> 2 & 31;
	msg.msg_control = sl_malloc(s->ctl_room);
	msg.msg_controllen = s->ctl_room;
	sock[i].sk.want = wants[s->want & 7];
	if (i == GRO)
		sock[i].sk.want |= SL_WANT_GRO;
	n = sl_recvmsg(FIRST_FD + (int)i, &msg, flags[s->rx_flags & 3]);
	if (n >= 0) {
		if (n > 65535 || msg.msg_controllen > s->ctl_room ||
		    (!(s->rx_flags & 2) && (size_t)n > room))
			abort();
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_len < sizeof(*c))
				abort();
	} else if (n != -EAGAIN) {
		abort();
	}
	sl_free(iov[0].iov_base);
	sl_free(iov[1].iov_base);
	sl_free(name);
	sl_free(msg.msg_control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step s;

	if (!sl_pool.base)
		start();
	begin();
	for (int i = 0; i < MAX_STEPS && size >= sizeof(s); i++) {
		size_t len;

		memcpy(&s, data, sizeof(s));
		data += sizeof(s);
		size -= sizeof(s);
		len = sl_min(size, (size_t)s.len);
		inject(&s, data, len);
		if (s.flags & READ_SOME)
			receive(&s);
		data += len;
		size -= len;
	}
	end();
	return 0;
}
