/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a datagram's bytes into frames, and puts these on the ring. */
#include "base/guard.h"
#include "sock/core/errq.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/send.h"
#include "stack/leg.h"
#include "wire/csum.h"

/* n bytes from offset off of the caller's buffers. Handed over by value: the compiler keeps it in
 * registers. */
struct slice {
	const struct iovec *iov;
	size_t niov, off, n;
};

static SL_APART bool gather_many(uint8_t *to, struct slice s, bool want, uint64_t *sum)
{
	size_t done = 0;

	for (size_t i = 0; i < s.niov && done < s.n; i++) {
		const struct iovec *v = &s.iov[i];
		size_t part;

		if (s.off >= v->iov_len) {
			s.off -= v->iov_len;
			continue;
		}
		part = sl_min(v->iov_len - s.off, s.n - done);
		if (sl_unlikely(
			    sl_guard_copy(to + done, (const uint8_t *)v->iov_base + s.off, part)))
			return false;
		done += part;
		s.off = 0;
	}
	*sum = want ? sl_csum_add(0, to, s.n) : SL_CSUM_NONE;
	return true;
}

/* sum: the checksum's, if it is wanted, else SL_CSUM_NONE. False: there is no memory at a buffer.
 */
static inline bool gather(uint8_t *to, struct slice s, bool want, uint64_t *sum)
{
	const uint8_t *from = (const uint8_t *)s.iov->iov_base + s.off;

	if (sl_unlikely(s.niov != 1))
		return gather_many(to, s, want, sum);
	if (sl_likely(want)) {
		*sum = sl_csum_copy(0, to, from, s.n);
		return *sum != SL_CSUM_FAULT;
	}
	*sum = SL_CSUM_NONE;
	return !sl_guard_copy(to, from, s.n);
}

/* Counts a datagram that the ring has taken: n bytes, in frames that begin with this one. */
static inline void count_put(struct sl_sock *sk, uint32_t frame, size_t n)
{
	sl_frame_charge(frame, &sl_udp_sk(sk)->wmem, (uint32_t)n + SL_SEND_OVERHEAD);
	sk->stats->tx_pkts++;
	sk->stats->tx_bytes += n;
}

/* Puts the slice on the ring as one datagram. False: no frame, no room, or no memory at a buffer
 * (sl_dgram_send() tells which). */
static inline __attribute__((always_inline)) bool put_one(struct sl_sock *sk, struct sl_lane *lane,
							  const struct sl_path *p, struct slice s,
							  bool wants_sum)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	const size_t n = s.n;
	struct sl_leg *leg = p->leg;
	bool by_device = leg->tx->caps & SL_TX_CSUM;
	struct sl_tx_desc d;
	uint8_t *payload;
	uint64_t sum;

	/* sock_alloc_send_skb(): full when the limit has been reached, so one always fits; and the
	 * segments of one call are one packet there. */
	if (sl_unlikely(sl_load(&us->wmem) >= us->sndbuf) && !s.off)
		return false;
	d.frame = sl_lane_frame(lane);
	if (sl_unlikely(d.frame == SL_NO_FRAME))
		return false;
	payload = sl_frame_ptr(d.frame) + SL_SEND_ROOM;
	if (sl_unlikely(!gather(payload, s, wants_sum && !by_device, &sum))) {
		sl_frame_put(&lane->frames, d.frame);
		return false;
	}
	sl_build_udp(&p->hdr, payload, (uint16_t)n, (*sl_path_ip_id(us, p))++, sum);
	d.off = (uint16_t)(SL_SEND_ROOM - p->hdr.len);
	d.len = (uint16_t)(p->hdr.len + n);
	d.flags = wants_sum && by_device ? SL_TXD_CSUM : 0;
	d.hdr = 0;
	if (sl_unlikely(!sl_leg_post_desc(leg, &d))) {
		sl_frame_put(&lane->frames, d.frame);
		return false;
	}
	count_put(sk, d.frame, n);
	if (sl_unlikely(us->stamps) && s.off == 0)
		sl_errq_posted(sk, leg, &d);
	return true;
}

bool sl_send_straight(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
		      uint64_t now)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	const struct sl_path *p = &us->path;

	if (sl_unlikely(r->niov != 1 || us->tx_odd || us->stamps ||
			(r->msg && r->msg->msg_controllen)))
		return false;
	if (!sl_send_is_same(p, r) || sl_unlikely(!sl_path_is_fresh(p, now) || !p->leg))
		return false;
	if (sl_unlikely(r->len > p->max_payload))
		return false;
	if (sl_unlikely(us->tx_moves))
		sl_sock_count_send(sk);
	return put_one(sk, lane, p, (struct slice){r->iov, 1, 0, r->len}, true);
}

bool sl_send_filled(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
		    uint32_t frame, uint64_t now)
{
	static const struct sl_tx_ctl none = {.tos = -1, .ttl = -1};
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_path *p = &us->path;
	uint8_t *payload = sl_frame_ptr(frame) + SL_SEND_ROOM;
	bool by_device;
	struct sl_tx_desc d = {.frame = frame};

	if (us->tx_odd || us->stamps || (!sl_send_is_same(p, r) && sl_send_find(sk, r, p)))
		return false;
	if (!sl_path_is_fresh(p, now))
		sl_send_make_path(sk, lane, p, &none, now);
	if (!p->leg || r->len > p->max_payload || sl_load(&us->wmem) >= us->sndbuf)
		return false;
	by_device = p->leg->tx->caps & SL_TX_CSUM;
	sl_build_udp(&p->hdr, payload, (uint16_t)r->len, *sl_path_ip_id(us, p),
		     by_device ? SL_CSUM_NONE : sl_csum_add(0, payload, r->len));
	d.off = (uint16_t)(SL_SEND_ROOM - p->hdr.len);
	d.len = (uint16_t)(p->hdr.len + r->len);
	d.flags = by_device ? SL_TXD_CSUM : 0;
	if (!sl_leg_post_desc(p->leg, &d))
		return false;
	++*sl_path_ip_id(us, p);
	count_put(sk, frame, r->len);
	return true;
}

/* In several frames -----------------------------------------------------------------------------
 */

/* (A datagram that is stamped must be one frame.) */
bool sl_send_takes_long(const struct sl_sock *sk, const struct sl_path *p, size_t len)
{
	return p->leg->tx->caps & SL_TX_SG && len <= p->max_long && !sl_udp_sk_const(sk)->stamps;
}

static unsigned frames_of(const struct sl_path *p, size_t n)
{
	return n <= p->max_payload ? 1 : 1 + (unsigned)((n + SL_SEND_ROOM - 1) >> sl_pool.shift);
}

/* Takes frames for n bytes, and sets the length of each. */
static bool take_frames(struct sl_lane *lane, struct sl_tx_desc *d, unsigned nframes, size_t n)
{
	size_t frame = (size_t)1 << sl_pool.shift;

	for (unsigned i = 0; i < nframes; i++) {
		d[i] = (struct sl_tx_desc){.frame = sl_lane_frame(lane),
					   .off = i ? 0 : SL_SEND_ROOM,
					   .flags = i + 1 < nframes ? SL_TXD_MORE : 0};
		d[i].len = (uint16_t)sl_min(n, frame - d[i].off);
		n -= d[i].len;
		if (d[i].frame != SL_NO_FRAME)
			continue;
		while (i--)
			sl_frame_put(&lane->frames, d[i].frame);
		return false;
	}
	return true;
}

/* Fills them with the slice. sum: the checksum's of all, if it is wanted. False: as gather(). */
static bool gather_long(const struct sl_tx_desc *d, unsigned nframes, struct slice part, bool want,
			uint64_t *sum)
{
	uint64_t all = 0, s;

	for (unsigned i = 0; i < nframes; i++) {
		part.n = d[i].len;
		if (!gather(sl_frame_ptr(d[i].frame) + d[i].off, part, want, &s))
			return false;
		if (want) /* (all lengths but the last are even) */
			all = sl_csum_add64(all, s);
		part.off += d[i].len;
	}
	*sum = want ? (all == SL_CSUM_NONE ? 0 : all) : SL_CSUM_NONE;
	return true;
}

static void put_frames(struct sl_lane *lane, const struct sl_tx_desc *d, unsigned nframes)
{
	for (unsigned i = 0; i < nframes; i++)
		sl_frame_put(&lane->frames, d[i].frame);
}

/* put_one() for a datagram that needs several frames. */
static bool put_long(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		     struct slice s, bool wants_sum)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	const size_t n = s.n;
	unsigned nframes = frames_of(p, n);
	struct sl_tx_desc d[SL_TX_BUFS];
	uint64_t sum;

	if ((sl_load(&us->wmem) >= us->sndbuf && !s.off) || !take_frames(lane, d, nframes, n))
		return false;
	if (!gather_long(d, nframes, s, wants_sum, &sum)) {
		put_frames(lane, d, nframes);
		return false;
	}
	sl_build_udp(&p->hdr, sl_frame_ptr(d[0].frame) + SL_SEND_ROOM, (uint16_t)n,
		     (*sl_path_ip_id(us, p))++, sum);
	d[0].off -= p->hdr.len;
	d[0].len += p->hdr.len;
	if (!sl_leg_post_long(p->leg, d, nframes)) {
		put_frames(lane, d, nframes);
		return false;
	}
	count_put(sk, d[0].frame, n);
	return true;
}

/* Segments --------------------------------------------------------------------------------------
 */

/* Puts n bytes from off: one segment, or the whole datagram. */
static bool put_part(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		     const struct sl_tx_req *r, size_t off, size_t n)
{
	bool wants_sum = !(p->hdr.v6 ? sl_udp_sk(sk)->no_csum6 : sl_udp_sk(sk)->no_csum);
	struct slice s = {r->iov, r->niov, off, n};

	if (sl_unlikely(n > p->max_payload))
		return put_long(sk, lane, p, s, wants_sum);
	return put_one(sk, lane, p, s, wants_sum);
}

/* Lets the device work once when the ring, the frames or the send buffer are used up. */
static bool make_ring_room(struct sl_lane *lane, struct sl_leg *leg)
{
	int err = sl_leg_kick(leg);

	sl_tx_reap(leg->tx, &lane->frames);
	return err == 0 || err == -EAGAIN;
}

static bool ring_has_room(struct sl_lane *lane, struct sl_leg *leg, uint32_t n)
{
	return sl_leg_room(leg) >= sl_min(n, (uint32_t)SL_SEND_BURST) &&
	       lane->frames.n + sl_frames_left() >= n;
}

size_t sl_send_put(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		   const struct sl_tx_req *r, size_t seg, bool *ok)
{
	uint32_t segs = (uint32_t)(seg < r->len ? (r->len + seg - 1) / seg : 1);
	uint32_t descs = segs * frames_of(p, seg);
	size_t off = 0;

	/* The kernel has one packet for all of them: half of it is not sent. */
	if (sl_unlikely(descs > 1 && !ring_has_room(lane, p->leg, descs)) &&
	    !(make_ring_room(lane, p->leg) && ring_has_room(lane, p->leg, descs))) {
		*ok = false;
		return 0;
	}
	*ok = true;
	do {
		size_t n = sl_min(seg, r->len - off);

		if (sl_unlikely(!put_part(sk, lane, p, r, off, n)) &&
		    (!make_ring_room(lane, p->leg) || !put_part(sk, lane, p, r, off, n))) {
			*ok = false;
			break;
		}
		off += n;
	} while (off < r->len);
	return off;
}
