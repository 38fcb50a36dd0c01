/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of a device, found in its maps by a new daemon. */
#ifndef SL_RECALL_H
#define SL_RECALL_H

#include "ctl/device/claim_req.h"

/* Finds the owner of a device's claim. False: the claim has no owner any more and
 * is removed. */
typedef bool sl_recall_fn(void *arg, const struct sl_claim_req *req);
/* Counts the claims in the maps of a device, and mends those that were half made. */
int sl_claims_recall(uint32_t ifindex, sl_recall_fn *keep, void *arg);

#endif
