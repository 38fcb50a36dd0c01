/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice doctor --rdma: tests a path by RDMA, step by step, as a program of sluice-rdma(7) would
 * use it. */
#include "doctor.h"

#if __has_include(<infiniband/verbs.h>)
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_step.h"

#define RC_NS      5000000000ll /* for the echo of a message: the queue pair sends again meanwhile */
#define UD_NS      200000000ll
#define DROP_AFTER 20 /* datagrams in a row without an echo: the path takes none */

/* The client's steps until it may send ------------------------------------------------------------
 */

struct client {
	const struct sl_rdma_lib *lib;
	struct sl_rdma_channel *ch;
	struct sl_rdma_id *id;
	struct sl_rdma_pair pair;
	const struct sl_rdma_test *test;
};

/* Finds the device and the path. */
static bool resolve(struct client *c, const struct addrinfo *to)
{
	struct sl_rdma_heard h;
	uint8_t timeout = (uint8_t)c->test->timeout;

	if (c->lib->resolve_addr(c->id, NULL, to->ai_addr, 2000))
		return sl_rdma_fail("rdma_resolve_addr", -errno, NULL), false;
	if (!sl_rdma_expect(c->lib, c->ch, "rdma_resolve_addr", SL_RDMA_ADDR_RESOLVED, &h))
		return false;
	sl_say_good("the address is resolved, by RDMA device %s",
		    c->id->verbs ? c->id->verbs->device->name : "?");
	if (c->lib->resolve_route(c->id, 2000))
		return sl_rdma_fail("rdma_resolve_route", -errno, NULL), false;
	if (!sl_rdma_expect(c->lib, c->ch, "rdma_resolve_route", SL_RDMA_ROUTE_RESOLVED, &h))
		return false;
	sl_say_good("the route is resolved");
	if (c->lib->set_option(c->id, SL_RDMA_OPTION_ID, SL_RDMA_OPTION_ID_TIMEOUT, &timeout,
			       sizeof(timeout)))
		return sl_rdma_fail("rdma_set_option", -errno, NULL), false;
	return true;
}

/* Connects; the program, not librdmacm, makes the queue pair ready and says when the peer may send.
 */
static bool connect_by(struct client *c)
{
	struct sl_rdma_pair *p = &c->pair;
	struct sl_rdma_hello mine;
	struct sl_rdma_param param;
	struct sl_rdma_heard h;
	int err = sl_rdma_pair_init(p, c->lib, c->id);

	if (err)
		return sl_rdma_fail_pair(p, err), false;
	param = sl_rdma_param_of(p, &mine);
	if (c->lib->connect(c->id, &param))
		return sl_rdma_fail("rdma_connect", -errno, NULL), false;
	if (!sl_rdma_expect(c->lib, c->ch, "rdma_connect", SL_RDMA_CONNECT_RESPONSE, &h))
		return false;
	if (ntohl(h.hello.magic) != SL_RDMA_MAGIC)
		return sl_rdma_fail("CONNECT_RESPONSE", -EPROTO, NULL), false;
	sl_say_good("the peer has answered (CONNECT_RESPONSE), queue pair %u", h.peer_qp);
	err = sl_rdma_pair_ready(p, &h.hello);
	if (err)
		return sl_rdma_fail_pair(p, err), false;
	if (p->ack_timeout == c->test->timeout)
		sl_say_good("the queue pair's time-out is %u (%.3f ms), as asked for",
			    p->ack_timeout, 4.096e-3 * (double)(1ull << p->ack_timeout));
	else
		sl_say_note("the queue pair's time-out is %u, not %u as asked for", p->ack_timeout,
			    c->test->timeout);
	if (c->lib->establish(c->id))
		return sl_rdma_fail("rdma_establish", -errno, NULL), false;
	sl_say_good("established by the program (rdma_establish)");
	return true;
}

/* Measures ----------------------------------------------------------------------------------------
 */

/* Sends message number `number` and waits for its echo. The time in ns, -ETIMEDOUT, or -errno. */
static int64_t ping(struct client *c, enum sl_rdma_kind kind, uint32_t number)
{
	int64_t began = sl_rdma_now_ns(), limit = began + (kind == SL_RDMA_UD ? UD_NS : RC_NS);
	uint8_t bytes[SL_RDMA_SLOT_BYTES] = {0};
	struct sl_rdma_got got;
	int err;

	memcpy(bytes, &number, sizeof(number));
	while ((err = sl_rdma_pair_send(&c->pair, kind, bytes, c->test->bytes)) == -EAGAIN)
		if ((err = sl_rdma_pair_poll(&c->pair, &got)) < 0 || sl_rdma_now_ns() > limit)
			return err < 0 ? err : -ETIMEDOUT;
	while (!err && sl_rdma_now_ns() < limit) {
		for (unsigned tries = 0; tries < 100; tries++) {
			err = sl_rdma_pair_poll(&c->pair, &got);
			if (err < 0)
				return err;
			if (err && got.kind == kind && got.len == c->test->bytes &&
			    !memcmp(got.bytes, bytes, sizeof(number)))
				return sl_rdma_now_ns() - began;
		}
		err = 0;
		sched_yield();
	}
	return err ? err : -ETIMEDOUT;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Reports the spread of n times. */
static void tell_times(int64_t *ns, unsigned n, const char *by, unsigned bytes)
{
	qsort(ns, n, sizeof(*ns), by_size);
	sl_say_good("%s, %u messages of %u bytes there and back: p50 %.1f us, p99 %.1f us, at most "
		    "%.1f us",
		    by, n, bytes, (double)ns[n / 2] / 1e3, (double)ns[n * 99ull / 100] / 1e3,
		    (double)ns[n - 1] / 1e3);
}

/* The connected queue pair loses nothing: what does not come is an error. */
static bool measure_latency(struct client *c, int64_t *ns)
{
	for (unsigned i = 0; i < c->test->count; i++) {
		ns[i] = ping(c, SL_RDMA_RC, i);
		if (ns[i] >= 0)
			continue;
		if (ns[i] == -ETIMEDOUT)
			sl_rdma_fail("completion", -ETIMEDOUT, NULL);
		else
			sl_rdma_fail_pair(&c->pair, (int)ns[i]);
		return false;
	}
	tell_times(ns, c->test->count, "connected", c->test->bytes);
	return true;
}

static void measure_loss(struct client *c, int64_t *ns)
{
	unsigned got = 0, in_row = 0, sent = 0;

	while (sent < c->test->count && in_row < DROP_AFTER) {
		int64_t took = ping(c, SL_RDMA_UD, sent);

		if (took < 0 && took != -ETIMEDOUT)
			return sl_rdma_fail_pair(&c->pair, (int)took);
		sent++;
		in_row = took < 0 ? in_row + 1 : 0;
		if (took >= 0)
			ns[got++] = took;
	}
	if (got)
		tell_times(ns, got, "datagrams", c->test->bytes);
	if (got == sent)
		sl_say_good("no loss: %u of %u datagrams have come back", got, sent);
	else
		sl_say_finding(
			"PFC or ECN on the whole path (sluice qos); cables and counters (ethtool "
			"-S, rdma statistic)",
			"loss: %u of %u datagrams have not come back (%.2f %%)", sent - got, sent,
			100.0 * (sent - got) / sent);
}

static void test_path(struct client *c, const struct addrinfo *to)
{
	int64_t *ns;

	errno = ENODEV;
	c->ch = c->lib->create_event_channel();
	if (!c->ch)
		return sl_rdma_fail("rdma_create_event_channel", -errno, NULL);
	if (c->lib->create_id(c->ch, &c->id, NULL, SL_RDMA_PS_TCP))
		return sl_rdma_fail("rdma_create_id", -errno, NULL);
	if (!resolve(c, to) || !connect_by(c))
		return;
	ns = calloc(c->test->count, sizeof(*ns));
	if (ns && measure_latency(c, ns))
		measure_loss(c, ns);
	free(ns);
	c->lib->disconnect(c->id);
}

void sl_doctor_rdma(const char *peer, const struct sl_rdma_test *t)
{
	struct client c = {.test = t};
	struct addrinfo *to;

	sl_say_about("rdma", NULL);
	c.lib = sl_rdma_load();
	if (!c.lib)
		return;
	to = sl_rdma_look_up(peer);
	if (to)
		test_path(&c, to);
	if (c.pair.lib)
		sl_rdma_pair_fini(&c.pair);
	if (c.id)
		c.lib->destroy_id(c.id);
	if (c.ch)
		c.lib->destroy_event_channel(c.ch);
	if (to)
		freeaddrinfo(to);
}
#else
void sl_doctor_rdma(const char *peer, const struct sl_rdma_test *t)
{
	(void)peer, (void)t;
	sl_say_about("rdma", NULL);
	sl_say_finding("build with libibverbs-dev", "this tool was built without RDMA");
}
#endif
