/* SPDX-License-Identifier: BSD-2-Clause */
/* Fast Open handshakes that are not complete (RFC 7413 5.1).
 *
 * Theory of operation: a station that has got a cookie of another one's address can send any number
 * of SYNs with data in that one's name, which gets the program's answers. So each listener serves
 * only so many before their handshakes are complete, whether the program has accepted them or not.
 * The other station may reset these connections, which would make room for more, so each of them
 * counts for a minute after (as by Linux, reqsk_fastopen_remove()). A handshake that is complete
 * proves that the peer is there.
 *
 * The handshakes of a host are in a table by their hash, and each is in one of two queues: of those
 * that are open, and of those that were reset. All of a queue count for the same time, so the first
 * one is always the next that ends. What a SYN costs does not depend on how many there are. */
#include "tcp/listen/tcp_pending.h"

#include "base/heap.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"

#define RESET_S   60
#define LONGEST_S 255 /* no handshake takes longer; of one that was lost sight of */
#define FIRST     16  /* places at first, a power of two as all later numbers of them */
#define NONE      UINT32_MAX

struct sl_tcp_pending {
	uint32_t room, unused; /* places, and the first of those that are free */
	struct queue {
		uint32_t first, last;
	} queue[2]; /* open, reset */
	struct handshake {
		struct sl_tcp_listener *l; /* NULL: the place is free */
		uint32_t hash;             /* of the connection's key */
		uint32_t until_s;
		uint32_t prev, next; /* in its queue; next: also of the free places */
		uint32_t beside;     /* the next one in its bucket */
		bool reset;
		uint32_t bucket; /* not of this handshake: the table's bucket of this number */
	} at[];
};

static uint32_t now_s(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us / 1000000);
}

static uint32_t *bucket_of(struct sl_tcp_pending *p, uint32_t hash)
{
	return &p->at[hash & (p->room - 1)].bucket;
}

static void enqueue(struct sl_tcp_pending *p, uint32_t i, uint32_t until_s)
{
	struct handshake *s = &p->at[i];
	struct queue *q = &p->queue[s->reset];

	s->until_s = until_s;
	s->next = NONE;
	s->prev = q->last;
	*(q->last == NONE ? &q->first : &p->at[q->last].next) = i;
	q->last = i;
}

static void dequeue(struct sl_tcp_pending *p, uint32_t i)
{
	struct handshake *s = &p->at[i];
	struct queue *q = &p->queue[s->reset];

	*(s->prev == NONE ? &q->first : &p->at[s->prev].next) = s->next;
	*(s->next == NONE ? &q->last : &p->at[s->next].prev) = s->prev;
}

static void drop(struct sl_tcp_pending *p, uint32_t i)
{
	struct handshake *s = &p->at[i];
	uint32_t *link = bucket_of(p, s->hash);

	while (*link != i)
		link = &p->at[*link].beside;
	*link = s->beside;
	dequeue(p, i);
	s->l->tfo_pending--;
	s->l = NULL;
	s->next = p->unused;
	p->unused = i;
}

uint32_t sl_tcp_pending_count(struct sl_tcp_host *h, const struct sl_tcp_listener *l)
{
	struct sl_tcp_pending *p = h->pending;

	for (unsigned q = 0; p && q < sl_array_len(p->queue); q++)
		while (p->queue[q].first != NONE &&
		       (int32_t)(p->at[p->queue[q].first].until_s - now_s(h)) <= 0)
			drop(p, p->queue[q].first);
	return l->tfo_pending;
}

/* Puts it into its bucket. */
static void put(struct sl_tcp_pending *p, uint32_t i)
{
	uint32_t *bucket = bucket_of(p, p->at[i].hash);

	p->at[i].beside = *bucket;
	*bucket = i;
}

/* Makes the places from number `from` on free, and puts the handshakes, which have all others, into
 * their buckets. */
static void arrange(struct sl_tcp_pending *p, uint32_t from)
{
	for (uint32_t i = p->room; i-- > from;) {
		p->at[i].l = NULL;
		p->at[i].next = p->unused;
		p->unused = i;
	}
	for (uint32_t i = 0; i < p->room; i++)
		p->at[i].bucket = NONE;
	for (uint32_t i = 0; i < from; i++)
		put(p, i);
}

static bool make_room(struct sl_tcp_host *h)
{
	struct sl_tcp_pending *p = h->pending;
	uint32_t had = p ? p->room : 0, room = p ? 2 * had : FIRST;

	if (p && p->unused != NONE)
		return true;
	p = sl_realloc(p, sizeof(*p) + room * sizeof(p->at[0]));
	if (!p)
		return false;
	if (!had)
		*p = (struct sl_tcp_pending){.unused = NONE, .queue = {{NONE, NONE}, {NONE, NONE}}};
	p->room = room;
	arrange(p, had);
	h->pending = p;
	return true;
}

bool sl_tcp_pending_add(struct sl_tcp *c, struct sl_tcp_listener *l)
{
	struct sl_tcp_host *h = c->host;
	struct sl_tcp_pending *p;
	struct handshake *s;
	uint32_t i;

	if (!make_room(h))
		return false;
	p = h->pending;
	i = p->unused;
	s = &p->at[i];
	p->unused = s->next;
	s->l = l;
	s->hash = sl_tcp_key_hash(h, &c->node.key);
	s->reset = false;
	put(p, i);
	enqueue(p, i, now_s(h) + LONGEST_S);
	l->tfo_pending++;
	c->tfo_child = true;
	return true;
}

/* Finds the connection's handshake, which is open; NONE: it is not known any more. An earlier
 * connection of the same addresses and ports may have been reset, and still counts. */
static uint32_t find(const struct sl_tcp *c)
{
	struct sl_tcp_pending *p = c->host->pending;
	uint32_t hash, i;

	if (!p)
		return NONE;
	hash = sl_tcp_key_hash(c->host, &c->node.key);
	for (i = *bucket_of(p, hash); i != NONE; i = p->at[i].beside)
		if (p->at[i].hash == hash && !p->at[i].reset)
			break;
	return i;
}

void sl_tcp_pending_done(struct sl_tcp *c)
{
	uint32_t i = c->tfo_child ? find(c) : NONE;

	c->tfo_child = false;
	if (i != NONE)
		drop(c->host->pending, i);
}

void sl_tcp_pending_reset(struct sl_tcp *c)
{
	struct sl_tcp_pending *p = c->host->pending;
	uint32_t i = c->tfo_child ? find(c) : NONE;

	c->tfo_child = false;
	if (i == NONE)
		return;
	dequeue(p, i);
	p->at[i].reset = true;
	enqueue(p, i, now_s(c->host) + RESET_S);
}

void sl_tcp_pending_forget(struct sl_tcp_host *h, struct sl_tcp_listener *l)
{
	struct sl_tcp_pending *p = h->pending;

	for (uint32_t i = 0; l->tfo_pending && i < p->room; i++)
		if (p->at[i].l == l)
			drop(p, i);
}
