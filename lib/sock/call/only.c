/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose sockets are all the kernel's: the kernel uses them without any call, or decides
 * about them, or kills the process for calls that it does not make itself. */
#include "sock/call/only.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "ctl/kern/cgroup.h"
#include "ctl/kern/filter.h"
#include "sluice.h"
#include "sock/call/devices.h"
#include "sock/call/last.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/poll/epoll.h"
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
static void look_at_group(void)
{
	if (sl_cgroup_has_programs())
		sl_kernel_only(SL_CGROUP_DECIDES);
}

void sl_only_look(void)
{
	static uint64_t next_ns;
	uint64_t now = sl_now_ns();

	if (now < sl_load(&next_ns) || sl_load(&reason))
		return;
	sl_store(&next_ns, now + LOOK_NS); /* (two threads may look at once) */
	SL_ROOMY(look_at_group);
}

/* Takes what is the kernel's out of the table of numbers: the C library makes all calls for it. */
static void leave_numbers(void)
{
	uint32_t end = sl_load(&sl_fdtab_end);

	for (uint32_t fd = 0; fd < end; fd++) {
		uintptr_t w = sl_fdtab_word((int)fd);
		struct sl_sock *sk = sl_fd_sock((int)fd);

		if ((w & 3) == SL_FD_EPOLL) {
			sl_epoll_hand_back((int)fd);
			sl_fdtab_clear((int)fd);
		} else if (sk && sl_load(&sk->state) == SL_STATE_KERNEL) {
			sl_fdtab_clear((int)fd);
			__atomic_sub_fetch(&sk->nfds, 1, __ATOMIC_RELAXED);
		}
	}
}

static bool confined; /* a call of the library would kill the process; atomic */

bool sl_is_confined(void)
{
	return sl_load(&confined);
}

SL_API
void sl_confine(const struct sock_fprog *filter)
{
	sl_fdtab_notice();
	sl_devices_settle(false);
	if (sl_load(&sl_up_state) >= 0 && filter && sl_filter_deadly_call(filter) < 0)
		return;
	if (sl_is_up()) {
		sl_kernel_only(
			"a seccomp filter of the program's forbids system calls of the library");
		leave_numbers();
	}
	sl_last_confine(filter);
	sl_store(&confined, true);
	sl_inherit_confine();
	sl_mail_confine();
}
