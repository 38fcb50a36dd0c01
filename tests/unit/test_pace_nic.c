/* SPDX-License-Identifier: BSD-2-Clause */
/* A paced socket's way between the lane's wheel and the NIC's queue, and how well a connection
 * knows when what it posts there leaves, in a time of its own: queues that tell late and seldom of
 * what has left, as a NIC's do, take the place of the verbs backend. */
#include "packet.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/settings.h"
#include "io/verbs.h"
#include "stack/pace_int.h"

#define US      1000ull
#define MS      1000000ull
#define STEP_NS (5 * US)
#define BYTES   1250u
#define GAP_NS  (50 * US) /* what it takes at RATE */
#define RATE    25000000u /* bytes a second */
#define FRAMES  1000u
#define SNDBUF  100u /* frames */
#define DEPTH   512u
#define TOLD    16u /* a completion for so many, beside those that are asked for */

/* The clock, in place of base/clock.c -----------------------------------------------------------
 */

static uint64_t now_ns = 1000 * MS;

void sl_clock_begin(void)
{
}

void sl_clock_init(void)
{
}

uint64_t sl_now_ns(void)
{
	return now_ns;
}

uint64_t sl_mono_to_real_ns(uint64_t mono_ns)
{
	return mono_ns;
}

/* The NIC's queues, in place of io/verbs*.c ----------------------------------------------- */

static struct nic_queue {
	struct sl_tx tx;
	uint32_t head, started, tail;
	bool paced; /* tells of the last one of each kick */
	uint32_t frame[DEPTH];
	bool told[DEPTH];        /* has a completion */
	uint64_t done_ns[DEPTH]; /* when it may be told of */
	uint64_t free_ns;        /* when the next one may leave */
	uint64_t gap_ns;
} lanes_queue, paced_queue;

static uint64_t latency_ns; /* until a completion is there */
static uint32_t slower;     /* per mille, than its rate */
static uint32_t held_up;    /* before that packet, */
static uint64_t held_up_ns; /* for so long, */
static bool makes_up;       /* and the later ones are not */
static uint64_t not_before_ns;
static uint64_t most_bytes_s;
static uint32_t seq_of[POOL_FRAMES];
static uint64_t left_ns[FRAMES];
static uint32_t left; /* in order, each later than the one before */

static struct nic_queue *queue_of(const struct sl_tx *tx)
{
	return sl_container_of(tx, struct nic_queue, tx);
}

static unsigned post(struct sl_tx *tx, const struct sl_tx_desc *d, unsigned n)
{
	struct nic_queue *q = queue_of(tx);
	unsigned i;

	for (i = 0; i < n && q->head - q->tail < DEPTH; i++)
		q->frame[q->head++ % DEPTH] = d[i].frame;
	tx->posted += i;
	tx->unreaped += i;
	return i;
}

static int kick(struct sl_tx *tx)
{
	struct nic_queue *q = queue_of(tx);

	for (; q->started != q->head; q->started++) {
		uint32_t i = q->started % DEPTH, seq = seq_of[q->frame[i]];
		uint64_t at_ns = sl_max(now_ns, q->free_ns);

		assert_int_equal(seq, left);
		if (seq == held_up)
			not_before_ns = at_ns + held_up_ns;
		if (makes_up)
			q->free_ns = at_ns + q->gap_ns;
		at_ns = sl_max(at_ns, not_before_ns);
		assert_true(!left || left_ns[left - 1] <= at_ns);
		left_ns[left++] = at_ns;
		if (!makes_up)
			q->free_ns = at_ns + q->gap_ns;
		q->done_ns[i] = at_ns + latency_ns;
		q->told[i] =
			(q->started + 1) % TOLD == 0 || (q->paced && q->started + 1 == q->head);
	}
	tx->posted = 0;
	return 0;
}

static unsigned reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct nic_queue *q = queue_of(tx);
	uint32_t to = q->tail;
	unsigned n = 0;

	tx->unreaped = 0;
	for (uint32_t i = to; i != q->started && q->done_ns[i % DEPTH] <= now_ns; i++) {
		if (q->told[i % DEPTH])
			to = i + 1;
	}
	for (; q->tail != to; q->tail++, n++)
		sl_frame_sent(cache, q->frame[q->tail % DEPTH]);
	return n;
}

static void settle(struct sl_tx *tx)
{
	struct nic_queue *q = queue_of(tx);

	q->told[(q->started - 1) % DEPTH] = true;
}

static uint32_t room(struct sl_tx *tx)
{
	return DEPTH - (queue_of(tx)->head - queue_of(tx)->tail);
}

static void queue_close(struct sl_tx *tx, struct sl_frames *cache)
{
	assert_true(sl_verbs_is_idle(tx));
}

static const struct sl_tx_ops ops = {
	.name = "nic",
	.post = post,
	.kick = kick,
	.reap = reap,
	.settle = settle,
	.room = room,
	.close = queue_close,
};

struct sl_tx *sl_verbs_open(uint32_t ifindex, const char *ifname, const struct sl_verbs_want *want,
			    struct sl_verbs_info *info, const char **why)
{
	return NULL;
}

struct sl_tx *sl_verbs_open_beside(struct sl_tx *beside, const struct sl_verbs_want *want,
				   const char **why)
{
	paced_queue = (struct nic_queue){.tx = {.ops = &ops}, .paced = true};
	return &paced_queue.tx;
}

int sl_verbs_may_pace(const struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	return ask->bytes_s > most_bytes_s ? -EINVAL : 0;
}

int sl_verbs_set_rate(struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	int err = sl_verbs_may_pace(tx, ask);

	if (!err)
		queue_of(tx)->gap_ns = BYTES * (1000 + slower) * MS / ask->bytes_s;
	return err;
}

uint32_t sl_verbs_posted(const struct sl_tx *tx)
{
	return queue_of(tx)->head;
}

uint32_t sl_verbs_done(const struct sl_tx *tx)
{
	return queue_of(tx)->tail;
}

bool sl_verbs_is_idle(const struct sl_tx *tx)
{
	return queue_of(tx)->head == queue_of(tx)->tail;
}

bool sl_verbs_has_done(const struct sl_tx *tx, uint32_t posted)
{
	return (int32_t)(sl_verbs_done(tx) - posted) >= 0;
}

void sl_verbs_check(struct sl_tx *tx, uint64_t at_ns)
{
}

void sl_verbs_child(void)
{
}

const char *sl_verbs_dead(const struct sl_tx *tx)
{
	return NULL;
}

unsigned sl_verbs_unsent(struct sl_tx *tx, struct sl_tx_desc *descs, unsigned n)
{
	return 0;
}

/* A sender of more than its rate lets go, which sleeps when the send buffer is full
 * -------------------- */

static struct sl_lane *lane;
static struct sl_leg *leg;
static struct sl_sock_stats stats;
static struct sl_pacer *pacer;
static uint32_t sent, under_way;
static struct sl_list blocked;

static void on_room(struct sl_list *entry)
{
	if (under_way < SNDBUF / 2)
		sl_list_del(entry);
}

static int setup(void **state)
{
	pool_setup();
	sl_settings.ring_allocation_logic_rx = SL_RING_SOCKET;
	latency_ns = 20 * US;
	slower = held_up = 0;
	held_up_ns = not_before_ns = 0;
	makes_up = false;
	most_bytes_s = RATE;
	sent = left = under_way = 0;
	sl_list_init(&blocked);
	lanes_queue = (struct nic_queue){.tx = {.ops = &ops}, .gap_ns = 500};
	memset(&stats, 0, sizeof(stats));
	lane = sl_lane_pick(1, 0);
	leg = sl_calloc(1, sizeof(*leg));
	leg->lane = lane;
	leg->tx = leg->verbs = &lanes_queue.tx;
	lane->leg[0] = leg;
	lane->nlegs = 1;
	lane->on_room = on_room;
	pacer = sl_pacer_new(&stats);
	assert_non_null(pacer);
	sl_pacer_set(pacer, &(struct sl_pace_ask){.bytes_s = RATE});
	return 0;
}

static void send_some(void)
{
	struct sl_leg *gate = sl_pacer_leg(pacer, leg);

	if (sent == FRAMES || !sl_list_empty(&blocked))
		return;
	for (; sent < FRAMES && under_way < SNDBUF; under_way++) {
		struct sl_tx_desc d = {.frame = sl_lane_frame(lane), .len = BYTES};

		seq_of[d.frame] = sent++;
		sl_pool.charge[d.frame] = (struct sl_frame_charge){&under_way, 1, 0};
		assert_int_equal(gate->tx->ops->post(gate->tx, &d, 1), 1);
	}
	gate->tx->ops->kick(gate->tx);
	if (under_way == SNDBUF)
		sl_pacer_block(pacer, &blocked);
}

/* The keeper comes late for a queue (that takes milliseconds), and in time for what is due. */
static void go_on(uint64_t ns, uint64_t keeper_ns)
{
	uint64_t begin_ns = now_ns;

	for (; now_ns < begin_ns + ns && left < FRAMES; now_ns += STEP_NS) {
		if (now_ns >= begin_ns + keeper_ns)
			sl_pace_nic_serve();
		assert_true(sl_lane_lock(lane));
		send_some();
		sl_lane_pace_turn(lane);
		sl_lane_unlock(lane);
	}
}

/* Its socket goes, and with it its queue. */
static int teardown(void **state)
{
	assert_true(sl_lane_lock(lane));
	sl_pacer_put(pacer);
	sl_lane_unlock(lane);
	for (unsigned i = 0; i < 10000; i++, now_ns += STEP_NS) {
		sl_pace_nic_serve();
		assert_true(sl_lane_lock(lane));
		sl_lane_pace_turn(lane);
		sl_lane_reap(lane);
		sl_lane_unlock(lane);
	}
	assert_int_equal(POOL_FRAMES, pool_free(&lane->frames));
	sl_frames_flush(&lane->frames, 0);
	lane->nlegs = 0;
	sl_free(leg);
	return 0;
}

/* By how much the last one left late. */
static uint64_t lost_ns(void)
{
	return left_ns[left - 1] - left_ns[0] - (left - 1) * GAP_NS;
}

/* The NIC makes up for nothing: what is lost when it takes over is lost. */
static void test_nothing_is_lost_on_the_way_to_the_nic(void **state)
{
	for (uint64_t keeper_ns = 0; keeper_ns < 5 * MS; keeper_ns += 237 * US) {
		go_on(100 * MS, keeper_ns);
		assert_int_equal(left, FRAMES);
		assert_true(paced_queue.head > FRAMES * 8 / 10);
		if (lost_ns() > 200 * US)
			fail_msg("%llu us late", (unsigned long long)lost_ns() / 1000);
		teardown(state);
		setup(state);
	}
}

/* There is always something under way in the lane's queue when the next one is due: the NIC gets
 * its turn nevertheless. */
static void test_a_queue_that_is_never_empty(void **state)
{
	latency_ns = 3 * GAP_NS;
	go_on(100 * MS, 1 * MS);
	assert_int_equal(left, FRAMES);
	assert_true(paced_queue.head > FRAMES / 2);
	assert_in_range(lost_ns(), 0, 2 * latency_ns + 200 * US);
}

/* Bytes that the NIC has let go give the wheel no credit. */
static void test_no_burst_on_the_way_back(void **state)
{
	uint32_t by_nic, at_once = 0, most = 0;

	go_on(20 * MS, 1 * MS);
	assert_int_equal(pacer->way, SL_WAY_NIC);
	most_bytes_s = RATE / 2 - 1;
	assert_true(sl_lane_lock(lane));
	sl_pacer_set(pacer, &(struct sl_pace_ask){.bytes_s = RATE / 2});
	sl_lane_unlock(lane);
	by_nic = left;
	go_on(100 * MS, 0);
	assert_int_equal(left, FRAMES);
	assert_int_equal(pacer->way, SL_WAY_WHEEL);
	for (uint32_t i = by_nic + 1; i < left; i++) {
		at_once = left_ns[i] < left_ns[i - 1] + GAP_NS ? at_once + 1 : 0;
		most = sl_max(most, at_once);
	}
	assert_in_range(most, 0, 2);
}

/* A connection, which posts to the queue itself
 * -------------------------------------------------------------------------------------- */

static uint64_t leaves_ns[FRAMES]; /* as it was told; 0: it keeps its pace itself */

static void post_one(struct sl_leg *to)
{
	struct sl_tx_desc d = {.frame = sl_lane_frame(lane), .len = BYTES};

	seq_of[d.frame] = sent;
	sl_pool.charge[d.frame] = (struct sl_frame_charge){&under_way, 1, 0};
	under_way++;
	assert_int_equal(to->tx->ops->post(to->tx, &d, 1), 1);
	leaves_ns[sent++] = sl_pacer_posted(pacer, to, BYTES, now_ns);
}

static uint64_t late_ns; /* so late it may come, and does */

static void connection_sends(void)
{
	const struct sl_pace_ask ask = {.bytes_s = RATE};
	uint64_t own_ns = now_ns, begin_ns = now_ns, at_ns;

	for (; sent < FRAMES; now_ns += pacer->way == SL_WAY_NIC ? STEP_NS + late_ns : STEP_NS) {
		assert_true(now_ns < begin_ns + 1000 * MS);
		sl_pace_nic_serve();
		assert_true(sl_lane_lock(lane));
		sl_pacer_follow(pacer, leg, &ask, BYTES);
		while (sent < FRAMES) {
			if (!sl_pacer_until(pacer, now_ns, own_ns, &at_ns))
				at_ns = own_ns;
			if (at_ns > now_ns)
				break;
			post_one(sl_pacer_way(pacer, leg));
			own_ns = now_ns + GAP_NS;
		}
		sl_lane_pace_start(lane);
		leg->tx->ops->kick(leg->tx);
		sl_lane_pace_turn(lane);
		sl_lane_unlock(lane);
	}
}

/* The last ones, long after what has befallen the NIC, leave when it was said. */
static void assert_known(uint64_t within_ns)
{
	for (uint32_t i = FRAMES * 3 / 4; i < FRAMES; i++) {
		assert_true(leaves_ns[i]);
		assert_in_range(left_ns[i], leaves_ns[i] - sl_min(leaves_ns[i], within_ns),
				leaves_ns[i] + within_ns);
	}
}

static void test_when_it_leaves_is_known(void **state)
{
	connection_sends();
	assert_known(GAP_NS);
	assert_in_range(lost_ns(), 0, 200 * US);
}

/* A NIC's rates are so many, and none may be the one that was asked for. (What is said is 4 ms
 * ahead of it.) */
static void test_a_nic_that_is_slower(void **state)
{
	slower = 10;
	connection_sends();
	assert_known(4 * MS * slower / 1000 + GAP_NS);
	assert_in_range(lost_ns(), 0, (FRAMES * GAP_NS) * slower / 1000 + 200 * US);
}

/* All of later are late as well. */
static void test_a_nic_that_was_held_up(void **state)
{
	held_up = FRAMES / 4;
	held_up_ns = 500 * US; /* after 32 times that it is known */
	connection_sends();
	assert_known(GAP_NS);
	assert_in_range(lost_ns(), held_up_ns, held_up_ns + 200 * US);
}

/* The others are not: its queue is not empty when it goes on. */
static void test_a_nic_that_makes_up_for_it(void **state)
{
	held_up = FRAMES / 2;
	held_up_ns = 8 * MS;
	makes_up = true;
	connection_sends();
	assert_known(GAP_NS);
	assert_in_range(lost_ns(), 0, 200 * US);
}

/* The sender is late by 7 ms again and again: the NIC has to wait in the first half only, and gets
 * more at a time from then on. */
static void test_a_sender_that_is_late(void **state)
{
	late_ns = 7 * MS;
	connection_sends();
	late_ns = 0;
	assert_true(lost_ns() > 2 * MS);
	left_ns[0] = left_ns[FRAMES / 2] - FRAMES / 2 * GAP_NS;
	assert_in_range(lost_ns(), 0, 200 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_lost_on_the_way_to_the_nic, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_queue_that_is_never_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_burst_on_the_way_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_when_it_leaves_is_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_nic_that_is_slower, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_nic_that_was_held_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_nic_that_makes_up_for_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_sender_that_is_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
