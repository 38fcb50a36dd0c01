/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims: which packets come to which process. */
#ifndef SL_CTL_CLAIM_H
#define SL_CTL_CLAIM_H

#include "ctl/device/claim_req.h"

/* sl_broker_claim(), sl_broker_claim_update(), sl_broker_unclaim() by the broker in this process.
 */
int sl_embedded_claim(const struct sl_claim_req *req, const char **why);
int sl_embedded_claim_update(const struct sl_claim_req *req);
/* The claim shares its TCP endpoint (the claim's pid names the member). away: new connections go to
 * the other members, or to the kernel when all are away. -ENOENT: it is not shared. */
int sl_embedded_claim_away(const struct sl_claim_req *req, bool away);
/* False: nothing has come by the claim of that TCP flow that acknowledges anything, so its peer may
 * know of no connection. True also where no steering program looks at packets. */
bool sl_embedded_claim_is_heard(const struct sl_claim_req *req);
void sl_embedded_unclaim(const struct sl_claim_req *req);
void sl_embedded_unclaim_all(const struct sl_claim_req *reqs, unsigned n);

#endif
