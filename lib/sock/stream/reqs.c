/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of requests (handshakes). It lies behind the connections (tconn.c), in the same mapping,
 * so that the daemon finds the handshakes of a process that has died (tools/death). */
#include "base/lock.h"
#include "base/reserve.h"
#include "ctl/front/broker.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

struct sl_treq {
	_Alignas(8) uint8_t req[SL_TCP_REQ_BYTES]; /* the protocol's; first */
	uint32_t lsn_id;
	struct sl_treq *next_free;
};

static struct sl_lock lock; /* a leaf; protects what follows */
static struct sl_treq *slab, *free_list;
static struct sl_reserve room; /* the slab's */
static uint32_t used;

size_t sl_treq_bytes(void)
{
	return SL_TREQ_MAX * sizeof(struct sl_treq);
}

void sl_treq_init(void *mem, int fd, size_t at)
{
	slab = mem;
	sl_reserve_init(&room, mem, sl_treq_bytes(), fd, at, true);
	free_list = NULL;
	used = 0;
}

int sl_treq_part(void)
{
	return sl_reserve_part(&room);
}

void sl_treq_child(void)
{
	memset(&lock, 0, sizeof(lock));
	sl_reserve_hole(&room);
	room.bytes = room.ready = 0;
	slab = free_list = NULL;
	used = 0;
}

void sl_treq_layout(struct sl_conns_layout *l)
{
	l->req_stride = sizeof(struct sl_treq);
	l->req_max = SL_TREQ_MAX;
	l->req_listener = offsetof(struct sl_treq, lsn_id);
}

void *sl_treq_new(uint32_t lsn_id)
{
	struct sl_treq *r = NULL;

	if (!sl_lock(&lock))
		return NULL;
	if (free_list) {
		r = free_list;
		free_list = r->next_free;
	} else if (!sl_reserve_upto(&room, (used + 1) * sizeof(*r))) {
		r = &slab[used++];
	}
	sl_unlock(&lock);
	if (r)
		r->lsn_id = lsn_id;
	return r;
}

void sl_treq_free(void *req)
{
	struct sl_treq *r = req;

	if (!sl_lock(&lock))
		return;
	r->next_free = free_list;
	free_list = r;
	sl_unlock(&lock);
}
