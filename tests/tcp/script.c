/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment-level scripts: parsing, sending and comparing segments (see script.h). */
#include "script.h"
#include "tcp/tcp_user.h"

#include <ctype.h>
#include <string.h>

#define TOLERANCE_US (4 * SL_WHEEL_TICK_US)
#define WAIT         (1000 * SIM_SECOND)

/* A packet's specification; fields that it does not give are not compared. */
struct spec {
	struct sl_tcp_seg g;
	bool has_win, has_opts, has_ack, any_seq, any_ack, any_tsval, any_tsecr, any_wnd, any_mss,
		any_wscale, any_sack;
};

/* Parsing ---------------------------------------------------------------------------------------
 */

static void bad(struct t *t, const char *spec, const char *at)
{
	sim_die(&t->s, "bad segment \"%s\" at \"%s\"", spec, at);
}

static const char *blanks(const char *p)
{
	while (*p == ' ' || *p == ',')
		p++;
	return p;
}

static const char *number(const char *p, uint32_t *v, bool *any)
{
	char *end;

	p = blanks(p);
	if (*p == '*') {
		*any = true;
		return p + 1;
	}
	*v = (uint32_t)strtoll(p, &end, 10);
	return end;
}

static bool word(const char **p, const char *w)
{
	size_t n = strlen(w);
	const char *q = blanks(*p);

	if (strncmp(q, w, n) != 0 || isalnum((unsigned char)q[n]))
		return false;
	*p = q + n;
	return true;
}

static const char *parse_flags(const char *p, uint8_t *flags)
{
	static const struct {
		char c;
		uint8_t flag;
	} names[] = {{'F', SL_TCP_FIN}, {'S', SL_TCP_SYN}, {'R', SL_TCP_RST}, {'P', SL_TCP_PSH},
		     {'.', SL_TCP_ACK}, {'U', SL_TCP_URG}, {'E', SL_TCP_ECE}, {'W', SL_TCP_CWR}};

	for (p = blanks(p); *p && *p != ' '; p++)
		for (size_t i = 0; i < sl_array_len(names); i++)
			if (*p == names[i].c)
				*flags |= names[i].flag;
	return p;
}

static const char *parse_sack(const char *p, struct spec *s)
{
	bool no = false;

	s->g.opts |= SL_TCPO_SACK;
	p = blanks(p);
	if (*p == '*') {
		s->any_sack = true;
		return p + 1;
	}
	while (isdigit((unsigned char)*p) && s->g.nsack < SL_TCP_MAX_SACK) {
		struct sl_tcp_block *b = &s->g.sack[s->g.nsack++];

		p = number(p, &b->start, &no);
		p = number(p + 1, &b->end, &no);
		while (*p == ' ')
			p++;
	}
	return p;
}

static const char *parse_tfo(struct t *t, const char *p, struct spec *s)
{
	s->g.opts |= SL_TCPO_TFO;
	p = blanks(p);
	if (*p == '*' || *p == '=') { /* = stands for the last cookie seen */
		memcpy(s->g.tfo, t->tfo, sizeof(t->tfo));
		s->g.tfo_len = *p == '=' ? t->tfo_len : 255;
		p++;
	}
	return p;
}

static const char *parse_opts(struct t *t, const char *p, struct spec *s)
{
	uint32_t v = 0;

	s->has_opts = true;
	for (p = blanks(p + 1); *p != '>'; p = blanks(p)) {
		if (word(&p, "mss")) {
			p = number(p, &v, &s->any_mss);
			s->g.mss = (uint16_t)v;
			s->g.opts |= SL_TCPO_MSS;
		} else if (word(&p, "wscale")) {
			p = number(p, &v, &s->any_wscale);
			s->g.wscale = (uint8_t)v;
			s->g.opts |= SL_TCPO_WSCALE;
		} else if (word(&p, "sackOK")) {
			s->g.opts |= SL_TCPO_SACK_OK;
		} else if (word(&p, "TS")) {
			p = number(p, &s->g.tsval, &s->any_tsval);
			p = number(p, &s->g.tsecr, &s->any_tsecr);
			s->g.opts |= SL_TCPO_TS;
		} else if (word(&p, "sack")) {
			p = parse_sack(p, s);
		} else if (word(&p, "tfo")) {
			p = parse_tfo(t, p, s);
		} else {
			return NULL;
		}
	}
	return p + 1;
}

static struct spec parse(struct t *t, const char *text)
{
	struct spec s = {0};
	const char *p = parse_flags(text, &s.g.flags);
	uint32_t v = 0, end;
	bool no = false;

	p = number(p, &s.g.seq, &s.any_seq);
	if (*p == ':')
		p = number(p + 1, &end, &no);
	p = blanks(p);
	if (*p != '(')
		bad(t, text, p);
	p = number(p + 1, &v, &no) + 1;
	s.g.len = (uint16_t)v;
	for (p = blanks(p); p && *p; p = blanks(p)) {
		const char *at = p;

		if (word(&p, "ack")) {
			p = number(p, &s.g.ack, &s.any_ack);
			s.has_ack = true;
		} else if (word(&p, "win")) {
			p = number(p, &v, &s.any_wnd);
			s.g.wnd = (uint16_t)v;
			s.has_win = true;
		} else if (word(&p, "urg")) {
			p = number(p, &v, &no);
			s.g.urg = (uint16_t)v;
		} else if (*p == '<') {
			p = parse_opts(t, p, &s);
		} else {
			p = NULL;
		}
		if (!p)
			bad(t, text, at);
	}
	return s;
}

/* From the peer ---------------------------------------------------------------------------------
 */

static uint8_t byte_at(uint32_t seq)
{
	return (uint8_t)(seq * 7 + (seq >> 8));
}

void in(struct t *t, const char *text)
{
	struct spec s = parse(t, text);
	struct sim_pkt *p = malloc(sizeof(*p));
	uint8_t *data;

	*p = (struct sim_pkt){.seg = s.g, .from = 1, .to = 0, .off = 66};
	sim_key(t->h, t->lport, t->peer, t->rport, &p->key);
	p->frame = sl_frame_get(&t->h->frames);
	data = sl_frame_ptr(p->frame) + p->off;
	for (uint32_t i = 0; i < s.g.len; i++)
		data[i] = byte_at(s.g.seq + !!(s.g.flags & SL_TCP_SYN) + i);
	p->seg.seq += t->irs;
	if (s.g.flags & SL_TCP_ACK)
		p->seg.ack += t->iss;
	p->seg.tsecr += t->ts0;
	p->seg.ce = t->ce;
	if (!s.has_win)
		p->seg.wnd = 257;
	for (int i = 0; i < s.g.nsack; i++) {
		p->seg.sack[i].start += t->iss;
		p->seg.sack[i].end += t->iss;
	}
	if (t->s.trace)
		sim_print(&t->s, p, "");
	sim_deliver(&t->s, p);
	sim_host_kick(t->h);
}

/* From us ---------------------------------------------------------------------------------------
 */

static bool tap(struct sim *s, struct sim_pkt *p)
{
	struct t *t = s->arg;

	if (s->trace)
		sim_print(s, p, "");
	if (!t->know_iss && p->seg.flags & SL_TCP_SYN) {
		t->know_iss = true;
		t->iss = p->seg.seq;
	}
	if (!t->know_ts && p->seg.opts & SL_TCPO_TS) {
		t->know_ts = true;
		t->ts0 = p->seg.tsval;
	}
	if (p->seg.opts & SL_TCPO_TFO) {
		t->tfo_len = p->seg.tfo_len;
		memcpy(t->tfo, p->seg.tfo, sizeof(t->tfo));
	}
	sim_check(s, t->ngot < sl_array_len(t->got));
	t->got_at[t->ngot] = s->now_us;
	t->got[t->ngot++] = p;
	return true;
}

static void differs(struct t *t, const struct sim_pkt *p, const char *text, const char *what)
{
	printf("got:      ");
	sim_print(&t->s, p, "");
	printf("relative: seq %d ack %d\nwanted:   %s\n", (int)(p->seg.seq - t->iss),
	       (int)(p->seg.ack - t->irs), text);
	sim_die(&t->s, "%s differs", what);
}

static const char *compare_opts(const struct t *t, const struct sl_tcp_seg *g, const struct spec *s)
{
	if (g->opts != s->g.opts)
		return "the set of options";
	if (g->opts & SL_TCPO_MSS && !s->any_mss && g->mss != s->g.mss)
		return "mss";
	if (g->opts & SL_TCPO_WSCALE && !s->any_wscale && g->wscale != s->g.wscale)
		return "wscale";
	if (g->opts & SL_TCPO_TS && !s->any_tsval && g->tsval - t->ts0 != s->g.tsval)
		return "tsval";
	if (g->opts & SL_TCPO_TS && !s->any_tsecr && g->tsecr != s->g.tsecr)
		return "tsecr";
	if (g->opts & SL_TCPO_TFO && s->g.tfo_len != 255 && g->tfo_len != s->g.tfo_len)
		return "tfo";
	if (!(g->opts & SL_TCPO_SACK) || s->any_sack)
		return NULL;
	if (g->nsack != s->g.nsack)
		return "number of SACK blocks";
	for (int i = 0; i < g->nsack; i++)
		if (g->sack[i].start - t->irs != s->g.sack[i].start ||
		    g->sack[i].end - t->irs != s->g.sack[i].end)
			return "SACK block";
	return NULL;
}

static const char *compare(const struct t *t, const struct sl_tcp_seg *g, const struct spec *s)
{
	if ((g->flags & ~SL_TCP_PSH) != (s->g.flags & ~SL_TCP_PSH))
		return "flags";
	if (g->len != s->g.len)
		return "length";
	if (!s->any_seq && g->seq - t->iss != s->g.seq)
		return "seq";
	if (s->has_ack && !s->any_ack && g->ack - t->irs != s->g.ack)
		return "ack";
	if (s->has_win && !s->any_wnd && g->wnd != s->g.wnd)
		return "window";
	if (g->flags & SL_TCP_URG && g->urg != s->g.urg)
		return "urgent pointer";
	return s->has_opts ? compare_opts(t, g, s) : NULL;
}

static void take(struct t *t, const char *text)
{
	struct spec s = parse(t, text);
	struct sim_pkt *p = t->got[t->nlooked++];
	const char *what = compare(t, &p->seg, &s);

	if (what)
		differs(t, p, text, what);
	t->ect = p->seg.ce;
	sim_pkt_free(&t->s, p);
}

void out(struct t *t, const char *text)
{
	if (t->nlooked == t->ngot)
		sim_die(&t->s, "nothing was sent; wanted: %s", text);
	take(t, text);
}

void out_in(struct t *t, uint64_t us, const char *text)
{
	uint64_t from = t->s.now_us, at;

	if (t->nlooked != t->ngot)
		differs(t, t->got[t->nlooked], text, "when it was sent: at once");
	while (t->nlooked == t->ngot && sim_step(&t->s, from + WAIT))
		;
	if (t->nlooked == t->ngot)
		sim_die(&t->s, "nothing is sent any more; wanted: %s", text);
	at = t->got_at[t->nlooked] - from;
	if (at + TOLERANCE_US < us || at > us + TOLERANCE_US) {
		printf("sent after %llu us, not %llu\n", (unsigned long long)at,
		       (unsigned long long)us);
		differs(t, t->got[t->nlooked], text, "the time");
	}
	take(t, text);
}

void pass(struct t *t, uint64_t us)
{
	sim_run(&t->s, t->s.now_us + us);
}

void quiet(struct t *t, uint64_t us)
{
	pass(t, us);
	if (t->nlooked != t->ngot)
		differs(t, t->got[t->nlooked], "(nothing)", "silence");
}

uint32_t skip(struct t *t)
{
	uint32_t n = t->ngot - t->nlooked;

	while (t->nlooked < t->ngot)
		sim_pkt_free(&t->s, t->got[t->nlooked++]);
	t->ngot = t->nlooked = 0;
	return n;
}

/* The program -----------------------------------------------------------------------------------
 */

static void on_event(struct sim_conn *c, uint32_t events)
{
	struct t *t = c->arg;

	t->events |= events;
}

static void on_accepted(struct sim_conn *c)
{
	struct t *t = c->arg;

	t->naccepted++;
	if (t->c && !t->second)
		t->second = c;
	else
		t->c = c;
}

static void on_freed(struct sim_conn *c)
{
	struct t *t = c->arg;

	if (c == t->c) {
		t->c = NULL;
		t->freed = true;
	} else if (c == t->second) {
		t->second = NULL;
	}
}

static const struct sim_app app = {.event = on_event, .accepted = on_accepted, .freed = on_freed};

void t_kick(struct t *t)
{
	t->h->busy = true;
	sim_host_kick(t->h);
}

void t_listen(struct t *t, uint32_t backlog)
{
	t->l = sim_listen(t->h, t->lport, backlog, &app, t);
}

void t_client(struct t *t)
{
	t->c = sim_conn_new(t->h, &app, t);
}

void t_connect(struct t *t)
{
	if (!t->c)
		t_client(t);
	check(t, sim_open(t->c, t->lport, t->peer, t->rport) == 0);
	t_kick(t);
}

void t_write_none(struct t *t)
{
	check(t, sl_tcp_write(&t->c->tcp, NULL, 0, 0, false, false) == 0);
	t_kick(t);
}

static void write_n(struct t *t, uint32_t n, bool more)
{
	static uint8_t zero[65536];

	if (!more && sl_tcp_append(&t->c->tcp, zero, n))
		return;
	while (n) {
		struct iovec iov = {zero, sl_min(n, 65536u)};

		check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, more, false) == (long)iov.iov_len);
		n -= (uint32_t)iov.iov_len;
	}
	t_kick(t);
}

void t_write(struct t *t, uint32_t n)
{
	write_n(t, n, false);
}

void t_write_more(struct t *t, uint32_t n)
{
	write_n(t, n, true);
}

void t_read(struct t *t, uint32_t want, long expected)
{
	static uint8_t buf[1 << 20];
	uint32_t seq = t->c->tcp.copied_seq - t->irs;
	struct iovec iov = {buf, want};
	bool urgent = t->c->tcp.urg_in; /* a byte may be left out */
	long n = sl_tcp_read(&t->c->tcp, &iov, 1, 0, false, false);

	if (n != expected)
		sim_die(&t->s, "read %ld bytes, not %ld", n, expected);
	if (!urgent)
		for (long i = 0; i < n; i++)
			check(t, buf[i] == byte_at(seq + (uint32_t)i));
	t_kick(t);
}

void t_close(struct t *t)
{
	sim_close(t->c, -1);
	t_kick(t);
}

void t_shutdown(struct t *t)
{
	check(t, sl_tcp_shutdown(&t->c->tcp, false, true) == 0);
	t_kick(t);
}

void t_changed(struct t *t)
{
	sl_tcp_option_changed(&t->c->tcp);
	t_kick(t);
}

void t_open(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 257");
	check(t, t->c);
	state(t, SL_TCP_ESTABLISHED);
}

void t_open_ts(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1012,sackOK,TS 100 0,wscale 7>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,TS 0 100,wscale 7>");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 257 <TS 101 0>");
	check(t, t->c);
	state(t, SL_TCP_ESTABLISHED);
}

void t_connected(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7>");
	pass(t, T_RTT);
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, ". 1:1(0) ack 1 <>");
	saw(t, SL_TCP_EV_CONNECTED);
	state(t, SL_TCP_ESTABLISHED);
}

void t_state(struct t *t, enum sl_tcp_state st, int line)
{
	enum sl_tcp_state is = t->c ? (enum sl_tcp_state)t->c->tcp.state : SL_TCP_CLOSED;

	if (is != st)
		sim_die(&t->s, "line %d: state %d, not %d", line, is, st);
}

/* Beginning and end ------------------------------------------------------------------------------
 */

void t_begin(struct t *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	sim_init(&t->s, 1, 16384, 12);
	snprintf(t->s.what, sizeof(t->s.what), "%s", name);
	t->name = name;
	t->h = sim_host_new(&t->s, false);
	t->peer = sim_host_new(&t->s, false);
	t->s.tap = tap;
	t->s.arg = t;
	t->lport = T_PORT;
	t->rport = 5000;
	t->irs = 0xfffffff0u; /* wraps at once */
}

void t_end(struct t *t)
{
	t->s.tap = NULL;
	t->h->to[1] = sim_pipe_new(&t->s);
	t->h->to[1]->loss_ppm = 1000000;
	skip(t);
	if (t->second && !t->second->closed_by_app)
		sim_close(t->second, 0);
	if (t->c && !t->c->closed_by_app)
		sim_close(t->c, 0);
	t_kick(t);
	/* Orphans give up. */
	while (t->c || t->second)
		if (!sim_step(&t->s, SIM_FOREVER))
			break;
	check(t, !t->c && !t->second);
	sim_fini(&t->s);
}
