/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a link that is down because its device was opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "stack/port.h"
#include "stack/restart.h"

/* These figures are those of stack/restart.c. */
#define NEIGH_NS 3000000000ull
#define LOOK_NS  2000000

static unsigned looks, back_after; /* so many looks find no link */

/* The linker puts these in the place of the library's functions (tests.mk). */
bool __wrap_sl_link_has_carrier(uint32_t ifindex);
struct sl_port *__wrap_sl_port_find(uint32_t ifindex);

bool __wrap_sl_link_has_carrier(uint32_t ifindex)
{
	assert_int_equal(ifindex, 7);
	return looks++ >= back_after;
}

static struct sl_port nic, vlan = {.base = &nic};

struct sl_port *__wrap_sl_port_find(uint32_t ifindex)
{
	return ifindex == 7 ? &nic : ifindex == 8 ? &vlan : NULL;
}

static void opened(bool ran, unsigned looks_without)
{
	nic.info.ifindex = 7;
	looks = 0;
	back_after = looks_without;
	nic.info.flags = ran ? SL_PORT_HAD_LINK : 0;
	sl_port_opened(&nic);
}

static void a_link_that_stays_is_not_waited_for(void **state)
{
	opened(true, 0);
	sl_port_wait_link(&nic);
	assert_int_equal(looks, 1);
	assert_false(sl_port_restarts(&nic));
	assert_false(sl_port_restarted(&nic, 1));
}

static void one_that_opening_costs_is(void **state)
{
	uint64_t began = sl_now_ns();

	opened(true, 20);
	sl_port_wait_link(&vlan);
	assert_int_equal(looks, 21);
	assert_true(sl_now_ns() - began >= 19 * LOOK_NS);
	sl_port_wait_link(&nic); /* once */
	assert_int_equal(looks, 21);
	/* The neighbours may be away still. */
	assert_true(sl_port_restarts(&vlan));
	assert_true(nic.restart_ns <= sl_now_ns() + NEIGH_NS);
	assert_false(sl_port_restarted(&nic, began));
	nic.restart_ns = sl_now_ns();
	assert_true(sl_port_restarted(&nic, began));
	assert_false(sl_port_restarted(&nic, sl_now_ns() + 1));
}

static void one_that_was_away_is_not(void **state)
{
	opened(false, 20);
	sl_port_wait_link(&nic);
	assert_int_equal(looks, 1);
	assert_true(sl_port_restarts(&nic));
}

static void not_for_ever(void **state)
{
	uint64_t began = sl_now_ns();

	opened(true, UINT32_MAX);
	nic.restart_ns = began + 20 * LOOK_NS;
	sl_port_wait_link(&nic);
	assert_true(sl_now_ns() - began >= 20 * LOOK_NS);
}

static void who_polls_does_not_wait(void **state)
{
	struct sl_sock_claim claim[2] = {{.next = &claim[1], .req.ifindex = 6}, {.req.ifindex = 8}};
	struct sl_udp_sock us = {.sk = {.claims = claim, .nonblock = true}};

	opened(true, 20);
	sl_sock_wait_links(&us.sk, 0);
	assert_int_equal(looks, 1);
	us.sk.nonblock = false;
	sl_sock_wait_links(&us.sk, MSG_DONTWAIT);
	assert_int_equal(looks, 1);
	/* The next one that blocks does, if it uses the device. */
	claim[0].next = NULL;
	sl_sock_wait_links(&us.sk, 0);
	assert_int_equal(looks, 1);
	claim[0].next = &claim[1];
	sl_sock_wait_links(&us.sk, 0);
	assert_int_equal(looks, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_that_stays_is_not_waited_for),
		cmocka_unit_test(one_that_opening_costs_is),
		cmocka_unit_test(one_that_was_away_is_not),
		cmocka_unit_test(not_for_ever),
		cmocka_unit_test(who_polls_does_not_wait),
	};

	sl_clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
