/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets `sluice capture --flow` selects: behind VLAN tags and IPv6 extension headers, cut
 * off at each length. What a program can do that writes into its ring while it is read. */
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../tools/capture.h"

struct packet {
	uint8_t b[256];
	uint32_t len;
};

static void put16(struct packet *p, uint32_t v)
{
	p->b[p->len++] = (uint8_t)(v >> 8);
	p->b[p->len++] = (uint8_t)v;
}

/* The Ethernet header, with tags: 'Q' 802.1Q, 'A' 802.1ad. */
static struct packet tagged(const char *tags, uint16_t type)
{
	struct packet p = {.len = 12};

	for (; *tags; tags++) {
		put16(&p, *tags == 'A' ? 0x88a8 : 0x8100);
		put16(&p, 0x2064);
	}
	put16(&p, type);
	return p;
}

/* The first bytes of TCP or UDP. */
static void put_l4(struct packet *p)
{
	put16(p, 4000);
	put16(p, 53);
	p->len += 16;
}

static struct packet v4(const char *tags, uint8_t proto, uint32_t options, uint32_t frag)
{
	static const uint8_t ends[] = {192, 0, 2, 1, 192, 0, 2, 2};
	struct packet p = tagged(tags, 0x0800);
	uint8_t *ip = p.b + p.len;

	ip[0] = (uint8_t)(0x45 + options);
	ip[6] = (uint8_t)(frag >> 8);
	ip[7] = (uint8_t)frag;
	ip[9] = proto;
	memcpy(ip + 12, ends, 8);
	p.len += 20 + options * 4;
	put_l4(&p);
	return p;
}

/* chain: the protocols of the extension headers; each but a fragment's is 16 bytes long. */
static struct packet v6(const char *tags, const uint8_t *chain, uint32_t n, uint8_t proto,
			uint32_t frag)
{
	struct packet p = tagged(tags, 0x86dd);
	uint8_t *ip = p.b + p.len;

	ip[0] = 0x60;
	ip[6] = n ? chain[0] : proto;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = 2;
	p.len += 40;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *h = p.b + p.len;

		h[0] = i + 1 < n ? chain[i + 1] : proto;
		if (chain[i] == IPPROTO_FRAGMENT) {
			h[2] = (uint8_t)(frag >> 8);
			h[3] = (uint8_t)frag;
		} else {
			h[1] = 1;
		}
		p.len += chain[i] == IPPROTO_FRAGMENT ? 8 : 16;
	}
	put_l4(&p);
	return p;
}

/* True: the flow has the packet. It ends where memory ends, so that a read behind it is seen. */
static bool has_cut(const char *text, const struct packet *p, uint32_t len)
{
	static uint8_t *end;
	struct sl_capture_flow f;
	long page = sysconf(_SC_PAGESIZE);

	if (!end) {
		end = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(end != MAP_FAILED);
		end += page;
		assert_int_equal(mprotect(end, (size_t)page, PROT_NONE), 0);
	}
	memcpy(end - len, p->b, len);
	assert_true(sl_capture_flow(text, &f));
	return sl_capture_fits(&f, end - len, len);
}

static bool has(const char *text, struct packet p)
{
	return has_cut(text, &p, p.len);
}

#define UDP4 "udp 192.0.2.1:4000 192.0.2.2:53"
#define UDP6 "udp [fd00::1]:4000 [fd00::2]:53"

static void test_tags(void **state)
{
	static const char *const tags[] = {"", "Q", "A", "AQ", "QQ", "QQQ"};

	for (unsigned i = 0; i < sl_array_len(tags); i++) {
		struct packet p4 = v4(tags[i], IPPROTO_UDP, 0, 0),
			      p6 = v6(tags[i], NULL, 0, IPPROTO_UDP, 0);

		assert_true(has(UDP4, p4));
		assert_true(has("192.0.2.2:53", p4));
		assert_true(has("192.0.2.2:53 192.0.2.1:4000", p4)); /* the other direction */
		assert_true(has(UDP6, p6));
		assert_false(has("tcp 192.0.2.1:4000 192.0.2.2:53", p4));
		assert_false(has("192.0.2.1:53 192.0.2.2:4000", p4)); /* crossed ports */
		assert_false(has("192.0.2.1:4001", p4));
		assert_false(has("192.0.2.3:4000", p4));
		assert_false(has("[fd00::1]:53 [fd00::2]:4000", p6));
		assert_false(has(UDP6, p4));
		assert_false(has(UDP4, p6));
		/* Cut off in front of the ports, it has none. */
		for (uint32_t len = 0; len <= p4.len; len++)
			assert_int_equal(has_cut(UDP4, &p4, len), len + 16 >= p4.len);
		for (uint32_t len = 0; len <= p6.len; len++)
			assert_int_equal(has_cut(UDP6, &p6, len), len + 16 >= p6.len);
	}
}

static void test_options_of_ipv4(void **state)
{
	assert_true(has(UDP4, v4("", IPPROTO_UDP, 10, 0)));
	assert_true(has(UDP4, v4("Q", IPPROTO_UDP, 1, 0x2000))); /* the first fragment */
	assert_false(has(UDP4, v4("", IPPROTO_UDP, 0, 0x2001))); /* the second has no ports */
	assert_true(has("192.0.2.1:*", v4("", IPPROTO_UDP, 0, 0x2001)));
	assert_true(has("192.0.2.1:*", v4("", IPPROTO_ICMP, 0, 0)));
	assert_false(has("192.0.2.1:4000", v4("", IPPROTO_ICMP, 0, 0)));
}

static void test_extension_headers(void **state)
{
	static const uint8_t each[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS,
				       IPPROTO_FRAGMENT};
	uint8_t many[9];
	struct packet p;

	for (unsigned i = 0; i < sl_array_len(each); i++)
		assert_true(has(UDP6, v6("", &each[i], 1, IPPROTO_UDP, 1)));
	p = v6("AQ", each, 4, IPPROTO_TCP, 0);
	assert_true(has("tcp [fd00::2]:53", p));
	assert_false(has(UDP6, p));
	for (uint32_t len = 0; len <= p.len; len++)
		assert_int_equal(has_cut("tcp [fd00::2]:53", &p, len), len + 16 >= p.len);
	/* A fragment behind the first, ESP, and a header that ends the chain have no ports. */
	assert_false(has(UDP6, v6("", each, 4, IPPROTO_UDP, 8)));
	assert_true(has("[fd00::1]:* [fd00::2]:*", v6("", each, 4, IPPROTO_UDP, 8)));
	assert_false(has("[fd00::1]:4000", v6("", each, 1, IPPROTO_ESP, 0)));
	/* So many headers are looked through, and no more. */
	memset(many, IPPROTO_DSTOPTS, sizeof(many));
	assert_true(has(UDP6, v6("Q", many, 7, IPPROTO_UDP, 0)));
	assert_false(has("[fd00::1]:4000", v6("Q", many, 9, IPPROTO_UDP, 0)));
	assert_true(has("[fd00::1]:*", v6("Q", many, 9, IPPROTO_UDP, 0)));
	/* A header that says it is longer than the packet. */
	p = v6("", each, 1, IPPROTO_UDP, 0);
	p.b[14 + 40 + 1] = 255;
	assert_false(has(UDP6, p));
}

static void test_no_ip(void **state)
{
	struct packet arp = tagged("Q", 0x0806);

	arp.len += 40;
	assert_false(has("*:*", arp));
	assert_true(has("*:*", v4("", IPPROTO_ICMP, 0, 0)));
}

#define RING  8192u
#define TRIES 2000000
#define BUSY  100 /* rounds in which the writer was faster; then the race has been run */

static struct racer {
	uint8_t *mem;
	bool stop, runs;
	uint8_t flags;
} racer;

/* Writes a record as soon as there is room for it: packets, or pieces that are none. */
static void *write_on(void *arg)
{
	struct racer *r = arg;
	struct sl_tap_head *head = (void *)r->mem;

	for (uint64_t to = 0; !__atomic_load_n(&r->stop, __ATOMIC_RELAXED);) {
		struct sl_tap_rec *rec = (void *)(r->mem + SL_TAP_HEAD + to % RING);

		if (to >= __atomic_load_n(&head->tail, __ATOMIC_ACQUIRE) + RING) {
			__atomic_store_n(&r->runs, true, __ATOMIC_RELEASE);
			continue;
		}
		rec->bytes = SL_TAP_ALIGN;
		rec->flags = r->flags;
		__atomic_store_n(&rec->commit, SL_TAP_MAGIC, __ATOMIC_RELEASE);
		to += SL_TAP_ALIGN;
	}
	return NULL;
}

/* A round ends though the program writes faster than it is read, and gives no more than the ring
 * has. (The alarm: a round that goes on for ever.) */
static void race(uint8_t flags)
{
	static uint8_t buf[SL_CAPTURE_BYTES];
	struct sl_capture_source s = {.sock = -1, .bytes = RING};
	struct sl_tap_rec rec;
	unsigned busy = 0;
	pthread_t writer;

	s.mem = aligned_alloc(SL_TAP_ALIGN, SL_TAP_HEAD + RING);
	assert_non_null(s.mem);
	memset(s.mem, 0, SL_TAP_HEAD + RING);
	racer = (struct racer){.mem = s.mem, .flags = flags};
	assert_int_equal(pthread_create(&writer, NULL, write_on, &racer), 0);
	alarm(20);
	while (!__atomic_load_n(&racer.runs, __ATOMIC_ACQUIRE))
		sched_yield();
	for (unsigned i = 0; i < TRIES && busy < BUSY; i++) {
		uint64_t before = s.tail;
		unsigned n = 0;

		sl_capture_round(&s);
		while (sl_capture_next(&s, &rec, buf) == 1)
			n++;
		assert_true(n <= RING / SL_TAP_ALIGN);
		assert_true(s.tail - before <= RING);
		busy += s.tail - before == RING;
		if (s.tail == before)
			sched_yield();
	}
	alarm(0);
	__atomic_store_n(&racer.stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	free(s.mem);
}

static void test_racing_packets(void **state)
{
	race(0);
}

static void test_racing_pads(void **state)
{
	race(SL_TAP_PAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_options_of_ipv4),
		cmocka_unit_test(test_extension_headers),
		cmocka_unit_test(test_no_ip),
		cmocka_unit_test(test_racing_packets),
		cmocka_unit_test(test_racing_pads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
