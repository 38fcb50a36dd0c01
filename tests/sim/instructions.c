/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs backend, and beside it the bare ibv_wr_* calls that do the same, for who counts what
 * they take (instructions.sh, by callgrind): each burst is one call of bare() or backend(), and
 * what waits for the NIC is outside of them. The copy of the data into the packet is in both.
 *
 *   instructions IFNAME bare|backend count=N batch=N size=N */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../pool.h"
#include "base/stats.h"
#include "io/verbs.h"
#include "tx.h"

#define SIGNAL_EVERY 64u
#define REAP_EVERY   32u /* as sl_leg_kick() */
#define OFF          128u
#define PAUSE_US     300

static unsigned count = 6400, batch = 32, size = 64;
static uint8_t data[2048];
static struct tx tx;
static uint32_t unsignalled;
static struct sl_frames cache;
static struct sl_lane_stats stats;

static void take_completions(void)
{
	struct ibv_poll_cq_attr attr = {0};

	if (ibv_start_poll(tx.cq, &attr))
		return;
	do {
		if (tx.cq->status)
			exit(1);
	} while (!ibv_next_poll(tx.cq));
	ibv_end_poll(tx.cq);
}

static __attribute__((noinline)) void bare(unsigned at)
{
	ibv_wr_start(tx.qpx);
	for (unsigned i = 0; i < batch; i++) {
		uint8_t *packet = tx_slot(&tx, at + i);
		bool last = ++unsignalled == SIGNAL_EVERY;

		memcpy(packet, data, size);
		tx.qpx->wr_id = at + i;
		tx.qpx->wr_flags = IBV_SEND_IP_CSUM | (last ? IBV_SEND_SIGNALED : 0) |
				   (size <= tx.inline_bytes ? IBV_SEND_INLINE : 0);
		ibv_wr_send(tx.qpx);
		if (size <= tx.inline_bytes)
			ibv_wr_set_inline_data(tx.qpx, packet, size);
		else
			ibv_wr_set_sge(tx.qpx, tx.mr->lkey, (uintptr_t)packet, size);
		if (last)
			unsignalled = 0;
	}
	if (ibv_wr_complete(tx.qpx))
		exit(1);
	if (unsignalled < batch)
		take_completions();
}

static __attribute__((noinline)) void backend(struct sl_tx *to)
{
	for (unsigned i = 0; i < batch; i++) {
		struct sl_tx_desc d = {.frame = sl_frame_get(&cache),
				       .off = OFF,
				       .len = (uint16_t)size,
				       .flags = SL_TXD_CSUM};

		memcpy(sl_frame_ptr(d.frame) + OFF, data, size);
		if (!to->ops->post(to, &d, 1))
			exit(1);
	}
	if (to->ops->kick(to))
		exit(1);
	if (to->unreaped >= REAP_EVERY)
		to->ops->reap(to, &cache);
}

static void run_bare(void)
{
	if (tx_open(&tx) || tx_setup(&tx, &(struct tx_want){.depth = 2048, .inline_bytes = 204}))
		exit(1);
	for (unsigned done = 0; done < count; done += batch) {
		bare(done);
		usleep(PAUSE_US);
	}
	tx_close(&tx);
}

static void run_backend(const char *ifname)
{
	struct sl_verbs_want want = {
		.depth = 2048, .inline_bytes = 204, .stats = &stats, .frames = &cache};
	struct sl_verbs_info info;
	const char *why = NULL;
	struct sl_tx *to;

	if (pool_make(aligned_alloc(4096, 4096 * 2048), 4096, 11))
		exit(1);
	to = sl_verbs_open(if_nametoindex(ifname), ifname, &want, &info, &why);
	if (!to) {
		fprintf(stderr, "instructions: %s\n", why ? why : "no device");
		exit(1);
	}
	for (unsigned done = 0; done < count; done += batch) {
		backend(to);
		usleep(PAUSE_US);
	}
	to->ops->close(to, &cache);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (int i = 3; i < argc; i++)
		if (sscanf(argv[i], "count=%u", &count) + sscanf(argv[i], "batch=%u", &batch) +
				    sscanf(argv[i], "size=%u", &size) <
			    -1 ||
		    size > sizeof(data))
			return 2;
	tx_udp(data, (struct tx_kind){0}, size, 1);
	if (!strcmp(argv[2], "bare"))
		run_bare();
	else
		run_backend(argv[1]);
	return 0;
}
