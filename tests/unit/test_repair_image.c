/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's image crosses to the daemon and back unchanged, and one that cannot be is refused.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctl/front/broker.h"
#include "ctl/lease/image.h"
#include "sock/repair/repair.h"

static struct sl_tcp_repair some(void)
{
	return (struct sl_tcp_repair){
		.key = {.local = sl_addr_v4(0x0201000a),
			.remote = sl_addr_v4(0x0101000a),
			.lport = 80,
			.rport = 4000},
		.state = SL_TCP_CLOSE_WAIT,
		.snd_una = 0xfffffff0,
		.snd_nxt = 0xfffffff0 + 100,
		.rcv_nxt = 77,
		.snd_wl1 = 76,
		.snd_wnd = 65535u << 14,
		.max_window = 65535,
		.rcv_wnd = 1,
		.rcv_wup = 75,
		.sndq = 100,
		.unsent = 20,
		.rcvq = 30,
		.sndbuf = 87040,
		.rcvbuf = 131072,
		.mss_clamp = 1460,
		.snd_wscale = 14,
		.rcv_wscale = 7,
		.wscale_ok = true,
		.ts_ok = true,
		.fin_rcvd = true,
		.tsval = 5,
		.ts_recent = 6,
		.scope_id = 3,
	};
}

static void test_it_is_the_same_behind(void **state)
{
	struct sl_tcp_repair r = some(), back;
	struct sl_lease_conn c;

	sl_repair_pack(&r, &c);
	assert_int_equal(sl_repair_unpack(&c, false, &back), 0);
	assert_memory_equal(&back.key.local, &r.key.local, sizeof(r.key.local));
	assert_memory_equal(&back.key.remote, &r.key.remote, sizeof(r.key.remote));
	assert_int_equal(back.snd_nxt, r.snd_nxt);
	assert_int_equal(back.unsent, 20);
	assert_true(back.wscale_ok && back.ts_ok && back.fin_rcvd);
	assert_false(back.sack_ok || back.ecn_ok || back.fin_sent || back.fin_queued ||
		     back.rx_shut);
	sl_repair_pack(&back, &(struct sl_lease_conn){0});
	assert_int_equal(back.mss_clamp, 1460);
	assert_int_equal(back.scope_id, 3);
}

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct sl_tcp_repair r = some(), back;                                             \
		struct sl_lease_conn c;                                                            \
		change;                                                                            \
		sl_repair_pack(&r, &c);                                                            \
		assert_int_equal(sl_repair_unpack(&c, false, &back), -EINVAL);                     \
	} while (0)

static void test_what_cannot_be_is_refused(void **state)
{
	REFUSED(r.key.lport = 0);
	REFUSED(r.key.rport = 0);
	REFUSED(r.key.local = sl_addr_v4(0));
	REFUSED(r.key.remote = sl_addr_v4(0x010000e0)); /* 224.0.0.1 */
	REFUSED(r.key.remote.b[0] = 0x20);              /* the one of IPv6 */
	REFUSED(r.state = SL_TCP_LISTEN);
	REFUSED(r.state = SL_TCP_SYN_SENT);
	REFUSED(r.state = SL_TCP_CLOSED);
	REFUSED(r.state = 200);
	REFUSED(r.snd_wscale = 15);
	REFUSED(r.rcv_wscale = 255);
	REFUSED(r.mss_clamp = 47);
	REFUSED(r.snd_wnd = UINT32_MAX);
	REFUSED(r.rcv_wnd = UINT32_MAX);
	REFUSED(r.max_window = UINT32_MAX);
	REFUSED(r.unsent = 101);
	REFUSED(r.sndq = UINT32_MAX);
	REFUSED(r.rcvq = SL_BUFFER_MAX);
	REFUSED(r.fin_sent = true); /* with unsent bytes, and none queued */
}

static void test_one_that_is_over_is_closed(void **state)
{
	struct sl_tcp_repair r = some(), back;
	struct sl_lease_conn c;

	sl_repair_pack(&r, &c);
	assert_int_equal(sl_repair_unpack(&c, true, &back), -EINVAL);
	r.state = SL_TCP_CLOSED;
	sl_repair_pack(&r, &c);
	assert_int_equal(sl_repair_unpack(&c, true, &back), 0);
	assert_int_equal(back.state, SL_TCP_CLOSED);
}

static void test_any_bytes_are_judged(void **state)
{
	struct sl_tcp_repair r;
	struct sl_lease_conn c;

	srandom(1);
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t *p = (uint8_t *)&c;

		for (size_t n = 0; n < sizeof(c); n++)
			p[n] = (uint8_t)random();
		if (sl_repair_unpack(&c, i % 2, &r) == 0)
			assert_true(r.sndq <= SL_BUFFER_MAX && r.rcvq <= SL_BUFFER_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_the_same_behind),
		cmocka_unit_test(test_what_cannot_be_is_refused),
		cmocka_unit_test(test_one_that_is_over_is_closed),
		cmocka_unit_test(test_any_bytes_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
