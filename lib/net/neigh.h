/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours of the kernel, mirrored by rtnetlink. The kernel resolves and probes; we copy, and
 * ask it to probe what we use (NTF_USE), since it does not see our packets. */
#ifndef SL_NEIGH_H
#define SL_NEIGH_H

#include "base/addr.h"
#include "base/base.h"

/* Never freed while the process lives, so the packet path may keep the pointer; but it may become
 * another neighbour's: seq changes then, too, and ifindex and addr are to be looked at after
 * sl_neigh_read(). The writer is the keeper; seq is raised by two for each change and odd while it
 * is under way. */
struct sl_neigh {
	uint32_t seq;
	uint8_t mac[6];
	bool valid;       /* mac may be used: REACHABLE, STALE, DELAY, PROBE, PERMANENT, NOARP */
	bool wants_probe; /* STALE: the next user should call sl_neigh_use() */
	uint32_t ifindex;
	struct sl_addr addr;
	struct sl_neigh *hash_next;
};

/* Finds or makes the entry; asks the kernel's table the first time. NULL: no memory. Any thread,
 * slow path. */
struct sl_neigh *sl_neigh_get(uint32_t ifindex, const struct sl_addr *addr);

/* A consistent copy of the MAC; false: not known, send through the kernel, which resolves.
 * *seq is what to compare with n->seq later. No system call, no lock. */
bool sl_neigh_read(const struct sl_neigh *n, uint8_t mac[6], uint32_t *seq);

/* Has the keeper tell the kernel that the neighbour is in use, so that it is resolved, probed and
 * kept: NTF_USE (needs CAP_NET_ADMIN; else nothing comes of it). Clears wants_probe. Any thread,
 * without waiting; one write(2) to wake the keeper. */
void sl_neigh_use(struct sl_neigh *n);

/* Says so now, unless the kernel knows that it is reachable, or was told for ever. 0 or -errno. */
int sl_neigh_tell(uint32_t ifindex, const struct sl_addr *addr);
/* Who says it, where this process may not: NULL, it may. Before sl_net_open(). */
typedef int (*sl_neigh_teller)(uint32_t ifindex, const struct sl_addr *addr);
void sl_neigh_set_teller(sl_neigh_teller fn);

#endif
