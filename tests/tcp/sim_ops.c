/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator's hosts as the core's sl_tcp_ops. Payload is copied when it leaves the sender's
 * device, not when it is handed over, and its sum is compared: bytes that the core changes while
 * the device reads them are found. */
#include <string.h>

#include "sim.h"
#include "wire/csum.h"

/* Where the IPv4 or IPv6 address of host i ends in its number. */
static struct sl_addr addr_of(const struct sim_host *h)
{
	static const uint8_t net6[15] = {0xfd};
	uint8_t b[16];

	if (!h->v6)
		return sl_addr_v4(__builtin_bswap32(0x0a000001u + h->idx));
	memcpy(b, net6, 15);
	b[15] = (uint8_t)(1 + h->idx);
	return sl_addr_v6(b);
}

void sim_key(const struct sim_host *a, uint16_t aport, const struct sim_host *b, uint16_t bport,
	     struct sl_tcp_key *key)
{
	memset(key, 0, sizeof(*key));
	key->local = addr_of(a);
	key->remote = addr_of(b);
	key->lport = aport;
	key->rport = bport;
}

static uint8_t host_of(const struct sl_addr *a)
{
	return (uint8_t)(a->b[15] - 1);
}

static uint32_t sum16(uint64_t sum)
{
	uint32_t v = (uint16_t)~sl_csum_fold(sum);

	return v == 0xffff ? 0 : v;
}

void sim_leave_device(struct sim *s, struct sim_tx *t, struct sim_host *h)
{
	struct sim_host *to = s->host[t->pkt.to];
	struct sim_pkt *p = malloc(sizeof(*p));
	const uint8_t *data;

	*p = t->pkt;
	p->frame = sl_frame_get(&to->frames);
	p->off = (uint16_t)(sim_below(&s->rng, 2) ? 66 : 320);
	if (t->pkt.frame != SL_NO_FRAME) {
		data = sl_frame_ptr(t->pkt.frame) + t->pkt.off;
		sim_check(s, sum16(sl_csum_add(0, data, p->seg.len)) == sum16(t->psum));
		if (p->frame != SL_NO_FRAME) {
			if (p->off + (uint32_t)p->seg.len > 1u << sl_pool.shift)
				p->off = 66;
			memcpy(sl_frame_ptr(p->frame) + p->off, data, p->seg.len);
		}
		sl_frame_put(&h->frames, t->pkt.frame);
	}
	if (p->frame == SL_NO_FRAME) {
		sim_trace(s, p, "no frame");
		free(p);
		return;
	}
	if (!s->tap || !s->tap(s, p))
		sim_on_wire(s, p);
}

/* When a segment leaves the device. */
static uint64_t leaves(struct sim_host *h, struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	uint64_t at_us = sl_max(h->nic_free_us, h->sim->now_us);

	if (!h->nic_us || !c->opts || !c->opts->nic || !seg->len)
		return h->sim->now_us + h->tx_us;
	h->nic_free_us = at_us + h->nic_us;
	c->opts->leaves_us = at_us + h->clock_off_us;
	return at_us;
}

static bool op_send(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    uint64_t psum)
{
	struct sim_host *h = sl_container_of(c->host, struct sim_host, tcp);
	struct sim *s = h->sim;
	struct sim_tx t = {.psum = psum}, *later;
	uint64_t leaves_us;

	if (h->tx_ring && h->tx_out >= h->tx_ring) {
		h->tx_refused = true;
		return false;
	}
	sim_check(s, (frame == SL_NO_FRAME) == (seg->len == 0));
	sim_check(s, frame == SL_NO_FRAME || (off >= SL_TCP_HEADROOM &&
					      (uint32_t)off + seg->len <= 1u << sl_pool.shift));
	t.pkt = (struct sim_pkt){sim_turned(&c->node.key),    *seg, frame, off, h->idx,
				 host_of(&c->node.key.remote)};
	if (frame != SL_NO_FRAME)
		sl_frame_ref(frame);
	leaves_us = leaves(h, c, seg);
	if (leaves_us == s->now_us) {
		sim_leave_device(s, &t, h);
		return true;
	}
	h->tx_out++;
	later = malloc(sizeof(*later));
	*later = t;
	sim_push(s, (struct sim_event){
			    .at_us = leaves_us, .kind = SIM_EV_SENT, .host = h->idx, .obj = later});
	return true;
}

/* A segment may wait behind the one that is being sent. */
static bool op_paced(struct sl_tcp *c, uint64_t *at_us)
{
	const struct sim_host *h = sl_container_of(c->host, struct sim_host, tcp);

	*at_us = h->nic_free_us + h->clock_off_us - h->nic_us;
	return true;
}

static bool op_reply(struct sl_tcp_host *th, const struct sl_tcp_listener *l,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope)
{
	struct sim_host *h = sl_container_of(th, struct sim_host, tcp);
	struct sim_tx t = {
		.pkt = {sim_turned(key), *seg, SL_NO_FRAME, 0, h->idx, host_of(&key->remote)}};

	sim_check(h->sim, seg->len == 0);
	sim_leave_device(h->sim, &t, h);
	return true;
}

static void op_event(struct sl_tcp *t, uint32_t events)
{
	struct sim_conn *c = sl_container_of(t, struct sim_conn, tcp);

	c->events |= events;
	if (c->ready)
		return;
	c->ready = true;
	c->ready_next = c->host->ready;
	c->host->ready = c;
	c->host->busy = true;
}

static struct sl_tcp *op_child_new(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				   uint32_t scope)
{
	struct sim_listener *sl = sl_container_of(l, struct sim_listener, tcp);
	struct sim_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->host = sl->host;
	c->app = sl->app;
	c->arg = sl->arg;
	sl->host->nconns++;
	return &c->tcp;
}

void sim_unready(struct sim_conn *c)
{
	struct sim_conn **p = &c->host->ready;

	if (!c->ready)
		return;
	while (*p != c)
		p = &(*p)->ready_next;
	*p = c->ready_next;
	c->ready = false;
}

static void op_child_free(struct sl_tcp *t)
{
	struct sim_conn *c = sl_container_of(t, struct sim_conn, tcp);

	sim_unready(c);
	c->host->nconns--;
	free(c);
}

static void op_accept_ready(struct sl_tcp_listener *l)
{
	sl_container_of(l, struct sim_listener, tcp)->host->busy = true;
}

static struct sl_tcp_route op_route(struct sl_tcp_host *th, const struct sl_tcp *c,
				    const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope)
{
	struct sim_host *h = sl_container_of(th, struct sim_host, tcp);

	uint16_t mss = (uint16_t)(h->mtu - (h->v6 ? 60 : 40));

	return (struct sl_tcp_route){mss, mss, 0, NULL};
}

static void op_count(struct sl_tcp_host *th, unsigned id, uint32_t n)
{
	sl_container_of(th, struct sim_host, tcp)->count[id] += n;
}

static void op_tfo_answer(struct sl_tcp *t, const struct sl_tcp_seg *synack, unsigned how)
{
	struct sim_host *h = sl_container_of(t, struct sim_conn, tcp)->host;

	h->tfo_answers++;
	h->tfo_losses += (how & SL_TFO_LOST) != 0;
	h->tfo_asked += (how & SL_TFO_ASKED) != 0;
	h->tfo_mss = synack->mss;
	h->tfo_len = synack->opts & SL_TCPO_TFO ? synack->tfo_len : 0;
	memcpy(h->tfo, synack->tfo, sizeof(h->tfo));
}

const struct sl_tcp_ops sim_ops = {
	.send = op_send,
	.reply = op_reply,
	.event = op_event,
	.paced = op_paced,
	.child_new = op_child_new,
	.child_free = op_child_free,
	.accept_ready = op_accept_ready,
	.route = op_route,
	.tfo_answer = op_tfo_answer,
	.count = op_count,
};
