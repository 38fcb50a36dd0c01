/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sockets: their memory, their look-up, and their fate in a child.
 *
 * Theory of operation: objects are type-stable: carved from reserved address space and used again,
 * never unmapped, so that a thread that holds a pointer may look at it at any time; gen tells it
 * whether it still is the same socket. */
#include <string.h>

#include "base/reserve.h"
#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"

#define MAX_SOCKS (1u << 20)

/* Built for the address sanitizer, a TCP socket's object has room for UDP's part, and to touch it
 * is reported. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define TCP_STRIDE   sizeof(struct sl_udp_sock)
#define TCP_ENDS(sk) __asan_poison_memory_region((sk) + 1, TCP_STRIDE - sizeof(*(sk)))
#else
#define TCP_STRIDE   sizeof(struct sl_sock)
#define TCP_ENDS(sk) ((void)(sk))
#endif

struct slab {
	struct sl_reserve room;
	size_t stride; /* bytes */
	uint32_t used;
	struct sl_sock *free;
};

static struct sl_lock table_lock; /* protects what follows */
static struct slab slabs[2] = {
	{.stride = sizeof(struct sl_udp_sock)},
	{.stride = TCP_STRIDE},
};

static struct sl_sock *slab_at(const struct slab *s, uint32_t i)
{
	return (struct sl_sock *)(s->room.mem + i * s->stride);
}

static struct slab *slab_of(int proto)
{
	return &slabs[proto == IPPROTO_TCP];
}

#define REF_TCP (1u << 31)

uint32_t sl_sock_ref(const struct sl_sock *sk)
{
	const struct slab *s = slab_of(sk->proto);
	uint32_t i = (uint32_t)((size_t)((const char *)sk - s->room.mem) / s->stride);

	return sk->proto == IPPROTO_TCP ? i | REF_TCP : i;
}

struct sl_sock *sl_sock_at(uint32_t ref, uint32_t gen)
{
	const struct slab *s = &slabs[!!(ref & REF_TCP)];
	uint32_t i = ref & ~REF_TCP;
	struct sl_sock *sk;

	if (i >= sl_load_acquire(&s->used))
		return NULL;
	sk = slab_at(s, i);
	return sl_load(&sk->gen) == gen && sl_load(&sk->nfds) ? sk : NULL;
}

int sl_sock_table_init(void)
{
	int err = 0;

	for (unsigned k = 0; k < sl_array_len(slabs) && err == 0; k++)
		if (!slabs[k].room.mem) /* not a parent's, which stay */
			err = sl_reserve_open(&slabs[k].room, MAX_SOCKS * slabs[k].stride);
	if (err == 0)
		err = sl_slots_init(MAX_SOCKS);
	if (err == 0)
		err = sl_fdtab_init();
	return err;
}

struct sl_sock *sl_sock_find(bool (*is)(struct sl_sock *sk, void *arg), void *arg)
{
	for (unsigned k = 0; k < sl_array_len(slabs); k++) {
		uint32_t n = sl_load_acquire(&slabs[k].used);

		for (uint32_t i = 0; i < n; i++) {
			struct sl_sock *sk = slab_at(&slabs[k], i);

			if (sl_load(&sk->nfds) && is(sk, arg))
				return sk;
		}
	}
	return NULL;
}

struct visit {
	void (*fn)(struct sl_sock *sk, void *arg);
	void *arg;
};

static bool visit_one(struct sl_sock *sk, void *arg)
{
	const struct visit *v = arg;

	v->fn(sk, v->arg);
	return false;
}

void sl_sock_for_each(void (*fn)(struct sl_sock *sk, void *arg), void *arg)
{
	struct visit v = {fn, arg};

	sl_sock_find(visit_one, &v);
}

static bool has_our_inode(struct sl_sock *sk, void *arg)
{
	return sk->inode == *(const uint32_t *)arg && sk->state != SL_STATE_KERNEL &&
	       !sl_sock_is_ruled(sk);
}

bool sl_sock_inode_is_ours(uint32_t inode, void *arg)
{
	return sl_sock_find(has_our_inode, &inode) != NULL;
}

static void wipe(void *sock, size_t from, size_t to)
{
	memset((char *)sock + from, 0, to - from);
}

/* Prepares the object for its next life. The first fields are valid in any life, and wmem stays, as
 * frames of the past life may be under way. `watches` is a valid list at any time, since the keeper
 * may be about to walk it for an event of the past life. */
static void renew(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	sl_store(&sk->gen, sk->gen + 1);
	sl_store_release(&sk->lane, &sl_limbo);
	wipe(sk, offsetof(struct sl_sock, state), offsetof(struct sl_sock, watches));
	sl_list_init(&sk->watches);
	wipe(sk, offsetof(struct sl_sock, watches) + sizeof(sk->watches), sizeof(*sk));
	if (!sl_sock_is_udp(sk))
		return;
	wipe(us, sizeof(*sk), offsetof(struct sl_udp_sock, wmem));
	wipe(us, offsetof(struct sl_udp_sock, wmem) + sizeof(us->wmem),
	     offsetof(struct sl_udp_sock, extra));
	sl_list_init(&us->blocked);
}

/* An object that was never used. NULL: no memory. */
static struct sl_sock *fresh(struct slab *s, int proto)
{
	struct sl_sock *sk = slab_at(s, s->used);

	if (sl_reserve_upto(&s->room, (s->used + 1) * s->stride))
		return NULL;
	sk->proto = (uint8_t)proto;
	if (proto == IPPROTO_TCP)
		TCP_ENDS(sk);
	return sk;
}

struct sl_sock *sl_sock_alloc(int proto)
{
	struct slab *s = slab_of(proto);
	struct sl_sock *sk = NULL;

	if (!sl_lock(&table_lock))
		return NULL;
	if (s->free) {
		sk = s->free;
		s->free = sk->next_free;
	} else {
		sk = fresh(s, proto);
	}
	if (sk) {
		renew(sk);
		if (sk == slab_at(s, s->used))
			sl_store_release(&s->used, s->used + 1);
	}
	sl_unlock(&table_lock);
	return sk;
}

void sl_sock_free(struct sl_sock *sk)
{
	struct slab *s = slab_of(sk->proto);

	sl_lock(&table_lock);
	sl_store(&sk->nfds, 0);
	sk->next_free = s->free;
	s->free = sk;
	sl_unlock(&table_lock);
}

void sl_sock_table_renew(void)
{
	memset(&table_lock, 0, sizeof(table_lock));
	for (unsigned k = 0; k < sl_array_len(slabs); k++)
		slabs[k].free = NULL; /* another thread may have been taking one */
}
