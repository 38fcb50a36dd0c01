/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot table. Slots are handed out under a lock and read without one: a reader holds the lane
 * that the slot's packets come to, and checks the generation. */
#include "net/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/sys.h"

struct sl_slot *sl_slots;
uint32_t sl_nslots;
static struct sl_lock lock;
static uint32_t fresh;     /* slots from here on were never used */
static uint32_t free_head; /* slot + 1, linked through links; 0: none */
static uint32_t *links;    /* apart: another lane may look at a slot that is being freed */

/* In a child: a parent's slots are as if they had never been. */
static int start_again(void)
{
	size_t bytes = sl_nslots * sizeof(*sl_slots);
	void *same;
	int err = sl_sys_mmap(&same, sl_slots, bytes,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

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
	links = sl_sys_pages(max * sizeof(*links), MAP_NORESERVE);
	if (!links)
		return -ENOMEM;
	sl_slots = sl_sys_pages(max * sizeof(*sl_slots), MAP_NORESERVE);
	if (!sl_slots) {
		sl_sys(SYS_munmap, links, max * sizeof(*links));
		return -ENOMEM;
	}
	sl_nslots = max;
	return 0;
}

int sl_slot_new(void)
{
	int slot = -ENOSPC;

	if (!sl_lock(&lock))
		return -ENOSPC;
	if (free_head) {
		slot = (int)free_head - 1;
		free_head = links[slot];
	} else if (fresh < sl_nslots) {
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
