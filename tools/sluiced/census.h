/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's sockets of a port. */
#ifndef SL_CENSUS_H
#define SL_CENSUS_H

#include "ctl/kern/diag_sock.h"

struct sl_census_ask {
	struct sl_diag_ask ask;
	uint64_t own;      /* SO_COOKIE of a socket that is sought; 0: none */
	uint32_t uid;      /* sockets of that user are left out */
	uint64_t since_ns; /* the answer must be no older */
};

/* At the start, so that the daemon has as many descriptors later as it has then. */
void sl_census_open(void);

/* Calls fn for one socket of each kind (user, state, binding) of that port, but for the one that is
 * sought: *found becomes true if it is there. -EINPROGRESS: not known yet, ask again in a moment;
 * -E2BIG: there are too many kinds; or -errno of the kernel. */
int sl_census(const struct sl_census_ask *q, bool *found, sl_diag_fn *fn, void *arg);

#endif
