/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading another process's counters: a copy of its file is checked before anything is believed.
 * The writer may be dead half-way, of another version, or hostile. */
#ifndef SL_STATS_READ_H
#define SL_STATS_READ_H

#include "base/stats.h"

/* Most bytes a file can have that is worth reading. */
#define SL_STATS_MAX_BYTES (4u << 20)

/* Checks the copy buf (aligned to 64, len bytes, private to the caller) and makes it safe to use as
 * struct sl_stats: all sock[0 .. max_socks) are inside, texts end, counts of lists fit. Returns 0
 * or -EINVAL; then why says what is wrong. */
int sl_stats_check(void *buf, size_t len, const char **why);

/* after -= before, for each counter (levels stay as they are); the objects must be the same. */
void sl_stats_sub_sock(struct sl_sock_stats *after, const struct sl_sock_stats *before);
void sl_stats_sub_lane(struct sl_lane_stats *after, const struct sl_lane_stats *before);
void sl_stats_sub_port(struct sl_port_stats *after, const struct sl_port_stats *before);
void sl_stats_sub_wait(struct sl_wait_stats *after, const struct sl_wait_stats *before);
void sl_stats_sub_proc(struct sl_stats *after, const struct sl_stats *before);

/* A counter as text sees it. */
struct sl_stat_desc {
	const char *name, *unit, *help;
	uint32_t offset; /* in the block's struct */
	bool level;      /* says how much there is now, or was at most; not a count of events */
	bool tcp;        /* means something of a TCP socket only */
};
/* The counters of a block, in the order of stats.def. */
enum sl_stat_block {
	SL_BLOCK_sock,
	SL_BLOCK_lane,
	SL_BLOCK_port,
	SL_BLOCK_wait,
	SL_BLOCK_proc,
	SL_BLOCKS
};
const struct sl_stat_desc *sl_stat_descs(enum sl_stat_block block, unsigned *n);

#endif
