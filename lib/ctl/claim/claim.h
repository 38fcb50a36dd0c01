/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims: which packets come to which process. */
#ifndef SL_CTL_CLAIM_H
#define SL_CTL_CLAIM_H

#include "base/base.h"
#include "steer.h"

/* Claims packets on a port. shadow_fd is the kernel socket that proves the claim (the embedded
 * broker trusts its own process). remote_port 0: an endpoint, else an exact flow. An endpoint that
 * is claimed already by another slot becomes a group when spread is set; else -EADDRINUSE. With
 * SL_CLAIM_PASS the kernel gets the flow even if its endpoint is claimed: the lane is ignored, the
 * slot names the claim's owner; -EINVAL for an endpoint. */
struct sl_claim_req {
	uint32_t ifindex;
	int shadow_fd;
	struct sl_flow_key key;
	struct sl_claim claim;
	bool spread;  /* SO_REUSEPORT: share the endpoint by hash */
	bool replace; /* SO_REUSEADDR: take it from the other socket of this process that has it */
};

/* sl_broker_claim(), sl_broker_claim_update(), sl_broker_unclaim() by the broker in this process.
 */
int sl_embedded_claim(const struct sl_claim_req *req, const char **why);
int sl_embedded_claim_update(const struct sl_claim_req *req);
/* The claim shares its TCP endpoint (the claim's pid names the member). away: new connections go to
 * the other members, or to the kernel when all are away. -ENOENT: it is not shared. */
int sl_embedded_claim_away(const struct sl_claim_req *req, bool away);
void sl_embedded_unclaim(const struct sl_claim_req *req);

#endif
