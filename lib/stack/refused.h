/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that could not be opened, and when to try them again. Call with the lock of the ports
 * held. */
#ifndef SL_REFUSED_H
#define SL_REFUSED_H

#include "base/base.h"

/* True: it is too early to try the device again, or there is no hope. now_ns: CLOCK_MONOTONIC. */
bool sl_refused(uint32_t ifindex, uint64_t now_ns);
/* True: there is no hope. */
bool sl_refused_for_good(uint32_t ifindex);
/* True: it was refused at any time. */
bool sl_refused_before(uint32_t ifindex);
/* Notes that opening failed with `err` (-errno). True: for the first time, so tell the user. */
bool sl_refused_add(uint32_t ifindex, int err, uint64_t now_ns);
/* True: some device was refused for lack of permission. Any thread, without the lock. */
bool sl_refused_permission(void);
/* Call when the device was opened or has changed. */
void sl_refused_forget(uint32_t ifindex);
/* in a child of fork: forgets all */
void sl_refused_reset(void);

#endif
