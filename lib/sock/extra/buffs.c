/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers of packets, which the program returns one by one.
 *
 * Theory of operation: all buffers lie in one range of reserved addresses, so an address that the
 * program gives is compared with the range before anything is read through it. A packet returns to
 * its socket with its last buffer; the first buffer of the packet counts them. */
#include "sock/extra/buffs.h"

#include <errno.h>

#include "base/guard.h"
#include "base/reserve.h"

#define MOST 0x80000 /* buffers */
#define STEP 64      /* buffers that a lane gets at once */

struct sl_buff_own {
	struct sl_buff pub; /* first: the program has its address */
	struct sl_buff_own *head, *next_free;
	struct sl_buff_list *home;
	void *id;
	int fd;
	uint32_t refs;  /* 0: not in use; atomic */
	uint32_t alive; /* of the head: buffers of the packet in use; atomic */
} SL_ALIGNED;

static struct {
	struct sl_lock lock;
	struct sl_reserve room;
	uint32_t n; /* buffers that exist; atomic */
} pool;

/* The list's lock is held. */
static bool grow(struct sl_buff_list *l)
{
	struct sl_buff_own *b;
	int err = 0;

	if (!sl_lock(&pool.lock))
		return false;
	if (!pool.room.mem)
		err = sl_reserve_open(&pool.room, MOST * sizeof(*b));
	if (!err)
		err = sl_reserve_upto(&pool.room, (pool.n + STEP) * sizeof(*b));
	if (!err) {
		b = (struct sl_buff_own *)(void *)pool.room.mem + pool.n;
		for (int i = 0; i < STEP; i++) {
			b[i].next_free = l->first;
			l->first = &b[i];
		}
		sl_store_release(&pool.n, pool.n + STEP);
	}
	sl_unlock(&pool.lock);
	return !err;
}

static struct sl_buff_own *pop(struct sl_buff_list *l)
{
	struct sl_buff_own *b = NULL;

	if (!sl_lock(&l->lock))
		return NULL;
	if (sl_likely(l->first || grow(l))) {
		b = l->first;
		l->first = b->next_free;
	}
	sl_unlock(&l->lock);
	if (b)
		b->home = l;
	return b;
}

static void push(struct sl_buff_own *b)
{
	struct sl_buff_list *l = b->home;

	if (!sl_lock(&l->lock)) /* a signal handler in the midst of it: the buffer is lost */
		return;
	b->next_free = l->first;
	l->first = b;
	sl_unlock(&l->lock);
}

bool sl_buffs_make(struct sl_buff_list *from, int fd, void *id, const struct iovec *iov, size_t n,
		   struct sl_packet_desc *desc)
{
	struct sl_buff_own *head = NULL, *last = NULL;

	*desc = (struct sl_packet_desc){.nbuffs = n};
	for (size_t i = 0; i < n; i++) {
		struct sl_buff_own *b = pop(from);

		if (!b) {
			for (; head; head = last) {
				last = (struct sl_buff_own *)(void *)head->pub.next;
				sl_store(&head->refs, 0);
				push(head);
			}
			return false;
		}
		b->pub = (struct sl_buff){.data = iov[i].iov_base, .len = (uint16_t)iov[i].iov_len};
		if (last)
			last->pub.next = &b->pub;
		else
			head = b;
		last = b;
		b->head = head;
		b->fd = fd;
		b->id = id;
		sl_store(&b->refs, 1);
		desc->bytes = (uint16_t)(desc->bytes + iov[i].iov_len);
	}
	sl_store(&head->alive, (uint32_t)n);
	desc->buff = &head->pub;
	return true;
}

/* The buffer at that address, or NULL. Any address is safe. */
static struct sl_buff_own *find(struct sl_buff *p)
{
	uint32_t n = sl_load_acquire(&pool.n);
	uintptr_t at = (uintptr_t)p - (uintptr_t)pool.room.mem;
	struct sl_buff_own *b = (struct sl_buff_own *)(void *)p;

	if (!n || at >= n * sizeof(*b) || at % sizeof(*b))
		return NULL;
	return sl_load(&b->refs) ? b : NULL;
}

SL_API
int sl_buff_ref(struct sl_buff *buff)
{
	struct sl_buff_own *b = find(buff);

	return b ? (int)__atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED) : -EINVAL;
}

SL_API
int sl_buff_free(struct sl_buff *buff)
{
	struct sl_buff_own *b = find(buff), *head;
	struct sl_packet p = {.niov = 0};
	uint32_t left, refs;
	int fd;

	if (!b)
		return -EINVAL;
	refs = sl_load(&b->refs);
	do {
		if (!refs)
			return -EINVAL;
	} while (!__atomic_compare_exchange_n(&b->refs, &refs, refs - 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	if (refs > 1)
		return (int)refs - 1;
	/* The head stays out of the list until the packet is returned: it has the count. */
	head = b->head;
	p.id = head->id;
	fd = head->fd;
	left = __atomic_sub_fetch(&head->alive, 1, __ATOMIC_ACQ_REL);
	if (b != head)
		push(b);
	if (left)
		return 0;
	push(head);
	sl_free_packets(fd, &p, 1); /* fails if the socket ended: it has returned them itself */
	return 0;
}

SL_API
int sl_free_descs(const struct sl_packet_desc *packets, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		struct sl_packet_desc d;
		struct sl_buff *b, *next;

		if (sl_guard_copy(&d, &packets[i], sizeof(d)))
			return -EFAULT;
		if (!d.nbuffs)
			err = -EINVAL;
		for (b = d.buff; d.nbuffs--; b = next) {
			if (!find(b)) {
				err = -EINVAL;
				break;
			}
			next = b->next;
			sl_buff_free(b);
		}
	}
	return err;
}

void sl_buffs_child(void)
{
	uint32_t n = pool.n;

	pool.lock = (struct sl_lock){0};
	for (uint32_t i = 0; i < n; i++)
		((struct sl_buff_own *)(void *)pool.room.mem)[i].refs = 0;
}
