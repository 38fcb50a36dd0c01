/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzer of the TCP core: segments, calls and time in any order, in every state.
 *
 * The input is a row of struct step. Chance alone would never find a sequence number that means
 * something, so a segment's numbers are said relative to what the connection knows (RCV.NXT, the
 * window's edge, SND.UNA, ...), and its payload comes from a stream whose every byte is known by
 * its number: whatever the peer does, what is read must be that stream. After each step the
 * connections must be sound (sim_check.c); at the end all frames, records and timers must be back.
 */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_user.h"
#include "tests/tcp/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONNS     4
#define MAX_STEPS 300

struct step {
	uint8_t op, conn;
	uint8_t flags, opts;
	uint8_t seq_from, ack_from;
	int16_t seq_by, ack_by;
	uint16_t len, wnd;
	uint8_t a, b;
};

struct peer { /* of one port; what it last heard */
	uint32_t seq, ack, tsval, irs;
	uint32_t edge; /* of the window that was announced last */
	bool has_edge;
	uint8_t tfo[16], tfo_len;
	struct sim_conn *c;
};

static struct sim s;
static struct sim_host *h, *far;
static struct sim_listener *l;
static struct peer peers[CONNS];
static bool overtakes; /* packets leave the device in any order */

/* The program ------------------------------------------------------------------------------------
 */

static struct peer *peer_of(const struct sim_conn *c)
{
	return c->arg && c->arg != &s ? c->arg : &peers[(c->tcp.node.key.rport - 5000) % CONNS];
}

static void accepted(struct sim_conn *c)
{
	struct peer *p = peer_of(c);

	c->arg = p;
	/* The one before it on the port is done, or it would still be in the table. */
	if (p->c)
		sim_close(p->c, -1);
	p->c = c;
	p->has_edge = false; /* that was of another one's window */
}

static void freed(struct sim_conn *c)
{
	struct peer *p = peer_of(c);

	if (p->c == c)
		p->c = NULL;
}

static const struct sim_app app = {.accepted = accepted, .freed = freed};

/* RFC 9293 3.8.6.2.2: what was announced is never taken back. */
static void check_window(struct sim *sim, struct peer *peer, const struct sl_tcp_seg *g)
{
	const struct sl_tcp *c = peer->c ? &peer->c->tcp : NULL;
	uint32_t edge;

	if (overtakes || !c || !sl_tcp_is_synchronised(c->state) || g->flags & SL_TCP_SYN) {
		peer->has_edge = false;
		return;
	}
	if (g->flags & SL_TCP_RST || !(g->flags & SL_TCP_ACK) || g->ack != c->rcv_nxt)
		return;
	edge = g->ack + ((uint32_t)g->wnd << (c->wscale_ok ? c->rcv_wscale : 0));
	sim_check(sim, !peer->has_edge || c->fin_rcvd || sl_seq_ge(edge, peer->edge));
	peer->edge = edge;
	peer->has_edge = true;
}

static bool tap(struct sim *sim, struct sim_pkt *p)
{
	struct peer *peer = &peers[(p->key.lport - 5000) % CONNS];

	check_window(sim, peer, &p->seg);
	peer->seq = p->seg.seq + sl_seg_seqlen(&p->seg);
	if (p->seg.flags & SL_TCP_ACK)
		peer->ack = p->seg.ack;
	if (p->seg.opts & SL_TCPO_TS)
		peer->tsval = p->seg.tsval;
	if (p->seg.opts & SL_TCPO_TFO && p->seg.tfo_len) {
		peer->tfo_len = p->seg.tfo_len;
		memcpy(peer->tfo, p->seg.tfo, sizeof(peer->tfo));
	}
	sim_check(sim, p->seg.len <= 1460 && p->seg.nsack <= SL_TCP_MAX_SACK);
	sim_pkt_free(sim, p);
	return true;
}

/* Segments ---------------------------------------------------------------------------------------
 */

static uint8_t byte_at(uint32_t seq)
{
	return (uint8_t)(seq ^ seq >> 8 ^ seq >> 16);
}

static uint32_t seq_base(const struct peer *p, uint8_t from)
{
	const struct sl_tcp *c = p->c ? &p->c->tcp : NULL;

	if (!c)
		return from & 1 ? p->irs : p->ack;
	switch (from % 8) {
	case 0:
	case 1:
		return c->rcv_nxt;
	case 2:
		return c->rcv_wup + c->rcv_wnd;
	case 3:
		return c->irs;
	case 4:
		return c->noo ? sl_ooo_last(c->ooo)->seq : c->rcv_nxt;
	case 5:
		return c->copied_seq;
	case 6:
		return c->rcv_nxt + 0x80000000u;
	default:
		return p->irs;
	}
}

static uint32_t ack_base(const struct peer *p, uint8_t from)
{
	const struct sl_tcp *c = p->c ? &p->c->tcp : NULL;

	if (!c || !c->host)
		return p->seq;
	switch (from % 8) {
	case 0:
		return c->snd_una;
	case 1:
	case 2:
		return c->snd_nxt;
	case 3:
		return c->write_seq;
	case 4:
		return c->tx_una != c->tx_nxt
			       ? sl_tcp_piece(c, c->tx_una)->seq + sl_tcp_piece(c, c->tx_una)->len
			       : c->snd_una;
	case 5:
		return c->snd_una - c->max_window;
	case 6:
		return c->iss;
	default:
		return p->seq;
	}
}

static void set_options(struct sl_tcp_seg *g, const struct step *st, const struct peer *p)
{
	g->opts = st->opts & 63;
	g->mss = (uint16_t)(st->a * 16);
	g->wscale = st->b & 15;
	g->tsval =
		(uint32_t)(s.now_us / 1000) + (uint32_t)(int8_t)st->a * (st->b & 1 ? 1u : 1u << 24);
	g->tsecr = st->b & 2 ? 0 : p->tsval - (st->a & 3);
	if (g->opts & SL_TCPO_SACK) {
		g->nsack = 1 + st->b % SL_TCP_MAX_SACK;
		for (uint8_t i = 0; i < g->nsack; i++) {
			uint32_t from = g->ack + (uint32_t)((st->a * (i + 1)) % 64) * 100u;

			if (st->b & 16)
				from = ack_base(p, (uint8_t)(st->ack_from + i)) - st->a;
			g->sack[i] = (struct sl_tcp_block){from, from + 100u * (st->b >> 4)};
		}
	}
	if (g->opts & SL_TCPO_TFO) {
		g->tfo_len = st->b & 4 ? p->tfo_len : st->b & 8;
		memcpy(g->tfo, p->tfo, sizeof(g->tfo));
	}
}

static void segment(const struct step *st)
{
	struct peer *p = &peers[st->conn % CONNS];
	struct sim_pkt *pkt = sl_malloc(sizeof(*pkt));
	struct sl_tcp_seg *g = &pkt->seg;
	uint8_t *to;

	*pkt = (struct sim_pkt){.from = far->idx, .to = h->idx, .off = 66};
	sim_key(h, 80, far, (uint16_t)(5000 + st->conn % CONNS), &pkt->key);
	g->flags = st->flags;
	g->seq = seq_base(p, st->seq_from) + (uint32_t)(int32_t)st->seq_by;
	g->ack = ack_base(p, st->ack_from) + (uint32_t)(int32_t)st->ack_by;
	g->wnd = st->wnd;
	g->urg = (uint16_t)(st->a << (st->b & 7));
	g->len = st->len % 1600;
	if (st->seq_from & 64)
		g->len = 0;
	g->ce = st->ack_from & 64;
	set_options(g, st, p);
	if (g->flags & SL_TCP_SYN && !p->c)
		p->irs = g->seq;
	pkt->frame = sl_frame_get(&h->frames);
	if (pkt->frame == SL_NO_FRAME) {
		sl_free(pkt);
		return;
	}
	to = sl_frame_ptr(pkt->frame) + pkt->off;
	for (uint32_t i = 0; i < g->len; i++)
		to[i] = byte_at(g->seq + !!(g->flags & SL_TCP_SYN) + i);
	sim_deliver(&s, pkt);
}

/* Calls ------------------------------------------------------------------------------------------
 */

static void read_some(struct sim_conn *c, const struct step *st)
{
	static uint8_t buf[65536];
	uint32_t seq = c->tcp.copied_seq, mark = c->tcp.rcv_up;
	bool has_mark = c->tcp.urg_in;
	struct iovec iov[2] = {{buf, st->len / 2}, {buf + st->len / 2, st->len - st->len / 2}};
	long n = sl_tcp_read(&c->tcp, iov, 2, st->flags & 4 ? st->wnd : 0, st->flags & 1,
			     st->flags & 2);
	uint8_t b;

	sim_check(&s, n >= 0 && n <= st->len);
	/* Marks come and go as the peer says; without one the bytes are the stream's. */
	if (!has_mark && !c->tcp.urg_in && !(st->flags & 7))
		for (long i = 0; i < n; i++)
			sim_check(&s, buf[i] == byte_at(seq + (uint32_t)i));
	if (st->b & 1 && sl_tcp_read_oob(&c->tcp, &b, st->b & 2) == 1)
		sim_check(&s, !has_mark || b == byte_at(mark));
}

static void write_some(struct sim_conn *c, const struct step *st)
{
	static uint8_t buf[65536];
	struct iovec iov = {buf, st->len};
	long n;

	if (!st->b && !(st->flags & 3) && sl_tcp_append(&c->tcp, buf, st->len))
		return;
	n = sl_tcp_write(&c->tcp, &iov, 1, st->b, st->flags & 1, st->flags & 2);
	sim_check(&s, n <= (long)st->len);
}

static const char *congestion(uint8_t n)
{
	const char *const *names = sl_tcp_congestions();
	unsigned count = 0;

	while (names[count])
		count++;
	return names[n % count];
}

static void set_option(struct sim_conn *c, const struct step *st)
{
	struct sl_tcp *t = &c->tcp;

	switch (st->a % 10) {
	case 0:
		t->nodelay = st->b & 1;
		break;
	case 1:
		t->cork = st->b & 1;
		break;
	case 2:
		t->keepalive = st->b & 1;
		sl_tcp_opts(t)->keep_time_ms = st->len;
		break;
	case 3:
		t->rcvbuf = st->len;
		t->rcvbuf_locked = true;
		break;
	case 4:
		t->sndbuf = st->len;
		t->sndbuf_locked = true;
		break;
	case 5:
		sl_tcp_opts(t)->user_timeout_ms = st->len;
		break;
	case 6:
		sl_tcp_opts(t)->pace.bytes_s = st->len * 16ull;
		break;
	case 7:
		t->oobinline = st->b & 1;
		break;
	case 8:
		t->quickack_user = st->b % 3;
		break;
	default:
		sl_tcp_set_congestion(t, congestion(st->b));
		break;
	}
	sl_tcp_option_changed(t);
}

static void call(struct peer *p, const struct step *st)
{
	struct sim_conn *c = p->c;

	if (!c) {
		c = p->c = sim_conn_new(h, &app, p);
		sl_tcp_opts(&c->tcp)->user_mss = st->a & 1 ? 88 : 0;
		sim_key(h, 80, far, (uint16_t)(5000 + (p - peers)), &c->tcp.node.key);
		if (sl_tcp_connect(&c->tcp, &c->tcp.node.key) < 0)
			sim_close(c, -1);
		return;
	}
	switch (st->flags % 8) {
	case 0:
	case 1:
		sl_tcp_shutdown(&c->tcp, st->b & 1, true);
		break;
	case 2:
		p->c = NULL;
		sim_close(c, st->b & 1 ? -1 : 0);
		break;
	case 3:
		p->c = NULL;
		sim_close(c, -1);
		break;
	case 4:
		sl_tcp_icmp(&c->tcp, ack_base(p, st->ack_from) + (uint32_t)(int32_t)st->ack_by,
			    ECONNREFUSED, st->len);
		break;
	default:
		set_option(c, st);
		break;
	}
}

static void pass(const struct step *st)
{
	uint64_t us = (uint64_t)st->len << st->a % 24;

	sim_run(&s, s.now_us + us);
}

static void one(const struct step *st)
{
	struct peer *p = &peers[st->conn % CONNS];

	sl_tcp_set_now(&h->tcp, s.now_us + h->clock_off_us);
	sl_tcp_params = h->params;
	switch (st->op % 16) {
	default:
		segment(st);
		break;
	case 10:
		if (p->c)
			write_some(p->c, st);
		break;
	case 11:
		if (p->c)
			read_some(p->c, st);
		break;
	case 12:
		pass(st);
		break;
	case 13:
	case 14:
		call(p, st);
		break;
	case 15:
		l->held = st->b & 1;
		h->tx_ring = st->b & 2 ? 1 + st->a % 4 : 0;
		h->tx_us = st->b & 2 ? 100 : 0;
		overtakes |= h->tx_us;
		break;
	}
	if (!(st->op & 128)) {
		h->busy = true;
		sim_host_kick(h);
	}
}

static void begin(const struct step *st)
{
	memset(peers, 0, sizeof(peers));
	overtakes = false;
	/* Few frames, so that they run out. */
	sim_init(&s, 1, 512, 11);
	s.tap = tap;
	h = sim_host_new(&s, false);
	far = sim_host_new(&s, false);
	h->params.syncookies = st->op % 3;
	h->params.tfo = 3;
	h->params.ecn = 1;
	h->params.ecn_out = true;
	h->params.timestamps = st->op & 4;
	h->params.sack = !(st->op & 8);
	h->params.recovery_rack = !(st->op & 16);
	h->params.frto = !(st->op & 32);
	h->params.rmem_default = st->op & 64 ? 4000 : 131072;
	h->params.abort_on_overflow = st->a & 1;
	h->params.mtu_probing = st->a & 2;
	h->params.slow_start_after_idle = !(st->a & 4);
	h->params.ack_every_bytes = st->a & 8 ? 3000 : 0;
	l = sim_listen(h, 80, st->a & 64 ? 0 : 2, &app, &s);
	if (st->a & 16)
		l->tcp.rcvbuf = l->tcp.sndbuf = 20000;
	if (st->a & 32)
		strcpy(l->tcp.congestion, "reno");
	l->tcp.tfo_qlen = 2;
	l->tcp.defer_accept_s = st->op & 128 ? 3 : 0;
}

static void show(struct sl_tcp_node *n, void *arg)
{
	const struct sl_tcp *c = sl_container_of(n, struct sl_tcp, node);

	if (n->kind == SL_TCP_CONN)
		fprintf(stderr,
			"state %d orphan %d error %d una %u nxt %u write %u wnd %u pieces %u/%u fin "
			"queued %d sent %d out %d\n",
			c->state, c->orphan, c->error, c->snd_una - c->iss, c->snd_nxt - c->iss,
			c->write_seq - c->iss, c->snd_wnd, sl_tcp_pieces_out(c),
			c->tx_tail - c->tx_una, c->fin_queued, c->fin_sent,
			!sl_list_empty((struct sl_list *)&c->out_node));
}

static void end(void)
{
	l->held = false;
	sim_listener_free(l);
	for (int i = 0; i < CONNS; i++)
		if (peers[i].c)
			sim_close(peers[i].c, 0);
	h->busy = true;
	/* Whatever is left has a timer that ends it. */
	sim_run(&s, s.now_us + 40000 * SIM_SECOND);
	sl_tcp_table_each(&h->tcp, show, NULL);
	if (h->tcp.nnodes || h->tcp.wheel.armed || h->nconns)
		sim_die(&s, "left: %u nodes, %u requests, %u TIME_WAIT, %u timers, %u connections",
			h->tcp.nnodes, h->tcp.nreq, h->tcp.ntw, h->tcp.wheel.armed, h->nconns);
	sim_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step st;

	if (size < sizeof(st))
		return 0;
	memcpy(&st, data, sizeof(st));
	begin(&st);
	for (int i = 0; i < MAX_STEPS && size >= sizeof(st); i++) {
		memcpy(&st, data, sizeof(st));
		data += sizeof(st);
		size -= sizeof(st);
		one(&st);
		for (int k = 0; k < CONNS; k++)
			if (peers[k].c)
				sim_check_conn(&s, &peers[k].c->tcp);
	}
	end();
	return 0;
}
