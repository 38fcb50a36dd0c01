/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies packets over the inline limit into the device's own memory, so that the device need not
 * fetch them from ours (VMA_RING_DEV_MEM_TX).
 *
 * Theory of operation: a lane has one piece of it, used as a ring, since requests complete in their
 * order: each takes its bytes at the head, in one stretch, and its completion gives them back. A
 * packet's first bytes stay in our memory: a device that wants them in the request lets the CPU
 * copy them from there. They are SGE 0, and so few that the device then fetches none of them. A
 * packet that finds no room is sent from our memory, and counted. */
#if __has_include(<infiniband/verbs.h>)
#include <errno.h>

#include "base/heap.h"
#include "base/log.h"
#include "io/verbs_int.h"

#define HEAD  18 /* the most that a device wants inline: Ethernet and a tag */
#define ALIGN 64u

struct sl_verbs_mem {
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint32_t size;
	uint32_t head; /* where the next stretch begins */
	uint32_t used;
	struct sl_lane_stats *stats;
	struct sl_frames *frames; /* the lane's */
	uint32_t taken[];         /* bytes taken by each descriptor of the queue */
};

static const char *open_memory(struct sl_verbs_mem *m, const struct sl_verbs_dev *dev)
{
	struct ibv_alloc_dm_attr attr = {.length = m->size};

	m->dm = ibv_alloc_dm(dev->ctx, &attr);
	if (!m->dm)
		return "there is none left";
	m->mr = ibv_reg_dm_mr(dev->pd, m->dm, 0, m->size,
			      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	return m->mr ? NULL : "it cannot be registered";
}

void sl_verbs_mem_open(struct sl_verbs_tx *v, const struct sl_verbs_want *want)
{
	uint32_t bytes;
	struct sl_verbs_mem *m;
	const char *why = "the device has none";

	bytes = (uint32_t)sl_min((uint64_t)want->device_bytes, v->dev->max_dm) & ~(ALIGN - 1);
	m = bytes ? sl_calloc(1, sizeof(*m) + (v->mask + 1) * sizeof(m->taken[0])) : NULL;
	if (m) {
		m->size = bytes;
		m->stats = want->stats;
		m->frames = want->frames;
		why = open_memory(m, v->dev);
		v->mem = m;
	}
	if (why) {
		sl_info("verbs", "%s: no on-device memory: %s", v->dev->name, why);
		sl_verbs_mem_close(v);
		return;
	}
	want->stats->dev_mem_alloc += bytes;
	sl_info("verbs", "%s: %u bytes of on-device memory", v->dev->name, bytes);
}

void sl_verbs_mem_close(struct sl_verbs_tx *v)
{
	struct sl_verbs_mem *m = v->mem;

	v->mem = NULL;
	if (!m)
		return;
	if (m->mr) {
		sl_verbs_lib()->dereg_mr(m->mr);
		m->stats->dev_mem_alloc -= m->size;
	}
	if (m->dm)
		ibv_free_dm(m->dm);
	sl_free(m);
}

bool sl_verbs_mem_is_used(const struct sl_verbs_tx *v)
{
	return v->mem->used != 0;
}

struct sl_frames *sl_verbs_mem_short(const struct sl_verbs_tx *v)
{
	return v->mem->used > v->mem->size / 2 ? v->mem->frames : NULL;
}

/* Takes n bytes in one stretch. Returns their place, or UINT32_MAX. *took: their number, with the
 * bytes that were skipped at the end. */
static uint32_t take_bytes(struct sl_verbs_mem *m, uint32_t n, uint32_t *took)
{
	uint32_t at = m->head, skip = 0;

	if (at + n > m->size) {
		skip = m->size - at;
		at = 0;
	}
	if (m->used + skip + n > m->size)
		return UINT32_MAX;
	*took = skip + n;
	m->used += *took;
	m->head = at + n;
	return at;
}

bool sl_verbs_mem_put(const struct sl_verbs_tx *v, uint32_t slot, struct ibv_sge sge[2])
{
	const struct sl_tx_desc *d = &v->desc[slot & v->mask];
	uint32_t rest = d->len > HEAD ? (uint32_t)d->len - HEAD : 0, words = (rest + 3) & ~3u, at;
	uint8_t *packet = sl_frame_ptr(d->frame) + d->off;
	struct sl_verbs_mem *m = v->mem;

	/* The copy is of whole words, and must not read beyond the frame. */
	if (!rest || d->off + HEAD + words > 1u << sl_pool.shift)
		return false;
	at = take_bytes(m, (rest + ALIGN - 1) & ~(ALIGN - 1), &m->taken[slot & v->mask]);
	if (at == UINT32_MAX || ibv_memcpy_to_dm(m->dm, at, packet + HEAD, words)) {
		m->stats->dev_mem_oob++;
		return false;
	}
	sge[0] = (struct ibv_sge){(uintptr_t)packet, HEAD, v->lkey};
	sge[1] = (struct ibv_sge){at, rest, m->mr->lkey};
	m->stats->dev_mem_pkts++;
	m->stats->dev_mem_bytes += d->len;
	return true;
}

void sl_verbs_mem_done(struct sl_verbs_tx *v, uint32_t from, uint32_t to)
{
	struct sl_verbs_mem *m = v->mem;

	for (; from != to; from++) {
		m->used -= m->taken[from & v->mask];
		m->taken[from & v->mask] = 0;
	}
	if (!m->used)
		m->head = 0;
}
#endif
