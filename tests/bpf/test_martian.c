/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and frames that no wire may have pass the steering program, whatever is claimed, and
 * whatever was remembered of the packet before. */
#include "rig.h"

static const char *const odd4[] = {"0.0.0.0",   "0.0.0.1",   "0.255.255.255",
				   "127.0.0.1", "127.1.2.3", "224.0.0.5",
				   "239.1.2.3", "240.0.0.1", "255.255.255.255"};
static const char *const good4[] = {"1.0.0.1",   "126.255.255.255", "128.0.0.1",
				    "10.0.0.77", "192.0.2.7",       "223.255.255.255"};
static const char *const odd6[] = {"::",         "::1",
				   "ff02::1",    "ff05::2",
				   "ff0e::1",    "::ffff:10.0.0.2",
				   "::10.0.0.2", "::ffff:127.0.0.1"};
static const char *const good6[] = {"fd00::77", "2001:db8::1", "fe80::1", "64:ff9b::a00:2",
				    "0:1::2"};
static const char *const OTHER4 = "10.0.9.9", *const OTHER6 = "fd00:9::9";

static struct frame from4(const char *src, const char *dst, uint8_t proto)
{
	struct frame f;

	eth(&f);
	ip4(&f, dst, proto, NULL, 0);
	inet_pton(AF_INET, src, f.b + f.l3 + 12);
	if (proto == IPPROTO_UDP)
		udp(&f, SPORT, DPORT);
	else
		tcp(&f, SPORT, DPORT);
	return f;
}

static struct frame from6(const char *src, const char *dst, uint8_t proto)
{
	struct frame f;

	eth(&f);
	ip6(&f, dst, proto);
	inet_pton(AF_INET6, src, f.b + f.l3 + 8);
	if (proto == IPPROTO_UDP)
		udp(&f, SPORT, DPORT);
	else
		tcp(&f, SPORT, DPORT);
	return f;
}

static void passes4(const char *src, uint8_t proto)
{
	struct frame f = from4(src, A4, proto);

	assert_pass(&f, pass_miss);
}

static void passes6(const char *src, uint8_t proto)
{
	struct frame f = from6(src, A6, proto);

	assert_pass(&f, pass_miss);
}

static void all_sources(uint8_t proto)
{
	struct frame f;

	for (unsigned i = 0; i < sl_array_len(good4); i++) {
		f = from4(good4[i], A4, proto);
		assert_steered(&f, redirect_endpoint, 1);
	}
	for (unsigned i = 0; i < sl_array_len(odd4); i++)
		passes4(odd4[i], proto);
	for (unsigned i = 0; i < sl_array_len(good6); i++) {
		f = from6(good6[i], A6, proto);
		assert_steered(&f, redirect_endpoint, 2);
	}
	for (unsigned i = 0; i < sl_array_len(odd6); i++)
		passes6(odd6[i], proto);
}

static void claim_both(uint8_t proto)
{
	struct sl_claim c1 = claim_of(1), c2 = claim_of(2);

	add_endpoint(A4, DPORT, proto, 0, &c1);
	add_endpoint(A6, DPORT, proto, 0, &c2);
}

static void test_sources(void **state)
{
	claim_both(IPPROTO_UDP);
	claim_both(IPPROTO_TCP);
	all_sources(IPPROTO_UDP);
	all_sources(IPPROTO_TCP);
}

/* Addresses of this host: whether the kernel takes them user space asks. */
static void test_own_addresses(void **state)
{
	static const char *const own4[] = {A4, OTHER4}, *const own6[] = {A6, OTHER6};
	struct frame f;

	local(OTHER4);
	local(OTHER6);
	claim_both(IPPROTO_UDP);
	for (unsigned i = 0; i < 2; i++) {
		f = from4(own4[i], A4, IPPROTO_UDP);
		assert_steered(&f, redirect_endpoint, 1);
		f = from6(own6[i], A6, IPPROTO_UDP);
		assert_steered(&f, redirect_endpoint, 2);
	}
}

/* Somebody claimed such a flow by hand, or a program did with odd routes. */
static void test_claimed_flow(void **state)
{
	flow(A4, "127.0.0.1", IPPROTO_UDP, 3);
	flow(A6, "::1", IPPROTO_UDP, 4);
	passes4("127.0.0.1", IPPROTO_UDP);
	passes6("::1", IPPROTO_UDP);
}

static void test_destinations(void **state)
{
	static const char *const to4[] = {"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3"};
	static const char *const to6[] = {"::1", "::", "::ffff:10.0.0.1"};
	struct frame f;

	local("127.0.0.1");
	local("::1");
	endpoint("0.0.0.0", 1);
	endpoint("::", 2);
	for (unsigned i = 0; i < sl_array_len(to4); i++) {
		endpoint(to4[i], 1);
		f = from4(B4, to4[i], IPPROTO_UDP);
		assert_pass(&f, pass_miss);
	}
	for (unsigned i = 0; i < sl_array_len(to6); i++) {
		endpoint(to6[i], 2);
		f = from6(B6, to6[i], IPPROTO_UDP);
		assert_pass(&f, pass_miss);
	}
	endpoint(A4, 3); /* what ::ffff:10.0.0.1 has as its key */
	f = from6(B6, "::ffff:10.0.0.1", IPPROTO_UDP);
	assert_pass(&f, pass_miss);
}

/* Frames for several stations bring datagrams for groups alone. */
static void test_frames_for_several(void **state)
{
	static const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255},
			     group4[6] = {1, 0, 0x5e, 1, 2, 3},
			     group6[6] = {0x33, 0x33, 0, 0, 0, 1};
	const uint8_t *const macs[] = {broadcast, group4, group6};
	struct frame f;

	claim_both(IPPROTO_UDP);
	claim_both(IPPROTO_TCP);
	endpoint("239.1.2.3", 5);
	endpoint("ff15::1", 6);
	for (unsigned i = 0; i < sl_array_len(macs); i++) {
		for (unsigned k = 0; k < 4; k++) {
			uint8_t proto = k & 1 ? IPPROTO_UDP : IPPROTO_TCP;

			f = k & 2 ? from4(B4, A4, proto) : from6(B6, A6, proto);
			memcpy(f.b, macs[i], 6);
			assert_pass(&f, pass_miss);
		}
		f = from4(B4, "239.1.2.3", IPPROTO_UDP);
		memcpy(f.b, macs[i], 6);
		assert_steered(&f, redirect_endpoint, 5);
		f = from6(B6, "ff15::1", IPPROTO_UDP);
		memcpy(f.b, macs[i], 6);
		assert_steered(&f, redirect_endpoint, 6);
	}
}

/* An ICMP error that names a segment of ours, from such a source or in such a frame. */
static void test_icmp_errors(void **state)
{
	static const uint8_t head[8] = {3, 4, 0, 0, 0, 0, 2, 0};
	struct sl_claim c = claim_of(1);
	struct frame f, inner;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	eth(&f);
	ip4(&f, A4, IPPROTO_ICMP, NULL, 0);
	put(&f, head, sizeof(head));
	eth(&inner);
	ip4(&inner, B4, IPPROTO_TCP, NULL, 0);
	inet_pton(AF_INET, A4, inner.b + inner.l3 + 12);
	tcp(&inner, DPORT, SPORT);
	put(&f, inner.b + inner.l3, inner.len - inner.l3);
	f.l4 = f.l3 + 20;
	assert_steered(&f, redirect_endpoint, 1);
	f.b[0] |= 1;
	assert_pass(&f, pass_unknown);
	f.b[0] &= 0xfe;
	for (unsigned i = 0; i < sl_array_len(odd4); i++) {
		inet_pton(AF_INET, odd4[i], f.b + f.l3 + 12);
		assert_pass(&f, pass_unknown);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, clear)
	static const struct CMUnitTest tests[] = {
		T(test_sources),      T(test_own_addresses),      T(test_claimed_flow),
		T(test_destinations), T(test_frames_for_several), T(test_icmp_errors),
	};

	if (!may_load())
		return 77;
	return run_both_ways(tests);
}
