/* SPDX-License-Identifier: BSD-2-Clause */
/* Retries replies that belong to no connection (SYN cookie, reset, ACK of TIME_WAIT) and could not
 * be sent because the neighbour was not resolved. The kernel's replies would wait in its queue.
 * Ours are tried again for a second, like a request's SYN-ACK (tcp_req.c); only a few, since
 * anybody can cause them. */
#include <string.h>

#include "base/heap.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_late.h"

#define LATE_MOST 32

struct late_reply {
	uint64_t at_us;
	struct sl_tcp_key key;
	struct sl_tcp_seg seg;
	uint32_t scope;
	uint8_t tries;
};

struct sl_tcp_late {
	struct sl_tcp_node node; /* only for its kind: it is in no table */
	struct sl_timer timer;
	uint32_t n;
	struct late_reply reply[LATE_MOST];
};

_Static_assert(offsetof(struct sl_tcp_late, timer) == sizeof(struct sl_tcp_node), "sl_tcp_node_of");

static struct sl_tcp_late *late_of(struct sl_tcp_host *h)
{
	if (!h->late) {
		h->late = sl_calloc(1, sizeof(*h->late));
		if (!h->late)
			return NULL;
		h->late->node.kind = SL_TCP_LATE;
		sl_timer_init(&h->late->timer);
	}
	return h->late;
}

static void arm(struct sl_tcp_host *h, struct sl_tcp_late *l)
{
	uint64_t at_us = UINT64_MAX;

	for (uint32_t i = 0; i < l->n; i++)
		at_us = sl_min(at_us, l->reply[i].at_us);
	if (l->n)
		sl_timer_arm(&h->wheel, &l->timer, at_us);
}

uint32_t sl_tcp_scope(struct sl_tcp_host *h, const struct sl_tcp_key *key, const void *from)
{
	return from && h->ops->scope ? h->ops->scope(key, from) : 0;
}

void sl_tcp_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		  const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, void *from)
{
	uint32_t scope = sl_tcp_scope(h, key, from);
	struct sl_tcp_late *late;

	if (sl_likely(h->ops->reply(h, l, key, seg, scope)))
		return;
	late = late_of(h);
	if (!late || late->n == LATE_MOST)
		return;
	late->reply[late->n++] = (struct late_reply){
		.at_us = h->now_us + SL_TCP_STUCK_US,
		.key = *key,
		.seg = *seg,
		.scope = scope,
	};
	arm(h, late);
}

/* Tries to send a reply again. False: it was sent, or was tried for long enough, and the caller
 * removes it. */
static bool try_again(struct sl_tcp_host *h, struct late_reply *r)
{
	if (r->at_us > h->now_us)
		return true;
	if (h->ops->reply(h, NULL, &r->key, &r->seg, r->scope) || ++r->tries == SL_TCP_STUCK_MOST)
		return false;
	r->at_us = h->now_us + (SL_TCP_STUCK_US << r->tries);
	return true;
}

void sl_tcp_late_timer(struct sl_tcp_host *h)
{
	struct sl_tcp_late *l = h->late;
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		if (!try_again(h, &l->reply[i]))
			continue;
		if (n != i)
			l->reply[n] = l->reply[i];
		n++;
	}
	l->n = n;
	arm(h, l);
}
