/* SPDX-License-Identifier: BSD-2-Clause */
/* Which TCP segments become one packet of a device that segments, and which must not. */
#include "packet.h"
#include "stack/lane.h"
#include "stack/leg.h"

static struct sl_tx_desc posted[64];
static unsigned nposted;

static unsigned fake_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	memcpy(posted + nposted, descs, n * sizeof(*descs));
	nposted += n;
	tx->open++;
	return n;
}

static int fake_kick(struct sl_tx *tx)
{
	tx->open = 0;
	return 0;
}

static const struct sl_tx_ops ops = {.name = "fake", .post = fake_post, .kick = fake_kick};
static struct sl_frames cache;
static struct sl_lane_stats stats;
static struct sl_lane lane;
static struct sl_tx tx;
static struct sl_leg leg;
static struct sl_tcp_hdr hdr;
static const int a, b; /* connections */
static uint32_t frame;

static void set_up(void)
{
	struct sl_udp_build between = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	nposted = 0;
	memset(&lane, 0, sizeof(lane));
	memset(&stats, 0, sizeof(stats));
	lane.stats = &stats;
	tx = (struct sl_tx){
		.ops = &ops, .caps = SL_TX_CSUM | SL_TX_TSO, .segs = SL_TSO_SEGS, .open = 7};
	leg.lane = &lane;
	leg.tx = &tx;
	sl_build_tcp_hdr(&hdr, &between);
	frame = sl_frame_get(&cache);
}

static struct sl_tcp_seg next(uint32_t seq, uint16_t len)
{
	return (struct sl_tcp_seg){
		.seq = seq,
		.ack = 5,
		.wnd = 6,
		.flags = SL_TCP_ACK,
		.opts = SL_TCPO_TS,
		.tsval = 8,
		.tsecr = 9,
		.len = len,
	};
}

/* Sends s as sock/stream/conn_out.c does. True: it went as a part of the packet before it. */
static bool goes_on(const struct sl_tcp_seg *s, const void *of)
{
	uint8_t *payload = sl_frame_ptr(frame) + SL_TCP_HEADROOM, *f;
	struct sl_tx_desc d;

	if (tx.open && sl_train_takes(&leg, s, of)) {
		assert_true(sl_train_post(&leg, frame, SL_TCP_HEADROOM, s));
		return true;
	}
	f = sl_build_tcp(&hdr, s, payload, 1, SL_CSUM_NONE);
	d = (struct sl_tx_desc){
		.frame = frame,
		.off = (uint16_t)(f - sl_frame_ptr(frame)),
		.len = (uint16_t)(payload + s->len - f),
		.flags = SL_TXD_CSUM,
		.hdr = (uint8_t)(payload - f),
	};
	assert_true(sl_leg_post_tcp(&leg, &d, s, of));
	return false;
}

static void test_segments_in_a_row(void **state)
{
	uint32_t seq = 0xfffff800; /* wraps */
	struct sl_tcp_seg s = next(seq, 1000);

	set_up();
	assert_false(goes_on(&s, &a));
	for (unsigned i = 1; i < SL_TSO_SEGS; i++) {
		s = next(seq += 1000, 1000);
		assert_true(goes_on(&s, &a));
		assert_int_equal(posted[i].flags, SL_TXD_CSUM | SL_TXD_CONT);
		assert_int_equal(posted[i].hdr, posted[0].hdr);
		assert_int_equal(posted[i].off, SL_TCP_HEADROOM);
		assert_int_equal(posted[i].len, 1000);
	}
	assert_int_equal(stats.tx_tso, 1);
	assert_int_equal(stats.tx_tso_pkts, SL_TSO_SEGS);
	s = next(seq + 1000, 1000); /* no more of them: another packet */
	assert_false(goes_on(&s, &a));
	s = next(seq + 2000, 1000);
	assert_true(goes_on(&s, &a));
}

static void test_the_last_one(void **state)
{
	struct sl_tcp_seg s = next(0, 1000);

	set_up();
	assert_false(goes_on(&s, &a));
	s = next(1000, 10);
	s.flags |= SL_TCP_PSH | SL_TCP_FIN;
	assert_true(goes_on(&s, &a));
	/* Theirs are the first one's headers. */
	assert_int_equal(sl_frame_ptr(posted[0].frame)[SL_TCP_HEADROOM - 12 - 20 + 13],
			 SL_TCP_ACK | SL_TCP_PSH | SL_TCP_FIN);
	s = next(1010, 10);
	assert_false(goes_on(&s, &a));
	s = next(1020, 5); /* short: nothing after it */
	assert_true(goes_on(&s, &a));
	s = next(1025, 5);
	assert_false(goes_on(&s, &a));
}

static void test_not_after(void **state)
{
	const struct sl_tcp_seg first = next(0, 1000);
	struct sl_tcp_seg s[13];

	for (unsigned i = 0; i < sl_array_len(s); i++)
		s[i] = next(1000, 1000);
	s[0].seq = 2000; /* a hole */
	s[1].seq = 0;    /* again */
	s[2].len = 1001; /* longer */
	s[3].len = 0;
	s[4].ack++;
	s[5].wnd++;
	s[6].tsval++;
	s[7].tsecr++;
	s[8].flags |= SL_TCP_CWR;
	s[9].flags |= SL_TCP_URG;
	s[10].opts = 0;
	s[11].ce = true;
	s[12].flags |= SL_TCP_ECE;
	for (unsigned i = 0; i < sl_array_len(s); i++) {
		set_up();
		assert_false(goes_on(&first, &a));
		assert_false(goes_on(&s[i], &a));
	}
}

static void test_not_of_another_or_later(void **state)
{
	struct sl_tcp_seg s[3] = {next(0, 100), next(100, 100), next(200, 100)};

	set_up();
	assert_false(goes_on(&s[0], &a));
	assert_false(goes_on(&s[1], &b));
	assert_false(goes_on(&s[1], &a)); /* the other one came between */
	assert_int_equal(sl_leg_kick(&leg), 0);
	assert_false(goes_on(&s[2], &a)); /* was started */
	set_up();
	tx.caps = SL_TX_CSUM;
	assert_false(goes_on(&s[0], &a));
	assert_false(goes_on(&s[1], &a));
}

/* No segment joins one with a flag or an option that only the first piece may have, or that is more
 * than the device repeats. */
static void test_not_from(void **state)
{
	static const uint8_t flags[] = {SL_TCP_PSH, SL_TCP_FIN, SL_TCP_SYN,
					SL_TCP_URG, SL_TCP_CWR, SL_TCP_RST};
	struct sl_tcp_seg first, s;

	for (unsigned i = 0; i <= sl_array_len(flags); i++) {
		set_up();
		first = next(0, 1000);
		s = next(1000, 1000);
		if (i < sl_array_len(flags)) {
			first.flags |= flags[i];
		} else {
			first.opts |= SL_TCPO_SACK;
			first.nsack = 1;
		}
		assert_false(goes_on(&first, &a));
		s.opts = first.opts;
		s.flags = first.flags;
		assert_false(goes_on(&s, &a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments_in_a_row),
		cmocka_unit_test(test_the_last_one),
		cmocka_unit_test(test_not_after),
		cmocka_unit_test(test_not_of_another_or_later),
		cmocka_unit_test(test_not_from),
	};

	pool_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
