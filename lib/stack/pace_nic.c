/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing by the NIC: a queue pair with a rate limit.
 *
 * Theory of operation: the NIC limits the rate of a whole queue, so each paced socket has a queue
 * of its own; equal rates share an entry in the device's table of rates. The keeper opens the
 * queue, since that takes milliseconds, and one in a round: it runs timers between them. The wheel
 * paces until the queue is there, and where none is possible (another device, a rate out of range,
 * the table full, no more queues). Packets are never reordered: the first packet to the new queue
 * waits until earlier ones have left the lane's queue, and the wheel sends its first packet when
 * the NIC's queue is empty. A new rate is set on the same queue. When a queue fails, packets that
 * surely have not left return to the wheel. A TCP connection posts to its queue itself
 * (pace_tcp.c). */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "io/verbs.h"
#include "net/rtnl.h"
#include "stack/due.h"
#include "stack/pace_int.h"
#include "stack/tap.h"

/* SL_WAY_TO_NIC: a packet that comes at most this late counts as punctual. */
#define SLACK_NS (2 * SL_WHEEL_TICK_US * 1000ull)
/* After the queue was opened: how long to insist on a punctual packet, and after which time to
 * hold packets back until the lane's queue is empty. */
#define PUNCTUAL_NS SL_PACE_LATE_NS
#define HOLD_NS     (2 * SL_PACE_LATE_NS)

static uint32_t work; /* pacers that the keeper has something to do for; atomic */

static void call_keeper(void)
{
	__atomic_fetch_add(&work, 1, __ATOMIC_RELEASE);
	sl_rtnl_wake();
}

void sl_pace_nic_want(struct sl_pacer *p)
{
	const struct sl_leg *real = p->gate[0].real;

	if (p->ngates != 1 || p->nic || p->opening || p->orphan || !sl_leg_is_by_nic(real))
		return;
	p->wants_nic = false;
	p->asks = true;
	call_keeper();
}

/* Completions --------------------------------------------------------------------------------- */

/* Measures the rate, with the average packet size. */
static void measure(struct sl_pacer *p, unsigned n, uint64_t now_ns)
{
	if (p->nic_ns && n) {
		p->pace.busy_bytes += p->nic_bytes / p->nic_pkts * n;
		p->pace.busy_ns += now_ns - p->nic_ns;
	}
	if (n || !p->nic_ns)
		p->nic_ns = sl_verbs_is_idle(p->nic) ? 0 : now_ns;
}

static void reap(struct sl_pacer *p, uint64_t now_ns)
{
	unsigned n = sl_tx_reap(p->nic, &p->lane->frames);

	measure(p, n, now_ns);
}

void sl_lane_pace_reap(struct sl_lane *lane)
{
	uint64_t now_ns = sl_now_ns();

	sl_list_for_each (it, &lane->pace->nics) {
		reap(sl_container_of(it, struct sl_pacer, nic_node), now_ns);
	}
}

/* Ways ----------------------------------------------------------------------------------------- */

/* The NIC kept the pace until now, so the wheel starts afresh and makes up for nothing. */
static void to_wheel(struct sl_pacer *p)
{
	p->way = SL_WAY_WHEEL;
	sl_pace_idle(&p->pace, sl_now_ns());
	sl_pacer_show(p);
	call_keeper(); /* the keeper closes the queue */
}

/* Packets that surely have not left return to the wheel, in front of those that wait. */
static void fail(struct sl_pacer *p)
{
	struct sl_tx_desc d[SL_PACE_DEPTH];
	unsigned n = sl_verbs_unsent(p->nic, d, SL_PACE_DEPTH);

	sl_warn("pace", "lane %u: a socket is paced by the lane's wheel from now on: %s",
		p->lane->id, sl_verbs_dead(p->nic));
	while (n--)
		sl_pacer_push_back(p, &d[n]);
	to_wheel(p);
}

void sl_pace_nic_start(struct sl_pacer *p)
{
	if (p->nic->ops->kick(p->nic) == -EIO)
		SL_ROOMY(fail, p);
	if (sl_unlikely(!p->lane->watched))
		sl_lane_watch(p->lane);
	if (p->way == SL_WAY_NIC)
		measure(p, 0, sl_now_ns());
}

/* True: everything that the wheel sent has left, and the next packet is due now, not a while ago.
 */
static bool may_turn_to_nic(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns)
{
	p->beside->ops->reap(p->beside, &p->lane->frames);
	if (!sl_verbs_has_done(p->beside, p->mark))
		p->beside->ops->settle(p->beside);
	p->holds = now_ns >= p->queue_ns + HOLD_NS;
	return sl_verbs_has_done(p->beside, p->mark) && due_ns <= now_ns &&
	       (due_ns + SLACK_NS >= now_ns || now_ns >= p->queue_ns + PUNCTUAL_NS);
}

/* True: the way has changed. False: not yet. */
static bool has_arrived(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns)
{
	if (sl_verbs_dead(p->nic)) {
		SL_ROOMY(fail, p);
		return true;
	}
	if (p->way == SL_WAY_TO_WHEEL) {
		if (!sl_verbs_is_idle(p->nic))
			return false;
		to_wheel(p);
		return true;
	}
	if (p->gate[0].real->tx != p->beside) { /* the lane no longer uses the NIC's queue */
		to_wheel(p);
		return true;
	}
	if (!may_turn_to_nic(p, now_ns, due_ns))
		return false;
	p->way = SL_WAY_NIC;
	sl_pacer_show(p);
	return true;
}

void sl_pace_nic_passed(struct sl_pacer *p)
{
	if (p->gate[0].real->tx != p->beside)
		return;
	p->mark = sl_verbs_posted(p->beside);
	sl_leg_kick(p->gate[0].real);
	p->beside->ops->settle(p->beside);
}

/* When half of the queue has left: a sender that waits for room must refill it before it is empty,
 * even if it comes late. */
uint64_t sl_pace_nic_next(const struct sl_pacer *p, uint64_t now_ns)
{
	uint64_t pkts = sl_verbs_posted(p->nic) - sl_verbs_done(p->nic), half_ns;

	if (p->way == SL_WAY_TO_NIC)
		return now_ns + SLACK_NS;
	if (!pkts || !p->nic_pkts || !p->pace.bytes_s)
		return now_ns + SL_PACE_RETRY_NS;
	half_ns = p->nic_bytes / p->nic_pkts * pkts * 500000000 / p->pace.bytes_s;
	half_ns = sl_max(half_ns, SL_WHEEL_TICK_US * 1000ull);
	return now_ns + sl_min(half_ns, SL_PACE_RETRY_NS);
}

void sl_pace_nic_look(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns)
{
	reap(p, now_ns);
	if (p->way != SL_WAY_NIC || sl_unlikely(sl_verbs_dead(p->nic) != NULL))
		has_arrived(p, now_ns, due_ns);
}

uint32_t sl_pace_nic_go(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns)
{
	uint32_t n = 0;

	reap(p, now_ns);
	if (p->way != SL_WAY_NIC && !has_arrived(p, now_ns, due_ns))
		return 0;
	for (; p->way == SL_WAY_NIC && p->waiting; n++) {
		struct sl_tx_desc d = sl_pacer_first(p);

		if (!sl_pacer_post(p->nic_leg, &d))
			break;
		sl_pacer_pop(p);
		p->nic_pkts++;
		p->nic_bytes += d.len;
	}
	if (p->way == SL_WAY_NIC)
		sl_pace_nic_start(p);
	return n;
}

/* Another rate -------------------------------------------------------------------------------- */

void sl_pace_nic_set(struct sl_pacer *p)
{
	int err, saved = errno;

	p->wants_nic = p->ask.bytes_s != 0;
	if (!p->nic || sl_pace_is_by_wheel(p))
		return;
	p->wants_nic = false;
	err = sl_verbs_set_rate(p->nic, &p->ask);
	errno = saved;
	p->nic_ns = 0;
	if (err || !p->ask.bytes_s)
		p->way = SL_WAY_TO_WHEEL;
	else if (p->way == SL_WAY_TO_WHEEL)
		p->way = SL_WAY_NIC;
	if (err)
		sl_warn("pace", "%u kbit/s is paced by the lane's wheel: %s",
			(uint32_t)(p->ask.bytes_s / 125), strerrorname_np(-err));
}

void sl_pace_nic_leave(struct sl_pacer *p)
{
	p->wants_nic = p->asks = false;
	if (p->nic && !sl_pace_is_by_wheel(p))
		p->way = SL_WAY_TO_WHEEL;
}

/* Run by the keeper --------------------------------------------------------------------------- */

/* Call only if the queue holds no packet that is not sent. */
static void close_queue(struct sl_pacer *p)
{
	p->nic->ops->close(p->nic, &p->lane->frames);
	p->nic = NULL;
	sl_list_del(&p->nic_node);
	sl_list_del(&p->posted);
	sl_pacer_end(p);
}

/* Slow: the lane is not held. */
static struct sl_tx *open_paced_queue(struct sl_tx *beside, const struct sl_pace_ask *ask)
{
	struct sl_verbs_want want = {.depth = SL_PACE_DEPTH,
				     .inline_bytes = (uint32_t)sl_settings.tx_max_inline};
	struct sl_frames none = {0};
	const char *why = NULL;
	struct sl_tx *tx = NULL;
	int err = sl_verbs_may_pace(beside, ask);

	if (!err) {
		tx = sl_verbs_open_beside(beside, &want, &why);
		err = tx ? sl_verbs_set_rate(tx, ask) : 0;
	}
	if (tx && !err)
		return tx;
	sl_warn("pace", "%u kbit/s is paced by the lane's wheel: %s",
		(uint32_t)(ask->bytes_s / 125), err ? strerrorname_np(-err) : why);
	if (tx)
		tx->ops->close(tx, &none);
	return NULL;
}

/* The lane was not held meanwhile: true if the queue is still wanted; sets a changed rate. */
static bool is_good(const struct sl_pacer *p, struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	const struct sl_leg *real = p->gate[0].real;

	if (!tx || p->orphan || p->ngates != 1 || !p->ask.bytes_s || real->tx != p->beside)
		return false;
	return sl_pace_ask_is_same(&p->ask, ask) || sl_verbs_set_rate(tx, &p->ask) == 0;
}

static void take_queue(struct sl_pacer *p, struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	struct sl_lane *lane = p->lane;

	p->opening = p->wants_nic = false;
	if (!is_good(p, tx, ask)) {
		if (tx)
			tx->ops->close(tx, &lane->frames);
		sl_pacer_end(p);
		return;
	}
	p->nic = tx;
	*p->nic_leg = (struct sl_leg){.port = p->gate[0].real->port, .lane = lane, .tx = tx};
	p->nic_pkts = p->nic_bytes = p->nic_ns = 0;
	p->more_ns = 0;
	p->total = p->next_end = p->kicked = 0;
	p->full = false;
	memset(p->upto, 0, sizeof(p->upto));
	p->mark = sl_verbs_posted(p->beside);
	p->queue_ns = p->followed_ns = sl_now_ns();
	p->holds = false;
	p->way = SL_WAY_TO_NIC;
	sl_list_add_tail(&lane->pace->nics, &p->nic_node);
	sl_lane_tap(lane);
	sl_pacer_run(p);
}

/* A pacer of the lane whose queue the keeper must open or close, or NULL. */
static struct sl_pacer *next_work(struct sl_lane *lane)
{
	sl_list_for_each (it, &lane->pace->pacers) {
		struct sl_pacer *p = sl_container_of(it, struct sl_pacer, node);

		if (p->asks || (p->nic && sl_pace_is_by_wheel(p)))
			return p;
	}
	return NULL;
}

/* Opens or closes one queue, if *arg says that none was yet, and asks for another round if the lane
 * has more. */
static void serve(struct sl_lane *lane, void *arg)
{
	bool *served = arg;
	struct sl_pace_ask ask;
	struct sl_pacer *p;
	struct sl_tx *tx;

	if (!sl_lane_lock(lane))
		return;
	p = next_work(lane);
	if (p && *served) {
		call_keeper();
	} else if (p && p->nic) {
		close_queue(p);
	} else if (p) {
		p->asks = false;
		p->opening = true;
		p->beside = p->gate[0].real->tx;
		ask = p->ask;
		sl_lane_unlock(lane);
		tx = open_paced_queue(p->beside, &ask);
		if (!sl_lane_lock(lane))
			return;
		take_queue(p, tx, &ask);
	}
	if (p && !*served && next_work(lane))
		call_keeper();
	*served |= p != NULL;
	sl_lane_unlock(lane);
}

void sl_pace_nic_serve(void)
{
	bool served = false;

	if (__atomic_exchange_n(&work, 0, __ATOMIC_ACQUIRE))
		sl_lane_for_each(serve, &served);
}

bool sl_lane_pace_check(struct sl_lane *lane, uint64_t now_ns)
{
	bool under_way = false;

	sl_list_for_each_safe (it, &lane->pace->nics) {
		struct sl_pacer *p = sl_container_of(it, struct sl_pacer, nic_node);

		reap(p, now_ns);
		sl_verbs_check(p->nic, now_ns);
		if (sl_verbs_dead(p->nic) && !sl_pace_is_by_wheel(p)) {
			SL_ROOMY(fail, p);
			sl_pacer_run(p);
		} else {
			under_way |= !sl_verbs_is_idle(p->nic);
		}
	}
	return under_way;
}
