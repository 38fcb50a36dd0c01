/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of a session: the table of them (claims.c), and giving them up (steer.c). */
#ifndef SL_CLAIMS_H
#define SL_CLAIMS_H

#include "ctl/claim/claim.h"

struct sl_session;

/* A claim of a session. */
struct sl_held {
	struct sl_claim_req req; /* shadow_fd is -1 */
	bool used;
	bool everywhere; /* its socket is bound to no device, for certain */
	uint64_t cookie; /* SO_COOKIE of the socket that proved it; 0: not known, or a TCP flow */
	uint32_t rule;   /* NIC rule for its packets (divide.c); 0: it needs none */
	/* A TCP flow has the user of the socket that proved it (root after a restart), and
	 * watch_flow.c's notes. */
	uint32_t uid;
	uint32_t lone_s; /* since when another user has the port, in seconds; 0: its owner has it */
	uint8_t missed;  /* looks in a row at which another user's connection had the flow */
};
/* Open addressing; max is a power of two. */
struct sl_held_table {
	struct sl_held *slot;
	uint32_t n, max;
	uint32_t nshared; /* sl_is_shared() */
	uint32_t nflows;  /* sl_is_tcp_flow() */
	uint32_t at;      /* where sl_held_any() looks first */
};
/* True: a TCP endpoint that other sessions may have, too. */
bool sl_is_shared(const struct sl_claim_req *req);
/* True: a TCP flow whose packets come to the session. */
bool sl_is_tcp_flow(const struct sl_claim_req *req);
struct sl_held *sl_held_find(const struct sl_held_table *t, const struct sl_claim_req *req);
/* Adds or replaces. -ENOMEM. */
int sl_held_put(struct sl_held_table *t, const struct sl_claim_req *req, bool everywhere,
		uint32_t rule);
void sl_held_del(struct sl_held_table *t, struct sl_held *h);
/* Any one of them, or NULL. */
struct sl_held *sl_held_any(struct sl_held_table *t);
void sl_held_free(struct sl_held_table *t);

/* steer.c ------------------------------------------------------------------------------------ */

uint32_t sl_claim_pid(const struct sl_session *s); /* the pid that its claims carry */
/* Gives up at most n claims; returns how many are left. */
uint32_t sl_claims_drop(struct sl_session *s, uint32_t n);
/* Gives up all UDP claims: the kernel has the sockets and gets their packets. */
void sl_claims_drop_udp(struct sl_session *s);
/* Takes a claim of a session back. */
void sl_claim_take_back(struct sl_session *s, const struct sl_claim_req *req);

#endif
