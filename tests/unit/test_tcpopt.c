/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP options: written ones are read back, the peer's may be anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/heap.h"
#include "wire/tcp_seg.h"

/* Options in memory of their own size, so that a sanitizer sees a read behind their end. */
static struct sl_tcp_seg read_opts(const void *opts, size_t n)
{
	uint8_t *copy = sl_malloc(n ? n : 1);
	struct sl_tcp_seg s;

	memset(&s, 0xee, sizeof(s));
	memcpy(copy, opts, n);
	sl_tcpopt_parse(&s, copy, n);
	sl_free(copy);
	return s;
}
#define READ(text) read_opts(text, sizeof(text) - 1)

static void test_none(void **state)
{
	struct sl_tcp_seg s = READ("");

	assert_int_equal(s.opts, 0);
	assert_int_equal(s.nsack, 0);
	assert_int_equal(s.tfo_len, 0);
}

/* the options that Linux sends in a SYN, byte by byte (tcpdump of a kernel's connect) */
static void test_syn_of_linux(void **state)
{
	struct sl_tcp_seg s = READ("\x02\x04\x05\xb4\x04\x02\x08\x0a\x11\x22\x33\x44\x00\x00\x00"
				   "\x00\x01\x03\x03\x07");
	uint8_t out[40];

	assert_int_equal(s.opts, SL_TCPO_MSS | SL_TCPO_SACK_OK | SL_TCPO_TS | SL_TCPO_WSCALE);
	assert_int_equal(s.mss, 1460);
	assert_int_equal(s.wscale, 7);
	assert_int_equal(s.tsval, 0x11223344);
	assert_int_equal(s.tsecr, 0);
	assert_int_equal(sl_tcpopt_build(&s, out), 20);
	assert_memory_equal(out,
			    "\x02\x04\x05\xb4\x04\x02\x08\x0a\x11\x22\x33\x44\x00\x00\x00\x00\x01"
			    "\x03\x03\x07",
			    20);
}

static void test_time_stamps_alone(void **state)
{
	static const char fast[] = "\x01\x01\x08\x0a\x80\x00\x00\x01\xff\xff\xff\xfe";
	struct sl_tcp_seg s = read_opts(fast, 12);
	uint8_t out[40];

	assert_int_equal(s.opts, SL_TCPO_TS);
	assert_int_equal(s.tsval, 0x80000001);
	assert_int_equal(s.tsecr, 0xfffffffe);
	assert_int_equal(sl_tcpopt_build(&s, out), 12);
	assert_memory_equal(out, fast, 12);
	/* in another order, and not at the usual place */
	s = READ("\x08\x0a\x80\x00\x00\x01\xff\xff\xff\xfe\x01\x00");
	assert_int_equal(s.opts, SL_TCPO_TS);
	assert_int_equal(s.tsval, 0x80000001);
}

static void test_sack_blocks(void **state)
{
	struct sl_tcp_seg s = {.opts = SL_TCPO_SACK | SL_TCPO_TS, .nsack = 4}, r;
	uint8_t out[40];

	for (uint32_t i = 0; i < 4; i++)
		s.sack[i] = (struct sl_tcp_block){0xfffffff0 + i * 8, 0xfffffff4 + i * 8};
	/* three beside time stamps (RFC 2018 3), the first ones */
	assert_int_equal(sl_tcpopt_build(&s, out), 40);
	r = read_opts(out, 40);
	assert_int_equal(r.nsack, 3);
	assert_memory_equal(r.sack, s.sack, 3 * sizeof(s.sack[0]));
	s.opts = SL_TCPO_SACK;
	assert_int_equal(sl_tcpopt_build(&s, out), 36);
	r = read_opts(out, 36);
	assert_int_equal(r.nsack, 4);
	assert_memory_equal(r.sack, s.sack, sizeof(s.sack));
	s.nsack = 0;
	assert_int_equal(sl_tcpopt_build(&s, out), 0);
}

/* The option that Fast Open had before RFC 7413: kind 254 with the magic number 0xF989. */
static void test_fast_open_experimental(void **state)
{
	const unsigned want = SL_TCPO_TFO | SL_TCPO_TFO_EXP;
	uint8_t asks[] = {254, 4, 0xf9, 0x89}, gives[] = {254, 8, 0xf9, 0x89, 1, 2, 3, 4};
	struct sl_tcp_seg s = {.opts = (uint8_t)want}, r;
	uint8_t out[40];

	r = read_opts(asks, sizeof(asks));
	assert_int_equal(r.opts, want);
	assert_int_equal(r.tfo_len, 0);
	r = read_opts(gives, sizeof(gives));
	assert_int_equal(r.opts, want);
	assert_int_equal(r.tfo_len, 4);
	assert_memory_equal(r.tfo, gives + 4, 4);
	assert_int_equal(sl_tcpopt_build(&r, out), sizeof(gives));
	assert_memory_equal(out, gives, sizeof(gives));
	assert_int_equal(sl_tcpopt_build(&s, out), sizeof(asks));
	assert_memory_equal(out, asks, sizeof(asks));
	asks[2] = 0; /* another experiment */
	assert_int_equal(read_opts(asks, sizeof(asks)).opts, 0);
}

static void test_fast_open(void **state)
{
	struct sl_tcp_seg s = {.opts = SL_TCPO_TFO}, r;
	uint8_t out[40];

	assert_int_equal(sl_tcpopt_build(&s, out), 4); /* a request */
	r = read_opts(out, 4);
	assert_int_equal(r.opts, SL_TCPO_TFO);
	assert_int_equal(r.tfo_len, 0);
	memcpy(s.tfo, "0123456789abcdef", 16);
	for (uint8_t len = 0; len <= 16; len++) {
		bool good = len == 0 || (len >= 4 && len % 2 == 0);
		size_t n;

		s.tfo_len = len;
		n = sl_tcpopt_build(&s, out);
		r = read_opts(out, n);
		assert_int_equal(r.opts, good ? SL_TCPO_TFO : 0);
		if (good)
			assert_memory_equal(r.tfo, s.tfo, len);
	}
	/* the fullest SYN */
	s.opts = SL_TCPO_MSS | SL_TCPO_SACK_OK | SL_TCPO_TS | SL_TCPO_WSCALE | SL_TCPO_TFO;
	assert_int_equal(sl_tcpopt_build(&s, out), 40);
	s.opts |= SL_TCPO_SACK;
	s.nsack = 1;
	assert_int_equal(sl_tcpopt_len(&s), 40);
}

/* A known option of a wrong length, or of no sense, is as none; the walk goes on behind it. */
static void test_wrong_lengths(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
		{"\x02\x03\x05\x01\x03\x03\x05\x00", 8},                  /* MSS of one byte */
		{"\x02\x05\x05\xb4\x00\x03\x03\x05", 8},                  /* of three */
		{"\x02\x04\x00\x00\x01\x03\x03\x05", 8},                  /* zero */
		{"\x04\x03\x00\x01\x01\x03\x03\x05", 8},                  /* SACK-permitted */
		{"\x05\x02\x01\x01\x01\x03\x03\x05", 8},                  /* SACK, empty */
		{"\x05\x06\x01\x02\x03\x04\x03\x03\x05", 9},              /* half a block */
		{"\x08\x09\x01\x02\x03\x04\x01\x02\x03\x03\x03\x05", 12}, /* time stamps */
		{"\x22\x03\x01\x03\x03\x05", 6},                          /* cookie of one byte */
		{"\xfd\x04\x01\x01\x03\x03\x05", 7},                      /* unknown */
	};

	for (unsigned i = 0; i < sl_array_len(bad); i++) {
		struct sl_tcp_seg s = read_opts(bad[i].bytes, bad[i].n);

		if (s.opts != SL_TCPO_WSCALE || s.wscale != 5)
			fail_msg("case %u: %#x", i, s.opts);
	}
}

/* Length 0, 1, or behind the end: nothing can be said of what follows; what was read stays. */
static void test_the_walk_ends(void **state)
{
	static const char *const tail[] = {"\x03",         "\x03\x00\x05", "\x03\x01\x05",
					   "\x03\x04\x05", "\xfd\xff",     "\x00\x03\x03\x05"};
	static const size_t len[] = {1, 3, 3, 3, 2, 4};
	char opts[16];

	for (unsigned i = 0; i < sl_array_len(tail); i++) {
		struct sl_tcp_seg s;

		memcpy(opts, "\x02\x04\x05\xb4", 4);
		memcpy(opts + 4, tail[i], len[i]);
		s = read_opts(opts, 4 + len[i]);
		if (s.opts != SL_TCPO_MSS || s.mss != 1460)
			fail_msg("case %u: %#x", i, s.opts);
	}
}

/* Every mix of options is written in whole words, in the length announced, and read back. */
static void test_every_mix(void **state)
{
	for (unsigned opts = 0; opts < 64; opts++)
		for (unsigned k = 0; k < 5 * 3; k++) {
			struct sl_tcp_seg r, s = {
						     .opts = (uint8_t)opts,
						     .nsack = (uint8_t)(k % 5),
						     .tfo_len = (uint8_t)(k / 5 * 8),
						     .mss = 1234,
						     .wscale = 14,
						     .tsval = 1,
						     .tsecr = 2,
					     };
			uint8_t out[44];
			size_t n;

			memset(out, 0xa5, sizeof(out));
			n = sl_tcpopt_build(&s, out);
			assert_int_equal(n, sl_tcpopt_len(&s));
			assert_true(n <= 40 && n % 4 == 0);
			for (size_t i = n; i < sizeof(out); i++)
				assert_int_equal(out[i], 0xa5);
			r = read_opts(out, n);
			assert_int_equal((opts ^ r.opts) & (SL_TCPO_MSS | SL_TCPO_WSCALE |
							    SL_TCPO_SACK_OK | SL_TCPO_TS),
					 0);
			assert_true(r.nsack <= s.nsack);
			if (opts & SL_TCPO_TS)
				assert_int_equal(r.tsecr, 2);
		}
}

/* Anything at all: nothing is read beyond the end (the sanitizer's part), counts stay in range. */
static void test_random_bytes(void **state)
{
	static const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 8, 34, 254};
	uint8_t opts[40];

	srandom(1);
	for (unsigned round = 0; round < 200000; round++) {
		size_t n = (size_t)random() % 41;
		struct sl_tcp_seg s;

		for (size_t i = 0; i < n; i++)
			opts[i] = random() % 2 ? (uint8_t)random()
					       : kinds[(size_t)random() % sizeof(kinds)];
		if (n > 4 && random() % 2)
			opts[1] = (uint8_t)(random() % 12);
		s = read_opts(opts, n);
		assert_true(s.nsack <= SL_TCP_MAX_SACK && s.tfo_len <= SL_TCP_TFO_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_syn_of_linux),
		cmocka_unit_test(test_time_stamps_alone),
		cmocka_unit_test(test_sack_blocks),
		cmocka_unit_test(test_fast_open),
		cmocka_unit_test(test_fast_open_experimental),
		cmocka_unit_test(test_wrong_lengths),
		cmocka_unit_test(test_the_walk_ends),
		cmocka_unit_test(test_every_mix),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
