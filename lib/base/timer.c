/* SPDX-License-Identifier: BSD-2-Clause */
/* The timing wheel.
 *
 * Theory of operation: a timer lies on the level of the highest digit (base 64) in which its tick
 * differs from the present one, in the slot of its own digit there. So all timers of a level are
 * due before those of the next, in the order of the slots, and the first bit set in the lowest
 * level that has any says which slot comes next: time jumps there, whatever the distance. A slot of
 * a higher level is dealt out anew when time reaches its start, so a timer moves down at most
 * SL_WHEEL_LEVELS - 1 times. The top level wraps around; a timer beyond it waits in its last slot
 * and is put there again. */
#include "base/timer.h"

#define TOP       (SL_WHEEL_LEVELS - 1)
#define TOP_SHIFT (SL_WHEEL_BITS * TOP)
#define MASK      (SL_WHEEL_SLOTS - 1)

void sl_wheel_init(struct sl_wheel *w, uint64_t now_us)
{
	w->now_tick = now_us / SL_WHEEL_TICK_US;
	w->armed = 0;
	w->soonest_us = UINT64_MAX;
	sl_list_init(&w->due);
	for (unsigned l = 0; l < SL_WHEEL_LEVELS; l++) {
		w->used[l] = 0;
		for (unsigned s = 0; s < SL_WHEEL_SLOTS; s++)
			sl_list_init(&w->slot[l][s]);
	}
}

/* Puts a timer where its tick belongs, seen from now_tick. */
static void place(struct sl_wheel *w, struct sl_timer *t)
{
	uint64_t at = t->at_tick, now = w->now_tick;
	unsigned level, slot;

	if (at <= now) {
		sl_list_add_tail(&w->due, &t->node);
		return;
	}
	if (at - now > (uint64_t)MASK << TOP_SHIFT)
		at = now + ((uint64_t)MASK << TOP_SHIFT);
	level = (63 - (unsigned)__builtin_clzll(at ^ now)) / SL_WHEEL_BITS;
	if (level > TOP)
		level = TOP;
	slot = (at >> (SL_WHEEL_BITS * level)) & MASK;
	sl_list_add_tail(&w->slot[level][slot], &t->node);
	w->used[level] |= 1ull << slot;
}

/* Takes a timer off its list. When that leaves a slot empty, its bit in used[] is cleared. */
static void unlink_timer(struct sl_wheel *w, struct sl_timer *t)
{
	struct sl_list *next = t->node.next;
	uintptr_t off;

	sl_list_del(&t->node);
	if (!sl_list_empty(next))
		return;
	/* An empty list's neighbour was its head: of a slot, of w->due, or of a run's. */
	off = (uintptr_t)next - (uintptr_t)&w->slot[0][0];
	if (off < sizeof(w->slot)) {
		unsigned i = (unsigned)(off / sizeof(*next));

		w->used[i / SL_WHEEL_SLOTS] &= ~(1ull << (i & MASK));
	}
}

void sl_timer_arm(struct sl_wheel *w, struct sl_timer *t, uint64_t at_us)
{
	uint64_t tick = at_us / SL_WHEEL_TICK_US + (at_us % SL_WHEEL_TICK_US != 0);

	if (sl_timer_is_armed(t)) {
		if (t->at_tick == tick && tick > w->now_tick)
			return;
		unlink_timer(w, t);
	} else {
		w->armed++;
	}
	t->at_tick = tick;
	w->soonest_us = sl_min(w->soonest_us, tick * SL_WHEEL_TICK_US);
	place(w, t);
}

void sl_timer_cancel(struct sl_wheel *w, struct sl_timer *t)
{
	if (!sl_timer_is_armed(t))
		return;
	unlink_timer(w, t);
	w->armed--;
}

/* The next slot to open, and the tick at which it starts; false: all slots are empty. */
static bool next_slot(const struct sl_wheel *w, unsigned *level, unsigned *slot, uint64_t *tick)
{
	for (unsigned l = 0; l < SL_WHEEL_LEVELS; l++) {
		uint64_t digits = w->now_tick >> (SL_WHEEL_BITS * l), bits = w->used[l];
		unsigned ahead;

		if (!bits)
			continue;
		/* The present slot is empty, so 1 to 63 slots ahead; only the top level wraps. */
		ahead = digits & MASK;
		if (ahead)
			bits = bits >> ahead | bits << (SL_WHEEL_SLOTS - ahead);
		ahead = (unsigned)__builtin_ctzll(bits);
		*level = l;
		*slot = (digits + ahead) & MASK;
		*tick = (digits + ahead) << (SL_WHEEL_BITS * l);
		return true;
	}
	return false;
}

/* Moves all timers of a slot to the empty list head. */
static void take_slot(struct sl_wheel *w, unsigned level, unsigned slot, struct sl_list *head)
{
	struct sl_list *from = &w->slot[level][slot];

	*head = *from;
	head->next->prev = head->prev->next = head;
	sl_list_init(from);
	w->used[level] &= ~(1ull << slot);
}

static void take_due(struct sl_wheel *w, struct sl_list *head)
{
	sl_list_init(head);
	if (sl_list_empty(&w->due))
		return;
	*head = w->due;
	head->next->prev = head->prev->next = head;
	sl_list_init(&w->due);
}

/* fire() may cancel timers that still wait in the list, so the list is read anew each time. */
static unsigned fire_all(struct sl_wheel *w, struct sl_list *head,
			 void (*fire)(struct sl_timer *t, void *arg), void *arg)
{
	unsigned n = 0;

	for (; !sl_list_empty(head); n++) {
		struct sl_timer *t = sl_container_of(head->next, struct sl_timer, node);

		sl_list_del(&t->node);
		w->armed--;
		fire(t, arg);
	}
	return n;
}

unsigned sl_wheel_run(struct sl_wheel *w, uint64_t now_us,
		      void (*fire)(struct sl_timer *t, void *arg), void *arg)
{
	uint64_t target = now_us / SL_WHEEL_TICK_US, tick;
	struct sl_list head;
	unsigned level, slot, n;

	/* Timers that fire() arms for a time in the past wait for the next run: this one ends. */
	take_due(w, &head);
	n = fire_all(w, &head, fire, arg);
	while (next_slot(w, &level, &slot, &tick) && tick <= target) {
		w->now_tick = tick;
		take_slot(w, level, slot, &head);
		if (level == 0) {
			n += fire_all(w, &head, fire, arg);
			continue;
		}
		while (!sl_list_empty(&head)) {
			struct sl_timer *t = sl_container_of(head.next, struct sl_timer, node);

			sl_list_del(&t->node);
			if (t->at_tick == tick) { /* the first tick of the slot: due now */
				w->armed--;
				n++;
				fire(t, arg);
			} else {
				place(w, t);
			}
		}
	}
	if (target > w->now_tick)
		w->now_tick = target;
	w->soonest_us = sl_wheel_next_us(w);
	return n;
}

uint64_t sl_wheel_next_us(const struct sl_wheel *w)
{
	unsigned level, slot;
	uint64_t tick;

	if (!sl_list_empty(&w->due))
		return w->now_tick * SL_WHEEL_TICK_US;
	if (!next_slot(w, &level, &slot, &tick))
		return UINT64_MAX;
	return tick * SL_WHEEL_TICK_US;
}
