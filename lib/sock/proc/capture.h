/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures that `sluice capture` asks for (capture.c). All but the last: the keeper alone. */
#ifndef SL_CAPTURE_H
#define SL_CAPTURE_H

#include "base/base.h"

/* Takes requests out of the block of counters, and ends captures whose tool is gone. */
void sl_capture_serve(void);
/* When to look again (struct sl_job); 0: no capture is open. */
uint64_t sl_capture_due_ns(uint64_t now_ns, bool quiet);
/* In a child of fork: closes what is the parent's. Async-signal-safe. */
void sl_capture_child(void);

#endif
