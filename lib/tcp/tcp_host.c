/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes and ends a host, the state that the connections of one lane share. */
#include "tcp/tcp_host.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_tw.h"

#define BUCKETS 64 /* at first */

int sl_tcp_host_init(struct sl_tcp_host *h, const struct sl_tcp_ops *ops, struct sl_frames *frames,
		     const struct sl_tcp_keys *keys, uint64_t now_us, void *owner)
{
	memset(h, 0, sizeof(*h));
	h->bucket = sl_calloc(BUCKETS, sizeof(*h->bucket));
	h->on_port = sl_calloc(UINT16_MAX + 1, sizeof(*h->on_port));
	h->spare_trouble = sl_calloc(1, sizeof(*h->spare_trouble));
	if (!h->bucket || !h->on_port || !h->spare_trouble) {
		sl_free(h->spare_trouble);
		sl_free(h->on_port);
		sl_free(h->bucket);
		return -ENOMEM;
	}
	h->nbuckets = BUCKETS;
	h->ops = ops;
	h->frames = frames;
	h->owner = owner;
	h->keys = keys;
	sl_list_init(&h->out);
	sl_list_init(&h->room);
	sl_list_init(&h->held);
	sl_list_init(&h->trains);
	sl_tcp_mem_init(&h->mem);
	sl_tcp_set_now(h, now_us);
	sl_wheel_init(&h->wheel, now_us);
	return 0;
}

static void node_free(struct sl_tcp_node *n, void *host)
{
	if (n->kind == SL_TCP_REQ)
		sl_tcp_req_free(host, n);
	else if (n->kind == SL_TCP_TW)
		sl_tcp_tw_free(host, n);
}

void sl_tcp_host_fini(struct sl_tcp_host *h)
{
	sl_tcp_table_each(h, node_free, h);
	sl_tcp_table_fini(h);
	sl_free(h->metrics);
	sl_free(h->spare_trouble);
	sl_free(h->late);
	sl_free(h->pending);
}
