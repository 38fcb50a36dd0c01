/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk streams over wires with a bottleneck, loss and reordering: the window grows and shrinks as
 * it should, lost segments are repaired without waiting for an RTO, and flows share. */
#include "sim.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_user.h"

#include <errno.h>
#include <string.h>

#define MAX_FLOWS 8
#define MBIT      (1000000u / 8)

struct flow {
	struct sim_conn *tx;
	uint64_t got, mark; /* bytes read by the receiver; at the last mark() */
};

static struct sim s;
static struct sim_host *a, *b;
static struct sim_pipe *ab, *ba;
static struct flow flow[MAX_FLOWS];
static uint32_t nflows;
static bool ending;
static uint8_t junk[65536];

/* The programs: one writes for ever, the other reads. */
static void write_on(struct sim_conn *c)
{
	struct iovec iov = {junk, sizeof(junk)};

	if (c->tcp.state != SL_TCP_ESTABLISHED)
		return;
	while (sl_tcp_write(&c->tcp, &iov, 1, 0, false, false) > 0)
		;
	c->host->busy = true;
}

static void on_writer(struct sim_conn *c, uint32_t events)
{
	sim_check(&s, ending || !(events & SL_TCP_EV_ERROR));
	write_on(c);
}

static void on_reader(struct sim_conn *c, uint32_t events)
{
	struct flow *f = &flow[c->tcp.node.key.rport - 1000];
	struct iovec iov = {junk, sizeof(junk)};
	long n;

	if (events & SL_TCP_EV_ERROR) {
		sim_check(&s, ending);
		sim_close(c, 0);
		return;
	}
	while ((n = sl_tcp_read(&c->tcp, &iov, 1, 0, false, false)) > 0)
		f->got += (uint64_t)n;
	c->host->busy = true;
}

static void on_accepted(struct sim_conn *c)
{
	on_reader(c, 0);
}

static const struct sim_app writer = {.event = on_writer};
static const struct sim_app reader = {.event = on_reader, .accepted = on_accepted};

static void begin(const char *name, uint64_t seed, uint32_t delay_us)
{
	sim_init(&s, seed, 65536, 12);
	snprintf(s.what, sizeof(s.what), "%s", name);
	memset(flow, 0, sizeof(flow));
	nflows = 0;
	ending = false;
	a = sim_host_new(&s, false);
	b = sim_host_new(&s, false);
	ab = sim_pipe_new(&s);
	ba = sim_pipe_new(&s);
	ab->delay_us = ba->delay_us = delay_us;
	sim_connect_hosts(a, b, ab, ba);
	a->params.wmem_max = b->params.rmem_max = 32 << 20;
}

static void listen_on(void)
{
	sim_listen(b, 80, 16, &reader, NULL);
}

static struct flow *open_flow(const char *cc)
{
	struct flow *f = &flow[nflows];

	f->tx = sim_conn_new(a, &writer, f);
	sl_tcp_set_congestion(&f->tx->tcp, cc);
	sim_check(&s, sim_open(f->tx, (uint16_t)(1000 + nflows++), b, 80) == 0);
	return f;
}

static void mark(void)
{
	for (uint32_t i = 0; i < nflows; i++)
		flow[i].mark = flow[i].got;
}

static void run_for(uint64_t us)
{
	uint64_t end = s.now_us + us;

	while (s.now_us < end && sim_step(&s, end))
		for (uint32_t i = 0; i < nflows && s.steps % 64 == 0; i++)
			sim_check_conn(&s, &flow[i].tx->tcp);
}

static void end(void)
{
	ending = true;
	for (uint32_t i = 0; i < nflows; i++)
		sim_close(flow[i].tx, 0);
	sim_host_kick(a);
	sim_run(&s, s.now_us + 100 * SIM_SECOND);
	sim_fini(&s);
}

/* Megabit a second since mark(). */
static double rate(const struct flow *f, uint64_t us)
{
	return (double)(f->got - f->mark) * 8 / (double)us;
}

static void say(double mbit)
{
	const struct sl_tcp *c = &flow[0].tx->tcp;

	printf("%-32s %7.2f Mbit/s cwnd %u sent again %u lost %llu RTO %llu recoveries %llu undone "
	       "%llu\n",
	       s.what, mbit, c->cwnd, sl_tcp_retransmitted(c), (unsigned long long)ab->drops,
	       (unsigned long long)a->count[SL_TCPC_RTO],
	       (unsigned long long)a->count[SL_TCPC_FAST_RECOVERY],
	       (unsigned long long)a->count[SL_TCPC_SPURIOUS]);
}

/* Seconds to settle, seconds that count. */
static double measure(uint32_t settle, uint32_t count)
{
	double r = 0;

	run_for(settle * SIM_SECOND);
	mark();
	run_for(count * SIM_SECOND);
	for (uint32_t i = 0; i < nflows; i++)
		r += rate(&flow[i], count * SIM_SECOND);
	say(r);
	return r;
}

static void bottleneck(uint32_t mbit, uint32_t queue_bytes)
{
	ab->rate = (uint64_t)mbit * MBIT;
	ab->queue_bytes = queue_bytes;
}

/* The wire stays full, what was lost is sent again once, and no RTO is waited for. */
static void clean(const char *cc)
{
	begin(cc, 1, 10000);
	bottleneck(100, 250000);
	listen_on();
	open_flow(cc);
	sim_check(&s, measure(4, 6) > 95);
	sim_check(&s, a->count[SL_TCPC_RTO] == 0);
	sim_check(&s, sl_tcp_retransmitted(&flow[0].tx->tcp) <= ab->drops);
	sim_check(&s, sl_tcp_retransmitted(&flow[0].tx->tcp) + 20 > ab->drops);
	end();
}

/* Against 1.22 MSS / (RTT sqrt(p)), which Reno reaches, and CUBIC too where it is friendly. */
static void lossy(const char *cc, uint32_t loss_ppm, bool sack, double mbit)
{
	double r;

	begin(sack ? "loss" : "loss, no SACK", 2, 10000);
	a->params.sack = sack;
	bottleneck(1000, 1000000);
	ab->loss_ppm = loss_ppm;
	listen_on();
	open_flow(cc);
	r = measure(2, 30);
	sim_check(&s, r > 0.8 * mbit && r < 1.3 * mbit);
	sim_check(&s, a->count[SL_TCPC_RTO] <= (sack ? 0 : 10));
	end();
}

/* Reordering is learned: hardly anything is sent in vain, and what was reduced in vain comes back.
 * Without time stamps: PAWS of the receiver would drop late originals after a retransmission. */
static void reordered(uint32_t ppm, uint32_t us)
{
	begin("reordering", 3, 10000);
	a->params.timestamps = false;
	bottleneck(100, 250000);
	ab->reorder_ppm = ppm;
	ab->reorder_us = us;
	listen_on();
	open_flow("cubic");
	sim_check(&s, measure(4, 6) > 85);
	sim_check(&s, a->count[SL_TCPC_RTO] == 0);
	sim_check(&s, sl_tcp_retransmitted(&flow[0].tx->tcp) < ab->drops + 200);
	end();
}

/* The second comes when the first has everything. */
static void share(const char *one, const char *other, uint32_t mark_bytes)
{
	double x, y;

	begin(mark_bytes ? "two flows, ECN" : "two flows", 4, 10000);
	a->params.ecn_out = mark_bytes != 0;
	bottleneck(50, 125000);
	ab->mark_bytes = mark_bytes;
	listen_on();
	open_flow(one);
	run_for(5 * SIM_SECOND);
	open_flow(other);
	sim_check(&s, measure(20, 60) > 40);
	x = rate(&flow[0], 60 * SIM_SECOND);
	y = rate(&flow[1], 60 * SIM_SECOND);
	sim_check(&s, x > 0.55 * y && y > 0.55 * x);
	if (mark_bytes) /* but for the first slow start nothing is lost */
		sim_check(&s, ab->marks > 0 && ab->drops < 100);
	end();
}

/* The path is silent for longer than the RTO, and then all arrives: nothing was lost. */
static void spike(bool sack, bool timestamps)
{
	const struct sl_tcp *c;
	uint32_t cwnd;

	begin("delay spike", 5, 10000);
	a->params.sack = sack;
	a->params.timestamps = timestamps;
	bottleneck(50, 0);
	listen_on();
	open_flow("reno");
	c = &flow[0].tx->tcp;
	run_for(SIM_SECOND / 5);
	cwnd = c->cwnd;
	ab->delay_us = ba->delay_us = 600000;
	run_for(SIM_SECOND);
	ab->delay_us = ba->delay_us = 10000;
	run_for(6 * SIM_SECOND);
	sim_check(&s, a->count[SL_TCPC_RTO] > 0);
	sim_check(&s, a->count[SL_TCPC_SPURIOUS] > 0);
	sim_check(&s, c->cwnd >= cwnd && sl_tcp_retransmitted(c) <= 3);
	say(0);
	end();
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	clean("cubic");
	clean("reno");
	lossy("cubic", 1000, true, 22.4);
	lossy("cubic", 10000, true, 7.07);
	lossy("reno", 10000, true, 7.07);
	lossy("reno", 10000, false, 7.07);
	reordered(10000, 2000);
	reordered(300000, 2000);
	reordered(300000, 10000);
	share("cubic", "cubic", 0);
	share("reno", "reno", 0);
	share("cubic", "cubic", 60000);
	for (int i = 0; i < 4; i++)
		spike(i & 1, i & 2);
	return 0;
}
