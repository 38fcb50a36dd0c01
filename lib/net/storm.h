/* SPDX-License-Identifier: BSD-2-Clause */
/* How often the kernel's events are read (storm.c). For rtnl.c, on the keeper. */
#ifndef SL_STORM_H
#define SL_STORM_H

#include "base/base.h"

/* Call when n events were read. True: a storm begins, and those that follow must wait. */
bool sl_storm_begins(uint32_t n, uint64_t now_ns);
/* True: events wait. */
bool sl_storm_is_on(void);
/* True, once: they have waited long enough. */
bool sl_storm_ends(uint64_t now_ns);
void sl_storm_forget(void);

#endif
