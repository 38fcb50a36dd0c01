/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that ends with its last thread, and not by exit(2).
 *
 * Theory of operation: the first thread of a process may end alone, by pthread_exit(3) or by the
 * bare exit(2); the process goes on until no thread is left, and then ends. The keeper would be a
 * thread that never ends, so it looks from then on whether it is the only one, and does what the
 * kernel and the C library would have done: the C library's last thread calls exit(3); after the
 * bare call no handler runs, and the status is that of the last thread, or, by older kernels, of
 * the first. */
#include "sock/call/last.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/sys.h"
#include "net/rtnl.h"
#include "sluice.h"
#include "sock/proc/up.h"

#define SOON_NS                                                                                    \
	10000000ull          /* from the first thread's end to the first look; then twice as long  \
			      */
#define MOST_NS 200000000ull /* each time, up to this */

enum { NOT_LEFT, BY_LIBRARY, BY_KERNEL };

static int left;             /* how the first thread has ended, or may end without a call; atomic */
static bool confined, blind; /* blind: a filter may kill the keeper for a look; atomic */
static uint32_t leader;
static void (*end_by)(int code); /* exit(3) */
static uint64_t next_ns, step_ns;
static int status; /* of the first thread; atomic */

static void begin(int how, uint32_t tid)
{
	if (sl_load(&blind) || sl_load(&left))
		return;
	leader = tid;
	sl_store(&step_ns, SOON_NS);
	sl_store(&next_ns, sl_now_ns() + SOON_NS);
	sl_store_release(&left, how);
	sl_rtnl_wake();
}

/* (No system call where the thread is confined.) */
SL_API
void sl_thread_ends(void (*end)(int code), int code)
{
	int how = end ? BY_LIBRARY : BY_KERNEL;
	uint32_t tid = sl_tid();

	if (!sl_is_up() || tid != (sl_load(&confined) ? leader : (uint32_t)sl_sys(SYS_getpid)))
		return;
	sl_store(&status, code);
	end_by = end;
	if (sl_load(&left))
		sl_store(&left, how);
	else
		begin(how, tid);
}

/* SECCOMP_MODE_STRICT allows the bare exit(2), and no call that would wake the keeper then. */
void sl_last_confine(bool by_filter)
{
	uint32_t tid = sl_tid();

	if (by_filter)
		sl_store(&blind, true);
	else if (sl_is_up() && tid == (uint32_t)sl_sys(SYS_getpid))
		begin(BY_KERNEL, tid);
	sl_store(&confined, true);
}

/* True: there are the first thread, which has ended, and this one. */
static bool is_alone(void)
{
	char text[4096];

	if (sl_read_text("/proc/self/status", text, sizeof(text)) < 0 ||
	    !strstr(text, "\nState:\tZ"))
		return false;
	if (strstr(text, "\nThreads:\t2\n"))
		return true;
	sl_store(&status, 0); /* with which a thread of pthread_create(3) ends */
	return false;
}

static void *end_process(void *arg)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	end_by(0);
	return NULL;
}

void sl_last_look(uint64_t now_ns)
{
	int how = sl_load_acquire(&left);
	pthread_t thread;

	if (sl_likely(!how) || now_ns < next_ns || sl_load(&blind))
		return;
	step_ns = sl_min(step_ns * 2, MOST_NS);
	next_ns = now_ns + step_ns;
	if (!is_alone())
		return;
	sl_store(&left, NOT_LEFT);
	/* (The program's handlers may need more stack than the keeper has.) */
	if (how == BY_LIBRARY && !pthread_create(&thread, NULL, end_process, NULL))
		return;
	sl_up_shut_down();
	sl_sys(SYS_exit, sl_load(&status));
}

uint64_t sl_last_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_load(&left) && !sl_load(&blind) ? next_ns : 0;
}

void sl_last_child(void)
{
	left = NOT_LEFT;
}
