/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers: counts those of the program that have run on a thread, and serves the one that
 * finds bad addresses. */
#include "sock/proc/sig.h"

#include "base/guard.h"
#include "base/handler.h"
#include "base/held.h"
#include "sluice.h"

__thread uint32_t sl_sig_ran __attribute__((tls_model("initial-exec")));
__thread uint32_t sl_sig_intr __attribute__((tls_model("initial-exec")));

void sl_signal_asker(bool (*in_handler)(void))
{
	sl_store(&sl_handler_ask, in_handler);
}

bool sl_signal_seen(int sig, void *info, void *context, bool restart)
{
	sl_sig_ran++;
	if (!restart)
		sl_sig_intr++;
	return info && sl_held_defer(sig, info, context);
}

bool sl_fault(void *context)
{
	return sl_guard_return(context);
}

bool sl_is_memory(const void *p, size_t n)
{
	return !sl_guard_touch(p, n);
}
