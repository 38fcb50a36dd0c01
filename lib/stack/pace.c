/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing on the lane's timing wheel.
 *
 * Theory of operation: the frames of a paced socket wait in its pacer's queue, linked by number,
 * and count against the socket's send buffer like packets under way. A thread that makes a turn of
 * the lane or sends on the socket sends what is due; if no thread does, the keeper wakes for it
 * (due.c). Where the NIC can pace, it does (pace_nic.c). A pacer outlives its socket until its
 * queue is empty. Pacers are never freed but reused, since one may end in a turn made by a signal
 * handler. */
#include "stack/pace.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/sys.h"
#include "io/verbs.h"
#include "stack/due.h"
#include "stack/pace_int.h"

#define FEW_PKTS 8 /* each pacer may queue this many, however full the others are */

/* For each frame: the next frame in the queue, and its packet. */
struct waiting {
	uint32_t next;
	uint16_t off, len;
	uint32_t gate;
};
static struct waiting *waiting;
static uint32_t nwaiting; /* of all lanes; atomic */

static struct sl_lock lock; /* guards `spare` and the allocation of the table */
static struct sl_list spare = {&spare, &spare};
static const struct sl_tx_ops gate_ops;

static uint32_t max_waiting(void)
{
	return sl_pool.nframes / 4;
}

/* Making --------------------------------------------------------------------------------------- */

static struct sl_pacer *make(void)
{
	struct sl_pacer *p =
		sl_calloc(1, sizeof(*p) + (SL_STATS_PORTS + 1) * sizeof(struct sl_leg));

	if (!p)
		return NULL;
	p->nic_leg = (struct sl_leg *)(p + 1);
	for (unsigned i = 0; i < SL_STATS_PORTS; i++)
		p->gate[i].leg = p->nic_leg + 1 + i;
	return p;
}

static struct sl_pacer *take_spare(void)
{
	struct sl_list *n = spare.next;

	if (n == &spare)
		return make();
	sl_list_del(n);
	return sl_container_of(n, struct sl_pacer, node);
}

struct sl_pacer *sl_pacer_new(struct sl_sock_stats *stats)
{
	struct sl_pacer *p = NULL;

	if (!sl_lock(&lock))
		return NULL;
	if (!waiting)
		waiting = sl_calloc(sl_pool.nframes, sizeof(*waiting));
	if (waiting)
		p = take_spare();
	sl_unlock(&lock);
	if (!p)
		return NULL;
	sl_list_init(&p->node);
	sl_list_init(&p->told);
	sl_list_init(&p->room);
	sl_timer_init(&p->timer);
	p->lane = NULL;
	p->stats = stats;
	p->pace = (struct sl_pace){0};
	p->ask = (struct sl_pace_ask){0};
	p->orphan = p->called = false;
	sl_list_init(&p->nic_node);
	sl_list_init(&p->posted);
	p->direct = false;
	p->byte_rate = p->byte_ns = 0;
	p->way = SL_WAY_WHEEL;
	p->wants_nic = p->asks = p->opening = false;
	p->ngates = 0;
	return p;
}

void sl_pacer_end(struct sl_pacer *p)
{
	if (!p->orphan || p->waiting || p->nic || p->opening)
		return;
	if (p->lane)
		sl_timer_cancel(&p->lane->pace->wheel, &p->timer);
	sl_list_del(&p->node);
	if (!sl_lock(&lock))
		return; /* leaked, not reused */
	sl_list_add_tail(&spare, &p->node);
	sl_unlock(&lock);
}

struct sl_pace_ask sl_pacer_ask(const struct sl_pacer *p)
{
	return p->ask;
}

static void join_lane(struct sl_pacer *p, struct sl_lane *lane)
{
	p->lane = lane;
	sl_list_add_tail(&lane->pace->pacers, &p->node);
}

struct sl_leg *sl_pacer_leg(struct sl_pacer *p, struct sl_leg *leg)
{
	struct sl_pace_gate *g = NULL;

	if (!p->lane)
		join_lane(p, leg->lane);
	for (uint32_t i = 0; i < p->ngates && !g; i++)
		if (p->gate[i].real == leg)
			g = &p->gate[i];
	if (!g) {
		if (p->ngates == SL_STATS_PORTS)
			return leg;
		g = &p->gate[p->ngates++];
		if (p->ngates > 1)
			sl_pace_nic_leave(p);
		g->pacer = p;
		g->real = leg;
		*g->leg = (struct sl_leg){.lane = leg->lane, .tx = &g->tx};
	}
	g->tx = (struct sl_tx){.ops = &gate_ops,
			       .caps = SL_TX_WAITS | (leg->tx->caps & SL_TX_STAMP)};
	g->leg->port = leg->port;
	g->leg->dead = leg->dead;
	return g->leg;
}

/* The queue ------------------------------------------------------------------------------------ */

static bool is_full(const struct sl_pacer *p)
{
	return p->waiting >= FEW_PKTS && sl_load(&nwaiting) >= max_waiting();
}

static void push(struct sl_pacer *p, uint32_t gate, const struct sl_tx_desc *d)
{
	waiting[d->frame] = (struct waiting){.off = d->off, .len = d->len, .gate = gate};
	if (p->waiting)
		waiting[p->tail].next = d->frame;
	else
		p->head = d->frame;
	p->tail = d->frame;
	p->waiting++;
	__atomic_fetch_add(&nwaiting, 1, __ATOMIC_RELAXED);
}

void sl_pacer_push_back(struct sl_pacer *p, const struct sl_tx_desc *d)
{
	waiting[d->frame] = (struct waiting){.next = p->head, .off = d->off, .len = d->len};
	p->head = d->frame;
	if (!p->waiting++)
		p->tail = d->frame;
	__atomic_fetch_add(&nwaiting, 1, __ATOMIC_RELAXED);
}

struct sl_tx_desc sl_pacer_first(const struct sl_pacer *p)
{
	const struct waiting *w = &waiting[p->head];

	return (struct sl_tx_desc){.frame = p->head, .off = w->off, .len = w->len};
}

void sl_pacer_pop(struct sl_pacer *p)
{
	p->head = waiting[p->head].next;
	p->waiting--;
	__atomic_fetch_sub(&nwaiting, 1, __ATOMIC_RELAXED);
}

/* Tells the caller that asked for it when a packet leaves the queue. */
void (*sl_pace_on_posted)(struct sl_leg *leg, const struct sl_tx_desc *d);

bool sl_pacer_post(struct sl_leg *leg, const struct sl_tx_desc *d)
{
	if (leg->tx->ops->post(leg->tx, d, 1) != 1)
		return false;
	if (sl_unlikely(sl_pool.charge[d->frame].tag))
		sl_pace_on_posted(leg, d);
	return true;
}

/* Posts the first packet to the device, or drops it if the device is gone. False: no room. */
static bool pass_on(struct sl_pacer *p)
{
	struct sl_pace_gate *g = &p->gate[waiting[p->head].gate];
	struct sl_tx_desc d = sl_pacer_first(p);

	if (sl_unlikely(g->real->dead)) {
		g->leg->dead = true;
		sl_frame_sent(&p->lane->frames, d.frame);
		return true;
	}
	if (sl_pacer_post(g->real, &d))
		return true;
	sl_leg_kick(g->real);
	sl_tx_reap(g->real->tx, &p->lane->frames);
	return sl_pacer_post(g->real, &d);
}

/* True: the timer must watch the NIC's queue, which is closed once empty; no other thread looks. */
static bool is_leaving(const struct sl_pacer *p)
{
	return p->nic && (p->orphan || (p->direct && p->way == SL_WAY_TO_WHEEL));
}

static void arm(struct sl_pacer *p, uint64_t now_ns, bool stuck)
{
	uint64_t at_ns = stuck ? now_ns + SL_PACE_RETRY_NS : p->pace.next_ns;

	if (!sl_pace_wheel_lets_go(p))
		at_ns = sl_pace_nic_next(p, now_ns);
	if (!p->waiting && sl_list_empty(&p->room) && !is_leaving(p)) {
		sl_timer_cancel(&p->lane->pace->wheel, &p->timer);
		return;
	}
	if (!p->waiting && at_ns <= now_ns)
		at_ns = now_ns + SL_PACE_RETRY_NS;
	sl_timer_arm(&p->lane->pace->wheel, &p->timer, (at_ns + 999) / 1000);
}

static void tell(struct sl_pacer *p, uint32_t pkts)
{
	struct sl_sock_stats *s = p->stats;

	s->pace_pkts += pkts;
	s->pace_queue_pkts = p->waiting;
	s->pace_busy_bytes = p->pace.busy_bytes;
	s->pace_busy_ns = p->pace.busy_ns;
}

/* Posts what is due without starting it; returns how many packets. May free an orphan pacer. */
static uint32_t let_go(struct sl_pacer *p, uint64_t now_ns, bool waited)
{
	uint32_t n = 0;
	bool stuck = false;

	if (sl_unlikely(p->wants_nic))
		sl_pace_nic_want(p);
	if (!sl_pace_is_by_wheel(p))
		n = sl_pace_nic_go(p, now_ns,
				   waited ? p->pace.next_ns : sl_max(p->pace.next_ns, now_ns));
	while (sl_pace_wheel_lets_go(p) && p->waiting && sl_pace_may(&p->pace, now_ns)) {
		uint32_t len = waiting[p->head].len;

		stuck = !pass_on(p);
		if (stuck)
			break;
		sl_pacer_pop(p);
		sl_pace_sent(&p->pace, len, now_ns, waited);
		n++;
	}
	if (sl_unlikely(p->way == SL_WAY_TO_NIC && n))
		sl_pace_nic_passed(p);
	tell(p, n);
	arm(p, now_ns, stuck);
	if (sl_unlikely(p->orphan))
		sl_pacer_end(p);
	return n;
}

/* Starts the packets just posted. */
static void kick(struct sl_lane *lane)
{
	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->tx->posted || sl_unlikely(lane->leg[i]->again))
			sl_leg_kick(lane->leg[i]);
}

static void tell_keeper(struct sl_lane *lane)
{
	uint64_t next_us = sl_wheel_soonest_us(&lane->pace->wheel);

	if (next_us == UINT64_MAX)
		return;
	if (!lane->paced)
		sl_store(&lane->pace_next_us, UINT64_MAX);
	sl_store(&lane->paced, true);
	sl_lane_due(&lane->pace_next_us, next_us, SL_WHEEL_TICK_US);
}

/* The gate as a send backend ------------------------------------------------------------------ */

static unsigned gate_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_pace_gate *g = sl_container_of(tx, struct sl_pace_gate, tx);
	struct sl_pacer *p = g->pacer;
	unsigned i;

	for (i = 0; i < n && !is_full(p); i++)
		push(p, (uint32_t)(g - p->gate), &descs[i]);
	tx->posted += i;
	return i;
}

static int gate_kick(struct sl_tx *tx)
{
	struct sl_pace_gate *g = sl_container_of(tx, struct sl_pace_gate, tx);
	struct sl_pacer *p = g->pacer;

	/* If nothing waited before these packets, they are not late. */
	bool waited = p->waiting > tx->posted || p->called;

	tx->posted = 0;
	p->called = false;
	if (let_go(p, sl_now_ns(), waited))
		kick(p->lane);
	tell_keeper(p->lane);
	return g->real->dead ? -ENODEV : 0;
}

static unsigned gate_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_leg *real = sl_container_of(tx, struct sl_pace_gate, tx)->real;

	if (!sl_list_empty(&real->lane->pace->nics))
		sl_lane_pace_reap(real->lane);
	return real->tx->unreaped ? real->tx->ops->reap(real->tx, cache) : 0;
}

static void gate_settle(struct sl_tx *tx)
{
	struct sl_tx *real = sl_container_of(tx, struct sl_pace_gate, tx)->real->tx;

	if (real->ops->settle)
		real->ops->settle(real);
}

static void gate_close(struct sl_tx *tx, struct sl_frames *cache)
{
	(void)tx;
	(void)cache; /* a gate has no resources */
}

static const struct sl_tx_ops gate_ops = {
	.name = "pace",
	.post = gate_post,
	.kick = gate_kick,
	.reap = gate_reap,
	.settle = gate_settle,
	.close = gate_close,
};

/* Calls by sockets ----------------------------------------------------------------------------- */

void sl_pacer_show(struct sl_pacer *p)
{
	enum sl_stat_pace how = p->way == SL_WAY_NIC ? SL_PACE_HARDWARE : SL_PACE_SOFTWARE;

	p->stats->pace_rate = p->ask.bytes_s;
	p->stats->pace_burst_bytes = p->ask.burst_bytes;
	p->stats->pace_how = p->ask.bytes_s ? how : SL_PACE_NONE;
}

void sl_pacer_run(struct sl_pacer *p)
{
	struct sl_lane *lane = p->lane;

	if (let_go(p, sl_now_ns(), true))
		kick(lane);
	tell_keeper(lane);
}

void sl_pacer_set(struct sl_pacer *p, const struct sl_pace_ask *ask)
{
	p->ask = *ask;
	sl_pace_set(&p->pace, ask->bytes_s, ask->burst_bytes, sl_now_ns());
	sl_pace_nic_set(p);
	sl_pacer_show(p);
	if (p->waiting)
		sl_pacer_run(p);
}

void sl_pacer_block(struct sl_pacer *p, struct sl_list *entry)
{
	sl_list_add_tail(&p->room, entry);
	arm(p, sl_now_ns(), false);
	tell_keeper(p->lane);
}

bool sl_pacer_pass(struct sl_pacer *p, struct sl_lane *lane, uint32_t bytes)
{
	uint64_t now_ns = sl_now_ns();

	if (!p->lane)
		join_lane(p, lane);
	if (p->waiting || !sl_pace_may(&p->pace, now_ns) || (p->nic && !sl_verbs_is_idle(p->nic)))
		return false;
	sl_pace_sent(&p->pace, bytes, now_ns, p->called);
	p->called = false;
	return true;
}

void sl_pacer_flush(struct sl_pacer *p)
{
	static const struct sl_pace_ask none;

	sl_pacer_set(p, &none);
}

void sl_pacer_put(struct sl_pacer *p)
{
	p->stats = sl_stats_sock_none();
	p->orphan = true;
	sl_pace_nic_leave(p);
	if (p->nic)
		sl_pacer_run(p);
	else
		sl_pacer_end(p);
}

/* Turns ---------------------------------------------------------------------------------------- */

struct run {
	uint64_t now_ns;
	struct sl_list told;
};

static void fire(struct sl_timer *t, void *arg)
{
	struct sl_pacer *p = sl_container_of(t, struct sl_pacer, timer);
	struct run *r = arg;

	if (!sl_list_empty(&p->room))
		sl_list_add_tail(&r->told, &p->told);
	let_go(p, r->now_ns, true);
}

/* Wakes waiting senders: packets charged to them may have left. */
static void tell_senders(struct sl_lane *lane, struct sl_list *told)
{
	sl_lane_reap(lane);
	sl_list_for_each_safe (it, told) {
		struct sl_pacer *p = sl_container_of(it, struct sl_pacer, told);

		sl_list_del(it);
		lane->on_room(p->room.next);
		p->called = sl_list_empty(&p->room);
		arm(p, sl_now_ns(), false);
	}
}

void sl_lane_pace_turn(struct sl_lane *lane)
{
	struct run r = {.now_ns = sl_now_ns()};

	if (r.now_ns / 1000 < lane->pace_next_us)
		return;
	sl_list_init(&r.told);
	sl_store(&lane->paced, false);
	sl_wheel_run(&lane->pace->wheel, r.now_ns / 1000, fire, &r);
	kick(lane);
	if (!sl_list_empty(&r.told))
		tell_senders(lane, &r.told);
	tell_keeper(lane);
}

bool sl_pace_is_used(void)
{
	return waiting != NULL;
}

void sl_pace_child(void)
{
	memset(&lock, 0, sizeof(lock));
	sl_list_init(&spare);
	waiting = NULL;
	nwaiting = 0;
}
