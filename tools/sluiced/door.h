/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits connections by number, by user, and by time without a lease; see door.c. */
#ifndef SL_DOOR_H
#define SL_DOOR_H

#include "session.h"

/* Whether a connection just accepted may stay: 0 or -EUSERS, -EMFILE. */
int sl_door_admit(const struct sl_session *s);
/* Whether its user may have one more lease: 0 or -EUSERS. */
int sl_door_lease(const struct sl_session *s, const struct sl_limits *l, const char **why);
/* accept() has failed: without free descriptors the daemon accepts nothing for a while. */
void sl_door_failed(int err);
/* Hangs up on connections that do not ask for a lease in time, and accepts again after a pause.
 * Returns after how many ns to call it again; UINT64_MAX: no need. */
uint64_t sl_door_look(uint64_t now);

#endif
