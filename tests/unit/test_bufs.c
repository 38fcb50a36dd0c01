/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in several frames, wherever they are cut: whole for UDP, a run for TCP, which may leave
 * its parts; and segments that become a run (gro.c). */
#include "packet.h"

#include "net/bufs.h"
#include "net/gro.h"
#include "net/run.h"
#include "udp/udp.h"

#define HEAD 256 /* of a frame, in front of what is in it */
#define ROOM (2048 - HEAD)

static struct sl_frames cache;
static struct sl_lane_stats stats;
static struct sl_sock_stats sock_stats;
static struct sl_udp u;
static struct sl_in in;
static uint32_t slot;
static bool cut;
static uint8_t image[16384], sent[16384], got[16384];

/* segments that TCP was given */
static struct sl_tcp_seg segs[SL_RX_BUFS];
static unsigned nsegs, gone_after;
static size_t ngot;
static bool keep, takes_runs;
static uint16_t sport;

static void on_data(struct sl_udp *udp)
{
	assert_ptr_equal(udp, &u);
}

static bool udp_handler(void *obj, struct sl_in *i)
{
	return sl_udp_input(obj, i);
}

/* Gives the packet to three receivers, as mcast.c does. */
static bool fan_handler(void *obj, struct sl_in *i)
{
	for (int n = 0; n < 3; n++) {
		sl_in_ref(i);
		if (!sl_udp_input(obj, i))
			sl_in_put(i);
	}
	return false;
}

static bool tcp_handler(void *obj, struct sl_in *i)
{
	struct sl_addr src;

	sl_pkt_saddr(&i->pkt, &src);
	assert_int_equal(src.w[3], addr("10.0.0.1").w[3]);
	assert_int_equal(i->seg.len, i->pkt.payload_len);
	segs[nsegs++] = i->seg;
	memcpy(got + ngot, sl_frame_ptr(i->frame) + (uint16_t)(i->off + i->pkt.payload),
	       i->seg.len);
	ngot += i->seg.len;
	while (takes_runs && i->run && i->run->at < i->run->n) {
		const struct sl_run_piece *r = &i->run->piece[i->run->at++];

		memcpy(got + ngot, sl_frame_ptr(r->frame) + r->off, r->len);
		ngot += r->len;
		i->run->done += r->len;
		sl_frame_put(i->cache, r->frame);
	}
	if (keep)
		sl_frame_put(i->cache, i->frame); /* kept, and read at once */
	if (nsegs == gone_after)
		sl_slot_free(slot);
	return keep;
}

static int setup(void **state)
{
	pool_setup();
	cache = (struct sl_frames){0};
	memset(&stats, 0, sizeof(stats));
	memset(&sock_stats, 0, sizeof(sock_stats));
	in = (struct sl_in){.cache = &cache, .stats = &stats, .ifindex = 3};
	u = (struct sl_udp){.rcvbuf = 1 << 20, .stats = &sock_stats, .on_data = on_data};
	if (!sl_slots)
		assert_int_equal(sl_slots_init(64), 0);
	sl_in_register(SL_SLOT_UDP, udp_handler);
	sl_in_register(SL_SLOT_FAN, fan_handler);
	sl_in_register(SL_SLOT_TCP, tcp_handler);
	slot = (uint32_t)sl_slot_new();
	nsegs = gone_after = 0;
	ngot = 0;
	cut = false;
	keep = true;
	takes_runs = false;
	sport = 1000;
	srandom(1);
	return 0;
}

static int teardown(void **state)
{
	sl_udp_fini(&u, &cache);
	assert_int_equal(u.more, 0);
	if (!gone_after)
		sl_slot_free(slot);
	assert_int_equal(pool_free(&cache), POOL_FRAMES);
	return 0;
}

/* Spreads bytes over frames of the given lengths; the last frame gets the rest. */
static unsigned put_frames(const uint8_t *p, uint32_t len, const struct sl_meta *m,
			   const uint32_t *lens, unsigned n, struct sl_rx_desc *d)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t part = i + 1 < n ? lens[i] : len;

		assert_true(part <= len && part <= ROOM);
		d[i] = (struct sl_rx_desc){sl_frame_get(&cache), HEAD, (uint16_t)part, i + 1 < n,
					   false};
		memcpy(sl_frame_ptr(d[i].frame) + HEAD, p, part);
		p += part;
		len -= part;
	}
	memcpy(sl_frame_ptr(d[0].frame) + HEAD - sizeof(*m), m, sizeof(*m));
	return n;
}

/* len random bytes, with room for headers in front. */
static uint8_t *new_payload(uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sent[i] = (uint8_t)random();
	return memcpy(image + 256, sent, len);
}

/* For the slot; without its offsets. */
static struct sl_meta meta(uint8_t proto)
{
	return (struct sl_meta){
		.magic = SL_META_MAGIC, .proto = proto, .slot = slot, .gen = sl_slots[slot].gen};
}

/* A datagram of len bytes. */
static unsigned datagram(uint16_t len, const uint32_t *lens, unsigned n, struct sl_rx_desc *d)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);
	uint8_t *payload = new_payload(len), *f;
	struct sl_meta m = meta(IPPROTO_UDP);
	struct sl_udp_hdr h;

	sl_build_udp_hdr(&h, &b);
	f = sl_build_udp(&h, payload, len, 1, sl_csum_add(0, payload, len));
	m.l3 = h.l3;
	m.l4 = h.l4;
	return put_frames(f, h.len + len, &m, lens, n, d);
}

static unsigned segment(struct sl_tcp_seg s, const uint32_t *lens, unsigned n, struct sl_rx_desc *d)
{
	struct sl_udp_build b = udp_between("10.0.0.1", sport, "10.0.0.2", 2000);
	uint8_t *payload = new_payload(s.len), *f;
	struct sl_meta m = meta(IPPROTO_TCP);
	struct sl_tcp_hdr h;

	sl_build_tcp_hdr(&h, &b);
	f = sl_build_tcp(&h, &s, payload, 1, sl_csum_add(0, payload, s.len));
	m.l3 = h.l3;
	m.l4 = h.l4;
	return put_frames(f, (uint32_t)(payload + s.len - f), &m, lens, n, d);
}

/* Takes packets in as the lane does. */
static unsigned take(const struct sl_rx_desc *d, unsigned n)
{
	struct sl_bufs b;

	n = sl_bufs_begin(&in, &b, d, n, &cut);
	if (!b.none)
		sl_net_input(&in, d);
	if (in.bufs)
		sl_bufs_end(&in);
	return n;
}

static void input(const struct sl_rx_desc *d, unsigned n)
{
	assert_int_equal(take(d, n), n);
}

/* The oldest datagram is what was sent. */
static void read_one(uint16_t len)
{
	struct sl_piece piece[SL_RX_BUFS];
	const struct sl_dgram *dg = sl_udp_peek(&u);
	size_t at = 0;
	unsigned n;

	assert_non_null(dg);
	assert_int_equal(dg->len, len);
	n = sl_dgram_pieces(dg, piece);
	for (unsigned i = 0; i < n; i++) {
		memcpy(got + at, piece[i].data, piece[i].len);
		at += piece[i].len;
	}
	assert_int_equal(at, len);
	assert_memory_equal(got, sent, len);
	sl_udp_pop(&u, &cache);
}

/* Fills n random lengths, the first with room for headers. Returns their sum. */
static uint32_t random_lens(unsigned n, uint32_t *lens)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		lens[i] = 1 + (uint32_t)random() % ROOM;
		if (i == 0)
			lens[i] = sl_max(lens[i], 128u);
		sum += lens[i];
	}
	return sum;
}

static unsigned some(void)
{
	return 2 + (unsigned)random() % (SL_RX_BUFS - 1);
}

/* UDP ------------------------------------------------------------------------------------------ */

#define UDP_HDR 42

static uint16_t random_datagram(struct sl_rx_desc *d, unsigned *n)
{
	uint32_t lens[SL_RX_BUFS];
	uint16_t len;

	*n = some();
	len = (uint16_t)(random_lens(*n, lens) - UDP_HDR);
	datagram(len, lens, *n, d);
	return len;
}

static void test_datagram(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	for (unsigned i = 1; i <= 1000; i++) {
		uint16_t len = random_datagram(d, &n);

		input(d, n);
		assert_int_equal(u.more, n - 1);
		read_one(len);
		assert_int_equal(stats.rx_pkts, i);
	}
	assert_int_equal(stats.rx_bad_csum, 0);
}

/* A bit of any of its frames is wrong. */
static void test_damaged(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	for (unsigned i = 1; i <= 500; i++) {
		unsigned k, at;

		random_datagram(d, &n);
		k = (unsigned)random() % n;
		at = k ? 0 : 34; /* (not the addresses of Ethernet, which are in no sum) */
		at += (unsigned)random() % (d[k].len - at);
		sl_frame_ptr(d[k].frame)[HEAD + at] ^= (uint8_t)(1 << random() % 8);
		input(d, n);
		assert_int_equal(stats.rx_bad_csum + stats.rx_bad_len, i);
		assert_null(sl_udp_peek(&u));
	}
	assert_true(stats.rx_bad_csum > 450);
}

static void test_refused(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	u.charged = u.rcvbuf + 1;
	random_datagram(d, &n);
	input(d, n);
	assert_int_equal(u.drops, 1);
}

/* Each holds all of its frames. */
static void test_several_sockets(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	uint16_t len;
	unsigned n;

	sl_slot_set(slot, SL_SLOT_FAN, &u);
	len = random_datagram(d, &n);
	input(d, n);
	assert_int_equal(sl_udp_queued(&u), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sl_frame_refs(d[n - 1].frame), 3 - i);
		read_one(len);
	}
}

/* The frames are counted, not the datagrams. */
static void test_memory_is_short(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	uint32_t frames = 0;
	unsigned n;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	u.rcvbuf = UINT32_MAX;
	do {
		random_datagram(d, &n);
		input(d, n);
		frames += n;
	} while (!sock_stats.rx_mem_drops && frames < POOL_FRAMES - SL_RX_BUFS);
	assert_int_equal(sock_stats.rx_mem_drops, 1);
	assert_in_range(frames, POOL_FRAMES / 4, POOL_FRAMES / 2);
}

/* TCP ------------------------------------------------------------------------------------------ */

#define TCP_HDR 54

static struct sl_tcp_seg random_segment(struct sl_rx_desc *d, unsigned *n, uint8_t flags)
{
	struct sl_tcp_seg s = {.seq = (uint32_t)random(), .flags = flags, .urg = 1000};
	uint32_t lens[SL_RX_BUFS];

	*n = some();
	s.len = (uint16_t)(random_lens(*n, lens) - TCP_HDR);
	segment(s, lens, *n, d);
	nsegs = 0;
	ngot = 0;
	return s;
}

static void test_segments(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_TCP, &u);
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t flags = SL_TCP_ACK | (i & 1 ? SL_TCP_FIN : 0) | (i & 2 ? SL_TCP_PSH : 0) |
				(i & 8 ? SL_TCP_URG : 0);
		struct sl_tcp_seg s;
		uint32_t at = 0;

		keep = i & 16;
		s = random_segment(d, &n, flags);
		input(d, n);
		assert_int_equal(nsegs, n);
		assert_int_equal(ngot, s.len);
		assert_memory_equal(got, sent, s.len);
		for (unsigned k = 0; k < n; at += segs[k++].len) {
			assert_int_equal(segs[k].seq, s.seq + at);
			assert_int_equal(segs[k].flags & (SL_TCP_FIN | SL_TCP_PSH),
					 k + 1 == n ? flags & (SL_TCP_FIN | SL_TCP_PSH) : 0);
			if (flags & SL_TCP_URG && at < 1000)
				assert_int_equal(segs[k].urg + at, 1000);
			else
				assert_false(segs[k].flags & SL_TCP_URG);
		}
	}
}

/* The pieces behind the first one of a reset or a SYN are not given to TCP. */
static void test_reset(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_TCP, &u);
	for (unsigned i = 0; i < 100; i++) {
		random_segment(d, &n, i & 1 ? SL_TCP_RST : SL_TCP_SYN | SL_TCP_ACK);
		input(d, n);
		assert_int_equal(nsegs, 1);
	}
}

/* The connection ends with the first piece, and its slot is another one's. */
static void test_connection_goes(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	unsigned n;

	sl_slot_set(slot, SL_SLOT_TCP, &u);
	gone_after = 1;
	random_segment(d, &n, SL_TCP_ACK);
	input(d, n);
	assert_int_equal(nsegs, 1);
}

/* Aggregation ---------------------------------------------------------------------------------- */

static struct sl_gro *gro_of(unsigned streams)
{
	struct sl_gro *g = sl_gro_new(streams);

	assert_non_null(g);
	sl_slot_set(slot, SL_SLOT_TCP, &u);
	in.gro = g;
	nsegs = 0;
	ngot = 0;
	return g;
}

static void gro_over(struct sl_gro *g)
{
	sl_gro_end(g);
	assert_false(sl_gro_is_holding(g));
	in.gro = NULL;
	sl_free(g);
}

static void give(struct sl_tcp_seg s)
{
	struct sl_rx_desc d;

	segment(s, NULL, 1, &d);
	input(&d, 1);
}

static struct sl_tcp_seg bulk(uint32_t nr)
{
	return (struct sl_tcp_seg){.seq = 5000 + nr * 100,
				   .ack = 7,
				   .wnd = 9,
				   .flags = SL_TCP_ACK,
				   .len = 100,
				   .opts = SL_TCPO_TS,
				   .tsval = 11,
				   .tsecr = 12};
}

/* Five in a row are one for TCP, or five if it leaves them. The last may be a packet in several
 * frames. */
static void test_run(void **state)
{
	const uint32_t lens[] = {128, 20};
	struct sl_rx_desc d[3];
	uint8_t all[500];

	for (int i = 0; i < 8; i++) {
		struct sl_gro *g = gro_of(32);

		takes_runs = i & 1;
		keep = i & 2;
		for (uint32_t nr = 0; nr < 4; nr++) {
			give(bulk(nr));
			memcpy(all + nr * 100, sent, 100);
		}
		assert_int_equal(nsegs, 0);
		segment(bulk(4), lens, i & 4 ? 3 : 1, d);
		input(d, i & 4 ? 3 : 1);
		memcpy(all + 400, sent, 100);
		gro_over(g);
		assert_int_equal(nsegs, takes_runs ? 1 : i & 4 ? 7 : 5);
		assert_int_equal(ngot, 500);
		assert_memory_equal(got, all, 500);
		for (unsigned k = 0; k < sl_min(nsegs, 4u); k++)
			assert_int_equal(segs[k].seq, bulk(k).seq);
	}
}

/* A run ends before a segment, with it, or with it and at once. */
static void test_run_ends(void **state)
{
	static const struct {
		struct sl_tcp_seg change; /* added to the second segment */
		unsigned at_once, in_all; /* calls of TCP then, and with a third one in the end */
	} cases[] = {
		{{0}, 0, 1},
		{{.flags = SL_TCP_PSH}, 1, 2},
		{{.flags = SL_TCP_FIN}, 1, 2},
		{{.len = (uint16_t)-1}, 1, 2},
		{{.len = 1}, 1, 3},
		{{.seq = 1}, 1, 3},
		{{.seq = (uint32_t)-1}, 1, 3},
		{{.ack = 1}, 1, 3},
		{{.wnd = 1}, 1, 3},
		{{.tsval = 1}, 1, 3},
		{{.tsecr = 1}, 1, 3},
		{{.ce = true}, 1, 3},
		{{.flags = SL_TCP_ECE}, 1, 3},
		{{.flags = SL_TCP_CWR}, 2, 3},
		{{.flags = SL_TCP_URG, .urg = 5}, 2, 3},
		{{.flags = SL_TCP_RST}, 2, 3},
		{{.opts = SL_TCPO_SACK, .nsack = 1, .sack = {{1, 2}}}, 2, 3},
		{{.len = (uint16_t)-100}, 2, 3},
	};

	takes_runs = true;
	for (unsigned i = 0; i < sl_array_len(cases); i++) {
		const struct sl_tcp_seg *ch = &cases[i].change;
		struct sl_gro *g = gro_of(32);
		struct sl_tcp_seg s = bulk(1);

		give(bulk(0));
		s.flags |= ch->flags;
		s.len += ch->len;
		s.seq += ch->seq;
		s.ack += ch->ack;
		s.wnd += ch->wnd;
		s.tsval += ch->tsval;
		s.tsecr += ch->tsecr;
		s.urg += ch->urg;
		s.opts |= ch->opts;
		s.nsack = ch->nsack;
		s.sack[0] = ch->sack[0];
		s.ce = ch->ce;
		give(s);
		assert_int_equal(nsegs, cases[i].at_once);
		give(bulk(2));
		gro_over(g);
		assert_int_equal(nsegs, cases[i].in_all);
		assert_int_equal(segs[nsegs - 1].seq, nsegs == 1 ? bulk(0).seq : bulk(2).seq);
	}
}

/* Segments of several connections are held back at once: of as many as the setting says. */
static void test_streams(void **state)
{
	for (unsigned max = 1; max <= 3; max++) {
		struct sl_gro *g = gro_of(max);

		takes_runs = true;
		for (uint32_t i = 0; i < 9; i++) {
			sport = (uint16_t)(1000 + i % 3);
			give(bulk(i / 3));
		}
		gro_over(g);
		assert_int_equal(nsegs, max + (3 - max) * 3);
		assert_int_equal(ngot, 900);
	}
}

/* The connection is gone when the batch ends, or a segment of the run ends it. */
static void test_connection_goes_in_a_run(void **state)
{
	struct sl_gro *g = gro_of(32);

	give(bulk(0));
	give(bulk(1));
	give(bulk(2));
	gone_after = 1;
	gro_over(g);
	assert_int_equal(nsegs, 1);
	slot = (uint32_t)sl_slot_new();
	g = gro_of(32);
	give(bulk(0));
	give(bulk(1));
	sl_slot_free(slot);
	gro_over(g);
	assert_int_equal(nsegs, 0);
	assert_int_equal(stats.rx_stale, 2);
}

/* Frames ----------------------------------------------------------------------------------------
 */

/* In more frames than any is: dropped to its end, which may come later; the next one is taken. */
static void test_too_many(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS + 4], next[SL_RX_BUFS];
	unsigned n = sl_array_len(d), k;
	uint16_t len;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	random_datagram(d, &k);
	for (unsigned i = k; i < n; i++)
		d[i] = (struct sl_rx_desc){sl_frame_get(&cache), HEAD, 100, true, false};
	for (unsigned i = 0; i < n; i++)
		d[i].more = i + 1 < n;
	assert_int_equal(take(d, SL_RX_BUFS), SL_RX_BUFS);
	assert_true(cut);
	assert_int_equal(stats.rx_bad_len, 1);
	assert_int_equal(take(d + SL_RX_BUFS, 2), 2);
	assert_true(cut);
	assert_int_equal(take(d + SL_RX_BUFS + 2, 2), 2);
	assert_false(cut);
	assert_int_equal(stats.rx_pkts, 1);
	assert_null(sl_udp_peek(&u));
	len = random_datagram(next, &k);
	input(next, k);
	read_one(len);
}

/* The headers must be in the first. */
static void test_short_first(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	const uint32_t lens[] = {50, 1000};

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	datagram(1008, lens, 2, d);
	input(d, 2);
	assert_int_equal(stats.rx_bad_len, 1);
}

/* No room in front of the first one for the list of the others. */
static void test_no_room_in_front(void **state)
{
	struct sl_rx_desc d[SL_RX_BUFS];
	const uint32_t lens[] = {500, 550};
	uint8_t *f;

	sl_slot_set(slot, SL_SLOT_UDP, &u);
	datagram(1008, lens, 2, d);
	f = sl_frame_ptr(d[0].frame);
	d[0].off = sizeof(struct sl_more) + sizeof(struct sl_meta_hw) - 8;
	memmove(f + d[0].off - sizeof(struct sl_meta), f + HEAD - sizeof(struct sl_meta),
		sizeof(struct sl_meta) + d[0].len);
	input(d, 2);
	assert_int_equal(stats.rx_bad_meta, 1);
	assert_null(sl_udp_peek(&u));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_datagram),        T(test_damaged),          T(test_refused),
		T(test_several_sockets), T(test_memory_is_short),  T(test_segments),
		T(test_reset),           T(test_connection_goes),  T(test_too_many),
		T(test_short_first),     T(test_no_room_in_front), T(test_run),
		T(test_run_ends),        T(test_streams),          T(test_connection_goes_in_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
