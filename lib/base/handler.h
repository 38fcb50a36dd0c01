/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells whether this thread is in a signal handler. There the library calls no code of other
 * libraries that uses malloc(3): the handler may have interrupted malloc(3) on its own thread. */
#ifndef SL_HANDLER_H
#define SL_HANDLER_H

#include "base/base.h"
#include "base/heap.h"
#include "base/roomy.h"

/* The preload library's answer, which wraps the program's handlers; NULL: no library wraps them,
 * and calls of sluice.h come from handlers at the program's own risk. */
extern bool (*sl_handler_ask)(void);

static inline bool sl_in_signal(void)
{
	bool then; /* the asker compares places on the program's stacks */

	return sl_handler_ask && (sl_roomy_on(&then) ? then : sl_handler_ask());
}

#endif
