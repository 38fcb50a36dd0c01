/* SPDX-License-Identifier: BSD-2-Clause */
/* Software does the device's offloads: the packets are byte for byte those that would
 * have been built without offloads. */
#include "packet.h"

#include "io/offload.h"
#include "wire/finish.h"
#include "wire/tcp_seg.h"

static struct sl_frames cache;

static const struct way {
	bool v6;
	uint32_t vlan;
} ways[] = {{false, 0}, {true, 0}, {false, 5}, {true, 7 | (100 | SL_VLAN_AD) << 16}};

static struct sl_udp_build between(const struct way *w)
{
	struct sl_udp_build b = w->v6 ? udp_between("2001:db8::1", 1000, "2001:db8::2", 2000)
				      : udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	b.vlan = w->vlan;
	b.df = true;
	return b;
}

static void fill(uint32_t frame, uint32_t at, uint16_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sl_frame_ptr(frame)[SL_TCP_HEADROOM + i] = (uint8_t)((at + i) * 7 + (at + i) / 251);
}

static void test_checksum_of_udp(void **state)
{
	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		struct sl_udp_hdr h;

		sl_build_udp_hdr(&h, &b);
		for (uint16_t len = 0; len <= 1400; len += 1 + len / 5) {
			uint8_t whole[2048], *payload, *f;
			uint32_t frame = sl_frame_get(&cache);

			fill(frame, len, len);
			payload = sl_frame_ptr(frame) + SL_TCP_HEADROOM;
			f = sl_build_udp(&h, payload, len, len, sl_csum_add(0, payload, len));
			memcpy(whole, f, h.len + len);
			assert_ptr_equal(sl_build_udp(&h, payload, len, len, SL_CSUM_NONE), f);
			f[h.l3 + 10] ^= 0x55; /* (of IPv6 a byte of an address) */
			if (ways[i].v6)
				f[h.l3 + 10] ^= 0x55;
			sl_finish_csum(f, h.len + len);
			assert_memory_equal(f, whole, h.len + len);
			sl_frame_put(&cache, frame);
		}
	}
}

/* Sums to zero: it goes as 0xffff. */
static void test_checksum_of_udp_is_never_zero(void **state)
{
	struct sl_udp_build b = between(&ways[0]);
	uint32_t frame = sl_frame_get(&cache), any = 0;
	uint8_t *payload = sl_frame_ptr(frame) + SL_TCP_HEADROOM, *f;
	struct sl_udp_hdr h;

	sl_build_udp_hdr(&h, &b);
	for (uint32_t i = 0; i < 65536; i++) {
		sl_put_be16(payload, (uint16_t)i);
		f = sl_build_udp(&h, payload, 2, 1, SL_CSUM_NONE);
		sl_finish_csum(f, h.len + 2);
		assert_int_not_equal(sl_get_be16(f + h.l4 + 6), 0);
		any += sl_get_be16(f + h.l4 + 6) == 0xffff;
	}
	assert_int_not_equal(any, 0);
	sl_frame_put(&cache, frame);
}

struct train {
	uint16_t mss, last;
	unsigned n;
	uint8_t opts, end; /* flags of the last segment */
	uint32_t seq;
	uint16_t id;
};

static struct sl_tcp_seg segment(const struct train *t, unsigned i)
{
	bool last = i + 1 == t->n;

	return (struct sl_tcp_seg){
		.seq = t->seq + i * t->mss,
		.ack = 77,
		.wnd = 1234,
		.flags = SL_TCP_ACK | (last ? t->end : 0),
		.opts = t->opts,
		.tsval = 5,
		.tsecr = 6,
		.ce = true,
		.len = last ? t->last : t->mss,
	};
}

/* Makes the packets as a backend has them after they were to go out as one. */
static void post(const struct train *t, const struct sl_tcp_hdr *h, struct sl_tx_desc *d)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct sl_tcp_seg s = segment(t, i);
		uint8_t *payload, *f;

		d[i] = (struct sl_tx_desc){.frame = sl_frame_get(&cache), .flags = SL_TXD_CSUM};
		payload = sl_frame_ptr(d[i].frame) + SL_TCP_HEADROOM;
		fill(d[i].frame, i * t->mss, s.len);
		if (i) {
			d[i].flags |= SL_TXD_CONT;
			d[i].off = SL_TCP_HEADROOM;
			d[i].hdr = d[0].hdr;
			d[i].len = s.len;
			continue;
		}
		if (t->n > 1)
			s.flags |= t->end;
		f = sl_build_tcp(h, &s, payload, t->id, SL_CSUM_NONE);
		d[i].hdr = (uint8_t)(payload - f);
		d[i].off = (uint16_t)(SL_TCP_HEADROOM - d[i].hdr);
		d[i].len = (uint16_t)(d[i].hdr + s.len);
	}
}

static void check_train(const struct way *w, const struct train *t)
{
	struct sl_udp_build b = between(w);
	struct sl_tx_desc d[SL_TSO_SEGS];
	struct sl_offload_undo undo = {0};
	struct sl_tcp_hdr h;

	sl_build_tcp_hdr(&h, &b);
	post(t, &h, d);
	for (unsigned i = 0; i < t->n; i++)
		sl_offload_undo(&undo, &d[i], i + 1 != t->n);
	for (unsigned i = 0; i < t->n; i++) {
		struct sl_tcp_seg s = segment(t, i);
		uint32_t frame = sl_frame_get(&cache);
		uint8_t *payload = sl_frame_ptr(frame) + SL_TCP_HEADROOM, *f;

		fill(frame, i * t->mss, s.len);
		f = sl_build_tcp(&h, &s, payload, (uint16_t)(t->id + i),
				 sl_csum_add(0, payload, s.len));
		assert_int_equal(d[i].len, payload + s.len - f);
		assert_int_equal(d[i].flags, 0);
		assert_memory_equal(sl_frame_ptr(d[i].frame) + d[i].off, f, d[i].len);
		sl_frame_put(&cache, frame);
		sl_frame_put(&cache, d[i].frame);
	}
}

static void test_segments(void **state)
{
	static const struct train trains[] = {
		{1448, 1448, 2, SL_TCPO_TS, 0, 100, 9},
		{1448, 1, 16, SL_TCPO_TS, SL_TCP_PSH, 0xfffff000, 0xfffa}, /* both wrap */
		{1460, 733, 5, 0, SL_TCP_PSH | SL_TCP_FIN, 0xffffffff, 1},
		{1, 1, 3, 0, 0, 0, 0},
		{999, 999, 1, SL_TCPO_TS, SL_TCP_PSH, 5, 5}, /* was not carried on */
	};

	for (unsigned i = 0; i < sl_array_len(ways); i++)
		for (unsigned j = 0; j < sl_array_len(trains); j++)
			check_train(&ways[i], &trains[j]);
}

/* Checks the header by which the kernel is told of a large packet, then the checksum that a device
 * makes. */
static void test_large(void **state)
{
	struct sl_tcp_seg s = {
		.seq = 1, .ack = 2, .flags = SL_TCP_ACK, .len = 1900, .opts = SL_TCPO_TS};

	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		uint32_t frame = sl_frame_get(&cache);
		uint8_t whole[2048], *payload = sl_frame_ptr(frame) + SL_TCP_HEADROOM, *f;
		struct sl_tcp_hdr h;
		size_t len;
		uint16_t v;
		int l4;

		sl_build_tcp_hdr(&h, &b);
		fill(frame, 3, s.len);
		f = sl_build_tcp(&h, &s, payload, 7, sl_csum_add(0, payload, s.len));
		len = (size_t)(payload + s.len - f);
		memcpy(whole, f, len);
		sl_put_be16(f + 14 + (b.vlan ? 0 : 2),
			    99); /* of IPv4 the length, which is the first piece's */
		if (ways[i].v6 || ways[i].vlan)
			memcpy(f, whole, len);
		l4 = sl_finish_large(f, len);
		if (ways[i].vlan) {
			assert_int_equal(l4, -1);
		} else {
			assert_int_equal(l4, ways[i].v6 ? 54 : 34);
			v = sl_csum_fold(sl_csum_add(0, f + l4, len - (size_t)l4));
			memcpy(f + l4 + 16, &v, 2);
			assert_memory_equal(f, whole, len);
		}
		sl_frame_put(&cache, frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum_of_udp),
		cmocka_unit_test(test_checksum_of_udp_is_never_zero),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_large),
	};

	pool_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
