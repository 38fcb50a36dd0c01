/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a copy of a statistics file, and lists its counters from stats.def. */
#include "base/stats_read.h"

#include <errno.h>
#include <string.h>

#include "base/trust.h"

#define SL_STAT(block, n, u, h) SL_DESC_##block(n, u, h, .level = false)
#define SL_DESC(type, n, u, h, ...)                                                                \
	{.name = #n, .unit = u, .help = h, .offset = offsetof(type, n), __VA_ARGS__},
#define SL_DESC_lane(...)
#define SL_DESC_port(...)
#define SL_DESC_wait(...)
#define SL_DESC_proc(...)
#define SL_DESC_sock(...) SL_DESC(struct sl_sock_stats, __VA_ARGS__)
static const struct sl_stat_desc sock_descs[] = {
#define SL_LEVEL(block, n, u, h) SL_DESC_##block(n, u, h, .level = true)
#define SL_PEAK                  SL_LEVEL
#define SL_TCPI(n, u, h)         SL_DESC_sock(tcpi_##n, u, h, .level = true, .tcp = true)
#include "base/stats.def"
};
#undef SL_DESC_sock
#undef SL_DESC_lane
#define SL_DESC_sock(...)
#define SL_DESC_lane(...) SL_DESC(struct sl_lane_stats, __VA_ARGS__)
static const struct sl_stat_desc lane_descs[] = {
#define SL_LEVEL(block, n, u, h) SL_DESC_##block(n, u, h, .level = true)
#include "base/stats.def"
};
#undef SL_DESC_lane
#undef SL_DESC_port
#define SL_DESC_lane(...)
#define SL_DESC_port(...) SL_DESC(struct sl_port_stats, __VA_ARGS__)
static const struct sl_stat_desc port_descs[] = {
#define SL_LEVEL(block, n, u, h) SL_DESC_##block(n, u, h, .level = true)
#include "base/stats.def"
};
#undef SL_DESC_port
#undef SL_DESC_wait
#define SL_DESC_port(...)
#define SL_DESC_wait(...) SL_DESC(struct sl_wait_stats, __VA_ARGS__)
static const struct sl_stat_desc wait_descs[] = {
#define SL_LEVEL(block, n, u, h) SL_DESC_##block(n, u, h, .level = true)
#include "base/stats.def"
};
#undef SL_DESC_wait
#undef SL_DESC_proc
#define SL_DESC_wait(...)
#define SL_DESC_proc(...) SL_DESC(struct sl_stats, __VA_ARGS__)
static const struct sl_stat_desc proc_descs[] = {
#define SL_LEVEL(block, n, u, h) SL_DESC_##block(n, u, h, .level = true)
#include "base/stats.def"
};
#undef SL_STAT

const struct sl_stat_desc *sl_stat_descs(enum sl_stat_block block, unsigned *n)
{
	static const struct {
		const struct sl_stat_desc *descs;
		unsigned n;
	} blocks[SL_BLOCKS] = {
		[SL_BLOCK_sock] = {sock_descs, sl_array_len(sock_descs)},
		[SL_BLOCK_lane] = {lane_descs, sl_array_len(lane_descs)},
		[SL_BLOCK_port] = {port_descs, sl_array_len(port_descs)},
		[SL_BLOCK_wait] = {wait_descs, sl_array_len(wait_descs)},
		[SL_BLOCK_proc] = {proc_descs, sl_array_len(proc_descs)},
	};

	*n = blocks[block].n;
	return blocks[block].descs;
}

static void sub(enum sl_stat_block block, void *after, const void *before)
{
	unsigned n;
	const struct sl_stat_desc *d = sl_stat_descs(block, &n);

	for (unsigned i = 0; i < n; i++) {
		uint64_t *a = (uint64_t *)((char *)after + d[i].offset);
		uint64_t b = *(const uint64_t *)((const char *)before + d[i].offset);

		if (!d[i].level)
			*a = *a >= b ? *a - b : *a; /* smaller: zeroed meanwhile */
	}
}

void sl_stats_sub_sock(struct sl_sock_stats *after, const struct sl_sock_stats *before)
{
	sub(SL_BLOCK_sock, after, before);
	for (unsigned t = 0; t < SL_TIMES; t++) {
		struct sl_times *a = &after->time[t];
		const struct sl_times *b = &before->time[t];

		a->ns -= a->ns >= b->ns ? b->ns : 0;
		for (unsigned i = 0; i < SL_TIME_PLACES; i++)
			a->place[i] -= a->place[i] >= b->place[i] ? b->place[i] : 0;
	}
}

void sl_stats_sub_lane(struct sl_lane_stats *after, const struct sl_lane_stats *before)
{
	sub(SL_BLOCK_lane, after, before);
}

void sl_stats_sub_port(struct sl_port_stats *after, const struct sl_port_stats *before)
{
	sub(SL_BLOCK_port, after, before);
}

void sl_stats_sub_wait(struct sl_wait_stats *after, const struct sl_wait_stats *before)
{
	sub(SL_BLOCK_wait, after, before);
}

void sl_stats_sub_proc(struct sl_stats *after, const struct sl_stats *before)
{
	sub(SL_BLOCK_proc, after, before);
}

static int wrong(const char **why, const char *what)
{
	*why = what;
	return -EINVAL;
}

int sl_stats_check(void *buf, size_t len, const char **why)
{
	struct sl_stats *s = buf;

	if (len < sizeof(*s))
		return wrong(why, "too short for a statistics file");
	if (s->magic != SL_STATS_MAGIC)
		return wrong(why, "not a statistics file");
	if (s->version != SL_STATS_VERSION)
		return wrong(why, "of another version of Sluice");
	if (s->max_socks > (len - sizeof(*s)) / sizeof(s->sock[0]))
		return wrong(why, "cut off");
	s->program[sizeof(s->program) - 1] = 0;
	sl_make_printable(s->program);
	for (unsigned i = 0; i < SL_STATS_PORTS; i++) {
		s->port[i].ifname[sizeof(s->port[i].ifname) - 1] = 0;
		s->port[i].driver[sizeof(s->port[i].driver) - 1] = 0;
		sl_make_printable(s->port[i].ifname);
		sl_make_printable(s->port[i].driver);
	}
	for (uint32_t i = 0; i < s->max_socks; i++) {
		struct sl_sock_stats *k = &s->sock[i];

		k->ngroups = sl_min(k->ngroups, (uint32_t)sl_array_len(k->group));
		k->congestion[sizeof(k->congestion) - 1] = 0;
		sl_make_printable(k->congestion);
	}
	return 0;
}
