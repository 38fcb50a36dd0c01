/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose addresses no wire may have, and those whose source the kernel would refuse. */
#ifndef SL_MARTIAN_H
#define SL_MARTIAN_H

#include "base/hash.h"

struct sl_in;

/* What a lane knows of IPv4 sources. Bounded: a set of the table loses its oldest entry. Lane held.
 */
#define SL_SOURCE_SETS    1024
#define SL_SOURCE_WAYS    4
#define SL_SOURCE_DEVICES 8 /* by ifindex */
struct sl_source {
	uint32_t addr; /* network order; 0: empty */
	uint32_t dev;  /* ifindex << 1, and 1: sent to a group */
	uint32_t gen;  /* sl_route_gen when the kernel was asked */
	uint32_t good; /* until second << 1, and 1: the kernel takes it */
};

struct sl_sources {
	uint64_t ends; /* source and destination of the last good packet; 0: none */
	uint32_t ends_gen;
	uint32_t ends_ifindex;
	struct sl_hash_key key;
	/* Does the kernel validate sources on the device (rp_filter)? Read once a second. */
	struct {
		uint32_t ifindex, second, gen;
		bool is_on;
	} filter[SL_SOURCE_DEVICES];
	uint8_t next[SL_SOURCE_SETS]; /* which way to evict */
	struct sl_source source[SL_SOURCE_SETS][SL_SOURCE_WAYS];
};

/* For each batch of a device: what sl_in.ends begins with. NULL is fine. */
uint64_t sl_sources_begin(const struct sl_sources *s, uint32_t ifindex);

/* Would the kernel take a packet from this source on in->ifindex? Asks it (a system call) at the
 * first packet of a source, and again after an event of routing, or some seconds. Says so of
 * addresses that need no question: RFC 1122 3.2.1.3; RFC 4291 2.5.2, 2.5.3, 2.7. Without
 * in->sources these alone are looked at. Lane held. */
bool sl_source_is_good(struct sl_in *in);

#endif
