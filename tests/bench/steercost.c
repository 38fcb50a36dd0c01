/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures how long a packet that nobody has claimed is in a steering program. steercost OBJECT...
 * runs the program `steer` of each object file (or its only one) on packets of three kinds, and
 * prints "KIND NUMBER NS" for each: of RUNS runs of REPEAT packets, which take turns, a tenth took
 * less. The time is the thread's own, since test runs give way to others, less that of a run of one
 * packet. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../bpf/frames.h"

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

	if (bpf_prog_test_run_opts(prog, &opts) || opts.retval != XDP_PASS) {
		fprintf(stderr, "a test run fails, or does not pass the packet\n");
		exit(1);
	}
	return now_ns() - began;
}

static int load(const char *file)
{
	struct bpf_object *o = bpf_object__open(file);
	struct bpf_program *p;

	if (!o || bpf_object__load(o)) {
		fprintf(stderr, "%s cannot be loaded\n", file);
		exit(1);
	}
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
	return 0;
}
