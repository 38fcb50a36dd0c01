/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers: counts those of the program that have run on a thread, and serves the one that
 * finds bad addresses. */
#include "sock/proc/sig.h"

#include <signal.h>

#include "base/guard.h"
#include "base/handler.h"
#include "base/held.h"
#include "base/settings.h"
#include "sluice.h"

__thread uint32_t sl_sig_ran __attribute__((tls_model("initial-exec")));
__thread uint32_t sl_sig_intr __attribute__((tls_model("initial-exec")));

void (*sl_sig_on_int)(void);
uint32_t sl_sig_stops;
void (*sl_sig_on_stop)(void);

void sl_sig_stopped(void)
{
	void (*on_stop)(void) = sl_load_acquire(&sl_sig_on_stop);

	__atomic_add_fetch(&sl_sig_stops, 1, __ATOMIC_RELEASE);
	if (on_stop)
		on_stop();
}

void sl_signal_asker(bool (*in_handler)(void))
{
	sl_store(&sl_handler_ask, in_handler);
}

bool sl_signal_seen(int sig, void *info, void *context, bool restart)
{
	bool wakes = sig == SIGINT && sl_settings.handle_sigintr;
	void (*on_int)(void) = wakes ? sl_load_acquire(&sl_sig_on_int) : NULL;

	sl_sig_ran++;
	if (!restart || wakes)
		sl_sig_intr++;
	if (info && sl_held_defer(sig, info, context))
		return true;
	if (on_int)
		on_int();
	return false;
}

bool sl_fault(void *context)
{
	return sl_guard_return(context);
}

bool sl_is_memory(const void *p, size_t n)
{
	return !sl_guard_touch(p, n);
}

bool sl_put(void *to, const void *from, size_t n)
{
	return !sl_guard_copy(to, from, n);
}
