/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing: the device's table of rates, and the schedule of each paced queue.
 *
 * Theory of operation: the schedule is virtual. A frame departs, ideally, one frame time after the
 * one before it. A queue that is never empty keeps its exact average rate: when the thread that
 * plays the hardware comes late, it catches up. A queue that was empty earns nothing meanwhile but
 * its burst. */
#include <errno.h>
#include <string.h>

#include "nic.h"

/* So late a thread is catching up nothing that a device would have sent. */
#define CATCH_UP_NS 1000000000ull

static struct {
	uint32_t kbps, burst_bytes, packet_bytes;
	uint32_t refs;
} table[SIM_MAX_RATES];

/* The entry of that rate, made if need be; -1: the table is full. */
static int rate_get(uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes)
{
	int unused = -1;

	for (int i = 0; i < (int)sim_nic.rates_usable; i++) {
		if (!table[i].refs) {
			unused = unused < 0 ? i : unused;
			continue;
		}
		if (table[i].kbps == kbps && table[i].burst_bytes == burst_bytes &&
		    table[i].packet_bytes == packet_bytes) {
			table[i].refs++;
			return i;
		}
	}
	if (unused < 0)
		return -1;
	table[unused].kbps = kbps;
	table[unused].burst_bytes = burst_bytes;
	table[unused].packet_bytes = packet_bytes;
	table[unused].refs = 1;
	return unused;
}

void sim_pace_clear(struct sim_qp *qp)
{
	if (qp->rate >= 0)
		table[qp->rate].refs--;
	qp->rate = -1;
	qp->pace = (struct sim_pace){0};
}

int sim_pace_set(struct sim_qp *qp, uint32_t kbps, uint32_t burst_bytes, uint32_t packet_bytes)
{
	uint64_t next_ns = qp->pace.next_ns;
	bool backlog = qp->pace.backlog;
	int i;

	if (!kbps) {
		sim_pace_clear(qp);
		return 0;
	}
	if (kbps < sim_config.rate_min_kbps || kbps > sim_config.rate_max_kbps)
		return EINVAL;
	if ((burst_bytes || packet_bytes) && !sim_config.burst)
		return EINVAL;
	i = rate_get(kbps, burst_bytes, packet_bytes);
	if (i < 0)
		return ENOSPC;
	sim_pace_clear(qp);
	qp->rate = i;
	qp->pace = (struct sim_pace){.rate_kbps = kbps,
				     .burst_bytes = burst_bytes,
				     .next_ns = next_ns,
				     .backlog = backlog};
	return 0;
}

uint64_t sim_pace_wait(const struct sim_pace *pace, uint64_t now_ns)
{
	return !pace->rate_kbps || now_ns >= pace->next_ns ? 0 : pace->next_ns - now_ns;
}

/* Takes bytes from the schedule; returns when they departed. */
uint64_t sim_pace_account(struct sim_pace *pace, uint64_t now_ns, uint64_t bytes)
{
	uint64_t burst_ns, departed_ns;

	if (!pace->rate_kbps) {
		pace->backlog = true;
		return now_ns;
	}
	burst_ns = pace->burst_bytes * 8000000ull / pace->rate_kbps;
	if (!pace->backlog && pace->next_ns + burst_ns < now_ns)
		pace->next_ns = now_ns - burst_ns;
	if (pace->next_ns + CATCH_UP_NS < now_ns)
		pace->next_ns = now_ns - CATCH_UP_NS;
	departed_ns = pace->next_ns;
	pace->next_ns += bytes * 8000000ull / pace->rate_kbps;
	pace->backlog = true;
	return sim_config.scheduled ? departed_ns : now_ns;
}
