/* SPDX-License-Identifier: BSD-2-Clause */
/* SLUICE_RING=core_attach: each thread that names sockets gets a core of its own, as long as there
 * are any, and so a lane that no other core turns. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/proc/keeper.h"

static struct sl_lock lock;
static uint16_t on_core[CPU_SETSIZE]; /* threads that were attached to it and live; lock */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool asked; /* a thread is attached once: what it does later to itself holds */

static void leave(void *arg)
{
	sl_lock(&lock);
	on_core[(uintptr_t)arg - 1]--;
	sl_unlock(&lock);
}

static void make_key(void)
{
	pthread_key_create(&key, leave);
}

/* The core of the set with the fewest threads, counting this one there; -1: none. */
static int take_core(const cpu_set_t *set)
{
	int best = -1;

	sl_lock(&lock);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, set) && (best < 0 || on_core[i] < on_core[best]))
			best = i;
	if (best >= 0)
		on_core[best]++;
	sl_unlock(&lock);
	return best;
}

/* (A thread that the program has bound to one core stays there, and is counted.) */
static void attach(void)
{
	cpu_set_t set, one;
	int core, err;

	CPU_ZERO(&set);
	if (sl_sys(SYS_sched_getaffinity, 0, sizeof(set), &set) <= 0)
		return;
	core = take_core(&set);
	if (core < 0)
		return;
	pthread_once(&once, make_key);
	pthread_setspecific(key, (void *)(uintptr_t)(core + 1));
	if (CPU_COUNT(&set) == 1)
		return;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	err = (int)sl_min(sl_sys(SYS_sched_setaffinity, 0, sizeof(one), &one), 0l);
	if (err)
		sl_warn("lane", "thread %u cannot run on core %d alone: %s", sl_tid(), core,
			strerrorname_np(-err));
	else
		sl_details("lane", "thread %u runs on core %d", sl_tid(), core);
}

void sl_sock_place_thread(void)
{
	if (asked || sl_settings.ring_allocation_logic_rx != SL_RING_CORE_ATTACH ||
	    sl_keeper_is_here())
		return;
	asked = true;
	attach();
}

void sl_sock_place_child(void)
{
	lock = (struct sl_lock){0}; /* a thread of the parent may have held it */
}
