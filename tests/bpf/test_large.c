/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets larger than a lane's frame go to the kernel, whole. */
#include "rig.h"

static uint8_t packet[8192];

/* For DPORT. */
static void fill(void)
{
	struct frame f;

	eth(&f);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	memset(packet, 0x5a, sizeof(packet));
	memcpy(packet, f.b, f.len);
}

static void set_room(uint16_t bytes)
{
	room = bytes;
	set_config(1);
}

/* A run with a packet of n bytes: redirected, counted with all of them, or passed as it came. */
static void expect_(unsigned n, bool redirected, int line)
{
	struct sl_counters before = counters(), after;
	static uint8_t out[sizeof(packet)];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = n, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);

	fill();
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts), 0);
	after = counters();
	if (opts.retval != (redirected ? XDP_REDIRECT : XDP_PASS) ||
	    after.redirect_endpoint - before.redirect_endpoint != redirected ||
	    after.redirect_bytes - before.redirect_bytes != (redirected ? n : 0) ||
	    after.pass_large - before.pass_large != !redirected)
		fail_msg("line %d: verdict %u of %u bytes", line, opts.retval, n);
	if (!redirected) {
		assert_int_equal(opts.data_size_out, n);
		assert_memory_equal(out, packet, n);
	}
}
#define expect(n, redirected) expect_((n), (redirected), __LINE__)

/* To the byte. */
static void test_room(void **state)
{
	endpoint(A4, 1);
	set_room(1000);
	expect(999, true);
	expect(1000, true);
	expect(1001, false);
	set_room(0); /* it is not known yet */
	expect(64, false);
}

/* (A test run puts what is beyond a page into other buffers.) */
static void test_buffers(void **state)
{
	endpoint(A4, 1);
	set_room(UINT16_MAX);
	expect(1500, true);
	expect(6000, true);
	set_room(5999);
	expect(6000, false);
	set_room(1000);
	expect(6000, false);
	expect(1001, false);
	expect(1000, true);
}

/* Linux 5.18 knows of packets in several buffers. */
static bool has_frags(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = 1u << 5);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "probe", "GPL", pass, sl_array_len(pass), &opts);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define T(name) cmocka_unit_test_setup(name, clear)
int main(void)
{
	const struct CMUnitTest one[] = {T(test_room)}, many[] = {T(test_room), T(test_buffers)};
	int failed;

	if (!may_load())
		return 77;
	failed = run_both_ways(one);
	in_frame = false;
	frags = has_frags();
	if (frags)
		failed += cmocka_run_group_tests(many, load, unload);
	return failed ? 1 : 0;
}
