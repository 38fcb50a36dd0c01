/* SPDX-License-Identifier: BSD-2-Clause */
/* The printout of `sluice qos`, in the layout of mlnx_qos. */
#include <stdio.h>
#include <string.h>

#include "qos.h"

bool sl_qos_trusts_dscp(const struct sl_qos *q)
{
	return q->apps > 0;
}

/* At most 8 values a line. */
static void print_dscps(const struct sl_qos *q, unsigned prio)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->apps; i++) {
		if (q->app[i].priority != prio)
			continue;
		if (n++ % 8 == 0)
			printf("%s\tprio:%u dscp:", n > 1 ? "\n" : "", prio);
		printf("%02u,", q->app[i].protocol);
	}
	if (n)
		putchar('\n');
}

static void print_trust(const struct sl_qos *q)
{
	printf("Priority trust state: %s\n", sl_qos_trusts_dscp(q) ? "dscp" : "pcp");
	if (!sl_qos_trusts_dscp(q))
		return;
	puts("dscp2prio mapping:");
	for (unsigned prio = 0; prio < IEEE_8021QAZ_MAX_TCS; prio++)
		print_dscps(q, prio);
}

static void print_buffers(const struct sl_qos *q)
{
	fputs("Receive buffer size (bytes): ", stdout);
	for (unsigned i = 0; i < DCBX_MAX_BUFFERS; i++)
		printf("%u,", q->buffer.buffer_size[i]);
	printf("max_buffer_size=%u\n", q->buffer.total_size);
}

static void print_pfc(const struct sl_qos *q)
{
	printf("Cable len: %u\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n"
	       "\tenabled     ",
	       q->pfc.delay);
	for (unsigned up = 0; up < IEEE_8021QAZ_MAX_TCS; up++)
		printf("%u   ", q->pfc.pfc_en >> up & 1u);
	if (q->has_buffer) {
		fputs("\n\tbuffer      ", stdout);
		for (unsigned up = 0; up < IEEE_8021QAZ_MAX_TCS; up++)
			printf("%u   ", q->buffer.prio2buffer[up]);
	}
	putchar('\n');
}

static void print_rate(const struct sl_qos *q, unsigned tc)
{
	uint64_t kbps = q->rate.tc_maxrate[tc];

	if (!q->has_maxrate || !kbps)
		fputs("unlimited", stdout);
	else
		printf("%.10g Gbps", (double)kbps / 1e6);
}

static void print_algorithm(const struct sl_qos *q, unsigned tc)
{
	switch (q->ets.tc_tsa[tc]) {
	case IEEE_8021QAZ_TSA_ETS:
		printf("ets, bw: %u%%\n", q->ets.tc_tx_bw[tc]);
		break;
	case IEEE_8021QAZ_TSA_STRICT:
		puts("strict");
		break;
	case IEEE_8021QAZ_TSA_VENDOR:
		puts("vendor");
		break;
	default:
		puts("unknown");
	}
}

/* Priorities are named as the manual does: "up" with the socket priorities where a map of them is
 * known, "priority" where none is. */
static void print_class(const struct sl_qos *q, const struct sl_skprio *s, unsigned tc, bool all)
{
	bool used = all;

	for (unsigned up = 0; up < IEEE_8021QAZ_MAX_TCS; up++)
		used = used || q->ets.prio_tc[up] == tc;
	if (!used)
		return;
	printf("tc: %u ratelimit: ", tc);
	print_rate(q, tc);
	fputs(", tsa: ", stdout);
	print_algorithm(q, tc);
	for (unsigned up = 0; up < IEEE_8021QAZ_MAX_TCS; up++) {
		if (q->ets.prio_tc[up] != tc)
			continue;
		printf(s->n ? "\t up:  %u\n" : "\t priority:  %u\n", up);
		sl_skprio_print(s, up, "\t\tskprio: ");
	}
}

void sl_qos_print(const struct sl_qos *q, const struct sl_skprio *s, bool all)
{
	if (q->has_dcbx)
		printf("DCBX mode: %s controlled\n",
		       q->dcbx & DCB_CAP_DCBX_HOST ? "OS" : "Firmware");
	print_trust(q);
	if (q->has_buffer)
		print_buffers(q);
	if (q->has_pfc)
		print_pfc(q);
	for (unsigned tc = 0; q->has_ets && tc < IEEE_8021QAZ_MAX_TCS; tc++)
		print_class(q, s, tc, all);
}
