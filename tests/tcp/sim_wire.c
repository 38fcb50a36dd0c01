/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator's wire: a pipe's effects on packets (see sim.h). */
#include <string.h>

#include "sim.h"

/* Packets ---------------------------------------------------------------------------------------
 */

static uint32_t opts_len(const struct sl_tcp_seg *g)
{
	uint32_t n = 0;

	if (g->opts & SL_TCPO_MSS)
		n += 4;
	if (g->opts & SL_TCPO_WSCALE)
		n += 3;
	if (g->opts & SL_TCPO_SACK_OK)
		n += 2;
	if (g->opts & SL_TCPO_TS)
		n += 10;
	if (g->opts & SL_TCPO_TFO)
		n += 2u + g->tfo_len;
	n = (n + 3) & ~3u;
	if (g->opts & SL_TCPO_SACK)
		n += 4 + 8u * g->nsack;
	return n;
}

static uint32_t ip_len(const struct sim_host *h, const struct sl_tcp_seg *g)
{
	return (h->v6 ? 40u : 20u) + 20u + opts_len(g) + g->len;
}

void sim_print(const struct sim *s, const struct sim_pkt *p, const char *what)
{
	const struct sl_tcp_seg *g = &p->seg;
	char flags[9], *f = flags;

	for (int i = 0; i < 8; i++)
		if (g->flags & 1u << i)
			*f++ = "FSRPAUEC"[i];
	*f = 0;
	printf("%10.6f %u:%u > %u:%u %-4s seq %u+%u ack %u win %u", (double)s->now_us / 1e6,
	       p->from, p->key.rport, p->to, p->key.lport, flags, g->seq, g->len, g->ack, g->wnd);
	if (g->opts & SL_TCPO_MSS)
		printf(" mss %u", g->mss);
	if (g->opts & SL_TCPO_WSCALE)
		printf(" wscale %u", g->wscale);
	if (g->opts & SL_TCPO_SACK_OK)
		printf(" sackOK");
	if (g->opts & SL_TCPO_TS)
		printf(" ts %u %u", g->tsval, g->tsecr);
	if (g->opts & SL_TCPO_SACK)
		for (int i = 0; i < g->nsack; i++)
			printf(" sack %u-%u", g->sack[i].start, g->sack[i].end);
	if (g->opts & SL_TCPO_TFO)
		printf(" tfo(%u)", g->tfo_len);
	if (g->flags & SL_TCP_URG)
		printf(" urg %u", g->urg);
	printf("%s%s%s\n", g->ce ? " ecn" : "", *what ? "  " : "", what);
}

void sim_trace(const struct sim *s, const struct sim_pkt *p, const char *what)
{
	if (sl_unlikely(s->trace))
		sim_print(s, p, what);
}

void sim_pkt_free(struct sim *s, struct sim_pkt *p)
{
	if (p->frame != SL_NO_FRAME)
		sl_frame_put(&s->host[p->to]->frames, p->frame);
	free(p);
}

struct sl_tcp_key sim_turned(const struct sl_tcp_key *k)
{
	return (struct sl_tcp_key){
		.local = k->remote, .remote = k->local, .lport = k->rport, .rport = k->lport};
}

/* The wire --------------------------------------------------------------------------------------
 */

static struct sim_pkt *pkt_copy(struct sim *s, const struct sim_pkt *p)
{
	struct sim_pkt *q = malloc(sizeof(*q));
	uint32_t f = SL_NO_FRAME;

	if (p->frame != SL_NO_FRAME) {
		f = sl_frame_get(&s->host[p->to]->frames);
		if (f == SL_NO_FRAME) {
			free(q);
			return NULL;
		}
		memcpy(sl_frame_ptr(f) + p->off, sl_frame_ptr(p->frame) + p->off, p->seg.len);
	}
	*q = *p;
	q->frame = f;
	return q;
}

static void arrive(struct sim *s, struct sim_pipe *pipe, struct sim_pkt *p, uint64_t depart)
{
	uint64_t at = depart + pipe->delay_us;

	if (pipe->jitter_us)
		at += sim_below(&s->rng, pipe->jitter_us + 1);
	if (sim_chance(&s->rng, pipe->reorder_ppm)) {
		at += sim_below(&s->rng, pipe->reorder_us + 1);
	} else {
		at = sl_max(at, pipe->last_arrival);
		pipe->last_arrival = at;
	}
	sim_push(s,
		 (struct sim_event){.at_us = at, .kind = SIM_EV_ARRIVE, .host = p->to, .obj = p});
}

static void too_big(struct sim *s, struct sim_pipe *pipe, struct sim_pkt *p)
{
	struct sim_host *h = s->host[p->from];

	sim_trace(s, p, "too big");
	if (!pipe->black_hole) {
		struct sim_icmp *m = malloc(sizeof(*m));

		*m = (struct sim_icmp){sim_turned(&p->key), p->seg.seq,
				       pipe->mtu - (h->v6 ? 40 : 20)};
		sim_push(s, (struct sim_event){.at_us = s->now_us + pipe->delay_us,
					       .kind = SIM_EV_ICMP,
					       .host = p->from,
					       .obj = m});
	}
	sim_pkt_free(s, p);
}

/* When p has left a pipe of limited rate; 0: its queue was full. */
static uint64_t departs(struct sim *s, struct sim_pipe *pipe, struct sim_pkt *p, uint32_t bytes)
{
	uint64_t now_ns = s->now_us * 1000, start = sl_max(pipe->busy_until_ns, now_ns), waiting;

	if (!pipe->rate)
		return s->now_us;
	waiting = (start - now_ns) / 1000 * pipe->rate / SIM_SECOND;
	if (pipe->queue_bytes && waiting + bytes > pipe->queue_bytes)
		return 0;
	if (p->seg.ce && pipe->mark_bytes && waiting > pipe->mark_bytes)
		pipe->marks++;
	else
		p->seg.ce = false;
	pipe->busy_until_ns = start + bytes * 1000 * SIM_SECOND / pipe->rate;
	return pipe->busy_until_ns / 1000;
}

void sim_on_wire(struct sim *s, struct sim_pkt *p)
{
	struct sim_pipe *pipe = s->host[p->from]->to[p->to];
	uint32_t bytes = ip_len(s->host[p->from], &p->seg);
	const char *lost = NULL;
	uint64_t depart;

	sim_check(s, pipe);
	sim_check(s, opts_len(&p->seg) <= 40);
	sim_check(s, bytes <= s->host[p->from]->mtu);
	pipe->pkts++;
	pipe->bytes += bytes;
	if (s->now_us >= pipe->down_from && s->now_us < pipe->down_to)
		lost = "link down";
	else if (sim_chance(&s->rng, pipe->loss_ppm))
		lost = "lost";
	else if (sim_chance(&s->rng, pipe->corrupt_ppm))
		lost = "corrupt";
	else if (pipe->mtu && bytes > pipe->mtu) {
		too_big(s, pipe, p);
		return;
	}
	if (!pipe->rate)
		p->seg.ce = false;
	depart = lost ? 0 : departs(s, pipe, p, bytes);
	if (!depart && !lost)
		lost = "queue full";
	sim_trace(s, p, lost ? lost : "");
	if (lost) {
		pipe->drops++;
		sim_pkt_free(s, p);
		return;
	}
	if (sim_chance(&s->rng, pipe->dup_ppm)) {
		struct sim_pkt *q = pkt_copy(s, p);

		if (q)
			arrive(s, pipe, q, depart);
	}
	arrive(s, pipe, p, depart);
}
