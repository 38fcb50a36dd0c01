/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches and bells: threads that wait, and how they are woken. */
#include "sock/core/ready.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "base/heap.h"
#include "base/lock.h"
#include "base/sys.h"
#include "sock/core/errq.h"
#include "sock/core/sock.h"
#include "sock/core/extra.h"
#include "sock/core/udp_sock.h"
#include "sock/proc/sig.h"

void sl_watch_add(struct sl_sock *sk, struct sl_watch *w)
{
	struct sl_lane *lane;

	sl_list_init(&w->node);
	w->sk = NULL;
	w->home = sk;
	if (!sl_sock_lock(sk, &lane))
		return;
	w->sk = sk;
	sl_list_add(&sk->watches, &w->node); /* told first, as by add_wait_queue() of Linux */
	sl_lane_unlock(lane);
}

void sl_watch_del(struct sl_watch *w)
{
	struct sl_lane *lane;

	/* Even when it was taken off already: on_event may be running with it. */
	if (!w->home || !sl_sock_lock(w->home, &lane))
		return;
	if (w->sk) {
		sl_list_del(&w->node);
		w->sk = NULL;
	}
	sl_lane_unlock(lane);
}

uint32_t sl_sock_left(const struct sl_sock *sk)
{
	return (sl_sock_queued(sk) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (sl_errq_has(sk) || sl_load(&sk->error) ? EPOLLERR : 0);
}

void sl_sock_notify(struct sl_sock *sk, uint32_t events)
{
	sl_list_for_each_safe (it, &sk->watches) {
		struct sl_watch *w = sl_container_of(it, struct sl_watch, node);

		if (events & (SL_READY_GONE | SL_READY_DEMOTED)) {
			sl_list_del(&w->node);
			sl_store(&w->sk, NULL);
		}
		w->on_event(w, events);
	}
}

/* Bells ---------------------------------------------------------------------------------------- */

static __thread struct sl_bell *my_bell;
static pthread_key_t bell_key;
static pthread_once_t bell_once = PTHREAD_ONCE_INIT;

/* The bells of all threads. */
static struct sl_lock bells_lock;
static struct sl_list bells = {&bells, &bells};

/* Runs in the handler of SIGINT, on any thread. No thread holds the lock here and is interrupted
 * by this handler: signals wait while it does. */
static void interrupt_all(void)
{
	if (!sl_lock(&bells_lock))
		return;
	for (struct sl_list *e = bells.next; e != &bells; e = e->next) {
		struct sl_bell *b = sl_container_of(e, struct sl_bell, node);

		__atomic_add_fetch(b->ran, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(b->intr, 1, __ATOMIC_RELAXED);
		sl_bell_ring(b);
	}
	sl_unlock(&bells_lock);
}

/* (A handler that interrupts its own thread in here leaves its bell out of the list.) */
static void list_bell(struct sl_bell *b)
{
	if (!sl_lock(&bells_lock))
		return;
	b->ran = &sl_sig_ran;
	b->intr = &sl_sig_intr;
	sl_list_add(&bells, &b->node);
	sl_unlock(&bells_lock);
	sl_store_release(&sl_sig_on_stop, sl_bells_ring);
	if (sl_settings.handle_sigintr)
		sl_store_release(&sl_sig_on_int, interrupt_all);
}

void sl_bells_ring(void)
{
	if (!sl_lock(&bells_lock))
		return;
	for (struct sl_list *e = bells.next; e != &bells; e = e->next)
		sl_bell_ring(sl_container_of(e, struct sl_bell, node));
	sl_unlock(&bells_lock);
}

static void bell_free(void *arg)
{
	struct sl_bell *b = arg;

	if (b->ran) {
		sl_lock(&bells_lock);
		sl_list_del(&b->node);
		sl_unlock(&bells_lock);
	}
	if (b->fd >= 0)
		sl_sys_close(b->fd);
	sl_free(b);
	my_bell = NULL;
}

static void bell_key_make(void)
{
	pthread_key_create(&bell_key, bell_free);
}

struct sl_bell *sl_bell_get(void)
{
	static struct sl_bell none = {.fd = -1};
	struct sl_bell *b = my_bell;

	if (sl_likely(b))
		return b;
	pthread_once(&bell_once, bell_key_make);
	b = sl_calloc(1, sizeof(*b));
	if (!b)
		return &none;
	b->fd = sl_fd_keep(sl_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (b->fd < 0)
		b->fd = -1;
	my_bell = b;
	list_bell(b);
	pthread_setspecific(bell_key, b);
	return b;
}

/* The child needs a new eventfd: rings in the parent would be read from the shared one. */
void sl_bell_child(void)
{
	bells_lock = (struct sl_lock){0}; /* a thread of the parent may have held it */
	sl_list_init(&bells);
	if (!my_bell)
		return;
	my_bell->ran = NULL;
	pthread_setspecific(bell_key, NULL);
	bell_free(my_bell);
}

/* Pairs with the exchanges in sl_bell_ring(): either the ringer sees us listen or asleep, or our
 * check after this sees what it did before ringing. */
void sl_bell_prepare(struct sl_bell *b)
{
	__atomic_store_n(&b->state, SL_BELL_LISTENS, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* False: the bell rang since sl_bell_prepare(), perhaps by this thread's own turn of a lane; before
 * the sleep such a ring costs no system call. */
bool sl_bell_sleep(struct sl_bell *b)
{
	uint32_t listens = SL_BELL_LISTENS;

	return __atomic_compare_exchange_n(&b->state, &listens, SL_BELL_ASLEEP, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* A ringer may not have written yet what it owes. It is read later then: left in the eventfd, it
 * would end every sleep at once. */
void sl_bell_done(struct sl_bell *b)
{
	uint64_t v = 0;

	if (__atomic_exchange_n(&b->state, SL_BELL_AWAKE, __ATOMIC_SEQ_CST) == SL_BELL_RUNG)
		b->owed++;
	if (b->owed && sl_sys_read(b->fd, &v, sizeof(v)) == sizeof(v))
		b->owed -= sl_min(v, b->owed);
}

static bool change(struct sl_bell *b, uint32_t from, uint32_t to)
{
	return sl_load(&b->state) == from &&
	       __atomic_compare_exchange_n(&b->state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* Looks for a listening thread before a sleeping one: if the thread goes to sleep in between, the
 * second look finds it asleep. */
void sl_bell_ring(struct sl_bell *b)
{
	uint64_t v = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (change(b, SL_BELL_LISTENS, SL_BELL_AWAKE))
		return;
	if (change(b, SL_BELL_ASLEEP, SL_BELL_RUNG))
		sl_sys_write(b->fd, &v, sizeof(v));
}
