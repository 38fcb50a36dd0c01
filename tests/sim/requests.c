/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends by the verbs backend what receive.c checks: UDP of all kinds and sizes, inline, from frames
 * and from the device's memory, one packet or many a kick, on a queue that goes round.
 *
 *   requests IFNAME count=N requests=N(TX_REQUESTS) bf=N dm=BYTES depth=N inline=N
 *   signal=N(TX_WRE_BATCHING)
 *
 * The last packet is a small one alone. Says who makes the requests. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../pool.h"
#include "base/settings.h"
#include "base/stats.h"
#include "io/verbs.h"
#include "tx.h"

#define OFF        128u
#define FRAMES     2048u
#define BURST      48u
#define PATIENCE_S 20

static unsigned count = 3000, requests, bf = 1, dm, depth = 64, inlined = 204, signal_every = 64;
static struct sl_frames cache;
static struct sl_lane_stats stats;

static void post(struct sl_tx *tx, unsigned seq)
{
	static const uint32_t sizes[] = {0, 90, 600, 1400, 204, 150, 205, 1496, 62};
	struct tx_kind kind = {.v6 = seq % 3 == 1, .vlan = seq % 5 == 2};
	uint32_t least = tx_udp_header_bytes(kind) + 4, len = seq + 1 == count ? 0 : sizes[seq % 9];
	struct sl_tx_desc d = {.frame = sl_frame_get(&cache), .off = OFF, .flags = SL_TXD_CSUM};

	len = len < least ? least + seq % 7 : len;
	d.len = (uint16_t)len;
	tx_udp(sl_frame_ptr(d.frame) + OFF, kind, len, seq);
	if (!tx->ops->post(tx, &d, 1))
		exit(3);
}

/* All have completed, or the program ends. */
static void wait_done(struct sl_tx *tx)
{
	unsigned tries = PATIENCE_S * 10000;

	tx->ops->settle(tx);
	while (!sl_verbs_is_idle(tx) && tries--) {
		tx->ops->reap(tx, &cache);
		if (sl_verbs_dead(tx)) {
			fprintf(stderr, "requests: %s\n", sl_verbs_dead(tx));
			exit(4);
		}
		usleep(100);
	}
	if (!sl_verbs_is_idle(tx))
		exit(5);
}

static void send_all(struct sl_tx *tx)
{
	for (unsigned seq = 0, burst = 1; seq < count; burst = burst % BURST + 1) {
		if (burst > count - 1 - seq)
			burst = seq + 1 < count ? count - 1 - seq : 1;
		for (unsigned i = 0; i < burst; i++)
			post(tx, seq++);
		if (tx->ops->kick(tx))
			exit(6);
		wait_done(tx);
	}
}

int main(int argc, char **argv)
{
	struct sl_verbs_want want = {.stats = &stats, .frames = &cache};
	const struct {
		const char *name;
		unsigned *value;
	} args[] = {{"count", &count},
		    {"requests", &requests},
		    {"bf", &bf},
		    {"dm", &dm},
		    {"depth", &depth},
		    {"inline", &inlined},
		    {"signal", &signal_every}};
	struct sl_verbs_info info;
	const char *why = NULL;
	struct sl_tx *tx;

	for (int i = 2; i < argc; i++)
		for (size_t j = 0; j < sizeof(args) / sizeof(args[0]); j++) {
			size_t n = strlen(args[j].name);

			if (!strncmp(argv[i], args[j].name, n) && argv[i][n] == '=')
				*args[j].value = (unsigned)strtoul(argv[i] + n + 1, NULL, 0);
		}
	sl_settings.tx_requests = (int)requests;
	sl_settings.bf = (int)bf;
	sl_settings.tx_wre_batching = (int)signal_every;
	want.depth = depth;
	want.inline_bytes = inlined;
	want.device_bytes = dm;
	if (argc < 2 || pool_make(aligned_alloc(4096, FRAMES << 11), FRAMES, 11))
		return 2;
	tx = sl_verbs_open(if_nametoindex(argv[1]), argv[1], &want, &info, &why);
	if (!tx) {
		fprintf(stderr, "requests: %s\n", why ? why : "no device");
		return 1;
	}
	printf("direct %d\n", info.direct);
	send_all(tx);
	tx->ops->close(tx, &cache);
	return 0;
}
