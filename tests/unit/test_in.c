/* SPDX-License-Identifier: BSD-2-Clause */
/* The way in: nothing that the record in front of a packet says is believed. */
#include "packet.h"

static struct sl_frames cache;
static struct sl_lane_stats stats;
static struct sl_in in;
static uint32_t slot;
static unsigned handled;
static bool keep;
static int object;

static bool handler(void *obj, struct sl_in *i)
{
	assert_ptr_equal(obj, &object);
	assert_ptr_equal(i, &in);
	assert_ptr_equal(i->pkt.data, sl_frame_ptr(i->frame) + i->off);
	assert_int_equal(i->slot, slot);
	handled++;
	return keep;
}

static int setup(void **state)
{
	in = (struct sl_in){.cache = &cache, .stats = &stats, .ifindex = 3};
	slot = in_setup(&in, SL_SLOT_UDP, &object);
	sl_in_register(SL_SLOT_UDP, handler);
	handled = 0;
	keep = false;
	return 0;
}

static int teardown(void **state)
{
	sl_slot_free(slot);
	assert_int_equal(pool_free(&cache), POOL_FRAMES); /* freed whatever was wrong */
	return 0;
}

static struct sl_rx_desc good(void)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	return packet(&cache, &b, "hello", 5, slot, sl_slots[slot].gen);
}

static struct sl_meta *meta(const struct sl_rx_desc *d)
{
	return (struct sl_meta *)(sl_frame_ptr(d->frame) + d->off - sizeof(struct sl_meta));
}

static void test_good_packet(void **state)
{
	struct sl_rx_desc d = good();
	uint64_t stamp;

	meta(&d)->flags = SL_META_SW;
	stamp = 12345;
	memcpy((uint8_t *)meta(&d) - sizeof(stamp), &stamp, sizeof(stamp));
	keep = true;
	sl_net_input(&in, &d);
	assert_int_equal(handled, 1);
	assert_int_equal(in.frame, d.frame);
	assert_int_equal(in.pkt.payload_len, 5);
	assert_memory_equal(in.pkt.data + in.pkt.payload, "hello", 5);
	assert_int_equal(in.stamp, SL_META_SW);
	assert_int_equal(in.stamp_ns, 12345);
	assert_int_equal(stats.rx_pkts, 1);
	assert_int_equal(stats.rx_bytes, d.len);
	assert_int_equal(pool_free(&cache), POOL_FRAMES - 1); /* kept, and ours to free */
	sl_frame_put(&cache, d.frame);
}

static void put_stamps(const struct sl_rx_desc *d, uint8_t flags, uint64_t hw, uint64_t sw)
{
	uint64_t stamps[2] = {hw, sw};

	meta(d)->flags = flags;
	memcpy((uint8_t *)meta(d) - sizeof(stamps), stamps, sizeof(stamps));
}

static void test_hardware_stamp(void **state)
{
	struct sl_rx_desc d = good();

	put_stamps(&d, SL_META_HW | SL_META_SW, 1ull << 60 | 5, 12345);
	sl_net_input(&in, &d);
	assert_int_equal(in.stamp, SL_META_HW | SL_META_SW);
	assert_int_equal(in.stamp_ns, 12345);
	assert_int_equal(sl_hw_stamp(in.frame, in.off), 1ull << 60 | 5);
	d = good();
	put_stamps(&d, SL_META_HW, 7, 12345); /* our program writes both or the other one */
	sl_net_input(&in, &d);
	assert_int_equal(in.stamp, 0);
	assert_int_equal(handled, 2);
}

/* The record says more than there is room for: nothing in front of the frame is read. */
static void test_stamp_without_room(void **state)
{
	static const uint8_t flags[] = {SL_META_SW, SL_META_HW | SL_META_SW};

	for (unsigned i = 0; i < sl_array_len(flags); i++) {
		struct sl_rx_desc d = good();
		uint16_t off = (uint16_t)(16 + 8 * (i + 1) - 1);
		uint8_t *f = sl_frame_ptr(d.frame);

		meta(&d)->flags = flags[i];
		memmove(f + off - 16, f + d.off - 16, d.len + 16);
		d.off = off;
		sl_net_input(&in, &d);
		assert_int_equal(in.stamp, 0);
	}
	assert_int_equal(handled, sl_array_len(flags));
}

static uint32_t seen_ifindex;

static bool ifindex_handler(void *obj, struct sl_in *i)
{
	seen_ifindex = i->ifindex;
	handled++;
	return false;
}

/* The number in the record says by which VLAN device a packet came. */
static void test_vlan_device(void **state)
{
	struct sl_rx_desc d = good();

	sl_in_register(SL_SLOT_UDP, ifindex_handler);
	sl_in_vlan[5] = 77;
	meta(&d)->flags = 5 << 2;
	sl_net_input(&in, &d);
	assert_int_equal(seen_ifindex, 77);
	d = good();
	sl_net_input(&in, &d); /* the next one is of the device below */
	assert_int_equal(seen_ifindex, 3);
	d = good();
	put_stamps(&d, SL_META_SW | 5 << 2, 0, 12345);
	sl_net_input(&in, &d);
	assert_int_equal(seen_ifindex, 77);
	assert_int_equal(in.stamp_ns, 12345);
	assert_int_equal(handled, 3);
	sl_in_vlan[5] = 0; /* down */
	d = good();
	meta(&d)->flags = 5 << 2;
	sl_net_input(&in, &d);
	assert_int_equal(handled, 3);
	assert_int_equal(stats.rx_stale, 1);
	assert_int_equal(in.ifindex, 3);
}

static void test_refused_by_the_protocol(void **state)
{
	struct sl_rx_desc d = good();

	sl_net_input(&in, &d);
	assert_int_equal(handled, 1);
}

static void test_no_record(void **state)
{
	struct sl_rx_desc d = good();

	meta(&d)->magic ^= 1;
	sl_net_input(&in, &d);
	d = good();
	d.off = sizeof(struct sl_meta) - 1; /* there is no room for one */
	sl_net_input(&in, &d);
	d = good();
	memset(meta(&d), 0, sizeof(struct sl_meta));
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_meta, 3);
	assert_int_equal(handled, 0);
}

/* Puts mark, stamps and record inside the frame, as the steering program does where the driver
 * carries no metadata; len is what the mark says. */
static void put_mark(struct sl_rx_desc *d, uint16_t record, uint16_t len)
{
	struct sl_mark mark = {.magic = SL_MARK_MAGIC, .len = len};
	uint8_t *f = sl_frame_ptr(d->frame);

	d->off -= record + sizeof(mark);
	d->len += record + sizeof(mark);
	memcpy(f + d->off, &mark, sizeof(mark));
}

static void test_record_in_the_frame(void **state)
{
	struct sl_rx_desc d = good();
	uint64_t bytes = d.len;

	put_mark(&d, 16, 32);
	sl_net_input(&in, &d);
	assert_int_equal(handled, 1);
	assert_int_equal(stats.rx_bytes, bytes);
	d = good();
	put_stamps(&d, SL_META_HW | SL_META_SW, 5, 12345);
	put_mark(&d, 32, 48);
	sl_net_input(&in, &d);
	assert_int_equal(in.stamp_ns, 12345);
	assert_int_equal(handled, 2);
	assert_int_equal(stats.rx_bad_meta, 0);
}

/* Bytes in front of a marked frame are no record, however good they look. */
static void test_mark_before_record(void **state)
{
	struct sl_rx_desc d = good();
	struct sl_meta stale = *meta(&d);

	meta(&d)->gen++;
	put_mark(&d, 16, 32);
	*meta(&d) = stale;
	sl_net_input(&in, &d);
	assert_int_equal(handled, 0);
	assert_int_equal(stats.rx_stale, 1);
}

static void test_bad_marks(void **state)
{
	static const uint16_t len[] = {0, 16, 31, 1000, 65535};

	for (unsigned i = 0; i < sl_array_len(len); i++) {
		struct sl_rx_desc d = good();

		put_mark(&d, 16, len[i]);
		sl_net_input(&in, &d);
	}
	assert_int_equal(stats.rx_bad_meta, sl_array_len(len));
	assert_int_equal(handled, 0);
}

static void comes(const char *src, const char *dst)
{
	struct sl_udp_build b = udp_between(src, 1000, dst, 2000);
	struct sl_rx_desc d = packet(&cache, &b, "hello", 5, slot, sl_slots[slot].gen);

	sl_net_input(&in, &d);
}

/* A steering program of another version let them through. */
static void test_addresses_that_no_wire_has(void **state)
{
	static const struct {
		const char *src, *dst;
	} odd[] = {
		{"0.0.0.0", "10.0.0.2"},
		{"0.1.2.3", "10.0.0.2"},
		{"127.0.0.1", "10.0.0.2"},
		{"127.1.2.3", "10.0.0.2"},
		{"224.0.0.5", "10.0.0.2"},
		{"239.9.9.9", "10.0.0.2"},
		{"255.255.255.255", "10.0.0.2"},
		{"10.0.0.1", "127.0.0.1"},
		{"10.0.0.1", "0.0.0.0"},
		{"::1", "fd00::2"},
		{"::", "fd00::2"},
		{"ff02::1", "fd00::2"},
		{"fd00::1", "::1"},
	};

	for (unsigned i = 0; i < sl_array_len(odd); i++) {
		comes(odd[i].src, odd[i].dst);
		assert_int_equal(stats.rx_martian, i + 1);
	}
	assert_int_equal(handled, 0);
	comes("10.0.0.1", "10.0.0.2");
	comes("240.0.0.1", "10.0.0.2"); /* (routing decides) */
	comes("fd00::1", "fd00::2");
	assert_int_equal(handled, 3);
}

/* in.ends holds addresses of IPv4 alone: an IPv6 source can have the same bytes at that place. */
static void test_ends_are_of_ipv4(void **state)
{
	struct sl_rx_desc d = good();
	struct sl_udp_build b = udp_between("ff02:0:0a00:1:0a00:2::", 1000, "fd00::2", 2000);

	memcpy(&in.ends, sl_frame_ptr(d.frame) + d.off + 14 + 12, sizeof(in.ends));
	sl_net_input(&in, &d);
	assert_int_equal(handled, 1);
	d = packet(&cache, &b, "hello", 5, slot, sl_slots[slot].gen);
	assert_memory_equal(&in.ends, sl_frame_ptr(d.frame) + d.off + 14 + 12, sizeof(in.ends));
	sl_net_input(&in, &d);
	assert_int_equal(handled, 1);
	assert_int_equal(stats.rx_martian, 1);
}

static void test_slots_that_are_none(void **state)
{
	static const uint32_t wrong[] = {64, 65, 1u << 20, 1u << 31, UINT32_MAX};

	for (unsigned i = 0; i < sl_array_len(wrong); i++) {
		struct sl_rx_desc d = good();

		meta(&d)->slot = wrong[i];
		sl_net_input(&in, &d);
		assert_int_equal(stats.rx_stale, i + 1);
	}
	assert_int_equal(handled, 0);
}

static void test_stale_generation(void **state)
{
	struct sl_rx_desc d = good(), e;
	uint32_t old = slot;

	sl_slot_free(slot); /* closed while the packet was under way */
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_stale, 1);
	slot = (uint32_t)sl_slot_new();
	assert_int_equal(slot, old);
	e = good();
	meta(&e)->gen--;
	sl_slot_set(slot, SL_SLOT_UDP, &object);
	sl_net_input(&in, &e);
	assert_int_equal(stats.rx_stale, 2);
	assert_int_equal(handled, 0);
}

/* The slot is taken, but nothing was put in yet. */
static void test_slot_without_an_object(void **state)
{
	uint32_t used = slot, fresh = (uint32_t)sl_slot_new();
	struct sl_rx_desc d;

	slot = fresh;
	d = good();
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_stale, 1);
	sl_slot_free(fresh);
	slot = used;
}

static void test_hostile_offsets(void **state)
{
	static const uint16_t at[] = {0, 13, 15, 33, 47, 100, 1000, 2048, 4096, 65528, 65535};

	for (unsigned i = 0; i < sl_array_len(at); i++)
		for (unsigned j = 0; j < 3; j++) {
			struct sl_rx_desc d = good();

			if (j != 1)
				meta(&d)->l3 = at[i];
			if (j != 0)
				meta(&d)->l4 = at[i];
			sl_net_input(&in, &d);
		}
	assert_int_equal(handled, 0);
	assert_int_equal(stats.rx_bad_len, 3 * sl_array_len(at));
}

static void test_damage_is_counted(void **state)
{
	struct sl_rx_desc d = good();

	sl_frame_ptr(d.frame)[d.off + d.len - 1] ^= 0x10;
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_csum, 1);
	d = good();
	d.len--;
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_len, 1);
	assert_int_equal(handled, 0);
}

/* Devices that leave checksums unfinished are believed, others are not. */
static void test_partial_checksum_by_device(void **state)
{
	struct sl_addr src = addr("10.0.0.1"), dst = addr("10.0.0.2");
	uint16_t part = (uint16_t)~sl_csum_fold(sl_pseudo_sum(&src, &dst, IPPROTO_UDP, 13));

	for (int ok = 0; ok < 2; ok++) {
		struct sl_rx_desc d = good();

		memcpy(sl_frame_ptr(d.frame) + d.off + 34 + 6, &part, 2);
		in.partial_ok = ok;
		sl_net_input(&in, &d);
		assert_int_equal(handled, ok);
		assert_int_equal(stats.rx_bad_csum, 1);
	}
}

/* A segment in a frame, as packet() makes a datagram. */
static struct sl_rx_desc segment(void)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);
	struct sl_tcp_seg s = {.seq = 7, .flags = SL_TCP_ACK, .opts = SL_TCPO_TS, .len = 5};
	struct sl_rx_desc d = {sl_frame_get(&cache), 256, 0, false, false};
	struct sl_meta m = {.magic = SL_META_MAGIC,
			    .proto = IPPROTO_TCP,
			    .slot = slot,
			    .gen = sl_slots[slot].gen};
	uint8_t *payload = sl_frame_ptr(d.frame) + 512, *f;
	struct sl_tcp_hdr h;

	memcpy(payload, "hello", 5);
	sl_build_tcp_hdr(&h, &b);
	f = sl_build_tcp(&h, &s, payload, 1, sl_csum_add(0, payload, 5));
	d.off = (uint16_t)(f - sl_frame_ptr(d.frame));
	d.len = (uint16_t)(payload + 5 - f);
	m.l3 = h.l3;
	m.l4 = h.l4;
	memcpy(f - sizeof(m), &m, sizeof(m));
	return d;
}

static void test_segment(void **state)
{
	static const enum sl_slot_kind kinds[] = {SL_SLOT_TCP, SL_SLOT_TCP_LISTEN};

	for (unsigned i = 0; i < sl_array_len(kinds); i++) {
		struct sl_rx_desc d = segment();

		sl_in_register(kinds[i], handler);
		sl_slot_set(slot, kinds[i], &object);
		sl_net_input(&in, &d);
		assert_int_equal(handled, i + 1);
		assert_int_equal(in.proto, IPPROTO_TCP);
		assert_int_equal(in.seg.seq, 7);
		assert_int_equal(in.seg.len, 5);
		assert_int_equal(in.seg.opts, SL_TCPO_TS);
		assert_memory_equal(in.pkt.data + in.pkt.payload, "hello", 5);
	}
}

/* A protocol's packet is for a slot of its kind, whatever the record says. */
static void test_protocol_of_another_kind(void **state)
{
	struct sl_rx_desc d = segment();

	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_meta, 1);
	d = segment();
	sl_frame_ptr(d.frame)[d.off - sizeof(struct sl_meta) + offsetof(struct sl_meta, proto)] =
		IPPROTO_UDP;
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_len, 1);
	for (unsigned proto = 0; proto < 256; proto++) {
		if ((proto & ~SL_META_SUMMED) == IPPROTO_UDP)
			continue;
		d = good();
		meta(&d)->proto = (uint8_t)proto;
		sl_net_input(&in, &d);
	}
	assert_int_equal(stats.rx_bad_meta, 255);
	sl_slot_set(slot, SL_SLOT_TCP, &object);
	d = good();
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_meta, 256);
	d = good();
	meta(&d)->proto = IPPROTO_TCP;
	sl_net_input(&in, &d);
	assert_int_equal(stats.rx_bad_len, 2);
	assert_int_equal(handled, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_good_packet),
		T(test_hardware_stamp),
		T(test_stamp_without_room),
		T(test_vlan_device),
		T(test_refused_by_the_protocol),
		T(test_no_record),
		T(test_record_in_the_frame),
		T(test_mark_before_record),
		T(test_bad_marks),
		T(test_addresses_that_no_wire_has),
		T(test_ends_are_of_ipv4),
		T(test_slots_that_are_none),
		T(test_stale_generation),
		T(test_slot_without_an_object),
		T(test_hostile_offsets),
		T(test_damage_is_counted),
		T(test_partial_checksum_by_device),
		T(test_segment),
		T(test_protocol_of_another_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
