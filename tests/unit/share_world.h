/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool that two members share, with rings that are plain memory: its states at random, what a
 * member does with it, and whether each frame is in one place. */
#ifndef SHARE_WORLD_H
#define SHARE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "../pool.h"
#include "base/share/share_bury.h"
#include "io/xsk.h"

#define NFRAMES 512
#define SHIFT   11
#define FILL    256
#define COMP    256
#define OWN     32 /* entries of receive and transmit rings */
#define LIVE    1
#define DYING   2

/* The rings, as the kernel maps them. */
struct rings {
	uint32_t fill_p, fill_c, comp_p, comp_c, rx_p, rx_c, tx_p, tx_c, flags;
	uint64_t fill[FILL], comp[COMP];
	struct xdp_desc rx[OWN], tx[OWN];
};

/* All that is shared, at some address. */
struct world {
	struct sl_share g;
	struct rings *r;
	struct sl_share_rings q;
	struct sl_share_xsk_rings x;
};

extern size_t share_bytes, bytes; /* of the pool, of it with the rings and what is told */
extern struct sl_share_geometry geometry;
extern void *shared;
extern struct sl_frames cache; /* the dying member's, with its socket: see attach() */
extern struct sl_xsk xsk;
extern uint32_t live_has; /* frames of the living one */
extern uint32_t at_step;  /* the instruction after which somebody died; for what is printed */

#define check(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_error("line %d, step %u: ", __LINE__, at_step);                      \
			print_error(__VA_ARGS__);                                                  \
			fail();                                                                    \
		}                                                                                  \
	} while (0)

/* Sets up the tests of a group: maps `shared`. */
int share_setup(void **state);
/* 0..n-1, by the seed that set_up() was given. */
uint32_t chance(uint32_t n);
struct world world_at(void *mem);
/* A frame of the pool, now of a member. */
uint32_t fetch_one(struct sl_share *g, uint8_t member, uint16_t refs, uint8_t flight);
/* The device has sent it. */
void complete(struct world *w, uint32_t frame);
/* A pool that has been used before, at `shared`: something is in every ring. */
void set_up(uint32_t seed);
/* This process is the dying member. */
void attach(void);
void send_some(uint32_t n);
void bury(struct world *w, uint8_t who);
/* Each frame is in one place; the living one has what it had. */
void count(const struct world *w);
/* The device sends what was posted, the broker takes what comes back: then all are counted. */
void finish(struct world *w);
/* The device is released: what its fill ring has comes back, too. */
void release(struct world *w);

#endif
