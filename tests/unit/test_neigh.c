/* SPDX-License-Identifier: BSD-2-Clause */
/* The neighbour table: states, the sequence, readers beside a writer. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nlbuild.h"

static unsigned feed(uint16_t type, uint32_t ifindex, const char *text, uint16_t nud,
		     const char *mac)
{
	struct sl_addr a = nl_addr(text);
	struct ndmsg ndm = {.ndm_family = (uint8_t)sl_rtnl_family(&a),
			    .ndm_ifindex = (int)ifindex,
			    .ndm_state = nud};
	struct nlmsghdr *nlh = nl_begin(type, &ndm, sizeof(ndm));

	sl_rtnl_put_addr(nlh, NDA_DST, &a);
	if (mac)
		mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return nl_feed(nlh);
}

static struct sl_neigh *get(uint32_t ifindex, const char *text)
{
	struct sl_addr a = nl_addr(text);

	return sl_neigh_get(ifindex, &a);
}

#define MAC1 "\x02\x00\x00\x00\x00\x01"
#define MAC2 "\x02\x00\x00\x00\x00\x02"

static void test_same_entry_each_time(void **state)
{
	struct sl_neigh *n = get(2, "10.0.0.2");

	(void)state;
	assert_non_null(n);
	assert_ptr_equal(get(2, "10.0.0.2"), n);
	assert_ptr_not_equal(get(3, "10.0.0.2"), n);
	assert_ptr_not_equal(get(2, "::a00:2"), n);
}

static void test_states(void **state)
{
	static const struct {
		uint16_t nud;
		bool valid, probe;
	} t[] = {
		{NUD_REACHABLE, true, false},   {NUD_STALE, true, true},
		{NUD_DELAY, true, false},       {NUD_PROBE, true, false},
		{NUD_PERMANENT, true, false},   {NUD_NOARP, true, false},
		{NUD_INCOMPLETE, false, false}, {NUD_FAILED, false, false},
		{NUD_NONE, false, false},
	};
	struct sl_neigh *n = get(2, "fe80::5");
	uint8_t mac[6];
	uint32_t seq;

	(void)state;
	for (unsigned i = 0; i < sl_array_len(t); i++) {
		assert_int_equal(feed(RTM_NEWNEIGH, 2, "fe80::5", t[i].nud, MAC1), 0);
		assert_int_equal(sl_neigh_read(n, mac, &seq), t[i].valid);
		assert_int_equal(n->wants_probe, t[i].probe);
		if (t[i].valid)
			assert_memory_equal(mac, MAC1, 6);
	}
	feed(RTM_NEWNEIGH, 2, "fe80::5", NUD_REACHABLE, MAC1);
	feed(RTM_DELNEIGH, 2, "fe80::5", NUD_REACHABLE, MAC1);
	assert_false(sl_neigh_read(n, mac, &seq));
	feed(RTM_NEWNEIGH, 2, "fe80::5", NUD_REACHABLE, NULL);
	assert_false(sl_neigh_read(n, mac, &seq)); /* no address, no use */
}

static void test_sequence_moves_with_the_state_only(void **state)
{
	struct sl_neigh *n = get(2, "10.0.0.3");
	uint32_t a, b;
	uint8_t mac[6];

	(void)state;
	feed(RTM_NEWNEIGH, 2, "10.0.0.3", NUD_REACHABLE, MAC1);
	sl_neigh_read(n, mac, &a);
	feed(RTM_NEWNEIGH, 2, "10.0.0.3", NUD_DELAY, MAC1);
	feed(RTM_NEWNEIGH, 2, "10.0.0.4", NUD_REACHABLE, MAC2); /* of nobody */
	sl_neigh_read(n, mac, &b);
	assert_int_equal(a, b);
	feed(RTM_NEWNEIGH, 2, "10.0.0.3", NUD_REACHABLE, MAC2);
	sl_neigh_read(n, mac, &b);
	assert_int_equal(a + 2, b);
	assert_memory_equal(mac, MAC2, 6);
}

static void test_proxy_entries_are_not_neighbours(void **state)
{
	struct sl_neigh *n = get(2, "10.0.0.6");
	struct ndmsg ndm = {.ndm_family = AF_INET,
			    .ndm_ifindex = 2,
			    .ndm_state = NUD_PERMANENT,
			    .ndm_flags = NTF_PROXY};
	struct nlmsghdr *nlh = nl_begin(RTM_NEWNEIGH, &ndm, sizeof(ndm));
	uint8_t mac[6];
	uint32_t seq;

	(void)state;
	nl_put_addr(nlh, NDA_DST, "10.0.0.6");
	mnl_attr_put(nlh, NDA_LLADDR, 6, MAC1);
	nl_feed(nlh);
	assert_false(sl_neigh_read(n, mac, &seq));
}

static void test_what_a_dump_does_not_name_is_unknown(void **state)
{
	struct sl_neigh *a = get(2, "10.0.1.1"), *b = get(2, "10.0.1.2");
	uint8_t mac[6];
	uint32_t seq;

	(void)state;
	feed(RTM_NEWNEIGH, 2, "10.0.1.1", NUD_REACHABLE, MAC1);
	feed(RTM_NEWNEIGH, 2, "10.0.1.2", NUD_REACHABLE, MAC1);
	sl_neigh_mark();
	feed(RTM_NEWNEIGH, 2, "10.0.1.2", NUD_REACHABLE, MAC1);
	sl_neigh_sweep();
	assert_false(sl_neigh_read(a, mac, &seq));
	assert_true(sl_neigh_read(b, mac, &seq));
}

/* More entries than a chunk or the buckets hold. */
static void test_many(void **state)
{
	char text[32];

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < 10000; i++) {
			snprintf(text, sizeof(text), "10.9.%u.%u", i / 250, i % 250);
			feed(RTM_NEWNEIGH, 4, text, NUD_REACHABLE, pass ? MAC2 : MAC1);
			assert_non_null(get(4, text));
		}
	for (unsigned i = 0; i < 10000; i += 999) {
		uint8_t mac[6];
		uint32_t seq;

		snprintf(text, sizeof(text), "10.9.%u.%u", i / 250, i % 250);
		assert_true(sl_neigh_read(get(4, text), mac, &seq));
		assert_memory_equal(mac, MAC2, 6);
	}
}

static bool stop;

static void *reader(void *arg)
{
	struct sl_neigh *n = arg;
	uint8_t mac[6];
	uint32_t seq;
	uintptr_t torn = 0;

	while (!sl_load(&stop))
		if (sl_neigh_read(n, mac, &seq))
			for (unsigned i = 1; i < 6; i++)
				torn += mac[i] != mac[0];
	return (void *)torn;
}

static void test_no_torn_mac_beside_a_writer(void **state)
{
	struct sl_neigh *n = get(2, "10.0.0.9");
	pthread_t t;
	void *torn;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, reader, n), 0);
	for (unsigned i = 0; i < 300000; i++) {
		char mac[6];

		memset(mac, (int)(i & 0xff), 6);
		feed(RTM_NEWNEIGH, 2, "10.0.0.9", NUD_REACHABLE, mac);
	}
	sl_store(&stop, true);
	pthread_join(t, &torn);
	assert_ptr_equal(torn, NULL);
}

/* The child has no key of the parent's, so each entry is in another place there. */
static void test_child_has_entries_in_places_of_its_own(void **state)
{
	struct sl_neigh *n[200];
	char text[200][20];
	int status;
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < sl_array_len(n); i++) {
		snprintf(text[i], sizeof(text[i]), "10.3.0.%u", i);
		n[i] = get(2, text[i]);
	}
	pid = fork();
	if (!pid) {
		bool same = true;

		sl_net_child();
		for (unsigned i = 0; i < sl_array_len(n); i++) {
			feed(RTM_NEWNEIGH, 2, text[i], NUD_REACHABLE, MAC1);
			same &= n[i]->valid && get(2, text[i]) == n[i];
		}
		_exit(!same);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The fork may come in the middle of a write: the child's readers must not wait for its end. */
static void test_child_repairs_a_half_written_entry(void **state)
{
	struct sl_neigh *n = get(2, "10.0.0.10");
	uint8_t mac[6];
	uint32_t seq;

	(void)state;
	feed(RTM_NEWNEIGH, 2, "10.0.0.10", NUD_REACHABLE, MAC1);
	n->seq++;
	sl_net_child();
	assert_false(sl_neigh_read(n, mac, &seq));
	assert_int_equal(seq & 1, 0);
	assert_ptr_equal(get(2, "10.0.0.10"), n);
}

/* A stranger sends from all addresses of a subnet: entries are bounded, and what has a MAC stays.
 */
static void test_bounded(void **state)
{
	struct sl_neigh *kept = get(5, "fd00::1"), *first = get(5, "fd00::2"), *n;
	struct sl_addr a = nl_addr("fd00::"), was = first->addr;
	uintptr_t low = UINTPTR_MAX, high = 0;
	uint32_t seq, before;
	unsigned fresh = 0;
	uint8_t mac[6];

	(void)state;
	feed(RTM_NEWNEIGH, 5, "fd00::1", NUD_REACHABLE, MAC1);
	sl_neigh_read(first, mac, &before);
	for (uint32_t i = 0; i < 100000; i++) {
		a.w[2] = i;
		n = sl_neigh_get(5, &a);
		assert_non_null(n);
		assert_true(sl_addr_eq(&n->addr, &a));
		assert_false(sl_neigh_read(n, mac, &seq));
		fresh += (uintptr_t)n > high || (uintptr_t)n < low;
		low = sl_min(low, (uintptr_t)n);
		high = sl_max(high, (uintptr_t)n);
	}
	assert_in_range(fresh, 1, 16384);
	assert_true(sl_neigh_read(kept, mac, &seq));
	assert_memory_equal(mac, MAC1, 6);
	assert_ptr_equal(get(5, "fd00::1"), kept);
	/* The pointer is another's now: its reader is told by both. */
	sl_neigh_read(first, mac, &seq);
	assert_int_not_equal(seq, before);
	assert_false(sl_addr_eq(&first->addr, &was));
}

/* Others go on getting entries, though all that there are have a MAC. */
static void test_all_in_use(void **state)
{
	struct sl_addr a = nl_addr("fd00:1::");
	char text[SL_ADDR_STRLEN];
	struct sl_neigh *n;
	uint32_t seq;
	uint8_t mac[6];

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		a.w[3] = htobe32(i + 1);
		n = sl_neigh_get(5, &a);
		assert_non_null(n);
		feed(RTM_NEWNEIGH, 5, sl_addr_str(&a, text), NUD_REACHABLE, MAC2);
		assert_true(sl_neigh_read(n, mac, &seq));
	}
	n = get(6, "10.9.9.9");
	assert_non_null(n);
	assert_false(sl_neigh_read(n, mac, &seq));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_entry_each_time),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_sequence_moves_with_the_state_only),
		cmocka_unit_test(test_proxy_entries_are_not_neighbours),
		cmocka_unit_test(test_what_a_dump_does_not_name_is_unknown),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_torn_mac_beside_a_writer),
		cmocka_unit_test(test_child_repairs_a_half_written_entry),
		cmocka_unit_test(test_child_has_entries_in_places_of_its_own),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_all_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
