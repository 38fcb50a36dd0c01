/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose sockets are all the kernel's, since the kernel uses them without any call. */
#include "sock/call/only.h"

#include "base/clock.h"
#include "base/log.h"
#include "ctl/kern/cgroup.h"
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

#define LOOK_NS 1000000000

/* The kernel runs these programs in calls that an offloaded socket does not make. */
void sl_only_look(void)
{
	static uint64_t next_ns;
	uint64_t now = sl_now_ns();

	if (now < sl_load(&next_ns) || sl_load(&reason))
		return;
	sl_store(&next_ns, now + LOOK_NS);
	if (sl_cgroup_has_programs())
		sl_kernel_only(SL_CGROUP_DECIDES);
}
