/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of sequence numbers. Pieces are sent again in the order of the queue, but they are found
 * lost in the order in which they were sent, so the next one is asked for after each.
 * tcp_rack.c has the rule for entries that are stale. */
#include <string.h>

#include "base/heap.h"
#include "tcp/loss/tcp_again.h"
#include "wire/tcp_seg.h"

#define SIZE_MIN 16u

static bool grow(struct sl_tcp_again *h)
{
	uint32_t size = h->size ? 2 * h->size : SIZE_MIN;
	uint32_t *seq = sl_malloc(size * sizeof(*seq));

	if (!seq)
		return false;
	if (h->n)
		memcpy(seq, h->seq, h->n * sizeof(*seq));
	sl_free(h->seq);
	h->seq = seq;
	h->size = size;
	return true;
}

bool sl_tcp_again_push(struct sl_tcp_again *h, uint32_t seq)
{
	uint32_t i;

	if (h->n == h->size && !grow(h))
		return false;
	for (i = h->n++; i && sl_seq_lt(seq, h->seq[(i - 1) / 2]); i = (i - 1) / 2)
		h->seq[i] = h->seq[(i - 1) / 2];
	h->seq[i] = seq;
	return true;
}

void sl_tcp_again_pop(struct sl_tcp_again *h)
{
	uint32_t last = h->seq[--h->n], i = 0, k;

	while ((k = 2 * i + 1) < h->n) {
		if (k + 1 < h->n && sl_seq_lt(h->seq[k + 1], h->seq[k]))
			k++;
		if (sl_seq_le(last, h->seq[k]))
			break;
		h->seq[i] = h->seq[k];
		i = k;
	}
	h->seq[i] = last;
}

void sl_tcp_again_free(struct sl_tcp_again *h)
{
	sl_free(h->seq);
	*h = (struct sl_tcp_again){0};
}
