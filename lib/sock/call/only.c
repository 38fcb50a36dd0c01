/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose sockets are all the kernel's, since the kernel uses them without any call. */
#include "sock/call/only.h"

#include "base/log.h"
#include "sluice.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/proc/fdtab.h"
#include "sock/proc/up.h"

static const char *reason; /* NULL: not such a process; atomic */

static void to_kernel(struct sl_sock *sk, void *arg)
{
	sl_sock_kernel(sk, SL_REASON_PASSED);
}

/* Once there is a log. */
static void say(const char *why)
{
	static bool said;

	if (sl_is_up() && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		sl_warn("sock", "all sockets stay with the kernel: %s", why);
}

bool sl_is_kernel_only(void)
{
	const char *why = sl_load_acquire(&reason);

	if (sl_likely(!why))
		return false;
	say(why);
	return true;
}

SL_API
void sl_kernel_only(const char *why)
{
	sl_fdtab_notice();
	sl_store_release(&reason, why);
	if (!sl_is_up())
		return;
	say(why);
	sl_sock_for_each(to_kernel, NULL);
}
