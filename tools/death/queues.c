/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a killed process's connections.
 *
 * Their rows were in the process's own memory and are gone. The bytes are in frames, in a file that
 * outlives the process, and each frame of a connection that children may have begins with a note:
 * which queue, which sequence number, where in the frame (sl_tcp_note()). A note goes before its
 * frame is free again, so the bytes that it names are those. What is not noted is not found, and
 * the connection cannot go on. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "death.h"
#include "tcp/tcp_queue.h"

#define FRAMES_MAX (1u << 24)

struct sl_gone_piece {
	uint64_t id, at; /* at: in the file */
	uint32_t seq, len;
};

static int by_id(const void *a, const void *b)
{
	const struct sl_gone_piece *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
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

static void read_notes(struct sl_gone_queues *q)
{
	struct stat st;

	q->read = true;
	if (!q->nframes || q->nframes > FRAMES_MAX || fstat(q->fd, &st) || !S_ISREG(st.st_mode))
		return;
	q->piece = malloc(q->nframes * sizeof(*q->piece));
	for (uint32_t f = 0; q->piece && f < q->nframes && skip_hole(q, &f); f++)
		read_note(q, f);
	if (q->n)
		qsort(q->piece, q->n, sizeof(*q->piece), by_id);
}

/* The first piece of the queue. */
static const struct sl_gone_piece *first_of(const struct sl_gone_queues *q, uint64_t id)
{
	const struct sl_gone_piece key = {.id = id}, *p = NULL;

	if (q->n)
		p = bsearch(&key, q->piece, q->n, sizeof(key), by_id);
	while (p && p > q->piece && p[-1].id == id)
		p--;
	return p;
}

/* The piece of the queue with the byte at seq; NULL: there is none. */
static const struct sl_gone_piece *find(const struct sl_gone_queues *q, uint64_t id, uint32_t seq)
{
	const struct sl_gone_piece *p = first_of(q, id);

	for (; p && p < q->piece + q->n && p->id == id; p++)
		if (seq - p->seq < p->len)
			return p;
	return NULL;
}

bool sl_gone_queue_is_whole(struct sl_gone_queues *q, uint64_t id, uint32_t seq, uint32_t bytes)
{
	const struct sl_gone_piece *p;

	if (bytes && !q->read)
		read_notes(q);
	for (uint32_t end = seq + bytes; sl_seq_lt(seq, end); seq = p->seq + p->len) {
		p = find(q, id, seq);
		if (!p)
			return false;
	}
	return true;
}

uint32_t sl_gone_queue_copy(const struct sl_gone_queues *q, uint64_t id, uint32_t seq, void *buf,
			    uint32_t n)
{
	const struct sl_gone_piece *p;
	uint32_t done = 0;

	while (done < n && (p = find(q, id, seq))) {
		uint32_t at = seq - p->seq, len = sl_min(n - done, p->len - at);

		if (sl_sys(SYS_pread64, q->fd, (uint8_t *)buf + done, len, p->at + at) != (long)len)
			break;
		done += len;
		seq += len;
	}
	return done;
}

void sl_gone_queues_free(struct sl_gone_queues *q)
{
	free(q->piece);
	q->piece = NULL;
	q->n = 0;
}
