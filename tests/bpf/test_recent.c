/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program remembers flows, and sometimes must not. A claim is deleted from the maps
 * without a new generation of the port: if packets are still steered, the flow was remembered. */
#include <sched.h>

#include "base/clock.h"
#include "rig.h"

static void forget(uint8_t proto)
{
	ports[DPORT + (proto == IPPROTO_TCP ? 65536 : 0)] += SL_L4_PORT_GEN;
}

static void remove_claims(void)
{
	clear_map(skel->maps.flows);
	clear_map(skel->maps.endpoints);
}

static struct frame seg(const char *to)
{
	struct frame f = {0};

	eth(&f);
	ip4(&f, to, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	return f;
}

/* A segment of a connection: it has an ACK, since the steering program remembers nothing of a flow
 * whose peer has acknowledged nothing. */
static struct frame acked(const char *to)
{
	struct frame f = seg(to);
	struct tcphdr *t = (struct tcphdr *)(f.b + f.l4);

	t->syn = 0;
	t->ack = 1;
	return f;
}

/* The steering program uses what it remembers for a while (SL_RECENT_TICK), then looks at the maps
 * again and finds the claims gone. So this returns when such a while begins, which is longer than a
 * test takes. */
static int when_it_begins(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);
	uint64_t end;

	clear(state);
	endpoint(A4, 1);
	assert_steered(&f, redirect_endpoint, 1);
	remove_claims();
	for (end = sl_now_ns() + 5000000000; run(&f).verdict == XDP_REDIRECT;)
		assert_true(sl_now_ns() < end);
	return clear(state);
}

/* The second packet needs no claim in the maps, the third has none. */
static void assert_remembered_(const struct frame *f, uint8_t proto, size_t counter, int line)
{
	assert_steered_(f, counter, 1, line);
	remove_claims();
	assert_steered_(f, counter, 1, line);
	forget(proto);
	assert_pass_(f, offsetof(struct sl_counters, pass_miss), line);
}
#define assert_remembered(f, proto, name)                                                          \
	assert_remembered_((f), (proto), offsetof(struct sl_counters, name), __LINE__)

static void test_remembers(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT), f6 = udp6(A6, SPORT, DPORT), t = acked(A4);
	struct sl_claim listener = claim_of(1);

	flow(A4, B4, IPPROTO_UDP, 1);
	assert_remembered(&f, IPPROTO_UDP, redirect_flow);
	flow(A6, B6, IPPROTO_UDP, 1);
	assert_remembered(&f6, IPPROTO_UDP, redirect_flow);
	flow(A4, B4, IPPROTO_TCP, 1);
	assert_remembered(&t, IPPROTO_TCP, redirect_flow);
	clear(NULL);
	endpoint(A4, 1);
	assert_remembered(&f, IPPROTO_UDP, redirect_endpoint);
	clear(NULL);
	local(A6);
	endpoint("::", 1);
	assert_remembered(&f6, IPPROTO_UDP, redirect_wildcard);
	clear(NULL);
	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &listener);
	assert_remembered(&t, IPPROTO_TCP, redirect_endpoint);
}

/* All senders of an endpoint share what is remembered, as long as the port has no flows. */
static void test_senders_share_an_endpoint(void **state)
{
	struct frame one = udp4(A4, SPORT, DPORT), two = udp4(A4, SPORT + 1, DPORT);

	endpoint(A4, 1);
	assert_steered(&one, redirect_endpoint, 1);
	remove_claims();
	assert_steered(&two, redirect_endpoint, 1);
	endpoint(A4, 1);
	flow(A4, B4, IPPROTO_UDP, 2);
	assert_steered(&one, redirect_flow, 2);
	assert_steered(&two, redirect_endpoint, 1);
	assert_steered(&one, redirect_flow, 2);
	remove_claims();
	assert_steered(&one, redirect_flow, 2);
	assert_steered(&two, redirect_endpoint, 1);
}

/* Whatever differs in the key is another flow: nothing is taken for it. */
static void test_others_are_not_taken_for_it(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT), g;

	flow(A4, B4, IPPROTO_UDP, 1);
	set_bit(IPPROTO_TCP, DPORT, SL_L4_PORT_FLOW);
	assert_steered(&f, redirect_flow, 1);
	for (unsigned bit = 0; bit < 64; bit++) { /* the addresses */
		g = f;
		g.b[g.l3 + 12 + bit / 8] ^= 1 << bit % 8;
		assert_pass(&g, pass_miss);
	}
	for (unsigned bit = 0; bit < 16; bit++) {
		g = f;
		g.b[g.l4 + bit / 8] ^= 1 << bit % 8;
		assert_pass(&g, pass_miss);
	}
	g = seg(A4);
	assert_pass(&g, pass_miss);
	assert_steered(&f, redirect_flow, 1);
	f = udp6(A6, SPORT, DPORT);
	flow(A6, B6, IPPROTO_UDP, 1);
	assert_steered(&f, redirect_flow, 1);
	for (unsigned bit = 0; bit < 256; bit++) {
		g = f;
		g.b[g.l3 + 8 + bit / 8] ^= 1 << bit % 8;
		assert_pass(&g, pass_miss);
	}
	assert_steered(&f, redirect_flow, 1);
}

static void test_change_is_seen_at_once(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);

	local(A4);
	endpoint("0.0.0.0", 1);
	assert_steered(&f, redirect_wildcard, 1);
	endpoint(A4, 2);
	assert_steered(&f, redirect_endpoint, 2);
	flow(A4, B4, IPPROTO_UDP, 3);
	assert_steered(&f, redirect_flow, 3);
	flow(A4, B4, IPPROTO_UDP, 4);
	assert_steered(&f, redirect_flow, 4);
	clear_map(skel->maps.flows);
	forget(IPPROTO_UDP);
	assert_steered(&f, redirect_endpoint, 2);
	clear(NULL);
	assert_pass(&f, pass_miss);
}

static void test_connection_goes_before_its_listener(void **state)
{
	struct sl_claim end = claim_of(1), conn = claim_of(2);
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = IPPROTO_TCP};
	struct frame f = seg(A4);

	addr(k.local, A4);
	addr(k.remote, B4);
	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &end);
	set_bit(IPPROTO_TCP, DPORT, SL_L4_PORT_FLOW);
	assert_steered(&f, redirect_endpoint, 1);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &conn, 0), 0);
	forget(IPPROTO_TCP);
	assert_steered(&f, redirect_flow, 2);
}

static void test_group_is_not_remembered(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct frame f = udp4(A4, SPORT, DPORT);

	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	set_group(3, 1);
	assert_steered(&f, redirect_endpoint, 0);
	remove_claims();
	assert_pass(&f, pass_miss);
}

/* Where one packet's steering may interrupt another's. */
static void test_told_to_forget(void **state)
{
	struct sl_port_config cfg = {.abi = SL_STEER_ABI,
				     .nqueues = 1,
				     .in_frame = in_frame,
				     .forgets = 1,
				     .room = 1024};
	struct frame f = udp4(A4, SPORT, DPORT);
	uint32_t zero = 0;

	memcpy(cfg.mac, our_mac, 6);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.config), &zero, &cfg, 0), 0);
	flow(A4, B4, IPPROTO_UDP, 1);
	assert_steered(&f, redirect_flow, 1);
	remove_claims();
	assert_pass(&f, pass_miss);
}

/* Flows that meet in an entry take turns in it. */
static void test_many_flows(void **state)
{
	for (uint16_t i = 0; i < 4000; i++) {
		struct sl_flow_key k = {
			.local_port = DPORT, .remote_port = 1000 + i, .proto = IPPROTO_UDP};
		struct sl_claim c = claim_of(i);

		addr(k.local, A4);
		addr(k.remote, B4);
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &c, 0), 0);
	}
	set_bit(IPPROTO_UDP, DPORT, SL_L4_PORT_FLOW);
	for (int round = 0; round < 2; round++)
		for (uint16_t i = 0; i < 4000; i++) {
			struct frame f = udp4(A4, 1000 + i, DPORT);

			assert_steered(&f, redirect_flow, i);
		}
}

/* Each CPU remembers for itself. */
static void stay(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, when_it_begins)
	static const struct CMUnitTest tests[] = {
		T(test_remembers),
		T(test_senders_share_an_endpoint),
		T(test_others_are_not_taken_for_it),
		T(test_change_is_seen_at_once),
		T(test_connection_goes_before_its_listener),
		T(test_group_is_not_remembered),
		T(test_told_to_forget),
		T(test_many_flows),
	};

	if (!may_load())
		return 77;
	stay();
	return run_both_ways(tests);
}
