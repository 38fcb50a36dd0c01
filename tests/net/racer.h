/* SPDX-License-Identifier: BSD-2-Clause */
/* For hostile processes: threads that change words of memory, without a pause, while another
 * process reads these words. What the other process checks is something else when it is used, if it
 * reads the word twice. A word becomes what is near it, an end of its range, or what its neighbour
 * is, and soon afterwards what it was: so most words are right most of the time, and checks pass.
 * SEED repeats the choices. */
#ifndef RACER_H
#define RACER_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define RACER_AREAS 32
#define RACER_NEAR  64 /* words at the start of an area, which get half of the changes */

static struct {
	struct racer_area {
		uint32_t *at;
		size_t words;
		const uint32_t *values; /* the words become one of these alone; NULL: anything */
		uint32_t nvalues;
	} area[RACER_AREAS];
	unsigned nareas;
	uint64_t seed;
	uint64_t changes; /* atomic */
} racer;

static inline void racer_add(void *at, size_t bytes)
{
	if (racer.nareas < RACER_AREAS && bytes >= 4)
		racer.area[racer.nareas++] = (struct racer_area){at, bytes / 4, NULL, 0};
}

static inline void racer_add_values(void *at, size_t bytes, const uint32_t *values, uint32_t n)
{
	racer_add(at, bytes);
	racer.area[racer.nareas - 1].values = values;
	racer.area[racer.nareas - 1].nvalues = n;
}

static inline uint32_t racer_chance(uint64_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 32) % n;
}

static inline uint32_t racer_value(const struct racer_area *a, size_t i, uint32_t old, uint64_t *s)
{
	static const uint32_t odd[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};

	switch (racer_chance(s, 8)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return old ^ 1u << racer_chance(s, 32);
	case 3:
		return a->at[i ? i - 1 : a->words - 1];
	case 4:
		return racer_chance(s, 4096);
	case 5:
		return old + (racer_chance(s, 4096) << racer_chance(s, 12));
	case 6:
		return racer_chance(s, UINT32_MAX);
	default:
		return odd[racer_chance(s, sizeof(odd) / sizeof(odd[0]))];
	}
}

static void *racer_run(void *arg)
{
	uint64_t s = racer.seed + (uintptr_t)arg * 0x9e3779b97f4a7c15ull;

	for (uint64_t n = 0;; n++) {
		const struct racer_area *a = &racer.area[racer_chance(&s, racer.nareas)];
		size_t near = a->words < RACER_NEAR ? a->words : RACER_NEAR;
		size_t i = racer_chance(&s, (uint32_t)(racer_chance(&s, 2) ? near : a->words));
		uint32_t old = __atomic_load_n(&a->at[i], __ATOMIC_RELAXED);
		uint32_t now = a->values ? a->values[racer_chance(&s, a->nvalues)]
					 : racer_value(a, i, old, &s);

		__atomic_store_n(&a->at[i], now, __ATOMIC_RELAXED);
		for (uint32_t k = racer_chance(&s, 100); k; k--)
			sl_cpu_relax();
		if (!a->values && racer_chance(&s, 16))
			__atomic_store_n(&a->at[i], old, __ATOMIC_RELAXED);
		if (n % 1024 == 0)
			__atomic_fetch_add(&racer.changes, 1024, __ATOMIC_RELAXED);
	}
	return arg;
}

static void racer_start(unsigned threads)
{
	const char *seed = getenv("SEED");
	pthread_t t;

	racer.seed = seed ? strtoull(seed, NULL, 10)
			  : (uint64_t)time(NULL) * 1000 + (unsigned)getpid() % 1000;
	printf("seed %llu\n", (unsigned long long)racer.seed);
	racer.seed = racer.seed * 0x9e3779b97f4a7c15ull + 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&t, NULL, racer_run, (void *)(uintptr_t)(i + 1));
}

#endif
