/* SPDX-License-Identifier: BSD-2-Clause */
/* Property test: whatever the wire, the options and the programs do, both streams arrive byte for
 * byte and end, no frame is left, and nothing stands still.
 *
 *   test_tcp_stream [FIRST-SEED [HOW-MANY]]
 *
 * A run that fails says its seed; SIM_TRACE=1 test_tcp_stream SEED 1 shows its packets. */
#include "sim.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_user.h"

#include <string.h>

#ifdef __SANITIZE_ADDRESS__ /* takes five times as long: make check-long has it run them all */
#define RUNS 500
#else
#define RUNS 2500
#endif
#define STALL   (3000 * SIM_SECOND) /* nothing moved for so long: it never will */
#define PATTERN 65521

static uint8_t pattern[PATTERN + 65536];

/* How a program behaves. */
struct plan {
	uint32_t bytes;     /* to send */
	uint32_t max_write; /* each call up to */
	uint32_t max_read;
	uint32_t write_gap_us, read_gap_us; /* pauses up to, 0: none */
	uint32_t flip_ppm;                  /* how often NODELAY, CORK, MSG_MORE change */
	bool close_after_peer;              /* ends its stream only when the other has ended */
	bool rd_shut;                       /* SHUT_RD at the end of the other's stream */
};

struct end {
	struct run *run;
	struct sim_conn *c;
	struct plan plan;
	uint32_t seed, peer_seed; /* of the pattern */
	uint64_t sent, got;
	uint64_t write_at, read_at;
	bool eof, shut, gone;
};

struct run {
	struct sim s;
	struct end end[2];
	uint64_t moved;
};

static struct run run;

static void pump(struct sim_conn *c);

static void on_event(struct sim_conn *c, uint32_t events)
{
	struct end *e = c->arg;

	if (events & SL_TCP_EV_ERROR)
		sim_die(&run.s, "side %d: error %d, sent %llu got %llu", (int)(e - run.end),
			c->tcp.error, (unsigned long long)e->sent, (unsigned long long)e->got);
	pump(c);
}

static void on_accepted(struct sim_conn *c)
{
	struct end *e = c->arg;

	sim_check(&run.s, !e->c);
	e->c = c;
	pump(c);
}

static void on_freed(struct sim_conn *c)
{
	struct end *e = c->arg;

	e->gone = true;
	e->c = NULL;
}

static const struct sim_app app = {
	.event = on_event, .timer = pump, .accepted = on_accepted, .freed = on_freed};

static void flip(struct end *e)
{
	struct sim_rng *r = &run.s.rng;
	struct sl_tcp *t = &e->c->tcp;

	if (!sim_chance(r, e->plan.flip_ppm))
		return;
	switch (sim_below(r, 4)) {
	case 0:
		t->nodelay = !t->nodelay;
		break;
	case 1:
		t->cork = !t->cork;
		break;
	case 2:
		t->quickack_user = (uint8_t)sim_below(r, 3);
		break;
	default:
		t->notsent_lowat = sim_below(r, 2) ? 0 : 4096;
		break;
	}
	sl_tcp_option_changed(t);
}

/* Reads with one call. False: nothing could be read. */
static bool read_some(struct end *e, uint32_t want)
{
	static uint8_t buf[65536];
	struct iovec iov[2];
	struct sim_rng *r = &run.s.rng;
	bool peek = sim_chance(r, 50000);
	uint32_t cut = sim_below(r, want + 1), at = (uint32_t)((e->got + e->peer_seed) % PATTERN);
	long n;

	iov[0] = (struct iovec){buf, cut};
	iov[1] = (struct iovec){buf + cut, want - cut};
	n = sl_tcp_read(&e->c->tcp, iov, 2, 0, peek, false);
	if (n <= 0) {
		sim_check(&run.s, n == 0);
		return false;
	}
	sim_check(&run.s, n <= (long)want);
	if (memcmp(buf, pattern + at, (size_t)n) != 0)
		sim_die(&run.s, "side %d: wrong bytes after %llu", (int)(e - run.end),
			(unsigned long long)e->got);
	if (!peek) {
		e->got += (uint64_t)n;
		run.moved = run.s.now_us;
	}
	return true;
}

static void read_all(struct end *e)
{
	struct sim_rng *r = &run.s.rng;

	if (e->eof || run.s.now_us < e->read_at)
		return;
	while (read_some(e, sim_range(r, 1, e->plan.max_read))) {
		if (e->plan.read_gap_us && sim_below(r, 2)) {
			e->read_at = run.s.now_us + sim_range(r, 1, e->plan.read_gap_us);
			return;
		}
	}
	if (sl_tcp_at_eof(&e->c->tcp)) {
		struct end *peer = &run.end[e == run.end];

		e->eof = true;
		if (e->got != peer->plan.bytes)
			sim_die(&run.s, "side %d: %llu of %u bytes", (int)(e - run.end),
				(unsigned long long)e->got, peer->plan.bytes);
		if (e->plan.rd_shut)
			sl_tcp_shutdown(&e->c->tcp, true, false);
	}
}

/* Writes with one call. False: the queue is full. */
static bool write_some(struct end *e)
{
	struct sim_rng *r = &run.s.rng;
	uint32_t left = e->plan.bytes - (uint32_t)e->sent, want, skip;
	uint32_t at = (uint32_t)((e->sent + e->seed) % PATTERN);
	struct iovec iov[2];
	bool more;
	long n;

	want = sim_range(r, 1, sl_min(left, e->plan.max_write));
	skip = sim_below(r, 2) ? 0 : sim_below(r, 100);
	/* The skipped bytes are no part of the stream. */
	iov[0] = (struct iovec){pattern, skip};
	iov[1] = (struct iovec){pattern + at, want};
	more = sim_chance(r, e->plan.flip_ppm);
	if (!skip && !more && sl_tcp_append(&e->c->tcp, pattern + at, want))
		n = want;
	else
		n = sl_tcp_write(&e->c->tcp, iov, 2, skip, more, false);
	if (n < 0)
		sim_die(&run.s, "side %d: write: %ld", (int)(e - run.end), n);
	sim_check(&run.s, n <= (long)want);
	e->sent += (uint64_t)n;
	if (n)
		run.moved = run.s.now_us;
	return n == (long)want;
}

static void write_all(struct end *e)
{
	struct sim_rng *r = &run.s.rng;

	while (e->sent < e->plan.bytes && run.s.now_us >= e->write_at && write_some(e)) {
		flip(e);
		if (e->plan.write_gap_us && sim_below(r, 2))
			e->write_at = run.s.now_us + sim_range(r, 1, e->plan.write_gap_us);
	}
	if (e->sent == e->plan.bytes && !e->shut && (e->eof || !e->plan.close_after_peer)) {
		/* Closing does both when all was read. */
		if (!e->eof || sim_below(r, 2))
			sim_check(&run.s, sl_tcp_shutdown(&e->c->tcp, false, true) == 0);
		e->shut = true;
	}
}

static void pump(struct sim_conn *c)
{
	struct end *e = c->arg;
	uint64_t at = SIM_FOREVER;

	if (c->tcp.state == SL_TCP_SYN_SENT || c->tcp.state == SL_TCP_SYN_RCVD)
		return;
	read_all(e);
	write_all(e);
	if (e->eof && e->shut) {
		sim_close(c, -1);
		return;
	}
	if (e->read_at > run.s.now_us)
		at = e->read_at;
	if (e->write_at > run.s.now_us && e->sent < e->plan.bytes)
		at = sl_min(at, e->write_at);
	sim_conn_timer(c, at);
	c->host->busy = true;
}

/* Plans ------------------------------------------------------------------------------------------
 */

static uint32_t pick(struct sim_rng *r, const uint32_t *of, uint32_t n)
{
	return of[sim_below(r, n)];
}
#define PICK(r, ...)                                                                               \
	pick(r, (const uint32_t[]){__VA_ARGS__},                                                   \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void plan_params(struct sim_rng *r, struct sl_tcp_params *p)
{
	p->timestamps = sim_below(r, 4) != 0;
	p->window_scaling = sim_below(r, 4) != 0;
	p->sack = sim_below(r, 4) != 0;
	p->dsack = sim_below(r, 4) != 0;
	p->frto = sim_below(r, 4) != 0;
	p->recovery_rack = sim_below(r, 4) != 0;
	p->tlp = sim_below(r, 4) != 0;
	p->ecn = (uint8_t)sim_below(r, 3);
	p->slow_start_after_idle = sim_below(r, 2);
	p->mtu_probing = (uint8_t)sim_below(r, 3);
	p->syn_retries = p->synack_retries = p->retries2 = p->orphan_retries = 60;
	strcpy(p->congestion, sim_below(r, 2) ? "cubic" : "reno");
	if (sim_below(r, 3) == 0)
		p->rmem_default = PICK(r, 2304, 4608, 20000);
	if (sim_below(r, 3) == 0)
		p->wmem_default = PICK(r, 4608, 9000, 40000);
	p->syncookies = PICK(r, 0, 1, 1, 2);
}

static void plan_host(struct sim_rng *r, struct sim_host *h)
{
	plan_params(r, &h->params);
	h->mtu = (uint16_t)PICK(r, 1500, 1500, 9000, 576, 1280);
	if (h->v6 && h->mtu < 1280)
		h->mtu = 1280;
	if (sim_below(r, 3) == 0) {
		h->tx_us = sim_range(r, 1, 300);
		h->tx_ring = PICK(r, 0, 1, 8, 64);
	}
}

static void plan_pipe(struct sim_rng *r, struct sim_pipe *p, uint64_t now)
{
	p->delay_us = PICK(r, 0, 5, 100, 1000, 20000, 200000);
	if (sim_below(r, 2))
		p->jitter_us = sim_below(r, p->delay_us + 1);
	if (sim_below(r, 2))
		p->loss_ppm = PICK(r, 1000, 10000, 50000, 200000);
	if (sim_below(r, 3) == 0)
		p->dup_ppm = PICK(r, 10000, 200000);
	if (sim_below(r, 3) == 0)
		p->corrupt_ppm = PICK(r, 1000, 20000);
	if (sim_below(r, 3) == 0) {
		p->reorder_ppm = PICK(r, 10000, 300000, 1000000);
		p->reorder_us = sim_range(r, 1, 4 * p->delay_us + 100);
	}
	if (sim_below(r, 3) == 0) {
		p->rate = PICK(r, 20000, 1000000, 100000000);
		p->queue_bytes = PICK(r, 0, 10000, 100000);
		p->mark_bytes = sim_below(r, 2) ? 0 : 5000;
	}
	if (sim_below(r, 4) == 0) {
		p->mtu = PICK(r, 1400, 1300);
		p->black_hole = false;
	}
	if (sim_below(r, 5) == 0) {
		p->down_from = now + sim_below(r, 3000000);
		p->down_to = p->down_from + sim_below(r, 4000000);
	}
}

static void plan_end(struct sim_rng *r, struct end *e)
{
	struct plan *p = &e->plan;

	p->bytes = PICK(r, 0, 1, 100, 5000, 60000, 300000);
	p->bytes = p->bytes ? sim_range(r, p->bytes / 2 + 1, p->bytes) : 0;
	p->max_write = PICK(r, 1, 100, 1460, 5000, 60000);
	p->max_read = PICK(r, 1, 100, 1460, 5000, 60000);
	/* Small calls are for small streams: time is the machine's. */
	if (p->bytes > 5000)
		p->max_write = sl_max(p->max_write, 100u);
	if (sim_below(r, 4) == 0)
		p->write_gap_us = PICK(r, 10, 1000, 100000);
	if (sim_below(r, 4) == 0)
		p->read_gap_us = PICK(r, 10, 1000, 100000, 3000000);
	/* Long pauses need large steps. */
	if (p->read_gap_us >= 100000 || p->write_gap_us >= 100000) {
		p->max_read = 60000;
		p->max_write = 60000;
	}
	if (sim_below(r, 3) == 0)
		p->flip_ppm = PICK(r, 10000, 300000);
	p->rd_shut = sim_below(r, 4) == 0;
}

/* So that sequence numbers wrap soon: the host's clock is what the initial one comes from. */
static void wrap_soon(struct sim_host *h, const struct sl_tcp_key *key)
{
	uint32_t isn;

	sl_tcp_set_now(&h->tcp, run.s.now_us + h->clock_off_us);
	isn = sl_tcp_isn(&h->tcp, key);
	h->clock_off_us += 4ull * (uint32_t)(UINT32_MAX - sim_below(&run.s.rng, 20000) - isn);
}

static void set_conn(struct sim_rng *r, struct sl_tcp *t)
{
	if (sim_below(r, 4) == 0)
		sl_tcp_opts(t)->user_mss = (uint16_t)PICK(r, 88, 100, 536, 1000, 8960);
	if (sim_below(r, 4) == 0) {
		t->rcvbuf = PICK(r, 2304, 5000, 100000);
		t->rcvbuf_locked = true;
	}
	if (sim_below(r, 4) == 0) {
		t->sndbuf = PICK(r, 4608, 10000, 200000);
		t->sndbuf_locked = true;
	}
	t->nodelay = sim_below(r, 2);
}

static void start(struct sim_rng *r)
{
	struct sim *s = &run.s;
	bool v6 = sim_below(r, 3) == 0;
	struct sim_host *a = sim_host_new(s, v6), *b = sim_host_new(s, v6);
	struct sim_pipe *ab = sim_pipe_new(s), *ba = sim_pipe_new(s);
	struct sl_tcp_key key;
	struct sim_listener *l;

	plan_host(r, a);
	plan_host(r, b);
	plan_pipe(r, ab, s->now_us);
	plan_pipe(r, ba, s->now_us);
	/* A cookie is in the ACK of the handshake: what comes without it belongs to nobody. */
	if (ab->loss_ppm || ab->dup_ppm || ab->reorder_ppm || ab->corrupt_ppm || ab->down_to ||
	    ab->mtu || ab->rate)
		b->params.syncookies = 1;
	s->eager_ppm = PICK(r, 0, 500000, 1000000);
	sim_connect_hosts(a, b, ab, ba);
	sim_key(a, 1000, b, 80, &key);
	if (sim_below(r, 3) == 0)
		wrap_soon(a, &key);
	sim_key(b, 80, a, 1000, &key);
	if (sim_below(r, 3) == 0)
		wrap_soon(b, &key);
	for (int i = 0; i < 2; i++) {
		run.end[i].run = &run;
		run.end[i].seed = sim_below(r, PATTERN);
		plan_end(r, &run.end[i]);
	}
	run.end[0].peer_seed = run.end[1].seed;
	run.end[1].peer_seed = run.end[0].seed;
	run.end[sim_below(r, 2)].plan.close_after_peer = sim_below(r, 2);
	l = sim_listen(b, 80, 16, &app, &run.end[1]);
	if (sim_below(r, 4) == 0)
		l->tcp.opts.user_mss = (uint16_t)PICK(r, 88, 536, 1000);
	if (sim_below(r, 4) == 0) {
		l->tcp.rcvbuf = PICK(r, 2304, 5000, 100000);
		l->tcp.rcvbuf_locked = true;
	}
	run.end[0].c = sim_conn_new(a, &app, &run.end[0]);
	set_conn(r, &run.end[0].c->tcp);
	sim_check(s, sim_open(run.end[0].c, 1000, b, 80) == 0);
}

static void status(void)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &run.end[i];

		fprintf(stderr, "side %d: sent %llu got %llu eof %d shut %d gone %d", i,
			(unsigned long long)e->sent, (unsigned long long)e->got, e->eof, e->shut,
			e->gone);
		if (e->c)
			fprintf(stderr,
				" state %d una %u nxt %u write %u wnd %u cwnd %u rcv_nxt %u rcv_wnd %u",
				e->c->tcp.state, e->c->tcp.snd_una, e->c->tcp.snd_nxt,
				e->c->tcp.write_seq, e->c->tcp.snd_wnd, e->c->tcp.cwnd,
				e->c->tcp.rcv_nxt, e->c->tcp.rcv_wnd);
		fputc('\n', stderr);
	}
}

static void one(uint64_t seed)
{
	struct sim *s = &run.s;
	struct sim_rng r;

	memset(&run, 0, sizeof(run));
	sim_init(s, seed, 16384, 14);
	r = s->rng;
	start(&r);
	run.moved = s->now_us;
	while (sim_step(s, SIM_FOREVER)) {
		for (int i = 0; i < 2 && s->steps % 16 == 0; i++)
			if (run.end[i].c)
				sim_check_conn(s, &run.end[i].c->tcp);
		if (run.end[0].gone && run.end[1].gone)
			break;
		if (s->now_us - run.moved > STALL) {
			status();
			sim_die(s, "nothing moves");
		}
	}
	if (!run.end[0].gone || !run.end[1].gone) {
		status();
		sim_die(s, "nothing is left to happen");
	}
	/* TIME_WAIT ends. */
	sim_check(s, !sim_run(s, s->now_us + 1000 * SIM_SECOND));
	for (int i = 0; i < 2; i++) {
		sim_check(s, s->host[i]->tcp.nnodes == 0);
		sim_check(s, s->host[i]->tcp.wheel.armed == 0);
	}
	sim_fini(s);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : RUNS;
	struct sim_rng r = {1};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint32_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i < PATTERN ? (uint8_t)sim_rand(&r) : pattern[i - PATTERN];
	for (uint64_t i = first; i < first + n; i++)
		one(i * 1000003);
	printf("%llu runs\n", (unsigned long long)n);
	return 0;
}
