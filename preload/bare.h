/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that use sockets by the bare instruction. */
#ifndef SL_PRELOAD_BARE_H
#define SL_PRELOAD_BARE_H

#include "real.h"

/* True: there may be code that was not looked through: dlopen(3) was called, or nothing was yet. */
extern bool sl_bare_more SL_OWN;
void sl_bare_look_now(void) SL_OWN;

/* Before a socket comes to the library, which is loaded: looks through new code; sl_leave_all()
 * where that makes such a call. errno stays. */
static inline void sl_bare_look(void)
{
	if (sl_unlikely(sl_load(&sl_bare_more)) && !sl_in_signal())
		sl_bare_look_now();
}

#endif
