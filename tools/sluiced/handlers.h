/* SPDX-License-Identifier: BSD-2-Clause */
/* Handlers of requests. */
#ifndef SL_HANDLERS_H
#define SL_HANDLERS_H

#include "session.h"

/* Serves a request: reads it from m, leaves the answer in m; 0, or -errno and *why. */
typedef int sl_request_fn(struct sl_session *s, struct sl_lease_msg *m, const char **why);

/* sl_on_hello() and so on, each in the file for its subject. */
#define SL_LEASE(op, name, ...) sl_request_fn sl_on_##name;
#include "ctl/lease/lease.def"
#undef SL_LEASE

#endif
