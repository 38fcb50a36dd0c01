/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that could not be opened: when to ask for them again. Under the lock of the ports. */
#ifndef SL_REFUSED_H
#define SL_REFUSED_H

#include "base/base.h"

/* Is it too early to ask for the device (or is there nothing to hope for)? now_ns: CLOCK_MONOTONIC.
 */
bool sl_refused(uint32_t ifindex, uint64_t now_ns);
/* Was it refused, at any time? */
bool sl_refused_before(uint32_t ifindex);
/* It was refused with `err` (-errno). True: for the first time, so that the user is to be told. */
bool sl_refused_add(uint32_t ifindex, int err, uint64_t now_ns);
/* It was opened, or is another one now. */
void sl_refused_forget(uint32_t ifindex);
/* All of them (a child of fork). */
void sl_refused_reset(void);

#endif
