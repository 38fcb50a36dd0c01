/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of the steering programs for the kernel's verifier, and whether older kernels take their
 * stack. */
#include "rig.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "steer_skb.skel.h"

#define MOST_FUNCTIONS 24

/* A program, loaded, with the verifier's figures. */
static struct bpf_object *load_with_figures(struct bpf_object *obj, const char *name, char *log,
					    size_t size, int *fd)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);

	assert_non_null(prog);
	bpf_program__set_log_buf(prog, log, size);
	bpf_program__set_log_level(prog, 4); /* figures alone */
	assert_int_equal(bpf_object__load(obj), 0);
	*fd = bpf_program__fd(prog);
	return obj;
}

/* The functions' names, in the order in which the verifier counts them. */
static unsigned read_names(int fd, char names[][64], unsigned max)
{
	struct bpf_func_info func[MOST_FUNCTIONS] = {0};
	struct bpf_prog_info info = {.nr_func_info = MOST_FUNCTIONS,
				     .func_info_rec_size = sizeof(*func),
				     .func_info = (uintptr_t)func};
	uint32_t len = sizeof(info);
	struct btf *btf;

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	assert_in_range(info.nr_func_info, 1, max);
	btf = btf__load_from_kernel_by_id(info.btf_id);
	assert_non_null(btf);
	for (unsigned i = 0; i < info.nr_func_info; i++) {
		const struct btf_type *t = btf__type_by_id(btf, func[i].type_id);

		snprintf(names[i], sizeof(*names), "%s", btf__name_by_offset(btf, t->name_off));
	}
	btf__free(btf);
	return info.nr_func_info;
}

/* How much of the stack each function has, as the verifier says it: in one line, "stack depth
 * a+b+c", or (7.3) at the end of each function's own, " stack a". How many they are. */
static unsigned read_depths(const char *log, long *depth, unsigned max)
{
	const char *at = strstr(log, "stack depth ");
	unsigned n = 0;
	char *end;

	if (at && isdigit(at[strlen("stack depth ")])) {
		for (at += strlen("stack depth"); n < max && (!n || *at == '+'); at = end)
			depth[n++] = strtol(at + 1, &end, 10);
		return n;
	}
	for (at = log; n < max && (at = strstr(at, " stack ")); at = end) {
		end = (char *)at + strlen(" stack ");
		if (isdigit(*end))
			depth[n++] = strtol(end, &end, 10);
	}
	return n;
}

/* Linux 6.1 rounds the stack of each function up to 32 bytes, and has 512 for those that are active
 * at once. */
static void check_stack(int fd, const char *log)
{
	static const char *const chain[][3] = {
		{"pick", "find_member"},
		{"steer_icmp", "has_odd_ends"},
		{"pick", "find_narrowed"},
		{"steer_group_icmp", "pick", "find_member"},
		{"steer_group_icmp", "pick", "find_narrowed"},
		{"sl_ip6_ext", "sl_ip6_opts", "sl_ip6_opt"},
		{"sl_ip4_opts", "sl_ip4_opt"},
	};
	char names[MOST_FUNCTIONS][64];
	long depth[MOST_FUNCTIONS];
	unsigned n = read_names(fd, names, MOST_FUNCTIONS), told;

	told = read_depths(log, depth, MOST_FUNCTIONS);
	assert_int_equal(told, n);
	assert_int_equal(strncmp(names[0], "steer", 5), 0);
	for (unsigned c = 0; c < sl_array_len(chain); c++) {
		long sum = (depth[0] + 31) / 32 * 32;

		for (unsigned i = 0; i < 3 && chain[c][i]; i++) {
			unsigned f = 1;

			while (f < n && strcmp(names[f], chain[c][i]))
				f++;
			assert_in_range(f, 1, n - 1); /* no function of that name: mend the table */
			sum += depth[f] ? (depth[f] + 31) / 32 * 32 : 32;
		}
		print_message("           %s: %ld bytes of stack\n", chain[c][0], sum);
		assert_in_range(sum, 1, 512);
	}
}

/* A program's first socket waits for the verifier, about a microsecond for each of these. */
static void check_steps(int fd, unsigned most)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	print_message("           %u instructions verified\n", info.verified_insns);
	assert_in_range(info.verified_insns, 1, most);
}

static void check_xdp(bool vxlan, unsigned steps)
{
	static char log[16384];
	struct steer *s = steer__open();
	int fd;

	assert_non_null(s);
	s->rodata->has_vxlan = vxlan;
	load_with_figures(s->obj, "steer", log, sizeof(log), &fd);
	check_steps(fd, steps);
	check_stack(fd, log);
	steer__destroy(s);
}

static void test_xdp(void **state)
{
	check_xdp(false, 9000);
}

/* Only a process that opens a VXLAN device waits for these. */
static void test_xdp_with_vxlan(void **state)
{
	check_xdp(true, 14000);
}

static void check_skb(bool vxlan, unsigned steps)
{
	static char log[16384];
	struct steer_skb *s = steer_skb__open();
	int fd;

	assert_non_null(s);
	s->rodata->has_vxlan = vxlan;
	load_with_figures(s->obj, "steer_skb", log, sizeof(log), &fd);
	check_steps(fd, steps);
	check_stack(fd, log);
	steer_skb__destroy(s);
}

static void test_skb(void **state)
{
	check_skb(false, 9000);
}

static void test_skb_with_vxlan(void **state)
{
	check_skb(true, 14000);
}

/* Since 6.8 the verifier skips functions that no code reaches. */
static bool skips_functions(void)
{
	int major = 0, minor = 0;
	struct utsname u;

	assert_int_equal(uname(&u), 0);
	assert_int_equal(sscanf(u.release, "%d.%d", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 8);
}

/* The form of a process that has no socket which shares its endpoint. */
static void test_without_groups(void **state)
{
	static char log[16384];
	unsigned most = skips_functions() ? 4500 : 9000;
	struct steer_skb *k = steer_skb__open();
	struct steer *x = steer__open();
	int fd;

	assert_non_null(k);
	assert_non_null(x);
	k->rodata->has_vxlan = k->rodata->has_groups = false;
	x->rodata->has_vxlan = x->rodata->has_groups = false;
	load_with_figures(k->obj, "steer_skb", log, sizeof(log), &fd);
	check_steps(fd, most);
	load_with_figures(x->obj, "steer", log, sizeof(log), &fd);
	check_steps(fd, most);
	steer_skb__destroy(k);
	steer__destroy(x);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xdp),
		cmocka_unit_test(test_xdp_with_vxlan),
		cmocka_unit_test(test_skb),
		cmocka_unit_test(test_skb_with_vxlan),
		cmocka_unit_test(test_without_groups),
	};

	if (!may_load())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
