/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator: events in a heap, hosts, programs (see sim.h).
 *
 * Theory of operation: a step takes all that happens at the earliest time: timers of hosts, packets
 * that arrive, frames that have left a device, timers of programs. Each host that was touched then
 * flushes, as a lane does at the end of a turn, and its programs are told. */
#include "sim.h"
#include "../pool.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_in.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

static size_t pool_bytes;

/* Random ----------------------------------------------------------------------------------------
 */

uint64_t sim_rand(struct sim_rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t sim_below(struct sim_rng *r, uint32_t n)
{
	return (uint32_t)((sim_rand(r) >> 32) * n >> 32);
}

bool sim_chance(struct sim_rng *r, uint32_t ppm)
{
	return ppm && sim_below(r, 1000000) < ppm;
}

void sim_die(const struct sim *s, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "FAILED: %s: at %llu us: ", s->what, (unsigned long long)s->now_us);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

/* Events ----------------------------------------------------------------------------------------
 */

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void sim_push(struct sim *s, struct sim_event e)
{
	uint32_t i = s->nheap++;

	if (s->nheap > s->heapsize) {
		s->heapsize = s->heapsize ? s->heapsize * 2 : 256;
		s->heap = realloc(s->heap, s->heapsize * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	e.order = s->order++;
	for (; i && is_before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static struct sim_event pop(struct sim *s)
{
	struct sim_event top = s->heap[0], last = s->heap[--s->nheap];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < s->nheap) {
		if (child + 1 < s->nheap && is_before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!is_before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return top;
}

/* Hosts ---------------------------------------------------------------------------------------- */

/* Its clock and its settings: the core has one set of these for all hosts. */
static void set_now(struct sim_host *h)
{
	sl_tcp_params = h->params;
	sl_tcp_set_now(&h->tcp, h->sim->now_us + h->clock_off_us);
}

static void conn_free(struct sim_conn *c)
{
	if (c->app && c->app->freed)
		c->app->freed(c);
	sim_unready(c);
	c->dead = true;
	sl_tcp_fini(&c->tcp);
	c->host->nconns--;
	if (!c->ntimers)
		free(c);
}

static void tell(struct sim_conn *c)
{
	uint32_t ev = c->events;

	c->events = 0;
	if (c->closed_by_app) {
		if (ev & SL_TCP_EV_CLOSED)
			conn_free(c);
		return;
	}
	if (c->app->event)
		c->app->event(c, ev);
}

static void accept_all(struct sim_host *h)
{
	struct sl_tcp *t;

	for (struct sim_listener *l = h->listeners, *next; l; l = next) {
		next = l->next;
		while (!l->held && (t = sl_tcp_accept(&h->tcp, &l->tcp))) {
			struct sim_conn *c = sl_container_of(t, struct sim_conn, tcp);

			if (c->app->accepted)
				c->app->accepted(c);
		}
	}
}

/* Programs run, and what they and the core owe is sent, until nothing is new. */
void sim_host_kick(struct sim_host *h)
{
	set_now(h);
	h->busy = true;
	for (int rounds = 0; h->busy; rounds++) {
		sim_check(h->sim, rounds < 1000);
		h->busy = false;
		accept_all(h);
		while (h->ready) {
			struct sim_conn *c = h->ready;

			h->ready = c->ready_next;
			c->ready = false;
			tell(c);
			h->busy = true;
		}
		if (!h->in_turn)
			sl_tcp_flush(&h->tcp);
	}
	h->next_us = sl_wheel_next_us(&h->tcp.wheel);
	if (h->next_us != UINT64_MAX)
		h->next_us = sl_max(h->next_us, h->clock_off_us) - h->clock_off_us;
}

struct sim_listener *sim_listen(struct sim_host *h, uint16_t port, uint32_t backlog,
				const struct sim_app *app, void *arg)
{
	struct sim_listener *l = calloc(1, sizeof(*l));

	sl_tcp_listener_init(&l->tcp);
	l->tcp.backlog = backlog;
	l->tcp.owner = l;
	l->host = h;
	l->port = port;
	l->app = app;
	l->arg = arg;
	l->next = h->listeners;
	h->listeners = l;
	return l;
}

void sim_listener_free(struct sim_listener *l)
{
	struct sim_listener **p = &l->host->listeners;

	set_now(l->host);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	sl_tcp_listener_fini(&l->host->tcp, &l->tcp);
	l->host->busy = true;
	free(l);
}

static struct sl_tcp_listener *listener_of(struct sim_host *h, uint16_t port)
{
	for (struct sim_listener *l = h->listeners; l; l = l->next)
		if (l->port == port)
			return &l->tcp;
	return NULL;
}

struct sim_conn *sim_conn_new(struct sim_host *h, const struct sim_app *app, void *arg)
{
	struct sim_conn *c = calloc(1, sizeof(*c));

	set_now(h);
	c->host = h;
	c->app = app;
	c->arg = arg;
	h->nconns++;
	sl_tcp_init(&c->tcp, &h->tcp);
	return c;
}

int sim_open(struct sim_conn *c, uint16_t lport, struct sim_host *to, uint16_t port)
{
	struct sl_tcp_key key;

	set_now(c->host);
	sim_key(c->host, lport, to, port, &key);
	c->host->busy = true;
	return sl_tcp_connect(&c->tcp, &key);
}

void sim_close(struct sim_conn *c, int linger_ms)
{
	struct sim_host *h = c->host;

	set_now(h);
	h->busy = true;
	c->closed_by_app = true;
	if (sl_tcp_close(&c->tcp, linger_ms))
		conn_free(c);
}

void sim_conn_timer(struct sim_conn *c, uint64_t at_us)
{
	c->timer_gen++;
	if (at_us == SIM_FOREVER)
		return;
	c->ntimers++;
	sim_push(c->host->sim, (struct sim_event){.at_us = sl_max(at_us, c->host->sim->now_us),
						  .kind = SIM_EV_APP,
						  .host = c->host->idx,
						  .gen = c->timer_gen,
						  .obj = c});
}

void sim_deliver(struct sim *s, struct sim_pkt *p)
{
	struct sl_tcp_arrival a = sl_tcp_arrival(&p->seg, p->frame, p->off, NULL);
	struct sim_host *h = s->host[p->to];

	set_now(h);
	h->busy = true;
	s->delivered_pkts++;
	if (!sl_tcp_input(&h->tcp, &p->key, listener_of(h, p->key.lport), &a) &&
	    p->frame != SL_NO_FRAME)
		sl_frame_put(&h->frames, p->frame);
	free(p);
}

/* Time -------------------------------------------------------------------------------------------
 */

static void on_icmp(struct sim *s, struct sim_host *h, struct sim_icmp *m)
{
	struct sl_tcp *c = sl_tcp_find(&h->tcp, &m->key);

	if (c)
		sl_tcp_icmp(c, m->seq, EMSGSIZE, m->mtu);
	free(m);
}

static void on_sent(struct sim *s, struct sim_host *h, struct sim_tx *t)
{
	h->tx_out--;
	sim_leave_device(s, t, h);
	free(t);
	if (h->tx_refused) {
		h->tx_refused = false;
		sl_tcp_on_room(&h->tcp);
	}
}

static void on_app(struct sim_conn *c, uint32_t gen)
{
	c->ntimers--;
	if (c->dead && !c->ntimers)
		free(c);
	else if (!c->dead && c->timer_gen == gen && c->app->timer)
		c->app->timer(c);
}

static void happen(struct sim *s, struct sim_event *e)
{
	struct sim_host *h = s->host[e->host];

	set_now(h);
	h->busy = true;
	switch (e->kind) {
	case SIM_EV_ARRIVE:
		sim_deliver(s, e->obj);
		break;
	case SIM_EV_SENT:
		on_sent(s, h, e->obj);
		break;
	case SIM_EV_ICMP:
		on_icmp(s, h, e->obj);
		break;
	case SIM_EV_APP:
		on_app(e->obj, e->gen);
		break;
	}
	if (sim_chance(&s->rng, s->eager_ppm))
		sim_host_kick(h);
}

static uint64_t next_time(const struct sim *s)
{
	uint64_t t = s->nheap ? s->heap[0].at_us : SIM_FOREVER;

	for (int i = 0; i < s->nhosts; i++)
		t = sl_min(t, s->host[i]->busy ? s->now_us : s->host[i]->next_us);
	return t;
}

bool sim_step(struct sim *s, uint64_t until_us)
{
	uint64_t t = next_time(s);

	if (t == SIM_FOREVER || t > until_us)
		return false;
	sim_check(s, ++s->steps < 200000000);
	s->now_us = sl_max(s->now_us, t);
	for (int i = 0; i < s->nhosts; i++) {
		struct sim_host *h = s->host[i];

		if (h->next_us > s->now_us)
			continue;
		set_now(h);
		h->busy = true;
		sl_tcp_run_timers(&h->tcp);
	}
	while (s->nheap && s->heap[0].at_us <= s->now_us) {
		struct sim_event e = pop(s);

		happen(s, &e);
	}
	for (int i = 0; i < s->nhosts; i++)
		if (s->host[i]->busy)
			sim_host_kick(s->host[i]);
	return true;
}

bool sim_run(struct sim *s, uint64_t until_us)
{
	while (sim_step(s, until_us))
		;
	if (until_us != SIM_FOREVER && s->now_us < until_us)
		s->now_us = until_us;
	return next_time(s) != SIM_FOREVER;
}

/* Making and ending ------------------------------------------------------------------------------
 */

static void pool_init(uint32_t nframes, uint32_t shift)
{
	uint8_t *base;

	if (sl_pool.base && sl_pool.shift == shift && sl_pool.nframes == nframes)
		return;
	if (sl_pool.base)
		munmap(sl_pool.base, pool_bytes);
	pool_bytes = (size_t)nframes << shift;
	base = mmap(NULL, pool_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED || pool_make(base, nframes, shift) < 0)
		abort();
}

void sim_init(struct sim *s, uint64_t seed, uint32_t nframes, uint32_t frame_shift)
{
	memset(s, 0, sizeof(*s));
	s->rng.s = seed;
	s->trace = getenv("SIM_TRACE") != NULL;
	snprintf(s->what, sizeof(s->what), "seed %llu", (unsigned long long)seed);
	/* Not zero: a time of 0 means "none" in places. */
	s->now_us = SIM_SECOND;
	pool_init(nframes, frame_shift);
}

struct sim_host *sim_host_new(struct sim *s, bool v6)
{
	struct sim_host *h = calloc(1, sizeof(*h));

	for (int i = 0; i < 16; i++)
		h->keys.own[i] = h->keys.pair[i] = (uint8_t)sim_rand(&s->rng);
	sl_tcp_keys_init(&h->keys);
	h->sim = s;
	h->idx = s->nhosts;
	h->v6 = v6;
	h->mtu = 1500;
	h->clock_off_us = sim_rand(&s->rng) % (5000000 * SIM_SECOND);
	h->next_us = SIM_FOREVER;
	sl_tcp_params_default(&h->params);
	s->host[s->nhosts++] = h;
	if (sl_tcp_host_init(&h->tcp, &sim_ops, &h->frames, &h->keys, s->now_us + h->clock_off_us,
			     h) < 0)
		abort();
	return h;
}

struct sim_pipe *sim_pipe_new(struct sim *s)
{
	return &s->pipes[s->npipes++];
}

void sim_connect_hosts(struct sim_host *a, struct sim_host *b, struct sim_pipe *ab,
		       struct sim_pipe *ba)
{
	a->to[b->idx] = ab;
	b->to[a->idx] = ba;
}

static void drop_event(struct sim *s, struct sim_event *e)
{
	struct sim_tx *t = e->obj;
	struct sim_conn *c = e->obj;

	switch (e->kind) {
	case SIM_EV_ARRIVE:
		sim_pkt_free(s, e->obj);
		break;
	case SIM_EV_SENT:
		if (t->pkt.frame != SL_NO_FRAME)
			sl_frame_put(&s->host[e->host]->frames, t->pkt.frame);
		free(t);
		break;
	case SIM_EV_ICMP:
		free(e->obj);
		break;
	case SIM_EV_APP:
		if (!--c->ntimers && c->dead)
			free(c);
		break;
	}
}

static void host_free(struct sim *s, struct sim_host *h)
{
	while (h->listeners)
		sim_listener_free(h->listeners);
	sim_check(s, h->nconns == 0);
	sl_tcp_host_fini(&h->tcp);
	sl_frames_flush(&h->frames, 0);
	free(h);
}

void sim_fini(struct sim *s)
{
	uint32_t held = 0;

	s->tap = NULL;
	for (int i = 0; i < s->nhosts; i++)
		while (s->host[i]->listeners)
			sim_listener_free(s->host[i]->listeners);
	while (s->nheap) {
		struct sim_event e = pop(s);

		drop_event(s, &e);
	}
	for (int i = 0; i < s->nhosts; i++)
		host_free(s, s->host[i]);
	for (uint32_t i = 0; i < sl_pool.nframes; i++)
		held += sl_frame_refs(i) != 0;
	sim_check(s, held == 0);
	sim_check(s, sl_frames_left() == sl_pool.nframes);
	free(s->heap);
	s->heap = NULL;
	s->nhosts = 0;
}
