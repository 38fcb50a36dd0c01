/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of destinations: what is asked of the mirrors, and when it is asked again. The mirrors
 * are played by this file, which is linked before them. */
#include "base/heap.h"
#include "packet.h"

#include <errno.h>
#include <stdio.h>

uint32_t sl_route_gen = 1;
static struct sl_route answer; /* to every question */
static int answer_err;
static unsigned routes_asked, neighs_asked, probes, legs_asked;
static struct sl_neigh neigh;
static struct sl_neigh *neigh_answer;
static int leg_object;
static void *leg_answer;

int sl_route_get(const struct sl_route_key *key, struct sl_route *out)
{
	routes_asked++;
	*out = answer;
	out->gen = sl_route_gen;
	if (sl_addr_is_any(&answer.nexthop))
		out->nexthop = key->dst;
	return answer_err;
}

struct sl_neigh *sl_neigh_get(uint32_t ifindex, const struct sl_addr *a)
{
	neighs_asked++;
	neigh.ifindex = ifindex;
	neigh.addr = *a;
	return neigh_answer;
}

bool sl_neigh_read(const struct sl_neigh *n, uint8_t mac[6], uint32_t *seq)
{
	memcpy(mac, n->mac, 6);
	*seq = n->seq;
	return n->valid;
}

void sl_neigh_use(struct sl_neigh *n)
{
	n->wants_probe = false;
	probes++;
}

static bool span_known;
static const char *span_begin;
static unsigned spans_asked;

bool sl_span_use(struct sl_span_asks *asks, uint64_t now_ns, struct sl_addr *a)
{
	spans_asked++;
	if (span_known)
		*a = addr(span_begin);
	return span_known;
}

static void find_leg(void *lane, struct sl_dst *d)
{
	assert_ptr_equal(lane, &leg_object);
	legs_asked++;
	d->leg = leg_answer;
}

static struct sl_dst_cache *cache;
#define NOW       1000000000ull
#define ASK_AGAIN 1000000000ull

static struct sl_route_key key_to(const char *dst)
{
	return (struct sl_route_key){.dst = addr(dst)};
}

static struct sl_dst *get(const char *dst, uint64_t now_ns)
{
	struct sl_route_key key = key_to(dst);
	struct sl_dst *d = sl_dst_get(cache, &key, &leg_object, find_leg, now_ns);

	assert_true(sl_addr_eq(&d->key.dst, &key.dst));
	assert_true(sl_dst_fresh(d, now_ns));
	return d;
}

static int setup(void **state)
{
	sl_free(cache);
	cache = sl_calloc(1, sizeof(*cache));
	answer = (struct sl_route){.kind = SL_ROUTE_DEVICE, .ifindex = 2, .mtu = 1500};
	answer_err = 0;
	routes_asked = neighs_asked = probes = legs_asked = 0;
	neigh = (struct sl_neigh){.seq = 2, .mac = {2, 0, 0, 0, 0, 7}, .valid = true};
	neigh_answer = &neigh;
	leg_answer = &leg_object;
	span_known = false;
	span_begin = "11.0.0.0";
	spans_asked = 0;
	return 0;
}

static void test_asked_once(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	uint32_t serial = d->serial;

	assert_ptr_equal(d->leg, &leg_object);
	assert_true(d->mac_ok);
	assert_memory_equal(d->dmac, neigh.mac, 6);
	assert_int_equal(d->route.mtu, 1500);
	for (int i = 0; i < 100; i++)
		assert_ptr_equal(get("10.0.0.1", NOW + ASK_AGAIN), d);
	assert_int_equal(d->serial, serial);
	assert_int_equal(routes_asked, 1);
	assert_int_equal(neighs_asked, 1);
	assert_int_equal(legs_asked, 1);
}

/* Each part of the key makes another destination. */
static void test_keys_differ(void **state)
{
	struct sl_route_key k[7];
	struct sl_dst *d[7];

	for (int i = 0; i < 7; i++)
		k[i] = key_to("10.0.0.1");
	k[1].src = addr("10.0.0.9");
	k[2].oif = 4;
	k[3].tos = 8;
	k[4].mark = 1;
	k[5].mc_noloop = true;
	k[6].dst = addr("::a00:1");
	for (int i = 0; i < 7; i++)
		d[i] = sl_dst_get(cache, &k[i], &leg_object, find_leg, NOW);
	assert_int_equal(routes_asked, 7);
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(d[i], d[j]);
}

static void test_route_generation(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	uint32_t serial = d->serial;

	answer.mtu = 1400;
	answer.nexthop = addr("10.0.0.254");
	sl_route_gen++;
	assert_false(sl_dst_fresh(d, NOW));
	assert_ptr_equal(get("10.0.0.1", NOW), d);
	assert_int_equal(d->route.mtu, 1400);
	assert_int_equal(d->serial, serial + 1); /* headers made before are stale */
	assert_true(sl_addr_eq(&d->neigh->addr, &answer.nexthop));
	assert_int_equal(routes_asked, 2);
	assert_int_equal(neighs_asked, 2); /* another next hop */
}

/* Does what the keeper does. Returns how many questions there were. */
static unsigned keeper(void)
{
	struct sl_route_key keys[SL_DST_AGED];
	unsigned n = sl_dst_take_aged(cache, keys, SL_DST_AGED);
	struct sl_route r;

	for (unsigned i = 0; i < n; i++) {
		sl_route_get(&keys[i], &r);
		sl_dst_answer(cache, &keys[i], &r, &leg_object, find_leg);
	}
	return n;
}

/* Path MTU exceptions make no event. Who sends does not wait for the answer. */
static void test_asked_again_by_age(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	uint32_t serial = d->serial;

	answer.mtu = 1280;
	get("10.0.0.1", NOW + ASK_AGAIN);
	assert_int_equal(cache->naged, 0);
	assert_false(sl_dst_fresh(d, NOW + ASK_AGAIN + 1));
	get("10.0.0.1", NOW + ASK_AGAIN + 1);
	get("10.0.0.1", NOW + ASK_AGAIN + 2);
	assert_int_equal(d->route.mtu, 1500);
	assert_int_equal(d->serial, serial);
	assert_int_equal(routes_asked, 1);
	assert_int_equal(keeper(), 1); /* once for both */
	assert_int_equal(d->route.mtu, 1280);
	assert_int_equal(d->serial, serial + 1);
	assert_int_equal(routes_asked, 2);
	assert_int_equal(neighs_asked, 1); /* the same neighbour */
	assert_int_equal(keeper(), 0);
}

/* Headers made from an answer stay good when it was confirmed. */
static void test_confirmed_answer(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	uint32_t serial = d->serial;

	get("10.0.0.1", NOW + ASK_AGAIN + 1);
	assert_int_equal(keeper(), 1);
	assert_int_equal(d->serial, serial);
	/* A device was taken into use meanwhile, or given up. */
	get("10.0.0.1", NOW + 2 * ASK_AGAIN + 2);
	leg_answer = NULL;
	assert_int_equal(keeper(), 1);
	assert_null(d->leg);
	assert_int_equal(d->serial, serial + 1);
}

/* An answer that something overtook is not taken: an event, an ICMP error, another destination. */
static void test_late_answer(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	struct sl_route_key key = d->key, gone = key_to("10.0.0.2");
	struct sl_route late = d->route;
	uint32_t serial;

	late.mtu = 600;
	answer.mtu = 1400;
	sl_route_gen++;
	get("10.0.0.1", NOW);
	serial = d->serial;
	sl_dst_answer(cache, &key, &late, &leg_object, find_leg);
	assert_int_equal(d->route.mtu, 1400);
	late.gen = sl_route_gen;
	sl_dst_outdate(d);
	sl_dst_answer(cache, &key, &late, &leg_object, find_leg);
	sl_dst_answer(cache, &gone, &late, &leg_object, find_leg);
	assert_int_equal(d->route.mtu, 1400);
	assert_int_equal(d->serial, serial);
	assert_false(sl_dst_fresh(d, NOW));
}

/* More than the list holds are asked at once, as when there was no keeper. */
static void test_many_grow_old(void **state)
{
	char dst[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < SL_DST_AGED + 1; i++) {
			snprintf(dst, sizeof(dst), "10.0.1.%d", i);
			get(dst, NOW + (uint64_t)round * 2 * ASK_AGAIN);
		}
	assert_int_equal(cache->naged, SL_DST_AGED);
	assert_int_equal(routes_asked, SL_DST_AGED + 2);
	assert_int_equal(keeper(), SL_DST_AGED);
	assert_int_equal(routes_asked, 2 * SL_DST_AGED + 2);
}

static void test_neighbour_changes(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);
	uint32_t serial = d->serial;

	neigh.mac[5] = 8;
	neigh.seq += 2;
	assert_false(sl_dst_fresh(d, NOW));
	get("10.0.0.1", NOW);
	assert_int_equal(d->dmac[5], 8);
	assert_int_equal(d->serial, serial + 1);
	neigh.valid = false; /* gone: the kernel sends, and resolves */
	neigh.seq += 2;
	get("10.0.0.1", NOW);
	assert_false(d->mac_ok);
	assert_int_equal(routes_asked, 1);
}

static void test_stale_neighbour_is_probed_once(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);

	neigh.wants_probe = true;
	assert_false(sl_dst_fresh(d, NOW));
	for (int i = 0; i < 5; i++)
		get("10.0.0.1", NOW);
	assert_int_equal(probes, 1);
}

static void test_no_neighbour_to_be_had(void **state)
{
	struct sl_dst *d;

	neigh_answer = NULL;
	d = get("10.0.0.1", NOW);
	assert_false(d->mac_ok);
	assert_null(d->neigh);
	neigh_answer = &neigh;
	get("10.0.0.1", NOW + ASK_AGAIN + 1);
	assert_true(d->mac_ok);
}

static void test_what_the_kernel_sends(void **state)
{
	static const enum sl_route_kind kinds[] = {SL_ROUTE_LOCAL, SL_ROUTE_BROADCAST,
						   SL_ROUTE_UNREACHABLE, SL_ROUTE_OTHER};

	for (unsigned i = 0; i < sl_array_len(kinds); i++) {
		setup(NULL);
		answer.kind = kinds[i];
		assert_null(get("10.0.0.1", NOW)->leg);
		assert_int_equal(legs_asked, 0);
		assert_int_equal(neighs_asked, 0);
	}
	setup(NULL);
	answer_err = -EAGAIN; /* could not be asked */
	assert_null(get("10.0.0.1", NOW)->leg);
	assert_int_equal(get("10.0.0.1", NOW)->route.kind, SL_ROUTE_OTHER);
	assert_int_equal(routes_asked, 1);
	setup(NULL);
	leg_answer = NULL; /* not a device of ours */
	assert_null(get("10.0.0.1", NOW)->leg);
	assert_int_equal(neighs_asked, 0);
}

/* The device was ours and is not any more: no header may go out by what was known. */
static void test_leg_goes_with_the_route(void **state)
{
	struct sl_dst *d = get("10.0.0.1", NOW);

	answer.kind = SL_ROUTE_UNREACHABLE;
	answer.error = -EHOSTUNREACH;
	sl_route_gen++;
	get("10.0.0.1", NOW);
	assert_null(d->leg);
	assert_null(d->neigh);
	assert_int_equal(d->route.error, -EHOSTUNREACH);
}

/* RFC 1112 6.4, RFC 2464 7 */
static void test_multicast_addresses(void **state)
{
	struct sl_route_key key = key_to("239.129.2.3");
	struct sl_dst *d;

	answer.kind = SL_ROUTE_MULTICAST;
	assert_memory_equal(get("224.0.0.251", NOW)->dmac, "\x01\x00\x5e\x00\x00\xfb", 6);
	assert_memory_equal(get("239.129.2.3", NOW)->dmac, "\x01\x00\x5e\x01\x02\x03", 6);
	assert_memory_equal(get("ff02::1:2", NOW)->dmac, "\x33\x33\x00\x01\x00\x02", 6);
	assert_true(get("ff02::1:2", NOW)->mac_ok);
	assert_int_equal(neighs_asked, 0);
	answer.kind = SL_ROUTE_LOCAL; /* members on this host: the kernel's, unless they are not
					 to get it */
	sl_route_gen++;
	assert_null(get("239.129.2.3", NOW)->leg);
	key.mc_noloop = true;
	d = sl_dst_get(cache, &key, &leg_object, find_leg, NOW);
	assert_non_null(d->leg);
	assert_true(d->mac_ok);
}

/* More destinations than there is room for: each answer is still right, and what a user kept of an
 * evicted one is told by its serial. */
static void test_eviction(void **state)
{
	static struct {
		struct sl_dst *d;
		uint32_t serial;
	} kept[3 * SL_DST_SETS * SL_DST_WAYS];
	unsigned n = sl_array_len(kept), evicted = 0;
	char text[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "10.%u.%u.1", i / 256, i % 256);
		kept[i].d = get(text, NOW);
		kept[i].serial = kept[i].d->serial;
	}
	assert_int_equal(routes_asked, n);
	for (unsigned i = 0; i < n; i++) {
		struct sl_addr a;

		snprintf(text, sizeof(text), "10.%u.%u.1", i / 256, i % 256);
		a = addr(text);
		if (kept[i].d->serial == kept[i].serial)
			assert_true(sl_addr_eq(&kept[i].d->key.dst, &a));
		else
			evicted++;
	}
	assert_in_range(evicted, n - SL_DST_SETS * SL_DST_WAYS, n - SL_DST_SETS);
	/* The hash spreads: the cache is nearly full. */
	assert_true(n - evicted > SL_DST_SETS * SL_DST_WAYS * 9 / 10);
}

static struct sl_dst *get_alike(unsigned i)
{
	struct sl_route_key key = {.dst = sl_addr_v4(htonl(0x0b000100 + i))};

	return sl_dst_get_alike(cache, &key, &leg_object, find_leg, NOW);
}

/* Sources of SYNs behind one gateway: one question for all, and one place in the cache. */
static void test_alike_behind_a_gateway(void **state)
{
	struct sl_addr first = addr("11.0.0.0");
	struct sl_dst *own = get("11.0.1.7", NOW);

	span_known = true;
	answer.nexthop = addr("10.0.0.1");
	routes_asked = 0;
	assert_ptr_equal(get_alike(7), own); /* an answer about itself is better */
	assert_int_equal(spans_asked, 0);
	for (unsigned i = 100; i < 3000; i++)
		assert_true(sl_addr_eq(&get_alike(i)->key.dst, &first));
	assert_int_equal(routes_asked, 1);
	assert_ptr_equal(get("11.0.1.7", NOW), own);
}

/* Without a known span, on the link, or where the kernel has an exception each is asked about. */
static void test_alike_asked_alone(void **state)
{
	struct sl_addr itself = sl_addr_v4(htonl(0x0b000100 + 5));

	assert_true(sl_addr_eq(&get_alike(5)->key.dst, &itself));
	assert_int_equal(routes_asked, 1);
	span_known = true;
	for (int i = 0; i < 2; i++) {
		sl_route_gen++;
		answer.is_own = i;
		answer.nexthop = addr(i ? "10.0.0.1" : "0.0.0.0"); /* (0.0.0.0: the destination) */
		assert_true(sl_addr_eq(&get_alike(5)->key.dst, &itself));
	}
	sl_route_gen++;
	answer = (struct sl_route){.kind = SL_ROUTE_UNREACHABLE, .error = -EHOSTUNREACH};
	assert_int_equal(get_alike(5)->route.kind, SL_ROUTE_UNREACHABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_asked_once, setup),
		cmocka_unit_test_setup(test_keys_differ, setup),
		cmocka_unit_test_setup(test_route_generation, setup),
		cmocka_unit_test_setup(test_asked_again_by_age, setup),
		cmocka_unit_test_setup(test_confirmed_answer, setup),
		cmocka_unit_test_setup(test_late_answer, setup),
		cmocka_unit_test_setup(test_many_grow_old, setup),
		cmocka_unit_test_setup(test_neighbour_changes, setup),
		cmocka_unit_test_setup(test_stale_neighbour_is_probed_once, setup),
		cmocka_unit_test_setup(test_no_neighbour_to_be_had, setup),
		cmocka_unit_test_setup(test_what_the_kernel_sends, setup),
		cmocka_unit_test_setup(test_leg_goes_with_the_route, setup),
		cmocka_unit_test_setup(test_multicast_addresses, setup),
		cmocka_unit_test_setup(test_eviction, setup),
		cmocka_unit_test_setup(test_alike_behind_a_gateway, setup),
		cmocka_unit_test_setup(test_alike_asked_alone, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
