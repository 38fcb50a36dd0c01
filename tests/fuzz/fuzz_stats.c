/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: a statistics file of any bytes is refused, or safe to walk and to print. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/stats_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The fuzzer's bytes, laid over a file of the right frame: a real one is 60 KB of zeroes. */
static struct sl_stats *make_file(const uint8_t *data, size_t size, size_t *len)
{
	size_t header = offsetof(struct sl_stats, lane);
	uint32_t nsocks = size ? data[0] % 4 : 0;
	size_t n = sizeof(struct sl_stats) + nsocks * sizeof(struct sl_sock_stats);
	char *buf = aligned_alloc(64, (n + 63) / 64 * 64);

	memset(buf, size > 1 ? data[1] : 0, n);
	memcpy(buf, data, sl_min(size, header));
	if (size > header)
		memcpy(buf + n - sl_min(n - header, size - header), data + header,
		       sl_min(n - header, size - header));
	if (size % 3) {
		((struct sl_stats *)buf)->magic = SL_STATS_MAGIC;
		((struct sl_stats *)buf)->version = SL_STATS_VERSION;
	}
	if (size % 2)
		((struct sl_stats *)buf)->max_socks = nsocks;
	*len = n;
	return (struct sl_stats *)buf;
}

static uint64_t walk(const struct sl_stats *s)
{
	uint64_t sum = strlen(s->program);

	for (unsigned i = 0; i < SL_STATS_PORTS; i++)
		sum += strlen(s->port[i].ifname) + strlen(s->port[i].driver);
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = &s->sock[i];

		sum += strlen(sl_reason_text(k->reason)) + k->rx_pkts;
		for (uint32_t g = 0; g < k->ngroups; g++)
			sum += k->group[g].b[15];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL;
	size_t len;
	struct sl_stats *s = make_file(data, size, &len);

	if (sl_stats_check(s, len, &why)) {
		if (!why)
			abort();
	} else {
		__asm__ volatile("" : : "r"(walk(s))); /* not to be optimised away */
	}
	sl_free(s);
	return 0;
}
