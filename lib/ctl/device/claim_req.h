/* SPDX-License-Identifier: BSD-2-Clause */
/* A request for a claim, as the broker and the lease of a process take it. */
#ifndef SL_CTL_CLAIM_REQ_H
#define SL_CTL_CLAIM_REQ_H

#include "base/base.h"
#include "steer.h"

/* A claim of packets on a port. shadow_fd is the kernel socket that proves the claim (the embedded
 * broker trusts its own process). remote_port 0: an endpoint, else an exact flow. An endpoint that
 * is claimed already by another slot becomes a group when spread is set; else -EADDRINUSE. With
 * SL_CLAIM_PASS the kernel gets the flow even if its endpoint is claimed: the lane is ignored, the
 * slot names the claim's owner; -EINVAL for an endpoint. A claim with a narrowing has the packets
 * that fit it, also beside a claim of another socket that is not narrowed so; -EINVAL for a
 * narrowing that makes no sense, or for a TCP flow. */
struct sl_claim_req {
	uint32_t ifindex;
	int shadow_fd;
	struct sl_flow_key key;
	struct sl_claim claim;
	struct sl_narrow narrow;
	bool spread;  /* SO_REUSEPORT: share the endpoint by hash */
	bool replace; /* SO_REUSEADDR: take it from the other socket of this process that has it */
};

#endif
