/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane's queue on the device: posts packets, starts them, and takes their completions.
 *
 * Theory of operation: post_packets() only remembers; kick_queue() makes requests of what was
 * posted and rings the doorbell once. The queue's tail moves by completions alone, and a completion
 * costs as much as the request itself, so only one in many requests has one (TX_WRE_BATCHING). The
 * last packets of a burst may have none: a caller that waits for them or needs their frames calls
 * settle_queue(), and the completion of a request that sends nothing tells that they left. The last
 * request of each kick is signalled in three kinds of queues: those held to a rate, whose
 * completions measure what was sent; those without a request that sends nothing; and those whose
 * packets hold on-device memory, which is scarce.
 *
 * All calls are under the lane's lock. */
#if __has_include(<infiniband/verbs.h>)
#include "io/verbs_int.h"

void sl_verbs_die(struct sl_verbs_tx *v, const char *why, uint32_t sure_from)
{
	v->dead = why;
	v->doubt_to = v->made = sure_from;
}

const char *sl_verbs_dead(const struct sl_tx *tx)
{
	return sl_container_of_const(tx, struct sl_verbs_tx, tx)->dead;
}

static uint32_t room(struct sl_tx *tx)
{
	const struct sl_verbs_tx *v = sl_verbs_of(tx);

	return v->depth - (v->head - v->tail);
}

static unsigned post_packets(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);

	n = sl_min(n, v->depth - (v->head - v->tail));
	for (unsigned i = 0; i < n; i++) {
		v->desc[v->head++ & v->mask] = descs[i];
		sl_frame_posted(descs[i].frame, SL_FLIGHT_QP);
	}
	tx->open = v->head;
	tx->posted += n;
	tx->unreaped += n;
	return n;
}

/* Completions ---------------------------------------------------------------------------------- */

/* Gives back the frames of descriptors before `to`, which are done. */
static unsigned give_back(struct sl_verbs_tx *v, struct sl_frames *cache, uint32_t to)
{
	unsigned n = to - v->tail;

	if (v->mem)
		sl_verbs_mem_done(v, v->tail, to);
	for (; v->tail != to; v->tail++) {
		uint32_t frame = v->desc[v->tail & v->mask].frame;

		sl_frame_landed(frame);
		sl_frame_sent(cache, frame);
	}
	return n;
}

void sl_verbs_give_back_all(struct sl_verbs_tx *v, struct sl_frames *cache)
{
	if (!v->dead)
		v->doubt_to = v->made;
	give_back(v, cache, v->doubt_to);
	v->tail = v->made;
	give_back(v, cache, v->head);
}

static unsigned reap_frames(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);
	uint32_t to = v->tail;
	enum ibv_wc_status status;

	tx->unreaped = 0;
	if (v->dead || v->awaited == v->tail)
		return 0;
	status = v->ways->poll(v, &to);
	if (sl_unlikely(status))
		sl_verbs_die(v, sl_verbs_lib()->wc_status_str(status), to);
	if (to == v->tail)
		return 0;
	v->progress_ns = sl_now_ns();
	return give_back(v, cache, to);
}

static void settle_queue(struct sl_tx *tx)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);

	/* The queue keeps one place for this request, so only one may be under way. */
	if (v->awaited == v->made || v->dead || (int32_t)(v->nop - v->tail) > 0)
		return;
	if (v->ways->make_nop(v)) {
		sl_verbs_die(v, "the send queue refuses requests", v->made);
		return;
	}
	sl_verbs_await(v, v->made);
	v->nop = v->made;
}

/* Requests ------------------------------------------------------------------------------------- */

static int kick_queue(struct sl_tx *tx)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);
	struct sl_frames *frames = v->mem ? sl_verbs_mem_short(v) : NULL;
	uint32_t was;

	if (sl_unlikely(frames != NULL))
		reap_frames(tx, frames);
	if (sl_unlikely(v->dead))
		return -EIO;
	tx->posted = 0;
	tx->open = 0;
	if (v->made == v->head)
		return 0;
	was = v->made;
	if (sl_likely(v->ways->make(v) == 0))
		return 0;
	sl_verbs_die(v, "the send queue refuses requests", was); /* none of them has left */
	return -EIO;
}

unsigned sl_verbs_unsent(struct sl_tx *tx, struct sl_tx_desc *descs, unsigned n)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);

	n = sl_min(n, v->head - v->made);
	for (unsigned i = 0; i < n; i++) {
		descs[i] = v->desc[v->made++ & v->mask];
		sl_frame_landed(descs[i].frame);
		sl_offload_undo(&v->undo, &descs[i],
				v->made != v->head &&
					v->desc[v->made & v->mask].flags & SL_TXD_CONT);
	}
	return n;
}

static void close_queue(struct sl_tx *tx, struct sl_frames *cache)
{
	sl_verbs_of(tx)->close(tx, cache);
}

const struct sl_tx_ops sl_verbs_tx_ops = {
	.name = "verbs",
	.post = post_packets,
	.kick = kick_queue,
	.reap = reap_frames,
	.settle = settle_queue,
	.close = close_queue,
	.stamp = sl_verbs_stamp,
	.room = room,
};
#endif
