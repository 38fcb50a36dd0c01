/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's free-running clock, and the two pages by which a program reads and converts it. */
#include <rdma/mlx5-abi.h>
#include <stdatomic.h>
#include <time.h>

#include "nic.h"

#define SHIFT        24
#define REFRESH_NS   10000000ull /* of the conversion, well inside its overflow period */
#define OFFSET_NS    500u        /* two looks at the clock take no longer */
#define OFFSET_TRIES 8

static uint64_t started_ns;
static uint64_t real_offset_ns; /* from CLOCK_MONOTONIC, as of the last refresh */

static uint64_t read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SIM_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t sim_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t sim_clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t sim_clock_real_ns(uint64_t ns)
{
	return ns + real_offset_ns;
}

uint64_t sim_clock_cycles(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)(ns - started_ns) * sim_config.clock_khz / 1000000);
}

void sim_clock_init(void)
{
	/* A second earlier: a frame's place in the schedule may be before its request. */
	started_ns = sim_now_ns() - SIM_NS_PER_S;
	sim_clock_tick(sim_now_ns());
}

/* Both clocks at once, or nearly: who is interrupted between them looks again. */
static uint64_t real_offset(void)
{
	uint64_t best_ns = UINT64_MAX, offset_ns = 0;

	for (int i = 0; i < OFFSET_TRIES && best_ns > OFFSET_NS; i++) {
		uint64_t before_ns = sim_now_ns(), real_ns = read_ns(CLOCK_REALTIME);
		uint64_t took_ns = sim_now_ns() - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		offset_ns = real_ns - before_ns - took_ns / 2;
	}
	return offset_ns;
}

/* Writes the page that converts cycles to real time, under a seqlock; libmlx5's
 * mlx5_get_clock_info() reads it. */
static void refresh(uint64_t now_ns, uint64_t cycles)
{
	struct mlx5_ib_clock_info *info = sim_page(SIM_PAGE_CLOCK_INFO);
	_Atomic uint32_t *sign = (_Atomic uint32_t *)&info->sign;
	uint32_t was = atomic_load_explicit(sign, memory_order_relaxed);

	real_offset_ns = real_offset();
	atomic_store(sign, was | MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
	info->cycles = cycles;
	info->nsec = sim_clock_real_ns(now_ns);
	info->frac = 0;
	info->shift = SHIFT;
	info->mult = (uint32_t)((1000000ull << SHIFT) / sim_config.clock_khz);
	info->mask = (1ull << 48) - 1;
	info->overflow_period = SIM_NS_PER_S;
	atomic_store(sign, (was + 2) & ~(uint32_t)MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
}

void sim_clock_tick(uint64_t now_ns)
{
	static uint64_t refreshed_ns;
	volatile uint32_t *counter = sim_page(SIM_PAGE_CLOCK);
	uint64_t cycles = sim_clock_cycles(now_ns);

	counter[0] = htobe32((uint32_t)(cycles >> 32));
	counter[1] = htobe32((uint32_t)cycles);
	if (now_ns - refreshed_ns < REFRESH_NS)
		return;
	refreshed_ns = now_ns;
	refresh(now_ns, cycles);
}
