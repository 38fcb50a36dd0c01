/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures how long a packet that nobody has claimed is in a steering program. steercost OBJECT...
 * runs the program `steer` of each object file (or its only one, also for tc) on packets of four
 * kinds, and prints "KIND NUMBER NS" for each: of RUNS runs of REPEAT packets, which take turns, a
 * tenth took less. The time is the thread's own, since test runs give way to others, less that of a
 * run of one packet. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../bpf/frames.h"
#include "steer.h"

#define RUNS   101
#define REPEAT 100000
#define MOST   8

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static double tenth(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[n / 10];
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run(int prog, const struct frame *f, int repeat)
{
	static char out[1024];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
		    .data_out = out, .data_size_out = sizeof(out), .repeat = repeat);
	double began = now_ns();

	if (bpf_prog_test_run_opts(prog, &opts) ||
	    (opts.retval != XDP_PASS && opts.retval != (uint32_t)TC_ACT_UNSPEC)) {
		fprintf(stderr, "a test run fails, or does not pass the packet\n");
		exit(1);
	}
	return now_ns() - began;
}

#define VNI 42

static void update(struct bpf_object *o, const char *map, const void *key, const void *value)
{
	bpf_map_update_elem(bpf_object__find_map_fd_by_name(o, map), key, value, 0);
}

/* A VXLAN device is above the device, and has no claim. (An object without these maps passes all.)
 */
static void add_device(struct bpf_object *o)
{
	struct sl_port_config cfg = {
		.nqueues = 1, .room = 1500, .abi = SL_STEER_ABI, .mac = {0x0202, 0x0202, 0x0202}};
	struct sl_vxlan_key key = {.vni = VNI, .port = 4789};
	struct sl_vxlan v = {.tag = SL_VXLAN_TAG(VNI), .mac = {0x0202, 0x0202, 0x0202}};
	uint64_t word = SL_L4_PORT_VXLAN | SL_L4_PORT_GEN;
	uint32_t port = 4789, zero = 0;

	memcpy(v.local + 12, &(uint32_t){inet_addr(A4)}, 4);
	memcpy(v.remote + 12, &(uint32_t){inet_addr(B4)}, 4);
	update(o, "config", &zero, &cfg);
	update(o, "vxlans", &key, &v);
	update(o, "ports", &port, &word);
}

/* Writes the checksum of the n bytes at p, and of a pseudo-header in front, to p + at. */
static void put_sum(uint8_t *p, unsigned n, unsigned at, uint32_t pseudo)
{
	uint32_t sum = pseudo;

	p[at] = p[at + 1] = 0;
	for (unsigned i = 0; i < n; i++)
		sum += (uint32_t)p[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	p[at] = (uint8_t)(~sum >> 8);
	p[at + 1] = (uint8_t)~sum;
}

/* The lengths and checksums of the IPv4 packet at l3, which ends with the frame. */
static void finish(struct frame *f, unsigned l3)
{
	uint8_t *ip = f->b + l3, *udp = ip + 20;
	unsigned n = f->len - l3 - 20;
	uint32_t pseudo = IPPROTO_UDP + n;

	for (unsigned i = 12; i < 20; i++)
		pseudo += (uint32_t)ip[i] << (i % 2 ? 0 : 8);
	ip[2] = 0, ip[3] = (uint8_t)(n + 20);
	udp[4] = 0, udp[5] = (uint8_t)n;
	put_sum(ip, 20, 10, 0);
	put_sum(udp, n, 6, pseudo);
}

/* A datagram in VXLAN. */
static struct frame wrapped(void)
{
	uint32_t w[2] = {htonl(0x08000000), htonl(VNI << 8)};
	struct frame in = udp4("192.168.7.1", 7777, 5000), f;

	memset(in.b, 2, 6);
	finish(&in, 14);
	eth(&f);
	memset(f.b, 2, 6);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	put16(&f, 33333);
	put16(&f, 4789);
	put16(&f, 0);
	put16(&f, 0);
	put(&f, w, sizeof(w));
	put(&f, in.b, in.len);
	finish(&f, 14);
	return f;
}

static int load(const char *file)
{
	struct bpf_object *o = bpf_object__open(file);
	struct bpf_program *p;

	if (!o || bpf_object__load(o)) {
		fprintf(stderr, "%s cannot be loaded\n", file);
		exit(1);
	}
	add_device(o);
	p = bpf_object__find_program_by_name(o, "steer");
	return bpf_program__fd(p ? p : bpf_object__next_program(o, NULL));
}

static void measure(const char *kind, const struct frame *f, const int *prog, int n)
{
	static double v[MOST][RUNS];

	for (int r = 0; r < RUNS; r++)
		for (int i = 0; i < n; i++) {
			int at = r % 2 ? n - 1 - i : i;

			v[at][r] = (run(prog[at], f, REPEAT + 1) - run(prog[at], f, 1)) / REPEAT;
		}
	for (int i = 0; i < n; i++)
		printf("%s %d %.2f\n", kind, i, tenth(v[i], RUNS));
}

int main(int argc, char **argv)
{
	struct frame f;
	int prog[MOST], n = 0;

	libbpf_set_print(NULL);
	while (n < MOST && n + 1 < argc) {
		prog[n] = load(argv[n + 1]);
		n++;
	}
	f = udp4(A4, 7777, 5000);
	measure("UDP", &f, prog, n);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, 7777, 5000);
	measure("TCP", &f, prog, n);
	f = udp6(A6, 7777, 5000);
	measure("UDP over IPv6", &f, prog, n);
	f = wrapped();
	measure("UDP in VXLAN", &f, prog, n);
	return 0;
}
