/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches are told of edges, and bells never leave a sleeper asleep or awake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/poll/wait.h"

static struct sl_lane lane;
static struct sl_udp_sock us;
static struct sl_sock *const sk = &us.sk;

static int setup(void **state)
{
	memset(&lane, 0, sizeof(lane));
	sl_list_init(&lane.blocked);
	sl_list_init(&lane.reaped);
	memset(&us, 0, sizeof(us));
	sk->lane = &lane;
	sl_list_init(&sk->watches);
	return 0;
}

/* Bells ---------------------------------------------------------------------------------------- */

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static void test_bell_in_one_thread(void **state)
{
	struct sl_bell *b = sl_bell_get();

	assert_ptr_equal(sl_bell_get(), b);
	assert_true(b->fd >= 0);
	sl_bell_ring(b); /* nobody sleeps: nothing happens */
	assert_false(readable(b->fd, 0));
	sl_bell_prepare(b);
	assert_true(sl_bell_sleep(b));
	assert_false(readable(b->fd, 0));
	sl_bell_ring(b);
	sl_bell_ring(b);
	assert_true(readable(b->fd, 0));
	sl_bell_done(b);
	assert_false(readable(b->fd, 0));
	sl_bell_prepare(b);
	sl_bell_done(b);
	assert_false(readable(b->fd, 0));
}

/* A thread that still looks, as in its own turn at each packet that it was woken for, needs no
 * eventfd: that would cost a write and a read. */
static void test_who_still_looks_needs_no_eventfd(void **state)
{
	struct sl_bell *b = sl_bell_get();

	sl_bell_prepare(b);
	sl_bell_ring(b);
	assert_false(readable(b->fd, 0));
	assert_false(sl_bell_sleep(b));
	sl_bell_prepare(b);
	assert_true(sl_bell_sleep(b));
	sl_bell_done(b);
	assert_int_equal(b->owed, 0);
}

/* The ringer was preempted between saying so and writing: the sleeper was awake already and finds
 * nothing to read. What is written then must not keep every later sleep from being one. */
static void test_late_ring_is_taken_up_later(void **state)
{
	struct sl_bell *b = sl_bell_get();
	uint64_t one = 1;

	sl_bell_prepare(b);
	b->state = SL_BELL_RUNG; /* first half of a ring */
	sl_bell_done(b);
	assert_int_equal(write(b->fd, &one, sizeof(one)), sizeof(one)); /* second half */
	sl_bell_prepare(b);
	sl_bell_done(b);
	assert_false(readable(b->fd, 0));
	sl_bell_prepare(b);
	assert_true(sl_bell_sleep(b));
	sl_bell_ring(b); /* and it still rings */
	assert_true(readable(b->fd, 0));
	sl_bell_done(b);
	assert_false(readable(b->fd, 0));
}

#define ROUNDS 100000

static struct sl_bell *bell;
static uint32_t posted, seen;

static void *ringer(void *arg)
{
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		while (sl_load_acquire(&seen) != i - 1)
			sl_cpu_relax();
		for (uint32_t j = i * 2654435761u >> 23; j; j--) /* now here, now there */
			__asm__ volatile("");
		sl_store_release(&posted, i);
		sl_bell_ring(bell);
	}
	return NULL;
}

static void test_no_wake_up_is_lost(void **state)
{
	unsigned slept = 0;
	pthread_t t;

	bell = sl_bell_get();
	assert_int_equal(pthread_create(&t, NULL, ringer, NULL), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		while (sl_load_acquire(&posted) != i) {
			sl_bell_prepare(bell);
			if (sl_load_acquire(&posted) != i && sl_bell_sleep(bell)) {
				slept++;
				if (!readable(bell->fd, 5000) && sl_load_acquire(&posted) == i)
					fail_msg("asleep in round %u", i);
			}
			sl_bell_done(bell);
		}
		sl_store_release(&seen, i);
	}
	pthread_join(t, NULL);
	assert_true(slept > 0);
}

static void *other_bell(void *arg)
{
	struct sl_bell *b = sl_bell_get();

	*(int *)arg = b->fd;
	return b;
}

static void test_each_thread_has_its_own(void **state)
{
	pthread_t t;
	void *ret;
	int fd;

	assert_int_equal(pthread_create(&t, NULL, other_bell, &fd), 0);
	pthread_join(t, &ret);
	assert_ptr_not_equal(ret, sl_bell_get());
	assert_int_equal(close(fd), -1); /* closed with its thread */
}

/* Watches -------------------------------------------------------------------------------------- */

struct seen {
	struct sl_watch w;
	uint32_t events;
	unsigned times;
};

static void on_event(struct sl_watch *w, uint32_t events)
{
	struct seen *s = sl_container_of(w, struct seen, w);

	s->events |= events;
	s->times++;
}

static void tell(uint32_t events)
{
	assert_true(sl_lane_lock(&lane));
	sl_sock_notify(sk, events);
	sl_lane_unlock(&lane);
}

static void test_watches(void **state)
{
	struct seen a = {.w.on_event = on_event}, b = {.w.on_event = on_event};

	sl_watch_add(sk, &a.w);
	sl_watch_add(sk, &b.w);
	tell(EPOLLIN);
	assert_int_equal(a.times, 1);
	assert_int_equal(b.events, EPOLLIN);
	sl_watch_del(&a.w);
	sl_watch_del(&a.w);
	assert_null(a.w.sk);
	tell(EPOLLERR);
	assert_int_equal(a.times, 1);
	assert_int_equal(b.events, EPOLLIN | EPOLLERR);
	tell(SL_READY_DEMOTED); /* takes it off */
	assert_null(b.w.sk);
	assert_true(sl_list_empty(&sk->watches));
	tell(EPOLLIN);
	assert_int_equal(b.times, 3);
	sl_watch_del(&b.w);
	sl_watch_add(sk, &b.w);
	tell(SL_READY_GONE);
	assert_int_equal(b.times, 4);
	assert_null(b.w.sk);
}

static void test_what_poll_would_say(void **state)
{
	assert_int_equal(sl_sock_ready(sk), EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	us.udp.tail = 1;
	assert_true(sl_sock_ready(sk) & EPOLLIN);
	us.udp.tail = 0;
	sk->os = SL_OS_IN;
	assert_true(sl_sock_ready(sk) & EPOLLRDNORM);
	sk->os = SL_OS_ERR;
	assert_int_equal(sl_sock_ready(sk), EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND | EPOLLERR);
	sk->os = 0;
	us.udp.rx_shut = true;
	assert_true(sl_sock_ready(sk) & EPOLLRDHUP);
	assert_false(sl_sock_ready(sk) & EPOLLHUP);
	us.tx_shut = true;
	assert_true(sl_sock_ready(sk) & EPOLLHUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bell_in_one_thread, setup),
		cmocka_unit_test_setup(test_who_still_looks_needs_no_eventfd, setup),
		cmocka_unit_test_setup(test_late_ring_is_taken_up_later, setup),
		cmocka_unit_test_setup(test_no_wake_up_is_lost, setup),
		cmocka_unit_test_setup(test_each_thread_has_its_own, setup),
		cmocka_unit_test_setup(test_watches, setup),
		cmocka_unit_test_setup(test_what_poll_would_say, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
