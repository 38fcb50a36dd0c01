/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the kernel types that lib/ctl/kern/ktypes.c finds with those that libbpf finds among all
 * of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "ctl/kern/ktypes.h"
#include "guard_nf.skel.h"
#include "steer.h"

static struct btf *all;

static uint32_t id_of(const char *func)
{
	int id = btf__find_by_name_kind(all, func, BTF_KIND_FUNC);

	return id > 0 ? (uint32_t)id : 0;
}

static void test_functions(void **state)
{
	assert_int_equal(sl_ktypes_func(SL_KFUNC_STAMP), id_of("bpf_xdp_metadata_rx_timestamp"));
	assert_int_equal(sl_ktypes_func(SL_KFUNC_TAG), id_of("bpf_xdp_metadata_rx_vlan_tag"));
}

/* Behind its struct xdp_buff the driver has nothing but the skb. (Where veth is a module its own
 * types tell.) */
static void test_sums(void **state)
{
	int buff = btf__find_by_name_kind(all, "xdp_buff", BTF_KIND_STRUCT);
	struct sl_ktypes_sums at;

	if (!sl_ktypes_sums(&at))
		skip();
	assert_in_range(buff, 1, INT32_MAX);
	assert_int_equal(at.skb, btf__type_by_id(all, (uint32_t)buff)->size);
	assert_in_range(at.byte, 1, 255);
	assert_in_range(at.shift, 0, 6);
}

static struct guard_nf *loaded(const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct guard_nf *g = guard_nf__open_opts(&opts);

	assert_non_null(g);
	bpf_program__set_type(g->progs.guard_nf, (enum bpf_prog_type)32);
	bpf_program__set_expected_attach_type(g->progs.guard_nf, (enum bpf_attach_type)45);
	assert_int_equal(guard_nf__load(g), 0);
	return g;
}

/* The program has the same instructions by both ways, except for the descriptors of the maps. */
static void test_fields(void **state)
{
	struct guard_nf *a, *b;
	const struct bpf_insn *x, *y;
	char path[64];
	int fd = sl_ktypes_file();

	if (btf__find_by_name_kind(all, "bpf_nf_ctx", BTF_KIND_STRUCT) < 0) {
		print_message("           no netfilter programs in this kernel\n");
		skip();
	}
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	a = loaded(path);
	b = loaded(NULL);
	x = bpf_program__insns(a->progs.guard_nf);
	y = bpf_program__insns(b->progs.guard_nf);
	assert_int_equal(bpf_program__insn_cnt(a->progs.guard_nf),
			 bpf_program__insn_cnt(b->progs.guard_nf));
	for (size_t i = 0; i < bpf_program__insn_cnt(a->progs.guard_nf); i++) {
		if (x[i].code == (BPF_LD | BPF_DW | BPF_IMM) && x[i].src_reg)
			i++;
		else
			assert_memory_equal(&x[i], &y[i], sizeof(*x));
	}
	guard_nf__destroy(a);
	guard_nf__destroy(b);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_fields),
	};

	all = btf__load_vmlinux_btf();
	if (!all || geteuid()) {
		printf("skipped: not root, or this kernel does not tell its types\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
