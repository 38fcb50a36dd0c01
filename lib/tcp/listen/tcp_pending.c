/* SPDX-License-Identifier: BSD-2-Clause */
/* Fast Open handshakes that are not complete (RFC 7413 5.1).
 *
 * Theory of operation: a station that has got a cookie of another one's address can send any number
 * of SYNs with data in that one's name, which gets the program's answers. So each listener serves
 * only so many before their handshakes are complete, whether the program has accepted them or not.
 * The other station may reset these connections, which would make room for more, so each of them
 * counts for a minute after (as by Linux, reqsk_fastopen_remove()). A handshake that is complete
 * proves that the peer is there. */
#include "tcp/listen/tcp_pending.h"

#include "base/heap.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"

#define RESET_S   60
#define LONGEST_S 255 /* no handshake takes longer; of one that was lost sight of */
#define FIRST     16  /* places at first */

struct sl_tcp_pending {
	uint32_t n, room;
	struct handshake {
		const struct sl_tcp_listener *l; /* never followed */
		uint32_t hash;                   /* of the connection's key */
		uint32_t until_s;
	} at[];
};

static uint32_t now_s(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us / 1000000);
}

static void drop(struct sl_tcp_pending *p, uint32_t i)
{
	p->at[i] = p->at[--p->n];
}

uint32_t sl_tcp_pending_count(struct sl_tcp_host *h, const struct sl_tcp_listener *l)
{
	struct sl_tcp_pending *p = h->pending;
	uint32_t n = 0, i = 0, now = now_s(h);

	while (p && i < p->n) {
		if ((int32_t)(p->at[i].until_s - now) <= 0)
			drop(p, i);
		else
			n += p->at[i++].l == l;
	}
	return n;
}

static bool make_room(struct sl_tcp_host *h)
{
	struct sl_tcp_pending *p = h->pending;
	uint32_t room = p ? 2 * p->room : FIRST;

	if (p && p->n < p->room)
		return true;
	p = sl_realloc(p, sizeof(*p) + room * sizeof(p->at[0]));
	if (!p)
		return false;
	if (!h->pending)
		p->n = 0;
	p->room = room;
	h->pending = p;
	return true;
}

bool sl_tcp_pending_add(struct sl_tcp *c, const struct sl_tcp_listener *l)
{
	struct sl_tcp_host *h = c->host;

	if (!make_room(h))
		return false;
	h->pending->at[h->pending->n++] = (struct handshake){
		.l = l, .hash = sl_tcp_key_hash(h, &c->node.key), .until_s = now_s(h) + LONGEST_S};
	c->tfo_child = true;
	return true;
}

/* (An earlier connection of the same addresses and ports may have been reset: its minute ends
 * before the longest handshake that began after it.) */
static struct handshake *find(const struct sl_tcp *c)
{
	struct sl_tcp_pending *p = c->host->pending;
	struct handshake *last = NULL;
	uint32_t hash;

	if (!p)
		return NULL;
	hash = sl_tcp_key_hash(c->host, &c->node.key);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->at[i].hash == hash &&
		    (!last || (int32_t)(p->at[i].until_s - last->until_s) > 0))
			last = &p->at[i];
	return last;
}

void sl_tcp_pending_done(struct sl_tcp *c)
{
	struct handshake *s = c->tfo_child ? find(c) : NULL;

	c->tfo_child = false;
	if (s)
		drop(c->host->pending, (uint32_t)(s - c->host->pending->at));
}

void sl_tcp_pending_reset(struct sl_tcp *c)
{
	struct handshake *s = c->tfo_child ? find(c) : NULL;

	c->tfo_child = false;
	if (s)
		s->until_s = now_s(c->host) + RESET_S;
}

void sl_tcp_pending_forget(struct sl_tcp_host *h, const struct sl_tcp_listener *l)
{
	struct sl_tcp_pending *p = h->pending;
	uint32_t i = 0;

	while (p && i < p->n) {
		if (p->at[i].l == l)
			drop(p, i);
		else
			i++;
	}
}
