/* SPDX-License-Identifier: BSD-2-Clause */
/* How many connections there are, whose, and for how long without a lease; see door.c. */
#ifndef SL_DOOR_H
#define SL_DOOR_H

#include "sluiced.h"

/* May that connection be, which was just accepted? 0 or -EUSERS, -EMFILE. */
int sl_door_admit(const struct sl_session *s);
/* May its user have one more lease? 0 or -EUSERS. */
int sl_door_lease(const struct sl_session *s, const struct sl_limits *l, const char **why);
/* accept() has failed: nobody is accepted for a while, if there are no descriptors. */
void sl_door_failed(int err);
/* Hangs up on those that do not ask for a lease in time; opens the door again. In how many ns to
 * look again; UINT64_MAX: no need. */
uint64_t sl_door_look(uint64_t now);

#endif
