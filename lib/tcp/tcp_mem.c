/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory of a lane's connections: which frames are taken back when they are short. The
 * kernel has net.ipv4.tcp_mem for this (tcp(7)).
 *
 * Theory of operation: frames are counted where they are traded (io/frame.h), which tells how short
 * they are. No queue takes one of the reserve. Bytes that were acknowledged are kept whatever
 * happens, and so are those that the program has written (sock/move/stuck.c gives such connections
 * to the kernel); what a peer has sent beyond a hole may be
 * dropped, since it keeps that until the hole is filled (RFC 2018 8). So each connection that has
 * such bytes is in two lists, from which victims are taken without a search: by the logarithm of
 * the packet memory that they hold, and by age. While frames are scarce those go whose hole was
 * never filled in OLD_US; when they are short, those that hold most. Before a connection loses
 * anything its small pieces are copied together, which may do. What programs have written and left
 * (orphans) is given up for a reset then, when they close and when a timer has sent in vain.
 *
 * The lists are the lane's. Another lane of the process, or another member of the group, has the
 * reserve until this one gives back, at its next turn or the keeper's. */

#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_params.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"

#define OLD_US     10000000ull /* a peer that lives has sent it again long ago */
#define ORPHAN_MEM 4608        /* SOCK_MIN_SNDBUF */

/* A peer that takes what waits in SLOW_MS is fast enough; progress is judged over LOOK_MS. A look
 * that is older than OLD_LOOK_MS is of another shortage. */
#define SLOW_MS     16000u
#define LOOK_MS     4000u
#define OLD_LOOK_MS 12000u

void sl_tcp_mem_init(struct sl_tcp_mem *m)
{
	for (uint32_t i = 0; i < SL_TCP_MEM_CLASSES; i++)
		sl_list_init(&m->greedy[i]);
	sl_list_init(&m->aged);
}

static uint8_t class_of(uint32_t held)
{
	return held ? (uint8_t)(32 - __builtin_clz(held)) : 0;
}

void sl_tcp_mem_unsettle(struct sl_ooo *o)
{
	sl_list_del(&o->greedy);
	sl_list_del(&o->aged);
}

void sl_tcp_mem_settle(struct sl_tcp *c)
{
	struct sl_tcp_mem *m = &c->host->mem;
	struct sl_ooo *o = c->ooo;
	uint8_t class;

	if (!o)
		return;
	if (!c->noo) {
		sl_tcp_mem_unsettle(o);
		return;
	}
	class = class_of(o->held);
	if (class != o->class || sl_list_empty(&o->greedy)) {
		sl_list_del(&o->greedy);
		sl_list_add_tail(&m->greedy[class], &o->greedy);
		o->class = class;
	}
	if (sl_list_empty(&o->aged)) {
		o->since_us = c->host->now_us;
		sl_list_add_tail(&m->aged, &o->aged);
	}
}

/* The connection that must drop its pieces next, or NULL. A frozen connection is being read: it
 * leaves the lists and returns with its next piece. */
static struct sl_ooo *victim(struct sl_tcp_host *h, bool greediest)
{
	struct sl_list *l = &h->mem.aged;
	struct sl_ooo *o;

	for (int i = SL_TCP_MEM_CLASSES - 1; greediest && i >= 0; i--) {
		l = &h->mem.greedy[i];
		if (!sl_list_empty(l))
			break;
	}
	if (sl_list_empty(l))
		return NULL;
	if (greediest)
		o = sl_container_of(l->next, struct sl_ooo, greedy);
	else
		o = sl_container_of(l->next, struct sl_ooo, aged);
	return greediest || h->now_us - o->since_us >= OLD_US ? o : NULL;
}

void sl_tcp_relieve(struct sl_tcp_host *h)
{
	enum sl_scarcity s;
	struct sl_ooo *o;

	while ((s = sl_frames_look(h->frames)) >= SL_SCARCE) {
		o = victim(h, false);
		if (!o && s >= SL_SHORT)
			o = victim(h, true);
		if (!o)
			return;
		if (o->of->frozen)
			sl_tcp_mem_unsettle(o);
		else if (!sl_tcp_ooo_pack(o->of))
			sl_tcp_ooo_drop(o->of);
	}
}

static bool is_over(struct sl_tcp *c)
{
	return sl_frames_is_over(c->host->frames, c->tx_tail - c->tx_una, 2, c->host->nnodes);
}

bool sl_tcp_mem_is_over(struct sl_tcp *c)
{
	return c->host->frames->scarcity != SL_PLENTY && is_over(c);
}

static uint32_t orphans; /* of all lanes; atomic */

void sl_tcp_orphan_count(struct sl_tcp *c, bool is)
{
	if (c->counted == is)
		return;
	c->counted = is;
	__atomic_fetch_add(&orphans, is ? 1 : UINT32_MAX, __ATOMIC_RELAXED);
}

void sl_tcp_orphan_child(void)
{
	orphans = 0;
}

bool sl_tcp_orphan_is_over(struct sl_tcp *c, unsigned shift)
{
	uint64_t n = (uint64_t)sl_load(&orphans) + !c->counted;

	return n << shift > sl_tcp_params.max_orphans ||
	       (c->wmem > ORPHAN_MEM && sl_frames_scarcity(c->host->frames) >= SL_SHORT);
}

void sl_tcp_mem_starve(struct sl_tcp *c)
{
	c->starved = true;
	if (c->tx_una == c->tx_tail && sl_list_empty(&c->out_node))
		sl_tcp_no_room(c);
}

bool sl_tcp_mem_is_starved(struct sl_tcp *c)
{
	struct sl_frames *f = c->host->frames;

	if (is_over(c) || (f->n <= f->floor && !sl_frames_left())) {
		sl_tcp_mem_starve(c);
		return true;
	}
	c->starved = false;
	return false;
}

/* Peers that are slow ---------------------------------------------------------------------------
 */

bool sl_tcp_look_is_old(const struct sl_tcp_look *l, uint32_t now_ms)
{
	return !l->at_ms || now_ms - l->at_ms > OLD_LOOK_MS;
}

bool sl_tcp_judge(const struct sl_tcp *c, struct sl_tcp_look *l, uint32_t now_ms, bool *slow)
{
	uint32_t una = sl_load(&c->snd_una), age_ms = now_ms - l->at_ms;

	if (sl_tcp_look_is_old(l, now_ms)) {
		*l = (struct sl_tcp_look){now_ms | 1, una, sl_load(&c->write_seq)};
		return false;
	}
	if (age_ms < LOOK_MS)
		return false;
	*slow = sl_seq_lt(una, l->end) &&
		(uint64_t)(una - l->una) * SLOW_MS < (uint64_t)(l->end - l->una) * age_ms;
	l->at_ms = 0;
	return true;
}
