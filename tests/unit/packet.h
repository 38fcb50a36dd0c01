/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the packet path: a pool of frames in plain memory, and packets built into it. */
#ifndef PACKET_H
#define PACKET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pool.h"
#include "base/heap.h"
#include "net/net.h"
#include "steer.h"
#include "wire/csum.h"

#define POOL_FRAMES 2048
#define POOL_SHIFT  11

/* A new pool; to be called as often as one likes. */
static inline void pool_setup_n(uint32_t nframes)
{
	sl_free(sl_pool.base);
	assert_int_equal(pool_make(sl_calloc(nframes, 1u << POOL_SHIFT), nframes, POOL_SHIFT), 0);
}

/* Frames that nobody has. */
static inline uint32_t pool_free(const struct sl_frames *cache)
{
	return sl_share_left(&sl_pool.share) + cache->n + sl_frames_spent(cache);
}

static inline void pool_setup(void)
{
	pool_setup_n(POOL_FRAMES);
}

/* A new pool, nothing counted and no frames in the cache of in, and a slot of that kind, which
 * stands for object. Returns the slot. */
static inline uint32_t in_setup(struct sl_in *in, uint8_t kind, void *object)
{
	uint32_t slot;

	pool_setup();
	memset(in->cache, 0, sizeof(*in->cache));
	memset(in->stats, 0, sizeof(*in->stats));
	if (!sl_slots)
		assert_int_equal(sl_slots_init(64), 0);
	slot = (uint32_t)sl_slot_new();
	sl_slot_set(slot, kind, object);
	return slot;
}

static inline struct sl_addr addr(const char *text)
{
	struct in6_addr in6;
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) == 1)
		return sl_addr_v4(in.s_addr);
	assert_int_equal(inet_pton(AF_INET6, text, &in6), 1);
	return sl_addr_v6(&in6);
}

/* The fields of a test packet; zeros are replaced by usual values. */
static inline struct sl_udp_build udp_between(const char *src, uint16_t sport, const char *dst,
					      uint16_t dport)
{
	return (struct sl_udp_build){
		.smac = {2, 0, 0, 0, 0, 1},
		.dmac = {2, 0, 0, 0, 0, 2},
		.src = addr(src),
		.dst = addr(dst),
		.sport = sport,
		.dport = dport,
		.ttl = 64,
	};
}

/* A frame of the cache with the packet at offset 256 and its steering record in front. */
static inline struct sl_rx_desc packet(struct sl_frames *cache, const struct sl_udp_build *b,
				       const void *data, uint16_t len, uint32_t slot, uint32_t gen)
{
	struct sl_udp_hdr h;
	struct sl_rx_desc d = {sl_frame_get(cache), 256, 0, false, false};
	struct sl_meta m = {.magic = SL_META_MAGIC, .proto = IPPROTO_UDP};
	uint8_t *payload;

	assert_int_not_equal(d.frame, SL_NO_FRAME);
	sl_build_udp_hdr(&h, b);
	d.len = (uint16_t)(h.len + len);
	payload = sl_frame_ptr(d.frame) + d.off + h.len;
	if (len)
		memcpy(payload, data, len);
	sl_build_udp(&h, payload, len, 1, sl_csum_add(0, payload, len));
	m.l3 = h.l3;
	m.l4 = h.l4;
	m.slot = slot;
	m.gen = gen;
	memcpy(sl_frame_ptr(d.frame) + d.off - sizeof(m), &m, sizeof(m));
	return d;
}

#endif
