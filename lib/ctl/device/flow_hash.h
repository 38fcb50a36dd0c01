/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash of a flow. */
#ifndef SL_CTL_FLOW_HASH_H
#define SL_CTL_FLOW_HASH_H

#include "base/hash.h"
#include "steer.h"

/* The hash of a flow without its tag, and of one more number of up to 24 bits. Programs choose the
 * flows: a key that no program knows keeps them from colliding. */
static inline uint32_t sl_flow_hash(const struct sl_hash_key *key, uint32_t beside,
				    const struct sl_flow_key *flow)
{
	const struct sl_addr local = sl_addr_of(flow->local), remote = sl_addr_of(flow->remote);
	uint32_t h = sl_hash_addr(key, beside << 8 | flow->proto, &local);

	h = sl_hash_addr(key, h, &remote);
	return sl_hash_two(key, h, (uint32_t)flow->local_port << 16 | flow->remote_port);
}

#endif
