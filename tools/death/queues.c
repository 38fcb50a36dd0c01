/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a killed process's connections.
 *
 * Their rows were in the process's own memory and are gone. The bytes are in frames, in a file that
 * outlives the process, and each frame of a connection that children may have begins with a note:
 * which queue, which sequence number, where in the frame (sl_tcp_note()). A note goes before its
 * frame is free again, so the bytes that it names are those. What is not noted is not found, and
 * the connection cannot go on. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "death.h"
#include "tcp/tcp_queue.h"

#define FRAMES_MAX (1u << 24)
#define COPIED_MAX 64 /* pieces in a call */

struct sl_gone_piece {
	uint64_t id, at; /* at: in the file */
	uint32_t seq, len;
};

static int by_place(const void *a, const void *b)
{
	const struct sl_gone_piece *x = a, *y = b;

	if (x->id != y->id)
		return x->id > y->id ? 1 : -1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Moves to the next frame that was ever written to. False: there is none. */
static bool skip_hole(const struct sl_gone_queues *q, uint32_t *frame)
{
	long at = sl_sys(SYS_lseek, q->fd, (uint64_t)*frame * q->frame_size, SEEK_DATA);

	if (at < 0)
		return false;
	*frame = sl_max(*frame, (uint32_t)((uint64_t)at / q->frame_size));
	return *frame < q->nframes;
}

static void read_note(struct sl_gone_queues *q, uint32_t frame)
{
	uint64_t at = (uint64_t)frame * q->frame_size;
	struct sl_tcp_note n;

	if (sl_sys(SYS_pread64, q->fd, &n, sizeof(n), at) != sizeof(n) || !n.id || !n.len ||
	    n.off < sizeof(n) || (uint32_t)n.off + n.len > q->frame_size)
		return;
	q->piece[q->n++] = (struct sl_gone_piece){n.id, at + n.off, n.seq, n.len};
}

static bool begin_reading(struct sl_gone_queues *q)
{
	struct stat st;

	if (!q->nframes || q->nframes > FRAMES_MAX || fstat(q->fd, &st) || !S_ISREG(st.st_mode))
		return false;
	q->piece = malloc(q->nframes * sizeof(*q->piece));
	return q->piece;
}

/* False: there are no more frames. */
static bool read_frame(struct sl_gone_queues *q)
{
	if (q->at >= q->nframes || (!q->is_own && !skip_hole(q, &q->at)))
		return false;
	if (!q->is_own || q->is_own(q->arg, q->at))
		read_note(q, q->at);
	q->at++;
	return true;
}

bool sl_gone_queues_read(struct sl_gone_queues *q, uint32_t n)
{
	if (q->read)
		return false;
	if (q->piece || begin_reading(q)) {
		while (n && read_frame(q))
			n--;
		if (!n)
			return true;
	}
	q->read = true;
	if (q->n)
		qsort(q->piece, q->n, sizeof(*q->piece), by_place);
	return false;
}

/* The last piece that does not stand behind that place; NULL: there is none. */
static const struct sl_gone_piece *before(const struct sl_gone_queues *q, uint64_t id, uint32_t seq)
{
	const struct sl_gone_piece want = {.id = id, .seq = seq};
	uint32_t low = 0, high = q->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_place(&q->piece[mid], &want) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &q->piece[low - 1] : NULL;
}

/* The piece of the queue with the byte at seq; NULL: there is none. Sequence numbers go on from 0,
 * so it may be the one with the highest number. */
static const struct sl_gone_piece *find(const struct sl_gone_queues *q, uint64_t id, uint32_t seq)
{
	const struct sl_gone_piece *p = before(q, id, seq);

	if (!p || p->id != id)
		p = before(q, id, UINT32_MAX);
	return p && p->id == id && seq - p->seq < p->len ? p : NULL;
}

static uint32_t copy(const struct sl_gone_queues *q, uint64_t id, uint32_t seq, void *buf,
		     uint32_t n)
{
	const struct sl_gone_piece *p;
	uint32_t done = 0;

	for (unsigned i = 0; i < COPIED_MAX && done < n && (p = find(q, id, seq)); i++) {
		uint32_t at = seq - p->seq, len = sl_min(n - done, p->len - at);

		if (sl_sys(SYS_pread64, q->fd, (uint8_t *)buf + done, len, p->at + at) != (long)len)
			break;
		done += len;
		seq += len;
	}
	return done;
}

static uint32_t unacked(void *arg, uint32_t at, void *buf, uint32_t n)
{
	const struct sl_gone_source *s = arg;

	return copy(s->q, s->from.send_id, s->from.send_seq + at, buf, n);
}

static uint32_t unread(void *arg, uint32_t at, void *buf, uint32_t n)
{
	const struct sl_gone_source *s = arg;
	uint32_t urgent = s->from.urgent, before = 0;

	if (at < urgent)
		before = copy(s->q, s->from.rcv_id, s->from.rcv_seq + at, buf,
			      sl_min(n, urgent - at));
	if (at + before < urgent || before == n)
		return before;
	return before + copy(s->q, s->from.rcv_id,
			     s->from.rcv_seq + at + before + (urgent != UINT32_MAX),
			     (uint8_t *)buf + before, n - before);
}

struct sl_repair_source sl_gone_source(struct sl_gone_source *s)
{
	return (struct sl_repair_source){.sndq = unacked, .rcvq = unread, .arg = s, .hurry = true};
}

int sl_gone_source_check(struct sl_gone_source *s, const struct sl_tcp_repair *r, uint32_t n)
{
	const uint32_t all = r->sndq + r->rcvq + (s->from.urgent != UINT32_MAX);
	const struct sl_gone_piece *p;

	while (all && sl_gone_queues_read(s->q, UINT32_MAX))
		;
	for (; n && s->checked < all; n--) {
		bool send = s->checked < r->sndq;
		uint32_t left = (send ? r->sndq : all) - s->checked;
		uint32_t seq = send ? s->from.send_seq + s->checked
				    : s->from.rcv_seq + (s->checked - r->sndq);

		p = find(s->q, send ? s->from.send_id : s->from.rcv_id, seq);
		if (!p || s->q->used++ >= s->q->n)
			return -ENODATA;
		s->checked += sl_min(left, p->seq + p->len - seq);
	}
	return s->checked < all;
}

bool sl_gone_source_is_whole(const struct sl_gone_source *s, const struct sl_tcp_repair *r)
{
	struct sl_gone_source own = *s;

	own.q->used = 0;
	return !sl_gone_source_check(&own, r, UINT32_MAX);
}

void sl_gone_queues_free(struct sl_gone_queues *q)
{
	free(q->piece);
	q->piece = NULL;
	q->n = q->used = 0;
}
