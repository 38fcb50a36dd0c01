/* SPDX-License-Identifier: BSD-2-Clause */
/* Fans: claims on multicast groups, for the sockets that get a copy of each packet (mcast.c). */
#ifndef SL_FAN_H
#define SL_FAN_H

#include "sock/core/sock.h"

struct sl_fan {
	struct sl_list node;
	struct sl_addr group;
	uint16_t port;
	uint32_t ifindex;
	uint32_t slot;
	struct sl_lane *lane; /* its packets come here; holds nsocks and sock. Atomic; changes with
				 the fans' lock and the old lane held */
	bool claimed;
	bool said;   /* that others share it */
	bool full;   /* a socket has found no place: the kernel serves all */
	bool moved;  /* it was on another lane, whose rings may still have packets; atomic */
	bool moving; /* its claim brings packets to the next lane already; atomic */
	struct sl_claim_req req;
	uint32_t nsocks, size;
	struct sl_sock **sock;
};

extern struct sl_lock sl_fans_lock; /* the list of fans; taken after sk->slow, before lanes */
extern struct sl_list sl_fans;

#endif
