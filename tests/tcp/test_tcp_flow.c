/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk flows on a path: utilisation, fairness, goodput under loss and reordering, and the
 * buffers' tuning. The bounds are models (below each), not measurements. */
#include <linux/inet_diag.h>

#include "sim.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_user.h"

#include <math.h>
#include <string.h>

#define MAX_FLOWS 8
#define MB        1000000.0

struct flow {
	struct sim_conn *tx, *rx;
	uint64_t got, mark;
	char cc[16];
};

struct path {
	const char *name;
	struct sim s;
	struct sim_host *a, *b;
	struct sim_pipe *ab, *ba;
	struct flow flow[MAX_FLOWS];
	uint32_t nflows;
};

static struct path path;
static bool silent; /* nothing is written */

static void send_more(struct sim_conn *c)
{
	static uint8_t data[65536];
	struct iovec iov = {data, sizeof(data)};

	while (!silent && sl_tcp_write(&c->tcp, &iov, 1, 0, false, false) > 0)
		;
	c->host->busy = true;
}

static void tx_event(struct sim_conn *c, uint32_t events)
{
	if (events & SL_TCP_EV_ERROR)
		sim_die(&path.s, "error %d", c->tcp.error);
	if (events & (SL_TCP_EV_CONNECTED | SL_TCP_EV_OUT))
		send_more(c);
}

static void rx_event(struct sim_conn *c, uint32_t events)
{
	static uint8_t buf[65536];
	struct iovec iov = {buf, sizeof(buf)};
	long n;

	while ((n = sl_tcp_read(&c->tcp, &iov, 1, 0, false, true)) > 0)
		path.flow[(size_t)c->tcp.node.key.rport - 1000].got += (uint64_t)n;
	c->host->busy = true;
}

static void accepted(struct sim_conn *c)
{
	path.flow[(size_t)c->tcp.node.key.rport - 1000].rx = c;
	rx_event(c, 0);
}

static const struct sim_app tx_app = {.event = tx_event};
static const struct sim_app rx_app = {.event = rx_event, .accepted = accepted};

/* rate in bytes a second, round trip, queue in bytes. */
static void begin(const char *name, double rate, uint32_t rtt_us, double queue)
{
	memset(&path, 0, sizeof(path));
	path.name = name;
	sim_init(&path.s, 7, 65536, 12);
	snprintf(path.s.what, sizeof(path.s.what), "%s", name);
	path.a = sim_host_new(&path.s, false);
	path.b = sim_host_new(&path.s, false);
	path.ab = sim_pipe_new(&path.s);
	path.ba = sim_pipe_new(&path.s);
	path.ab->rate = (uint64_t)rate;
	path.ab->queue_bytes = (uint32_t)queue;
	path.ab->delay_us = path.ba->delay_us = rtt_us / 2;
	sim_connect_hosts(path.a, path.b, path.ab, path.ba);
	sim_listen(path.b, 80, 16, &rx_app, NULL);
}

static void add(const char *cc)
{
	struct flow *f = &path.flow[path.nflows];

	f->tx = sim_conn_new(path.a, &tx_app, NULL);
	sim_check(&path.s, sl_tcp_set_congestion(&f->tx->tcp, cc) == 0);
	snprintf(f->cc, sizeof(f->cc), "%s", cc);
	sim_check(&path.s, sim_open(f->tx, (uint16_t)(1000 + path.nflows), path.b, 80) == 0);
	sim_host_kick(path.a);
	path.nflows++;
}

static void mark(void)
{
	for (uint32_t i = 0; i < path.nflows; i++)
		path.flow[i].mark = path.flow[i].got;
}

/* Runs for so long, says what each flow got; the sum in bytes a second. */
static double run(double seconds)
{
	double sum = 0;

	mark();
	sim_run(&path.s, path.s.now_us + (uint64_t)(seconds * 1e6));
	printf("%-24s", path.name);
	for (uint32_t i = 0; i < path.nflows; i++) {
		double r = (double)(path.flow[i].got - path.flow[i].mark) / seconds;

		printf(" %s %.3f", path.flow[i].cc, r / MB);
		sum += r;
	}
	printf(" MB/s");
	if (path.ab->rate)
		printf(", %.0f %% of the path", sum * 100 / (double)path.ab->rate);
	printf("; lost %llu, sent again %u, spurious %llu, timeouts %llu, rcvbuf %u\n",
	       (unsigned long long)path.ab->drops, sl_tcp_retransmitted(&path.flow[0].tx->tcp),
	       (unsigned long long)path.a->count[SL_TCPC_SPURIOUS],
	       (unsigned long long)path.a->count[SL_TCPC_RTO],
	       path.flow[0].rx ? path.flow[0].rx->tcp.rcvbuf : 0);
	return sum;
}

static void end(void)
{
	for (uint32_t i = 0; i < path.nflows; i++) {
		sim_close(path.flow[i].tx, 0);
		if (path.flow[i].rx)
			sim_close(path.flow[i].rx, 0);
	}
	sim_fini(&path.s);
}

/* Jain's index of what they got since the mark. */
static double jain(void)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < path.nflows; i++) {
		double g = (double)(path.flow[i].got - path.flow[i].mark);

		sum += g;
		squares += g * g;
	}
	return sum * sum / (path.nflows * squares);
}

#define want(cond) sim_check(&path.s, cond)

/* A queue of one bandwidth-delay product: the path is always full. */
static void utilisation(const char *cc)
{
	begin("utilisation", 10 * MB, 20000, 0.02 * 10 * MB);
	add(cc);
	run(3);
	want(run(20) > 0.93 * 10 * MB);
	end();
}

/* A shallow queue, a fifth of it: CUBIC keeps 0.7 at a loss, Reno half. */
static void shallow(const char *cc, double share)
{
	begin("shallow queue", 10 * MB, 20000, 0.004 * 10 * MB);
	add(cc);
	run(3);
	want(run(30) > share * 10 * MB);
	end();
}

/* Flows of one kind and one RTT share, one that begins late too. */
static void fairness(const char *cc, uint32_t n)
{
	begin("fairness", 5 * MB, 20000, 0.03 * 5 * MB);
	add(cc);
	run(3);
	for (uint32_t i = 1; i < n; i++)
		add(cc);
	run(20);
	want(run(60) > 0.9 * 5 * MB);
	printf("  index %.3f\n", jain());
	want(jain() > 0.9);
	end();
}

/* CUBIC beside Reno at a small product: its Reno-friendly region (RFC 9438 4.3). */
static void friendly(void)
{
	begin("cubic beside reno", 1 * MB, 20000, 0.03 * 1 * MB);
	add("cubic");
	add("reno");
	run(20);
	run(60);
	printf("  index %.3f\n", jain());
	want(jain() > 0.75);
	end();
}

/* Random loss: the model of Reno, MSS / RTT * sqrt(3 / 2p) (Mathis and others, 1997). */
static void random_loss(const char *cc, double p, double least)
{
	double model = 1448 / 0.02 * sqrt(1.5 / p);

	begin("random loss", 100 * MB, 20000, 4 * MB);
	path.ab->loss_ppm = (uint32_t)(p * 1e6);
	add(cc);
	run(5);
	model = run(60) / model;
	printf("  %.2f of the model\n", model);
	want(model > least);
	end();
}

/* A long fat path: both buffers have to grow. */
static void tuning(void)
{
	begin("long fat path", 50 * MB, 40000, 2 * MB);
	add("cubic");
	run(10);
	want(run(10) > 0.8 * 50 * MB);
	want(path.flow[0].rx->tcp.rcvbuf > 2 * MB);
	end();
}

/* A long path that loses: the window holds what waits beyond a hole, too. Without that it grows
 * once in some round trips, and three seconds carry a fifth of the path. */
static void holes(void)
{
	begin("holes on a long path", 50 / 8.0 * MB, 100000, 150000);
	path.ab->loss_ppm = 50000;
	add("bbr");
	want(run(3) > 0.35 * 50 / 8 * MB);
	end();
}

/* RFC 8985: reordering within a quarter of a round trip is not taken for loss for long. */
static void reordering(void)
{
	begin("reordering", 10 * MB, 20000, 0.04 * 10 * MB);
	path.ab->reorder_ppm = 20000;
	path.ab->reorder_us = 4000;
	add("cubic");
	run(5);
	want(run(20) > 0.8 * 10 * MB);
	end();
}

/* ECN: the queue stays short, and nothing is lost. */
static void marking(const char *cc)
{
	uint64_t lost;

	begin("ECN", 10 * MB, 20000, 1 * MB);
	path.ab->mark_bytes = 60000;
	path.a->params.ecn = path.b->params.ecn = 1;
	path.a->params.ecn_out = path.b->params.ecn_out = true;
	add(cc);
	run(5);
	lost = path.ab->drops;
	want(run(20) > 0.8 * 10 * MB);
	want(path.ab->marks > 0 && path.ab->drops == lost);
	end();
}

/* BBR does not take random loss for a full path; version 3 does from 2 % on. */
static void bbr_loss(const char *cc, double p, double share)
{
	begin("random loss", 10 * MB, 20000, 0.04 * 10 * MB);
	path.ab->loss_ppm = (uint32_t)(p * 1e6);
	add(cc);
	run(3);
	want(run(20) > share * 10 * MB);
	end();
}

/* A buffer of eight products: bbr asks for a quarter more in one round trip of eight, and leaves no
 * queue else. */
static void bbr_queue(const char *cc)
{
	begin("deep queue", 10 * MB, 20000, 8 * 0.02 * 10 * MB);
	add(cc);
	run(3);
	want(run(20) > 0.93 * 10 * MB);
	printf("  round trip %u us, %llu lost\n", path.flow[0].tx->tcp.srtt_us,
	       (unsigned long long)path.ab->drops);
	want(path.flow[0].tx->tcp.srtt_us < 30000 && !path.ab->drops);
	end();
}

/* Milliseconds that bbr spent with each pacing gain, and in PROBE_RTT. */
struct gains {
	uint32_t ms, more, less, even, small, dips;
};

static struct gains watch(double seconds)
{
	const struct sl_tcp *c = &path.flow[0].tx->tcp;
	struct gains g = {0};
	bool was = false;

	for (; g.ms < (uint32_t)(seconds * 1000); g.ms++) {
		union tcp_cc_info info;
		bool small;

		sim_run(&path.s, path.s.now_us + 1000);
		c->cc->info(c, &info);
		small = c->cwnd <= 4 || info.bbr.bbr_cwnd_gain == 128;
		g.more += info.bbr.bbr_pacing_gain == 320;
		g.less += info.bbr.bbr_pacing_gain == 192 || info.bbr.bbr_pacing_gain == 230;
		g.even += info.bbr.bbr_pacing_gain == 256;
		g.small += small;
		g.dips += small && !was;
		was = small;
	}
	printf("%-24s gain 5/4 %u ms, less %u, 1 %u; small window %u, %u times\n", path.name,
	       g.more, g.less, g.even, g.small, g.dips);
	return g;
}

/* On a path of 2 MB/s: after a silence the rate is the path's. */
static void after_silence(double seconds)
{
	uint64_t rate;

	silent = true;
	run(seconds);
	silent = false;
	send_more(path.flow[0].tx);
	sim_host_kick(path.a);
	run(0.01); /* before the first ACK, which sets a gain */
	rate = sl_tcp_rate(&path.flow[0].tx->tcp)->bytes_s;
	want(rate > (uint64_t)(0.9 * 2 * MB) && rate < (uint64_t)(1.02 * 2 * MB));
	want(watch(4).dips == 0); /* the silence was a look at the round trip by itself */
}

/* A round trip of eight asks for more, the next gives it back; every ten seconds the queue is
 * emptied for 200 ms. After a silence the rate is the path's, and so is the round trip. */
static void bbr_phases(void)
{
	struct gains g;

	begin("bbr, phases", 2 * MB, 20000, 0.04 * 2 * MB);
	add("bbr");
	run(3);
	g = watch(20);
	want(g.more > g.ms / 12 && g.more < g.ms / 5);
	want(g.less > g.ms / 100 && g.less < g.ms / 6);
	want(g.even > g.ms * 6 / 10 && g.more + g.less + g.even == g.ms);
	want(g.dips == 2 && g.small >= 2 * 200 && g.small < 2 * 300);
	after_silence(14);
	want(run(2) > 0.93 * 2 * MB);
	end();
}

/* A third of all is lost, whatever the rate is: that is a policer, and more is not asked for until
 * 48 round trips have passed. */
static void bbr_policed(void)
{
	struct gains g;

	begin("bbr, policed", 2 * MB, 20000, 0.04 * 2 * MB);
	add("bbr");
	run(1);
	path.ab->loss_ppm = 330000;
	run(3);
	g = watch(4);
	want(g.even > g.ms * 9 / 10);
	end();
}

/* Flows of two kinds, the second a late one. (bbr version 1 takes most of a path from cubic.) */
static void beside(const char *cc, const char *other, double index)
{
	begin("beside", 5 * MB, 20000, 0.03 * 5 * MB);
	add(cc);
	run(2);
	add(other);
	run(20);
	run(60);
	printf("  index %.3f\n", jain());
	want(jain() > index);
	end();
}

/* Two to three seconds, here as many round trips as Reno needs, lie between two looks for more;
 * half of the window, for 200 ms, every five seconds. After a silence the rate is the path's. */
static void bbr3_phases(void)
{
	struct gains g;

	begin("bbr3, phases", 2 * MB, 20000, 0.04 * 2 * MB);
	add("bbr3");
	run(1);
	g = watch(19);
	want(g.more > g.ms / 20 && g.more < g.ms / 6);
	want(g.less > g.ms / 10 && g.less < g.ms / 4);
	want(g.more + g.less + g.even == g.ms);
	want(g.dips == 3 && g.small >= 3 * 200 && g.small < 3 * 300);
	after_silence(6);
	end();
}

/* Nothing between them: a local network with a fifth of a millisecond. */
static void local(void)
{
	begin("local", 1000 * MB, 200, 1 * MB);
	add("cubic");
	run(0.1);
	want(run(0.2) > 0.85 * 1000 * MB);
	end();
}

int main(void)
{
	utilisation("cubic");
	utilisation("reno");
	shallow("cubic", 0.85);
	shallow("reno", 0.7);
	fairness("cubic", 2);
	fairness("reno", 2);
	fairness("cubic", 5);
	friendly();
	random_loss("reno", 0.01, 0.75);
	random_loss("cubic", 0.01, 0.75);
	random_loss("cubic", 0.001, 0.75);
	tuning();
	holes();
	reordering();
	marking("cubic");
	local();
	utilisation("bbr");
	shallow("bbr", 0.85);
	fairness("bbr", 2);
	bbr_queue("bbr");
	bbr_phases();
	bbr_policed();
	bbr_loss("bbr", 0.001, 0.919);
	bbr_loss("bbr", 0.01, 0.91);
	bbr_loss("bbr", 0.05, 0.87);
	utilisation("bbr3");
	shallow("bbr3", 0.85);
	fairness("bbr3", 2);
	fairness("bbr3", 4);
	bbr_queue("bbr3");
	bbr_loss("bbr3", 0.001, 0.85);
	bbr_loss("bbr3", 0.01, 0.8);
	bbr_loss("bbr3", 0.05, 0.04);
	beside("cubic", "bbr", 0.8);
	beside("cubic", "bbr3", 0.95);
	beside("bbr", "bbr3", 0.75);
	marking("bbr3");
	bbr3_phases();
	return 0;
}
