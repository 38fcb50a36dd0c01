/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot table, and the input function of each kind of slot. Slots are allocated under a lock and
 * read without it: a reader holds the lane that receives the slot's packets, and checks the
 * generation. */
#include "net/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/reserve.h"

struct sl_slot *sl_slots;
uint32_t sl_nslots;
static struct sl_lock lock;
static uint32_t fresh;     /* first slot never used */
static uint32_t free_head; /* slot + 1, linked through links; 0: none */
static uint32_t *links;    /* outside the slots, since a lane may read one being freed */
static struct sl_reserve slots_room, links_room;

static int start_again(void)
{
	int err = sl_reserve_clear(&slots_room);

	if (err)
		return err;
	fresh = free_head = 0;
	memset(&lock, 0, sizeof(lock));
	return 0;
}

int sl_slots_init(uint32_t max)
{
	if (sl_slots)
		return start_again();
	if (sl_reserve_open(&links_room, max * sizeof(*links)))
		return -ENOMEM;
	if (sl_reserve_open(&slots_room, max * sizeof(*sl_slots))) {
		munmap(links_room.mem, links_room.bytes);
		return -ENOMEM;
	}
	links = (uint32_t *)links_room.mem;
	sl_slots = (struct sl_slot *)slots_room.mem;
	return 0;
}

/* True: there is memory for another slot. */
static bool grow_slots(void)
{
	if (sl_reserve_upto(&links_room, (fresh + 1) * sizeof(*links)) ||
	    sl_reserve_upto(&slots_room, (fresh + 1) * sizeof(*sl_slots)))
		return false;
	sl_store_release(&sl_nslots, (uint32_t)(slots_room.ready / sizeof(*sl_slots)));
	return true;
}

int sl_slot_new(void)
{
	int slot = -ENOSPC;

	if (!sl_lock(&lock))
		return -ENOSPC;
	if (free_head) {
		slot = (int)free_head - 1;
		free_head = links[slot];
	} else if (grow_slots()) {
		slot = (int)fresh++;
		sl_slots[slot].gen = 1;
	}
	sl_unlock(&lock);
	return slot;
}

void sl_slot_set(uint32_t slot, enum sl_slot_kind kind, void *obj)
{
	sl_slots[slot].obj = obj;
	sl_store_release(&sl_slots[slot].kind, kind);
}

void sl_slot_free(uint32_t slot)
{
	struct sl_slot *s = &sl_slots[slot];

	if (!sl_lock(&lock))
		return;
	sl_store(&s->kind, SL_SLOT_FREE);
	sl_store_release(&s->gen, s->gen + 1);
	links[slot] = free_head;
	free_head = slot + 1;
	sl_unlock(&lock);
}

sl_in_handler sl_in_handlers[SL_SLOT_KINDS];

void sl_in_register(enum sl_slot_kind kind, sl_in_handler handler)
{
	sl_in_handlers[kind] = handler;
}
