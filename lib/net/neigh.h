/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the kernel's neighbours, by rtnetlink. The kernel resolves and probes. It does not see
 * our packets, so we ask it to probe the neighbours that we use (NTF_USE). */
#ifndef SL_NEIGH_H
#define SL_NEIGH_H

#include "base/addr.h"
#include "base/base.h"

/* Never freed while the process lives, so the packet path may keep the pointer. An entry can be
 * reused for another neighbour; seq changes then, so compare ifindex and addr after
 * sl_neigh_read(). Only the keeper writes. It raises seq by two for each change; seq is odd while
 * a change is under way. */
struct sl_neigh {
	uint32_t seq;
	uint8_t mac[6];
	bool valid;       /* mac may be used: REACHABLE, STALE, DELAY, PROBE, PERMANENT, NOARP */
	bool wants_probe; /* STALE: the next user should call sl_neigh_use() */
	uint32_t ifindex;
	struct sl_addr addr;
	struct sl_neigh *hash_next;
};

/* Finds or makes the entry. Asks the kernel about a new one. NULL: no memory. Any thread; slow. */
struct sl_neigh *sl_neigh_get(uint32_t ifindex, const struct sl_addr *addr);

/* Copies the MAC address consistently. False: not known; send through the kernel, which resolves
 * it. *seq: compare it with n->seq later. No system call, no lock. */
bool sl_neigh_read(const struct sl_neigh *n, uint8_t mac[6], uint32_t *seq);

/* Changes each time that a neighbour gets a hardware address. Atomic. */
extern uint32_t sl_neigh_resolved;

/* Has the keeper tell the kernel that the neighbour is in use, so that the kernel resolves, probes
 * and keeps it: NTF_USE (needs CAP_NET_ADMIN, else has no effect). Clears wants_probe. Any thread;
 * does not wait; one write(2) wakes the keeper. */
void sl_neigh_use(struct sl_neigh *n);

/* Tells the kernel at once that the neighbour is in use, unless the neighbour is known as reachable
 * or permanent. Needs CAP_NET_ADMIN. 0 or -errno. Any thread; slow. */
int sl_neigh_tell(uint32_t ifindex, const struct sl_addr *addr);
/* Sets the function that tells the kernel if this process may not (sl_neigh_tell() in another
 * process); NULL: it may. Call before sl_net_open(). */
typedef int (*sl_neigh_teller)(uint32_t ifindex, const struct sl_addr *addr);
void sl_neigh_set_teller(sl_neigh_teller fn);

#endif
