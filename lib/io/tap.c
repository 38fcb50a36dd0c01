/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes packets into the rings of taps.
 *
 * Theory of operation: threads of several lanes write to one ring without a lock. A writer reserves
 * bytes by moving `head`, which is the process's own memory, copies the packet, and writes the
 * record's first word last. The tool reads up to the first record that is not complete, clears what
 * it has read, and moves its position. A position that is not in the ring's last bytes (a hostile
 * tool) counts as a full ring. A record never wraps: a padding one fills the ring's end. */
#include "base/log.h"
#include "io/tap.h"

#include <errno.h>
#include <string.h>

struct tap {
	uint8_t *mem; /* NULL: not open; written last */
	uint32_t bytes, snap, lane, ifindex;
	uint8_t directions;
	uint64_t head;               /* bytes reserved, ever; atomic */
	uint64_t lost[SL_TAP_PORTS]; /* atomic */
};

static struct tap taps[SL_TAP_MAX];
static uint32_t ntaps;

bool sl_taps_on(void)
{
	return sl_load(&ntaps) != 0 || sl_load(&sl_log_level) >= SL_LOG_FINE;
}

bool sl_tap_ask_is_good(const struct sl_tap_ask *a)
{
	return a->magic == SL_TAP_MAGIC && a->version == SL_TAP_VERSION &&
	       a->bytes >= SL_TAP_MIN_BYTES && a->bytes <= SL_TAP_MAX_BYTES &&
	       !(a->bytes & (a->bytes - 1)) && a->directions <= (SL_TAP_IN | SL_TAP_OUT);
}

int sl_tap_begin(const struct sl_tap_ask *ask, void *mem)
{
	for (int i = 0; i < SL_TAP_MAX; i++) {
		struct tap *t = &taps[i];

		if (t->mem)
			continue;
		memset(t->lost, 0, sizeof(t->lost));
		t->head = 0;
		t->bytes = ask->bytes;
		t->snap = ask->snap;
		t->lane = ask->lane;
		t->ifindex = ask->ifindex;
		t->directions = ask->directions ? (uint8_t)ask->directions : SL_TAP_IN | SL_TAP_OUT;
		sl_store_release(&t->mem, (uint8_t *)mem);
		sl_store(&ntaps, ntaps + 1);
		return i;
	}
	return -ENOSPC;
}

void sl_tap_end(int nr)
{
	sl_store(&taps[nr].mem, NULL);
	sl_store(&ntaps, ntaps - 1);
}

void sl_taps_child(void)
{
	for (int i = 0; i < SL_TAP_MAX; i++)
		taps[i].mem = NULL;
	ntaps = 0;
}

/* Reserves `need` bytes in one piece. Returns where they are, NULL: there is no room. */
static struct sl_tap_rec *reserve(struct tap *t, uint8_t *mem, uint32_t need)
{
	const struct sl_tap_head *h = (const struct sl_tap_head *)mem;
	uint64_t head = sl_load(&t->head), next;
	uint32_t at, pad;

	do {
		/* Pairs with the tool's release after it has cleared what it read. */
		uint64_t used = head - sl_load_acquire(&h->tail);

		at = (uint32_t)(head & (t->bytes - 1));
		pad = t->bytes - at < need ? t->bytes - at : 0;
		if (used > t->bytes || t->bytes - used < (uint64_t)pad + need)
			return NULL;
		next = head + pad + need;
	} while (!__atomic_compare_exchange_n(&t->head, &head, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	if (pad) {
		struct sl_tap_rec *r = (struct sl_tap_rec *)(mem + SL_TAP_HEAD + at);

		r->bytes = pad;
		r->flags = SL_TAP_PAD;
		sl_store_release(&r->commit, SL_TAP_MAGIC);
		at = 0;
	}
	return (struct sl_tap_rec *)(mem + SL_TAP_HEAD + at);
}

static void put_one(struct tap *t, uint8_t *mem, const struct sl_tap_at *at,
		    const struct sl_tap_pkt *pkt, uint32_t wire)
{
	uint32_t cap = pkt->gso ? wire : sl_min(wire, t->snap), left = cap;
	uint32_t need = (uint32_t)(sizeof(struct sl_tap_rec) + cap + SL_TAP_ALIGN - 1) &
			~(SL_TAP_ALIGN - 1);
	struct sl_tap_rec *r = reserve(t, mem, need);
	uint8_t *to;

	if (!r) {
		struct sl_tap_head *h = (struct sl_tap_head *)mem;

		sl_store(&h->lost[at->port],
			 __atomic_add_fetch(&t->lost[at->port], 1, __ATOMIC_RELAXED));
		return;
	}
	r->bytes = need;
	r->ts_ns = pkt->ts_ns;
	r->hw_ns = pkt->hw_ns;
	r->lost = sl_load(&t->lost[at->port]);
	r->ifindex = at->ifindex;
	r->wire = wire;
	r->cap = cap;
	r->lane = at->lane;
	r->gso = pkt->gso;
	r->hdr = pkt->hdr;
	r->port = at->port;
	r->flags = pkt->flags;
	to = (uint8_t *)(r + 1);
	for (uint32_t i = 0; i < pkt->n && left; i++) {
		uint32_t n = sl_min(left, pkt->piece[i].len);

		memcpy(to, pkt->piece[i].p, n);
		to += n;
		left -= n;
	}
	sl_store_release(&r->commit, SL_TAP_MAGIC);
}

void sl_tap_put(const struct sl_tap_at *at, const struct sl_tap_pkt *pkt)
{
	uint32_t wire = 0;

	for (uint32_t i = 0; i < pkt->n; i++)
		wire += pkt->piece[i].len;
	if (sl_load(&sl_log_level) >= SL_LOG_FINE)
		sl_tap_log(at, pkt, wire);
	for (int i = 0; i < SL_TAP_MAX; i++) {
		struct tap *t = &taps[i];
		uint8_t *mem = sl_load_acquire(&t->mem);

		if (mem && (t->lane == SL_TAP_ANY || t->lane == at->lane) &&
		    (!t->ifindex || t->ifindex == at->ifindex) && t->directions & pkt->flags)
			put_one(t, mem, at, pkt, wire);
	}
}
