/* SPDX-License-Identifier: BSD-2-Clause */
/* The pacer of a TCP connection whose pace a NIC keeps.
 *
 * Theory of operation: data that TCP has not sent stay in its own send queue, where they can still
 * be split, acknowledged and handed back. So the connection posts to the NIC's queue itself, and
 * never more than leaves in AHEAD_NS at the rate (but at least one packet behind the one being
 * sent). This covers a thread that comes late with the next packets; when it was not enough, the
 * limit grows for a while. pace.next_ns is the time when the queue will be empty. It is computed
 * from the bytes posted and corrected by completions: at once if the NIC is ahead of it (a burst),
 * slowly if the NIC is behind, since a late NIC may catch up. It tells TCP when a segment leaves,
 * and from then on round trips and time-outs count.
 *
 * Data, SYN, FIN and RST go by the NIC's queue. Pure ACKs do not: the rate is meant for data sent,
 * and the ACKs of a fast stream in the other direction would not fit into it. ACKs may overtake
 * data posted earlier without harm: they lie in the window, take no sequence space, and
 * acknowledge no less than later ones (RFC 9293 3.10.7.4; Linux' fq does not pace them either).
 *
 * As for other paced packets, the way changes only when the other queue is empty, and TCP waits
 * until then. The wheel sends packets that a failed queue gave back before TCP continues. */
#include "stack/pace_int.h"

#include "base/clock.h"
#include "io/verbs.h"

#define AHEAD_NS 4000000ull
/* Limit of the additional time; it halves within some seconds. */
#define MORE_NS    12000000ull
#define MORE_SHIFT 10
/* The NIC paces only if one packet takes no longer than this: a hand back to the kernel waits
 * until the queue is empty. */
#define SLOWEST_NS 20000000ull
/* A NIC slower than its rate: next_ns is moved by one part in FOLLOW, at most STEP_NS at a time. */
#define FOLLOW     32
#define STEP_NS    (AHEAD_NS / 4)
#define BYTE_SHIFT 20
#define LEAST_ROOM (SL_PACE_DEPTH / 4)

/* Time that `bytes` take at the rate. The product cannot overflow for what the queue can hold. */
static uint64_t ns_of(struct sl_pacer *p, uint64_t bytes)
{
	if (sl_unlikely(p->byte_rate != p->pace.bytes_s)) {
		p->byte_rate = p->pace.bytes_s;
		p->byte_ns = p->byte_rate ? (1000000000ull << BYTE_SHIFT) / p->byte_rate : 0;
	}
	return bytes * p->byte_ns >> BYTE_SHIFT;
}

static uint64_t burst_ns(struct sl_pacer *p)
{
	return ns_of(p, sl_min(p->ask.burst_bytes, SL_PACE_DEPTH * 65536u));
}

/* Bytes in the queue, as far as completions tell. */
static uint32_t under_way(const struct sl_pacer *p)
{
	uint32_t done = sl_verbs_done(p->nic);

	if (done == sl_verbs_posted(p->nic))
		return 0;
	return p->total - p->upto[(done - 1) & (SL_PACE_DEPTH - 1)];
}

/* Bytes that surely have not left: only the last packet of a kick has a completion
 * (io/verbs_tx.c). */
static uint32_t behind(struct sl_pacer *p)
{
	uint32_t i = sl_verbs_done(p->nic);

	if ((int32_t)(p->next_end - i) > 0)
		i = p->next_end;
	while ((int32_t)(p->kicked - i) > 0 && !p->ends[i & (SL_PACE_DEPTH - 1)])
		i++;
	p->next_end = i;
	return i == sl_verbs_posted(p->nic) ? 0 : p->total - p->upto[(i - 1) & (SL_PACE_DEPTH - 1)];
}

/* The rate ---------------------------------------------------------------------------------------
 */

void sl_pacer_follow(struct sl_pacer *p, struct sl_leg *leg, const struct sl_pace_ask *ask,
		     uint32_t frame_bytes)
{
	uint64_t frame_ns = ask->bytes_s ? frame_bytes * 1000000000ull / ask->bytes_s : 0;

	p->direct = true;
	p->frame_bytes = frame_bytes;
	sl_pacer_leg(p, leg);
	if (frame_ns > SLOWEST_NS) {
		p->ask.bytes_s = 0;
		sl_pace_set(&p->pace, ask->bytes_s, ask->burst_bytes, sl_now_ns());
		sl_pace_nic_leave(p);
	} else if (!sl_pace_ask_is_same(&p->ask, ask)) {
		sl_pacer_set(p, ask);
	}
	sl_pacer_run(p);
}

bool sl_pacer_leave(struct sl_pacer *p)
{
	sl_pace_nic_leave(p);
	sl_pacer_run(p);
	return sl_pace_is_by_wheel(p) && !p->waiting;
}

bool sl_pacer_is_idle(const struct sl_pacer *p)
{
	return sl_pace_is_by_wheel(p) && !p->waiting && !p->nic && !p->asks && !p->opening;
}

bool sl_pacer_is_by_nic(const struct sl_pacer *p)
{
	return p->way == SL_WAY_NIC;
}

const struct sl_pace *sl_pacer_pace(const struct sl_pacer *p)
{
	return &p->pace;
}

/* Posting ----------------------------------------------------------------------------------------
 */

static void set_right(struct sl_pacer *p, uint64_t now_ns, uint32_t bytes)
{
	uint64_t behind_ns = ns_of(p, behind(p)), least_ns, most_ns, late_ns;

	/* A packet leaves at the beginning of the time that the rate gives it. */
	most_ns = now_ns + ns_of(p, bytes + p->frame_bytes);
	p->pace.next_ns = sl_min(p->pace.next_ns, most_ns);
	least_ns = now_ns + behind_ns - sl_min(behind_ns, burst_ns(p));
	if (p->pace.next_ns >= least_ns)
		return;
	p->followed_ns = sl_max(p->followed_ns, now_ns - FOLLOW * STEP_NS);
	late_ns = sl_min(least_ns - p->pace.next_ns, (now_ns - p->followed_ns) / FOLLOW);
	p->pace.next_ns += late_ns;
	p->followed_ns += late_ns * FOLLOW;
}

static void be_filled(struct sl_pacer *p)
{
	if (p->full)
		p->more_ns -= p->more_ns >> MORE_SHIFT;
	p->full = false;
}

/* When to post the next packet. */
static uint64_t when(struct sl_pacer *p, uint64_t now_ns)
{
	uint32_t bytes = under_way(p);
	uint64_t least_ns = sl_max(AHEAD_NS, ns_of(p, p->frame_bytes)), ahead_ns, left_ns;

	set_right(p, now_ns, bytes);
	left_ns = p->pace.next_ns > now_ns ? p->pace.next_ns - now_ns : 0;
	if (p->full && !bytes) /* the NIC ran out of packets */
		p->more_ns = sl_min(p->more_ns + AHEAD_NS, MORE_NS);
	ahead_ns = least_ns + p->more_ns;
	/* Post several packets at once instead of one for each ACK. */
	if (left_ns > ahead_ns)
		p->full = true;
	else if (left_ns <= ahead_ns / 4 * 3)
		be_filled(p);
	if (p->full)
		return p->pace.next_ns - ahead_ns / 4 * 3;
	/* The NIC is slower than its rate, or stands still. */
	if (ns_of(p, bytes) > ahead_ns + 2 * least_ns)
		return now_ns + SL_PACE_RETRY_NS;
	if (p->nic->ops->room(p->nic) < LEAST_ROOM)
		return now_ns + sl_max(left_ns / 2, SL_WHEEL_TICK_US * 1000ull);
	return now_ns;
}

bool sl_pacer_until(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns, uint64_t *at_ns)
{
	if (!sl_pace_is_by_wheel(p)) {
		sl_pace_nic_look(p, now_ns, due_ns);
		if (sl_pace_is_by_wheel(p))
			sl_pacer_run(p);
	}
	*at_ns = now_ns + SL_PACE_RETRY_NS;
	if (p->way == SL_WAY_NIC)
		*at_ns = when(p, now_ns);
	else if (!sl_pace_is_by_wheel(p))
		*at_ns = sl_pace_nic_next(p, now_ns);
	return !sl_pace_wheel_lets_go(p) || p->waiting;
}

struct sl_leg *sl_pacer_way(struct sl_pacer *p, struct sl_leg *leg)
{
	if (p->way == SL_WAY_NIC || p->way == SL_WAY_TO_WHEEL)
		return p->nic_leg;
	return sl_pace_is_by_wheel(p) && p->waiting ? p->gate[0].leg : leg;
}

static void want_start(struct sl_pacer *p)
{
	if (sl_list_empty(&p->posted))
		sl_list_add_tail(&p->lane->pace->posted, &p->posted);
}

uint64_t sl_pacer_posted(struct sl_pacer *p, struct sl_leg *leg, uint32_t bytes, uint64_t now_ns)
{
	uint64_t leaves_ns = sl_max(p->pace.next_ns, now_ns), early_ns;
	uint32_t last;

	if (leg == p->gate[0].leg)
		sl_leg_kick(leg);
	if (p->way == SL_WAY_TO_NIC || leg == p->nic_leg)
		want_start(p);
	if (leg != p->nic_leg)
		return 0;
	p->total += bytes;
	last = (sl_verbs_posted(p->nic) - 1) & (SL_PACE_DEPTH - 1);
	p->upto[last] = p->total;
	p->ends[last] = false;
	p->nic_pkts++;
	p->nic_bytes += bytes;
	p->pace.next_ns = leaves_ns + ns_of(p, bytes);
	/* An estimate not later than the truth: the NIC sends a burst at once. */
	early_ns = burst_ns(p);
	return leaves_ns > now_ns + early_ns ? leaves_ns - early_ns : now_ns;
}

static void start(struct sl_pacer *p)
{
	p->kicked = sl_verbs_posted(p->nic);
	p->ends[(p->kicked - 1) & (SL_PACE_DEPTH - 1)] = true;
	sl_pace_nic_start(p);
}

void sl_lane_pace_start(struct sl_lane *lane)
{
	sl_list_for_each_safe (it, &lane->pace->posted) {
		struct sl_pacer *p = sl_container_of(it, struct sl_pacer, posted);

		sl_list_del(it);
		if (p->way == SL_WAY_TO_NIC)
			sl_pace_nic_passed(p);
		else if (!sl_pace_is_by_wheel(p))
			start(p);
		if (sl_pace_is_by_wheel(p))
			sl_pacer_run(p);
	}
}
