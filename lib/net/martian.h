/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose addresses must not appear on a wire, or whose source the kernel would refuse. */
#ifndef SL_MARTIAN_H
#define SL_MARTIAN_H

#include "base/base.h"
#include "net/span.h"

struct sl_in;

/* The IPv4 sources that a lane knows. Bounded: a full set of the table loses its oldest entry.
 * Lane held. */
#define SL_SOURCE_SETS    1024
#define SL_SOURCE_WAYS    4
#define SL_SOURCE_DEVICES 8 /* by ifindex */
struct sl_source {
	uint32_t addr; /* network order; 0: empty */
	uint32_t dev;  /* ifindex << 1, plus 1 if the packet was sent to a group */
	uint32_t gen;  /* sl_route_gen when the answer was given */
	uint32_t good; /* second until which it is valid << 1, plus 1 if the source is accepted */
};

/* A destination that the lane knows: an address of this host, or one that the kernel takes for its
 * own by a route. */
#define SL_DESTS 4
struct sl_dest {
	struct sl_addr addr;
	uint32_t gen; /* sl_route_gen when the answer was given */
	bool good;
};

struct sl_sources {
	struct sl_dest dest[SL_DESTS]; /* by the last byte */
	/* The last good ones, as packets have them. */
	uint32_t to4, to4_gen;
	uint64_t to6[2];
	uint32_t to6_gen;
	uint64_t ends; /* source and destination of the last good packet; 0: none */
	uint32_t ends_gen;
	uint32_t ends_ifindex;
	struct sl_span_asks asks;
	/* Whether the kernel validates sources on a device (rp_filter); read once a second. */
	struct {
		uint32_t ifindex, second, gen;
		bool is_on;
	} filter[SL_SOURCE_DEVICES];
	uint8_t next[SL_SOURCE_SETS]; /* which way to evict */
	struct sl_source source[SL_SOURCE_SETS][SL_SOURCE_WAYS];
};

/* Initial sl_in.ends for a batch of a device. s may be NULL. */
uint64_t sl_sources_begin(const struct sl_sources *s, uint32_t ifindex);

/* True: the kernel would accept a packet from this source on in->ifindex. Asks the kernel (a system
 * call) at the first packet of a source, and again after a routing event or some seconds; without
 * rp_filter only about addresses of this host. Refuses addresses that are always invalid without
 * asking: RFC 1122 3.2.1.3; RFC 4291 2.5.2, 2.5.3, 2.7. Without in->sources it checks only these.
 * Lane held. */
bool sl_source_is_good(struct sl_in *in);

/* True: the kernel would deliver packets to this destination here. A program keeps its sockets when
 * their address is taken off the host; what still comes for them is dropped, as by the kernel.
 * Lane held. */
bool sl_dest_is_good(struct sl_in *in);

#endif
