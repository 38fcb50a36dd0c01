/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens once: nothing at load time; at the first descriptor of ours the fork handlers are
 * registered. A program that never opens a socket does not get here. */
#include "real.h"

#include <pthread.h>

static bool first_done;

void sl_preload_first(void)
{
	if (sl_likely(sl_load(&first_done)))
		return;
	if (!__atomic_exchange_n(&first_done, true, __ATOMIC_ACQ_REL))
		pthread_atfork(NULL, NULL, sl_fork_child);
}
