/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the program's signal handlers that have run on a thread. */
#include "sock/proc/sig.h"

#include "base/handler.h"
#include "sluice.h"

__thread uint32_t sl_sig_ran __attribute__((tls_model("initial-exec")));
__thread uint32_t sl_sig_intr __attribute__((tls_model("initial-exec")));

void sl_signal_asker(bool (*in_handler)(void))
{
	sl_store(&sl_handler_ask, in_handler);
}

void sl_signal_seen(bool restart)
{
	sl_sig_ran++;
	if (!restart)
		sl_sig_intr++;
}
