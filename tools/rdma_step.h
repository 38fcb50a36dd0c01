/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends of a test by RDMA use this: steps that fail and their remedies, events, addresses. */
#ifndef SL_TOOLS_RDMA_STEP_H
#define SL_TOOLS_RDMA_STEP_H

#include <netdb.h>
#include <signal.h>

#include "rdma_pair.h"

#define SL_RDMA_PORT    "7174"
#define SL_RDMA_STEP_MS 5000 /* for an event of the connection manager */

/* A copy of an event, so that the event can be acknowledged at once. */
struct sl_rdma_heard {
	struct sl_rdma_id *id;
	enum sl_rdma_event_type type;
	int status;
	uint32_t peer_qp;
	struct sl_rdma_hello hello; /* zero if the peer sent none */
};

/* Reports a step that failed, with its cause and remedy. err is -errno; detail (may be NULL) is
 * printed in place of its text. */
void sl_rdma_fail(const char *step, int err, const char *detail);
/* Reports the step at which a call of rdma_pair.h failed; p has its name. */
void sl_rdma_fail_pair(const struct sl_rdma_pair *p, int err);
/* Takes the next event of the channel. 0, -ETIMEDOUT or -errno. wait_ms -1: without limit. Signals
 * are blocked by *mask during the wait; NULL: as they are. */
int sl_rdma_hear(const struct sl_rdma_lib *lib, struct sl_rdma_channel *ch, int wait_ms,
		 const sigset_t *mask, struct sl_rdma_heard *out);
/* Waits for an event of this type. False: another came, or none; it is reported under the name of
 * the step. */
bool sl_rdma_expect(const struct sl_rdma_lib *lib, struct sl_rdma_channel *ch, const char *step,
		    enum sl_rdma_event_type type, struct sl_rdma_heard *h);
/* The parameters of rdma_connect() and rdma_accept(). *hello is filled in and goes with them. */
struct sl_rdma_param sl_rdma_param_of(const struct sl_rdma_pair *p, struct sl_rdma_hello *hello);
/* Splits "ADDR:PORT", "[ADDR6]:PORT" or an address alone, and looks it up; text NULL is each
 * address. The caller frees it by freeaddrinfo(). NULL: reported. */
struct addrinfo *sl_rdma_look_up(const char *text);
/* Loads the libraries. NULL: reported. */
const struct sl_rdma_lib *sl_rdma_load(void);
/* CLOCK_MONOTONIC. */
int64_t sl_rdma_now_ns(void);

#endif
