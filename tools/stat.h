/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of `sluice stat`: a snapshot of one process, and how to show it. */
#ifndef SL_TOOL_STAT_H
#define SL_TOOL_STAT_H

#include <stdio.h>

#include "base/stats_read.h"

struct sl_stat_show {
	const char *sockets; /* "4-16,20": only these descriptors; NULL: all */
	double seconds;      /* the counters are differences over this time; 0: totals */
};

/* True: fd is in a list like "4-16,20". NULL stands for all. */
bool sl_stat_fd_wanted(const char *list, int fd);

/* Views of vma_stats: 1 basic, 2 with queues, 3 blocks, 4 groups, 5 as netstat. */
void sl_stat_view(FILE *to, int view, const struct sl_stats *s, const struct sl_stat_show *show);
/* Writes one JSON object, on one line. */
void sl_stat_json(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show);
/* Prometheus' text format, of all n processes. */
void sl_stat_prometheus(FILE *to, struct sl_stats *const *s, unsigned n,
			const struct sl_stat_show *show);

/* stat_times.c: a socket's histograms. Lines of view 3; nothing of one that is empty. */
void sl_stat_times(FILE *to, const struct sl_sock_stats *k);
/* Members of the socket's JSON object, from a comma on. */
void sl_stat_times_json(FILE *to, const struct sl_sock_stats *k);
/* For Prometheus: what comes once before the samples; then a socket's. labels writes the process
 * and the socket, from "{" on. */
typedef void sl_stat_labels_fn(FILE *to, const struct sl_stats *s, const struct sl_sock_stats *k);
void sl_stat_times_head(FILE *to, enum sl_time what);
void sl_stat_times_samples(FILE *to, enum sl_time what, const struct sl_stats *s,
			   const struct sl_sock_stats *k, sl_stat_labels_fn *labels);

/* stat_kernel.c: adds the kernel's sockets of a program that says that it lists none of them. Takes
 * s, which is from malloc(3), and returns it or a larger one in its place. */
struct sl_stats *sl_stat_add_kernels(struct sl_stats *s, int pid);

/* "10.0.0.1:80", "[::1]:80", "*:80" */
#define SL_STAT_ENDPOINT_MAX (SL_ADDR_STRLEN + 10)
const char *sl_stat_endpoint(const struct sl_addr *a, uint16_t port,
			     char buf[SL_STAT_ENDPOINT_MAX]);
const char *sl_stat_proto(const struct sl_sock_stats *s);
/* "ESTABLISHED", ...; "" when there is no connection */
const char *sl_stat_tcp_state(const struct sl_sock_stats *s);
/* The mode of XDP on a port (flags: SL_PORT_*); "none": packets come by packet sockets. */
const char *sl_stat_xdp(uint32_t flags);

#endif
