/* SPDX-License-Identifier: BSD-2-Clause */
/* Choices of the program, at run time, for sockets that it makes later: rules, threads whose
 * sockets are offloaded or not, and which sockets share a lane. */
#include "sock/call/choice.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/rules/conf.h"
#include "sluice_extra.h"
#include "sock/call/start.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/proc/up.h"

#define THREADS_MAX 256

static struct {
	struct sl_lock lock;
	uint32_t n; /* atomic */
	struct {
		uint32_t tid; /* 0: free; atomic */
		bool offload;
	} of[THREADS_MAX];
} threads;

bool sl_thread_may_offload(void)
{
	uint32_t n = sl_load_acquire(&threads.n), me;

	if (sl_likely(!n))
		return sl_settings.offloaded_sockets;
	me = sl_tid();
	for (uint32_t i = 0; i < n; i++)
		if (sl_load(&threads.of[i].tid) == me)
			return threads.of[i].offload;
	return sl_settings.offloaded_sockets;
}

static bool is_there(uint32_t tid)
{
	return sl_sys(SYS_tgkill, sl_sys(SYS_getpid), tid, 0) == 0;
}

/* The kernel's number of a thread. Its CPU clock has it (clock_getcpuclockid(3), Linux). 0: no such
 * thread. */
static uint32_t tid_of(pthread_t thread)
{
	clockid_t clock;

	if (pthread_equal(thread, pthread_self()))
		return sl_tid();
	return pthread_getcpuclockid(thread, &clock) ? 0 : (uint32_t) ~(clock >> 3);
}

/* The thread's entry, else one that is free, or of a thread that has ended; THREADS_MAX: none. */
static uint32_t entry_of(uint32_t tid)
{
	uint32_t place = THREADS_MAX;

	for (uint32_t i = 0; i < threads.n; i++) {
		if (threads.of[i].tid == tid)
			return i;
		if (place == THREADS_MAX && !is_there(threads.of[i].tid))
			place = i;
	}
	return place == THREADS_MAX ? threads.n : place;
}

SL_API
int sl_thread_offload(bool offload, pthread_t thread)
{
	uint32_t tid = tid_of(thread), i;

	if (!tid || !is_there(tid))
		return -ESRCH;
	if (!sl_lock(&threads.lock))
		return -EBUSY;
	i = entry_of(tid);
	if (i < THREADS_MAX) {
		threads.of[i].offload = offload;
		sl_store(&threads.of[i].tid, tid);
		if (i == threads.n)
			sl_store_release(&threads.n, i + 1);
	}
	sl_unlock(&threads.lock);
	return i < THREADS_MAX ? 0 : -ENOSPC;
}

SL_API
int sl_conf_add(const char *line)
{
	struct sl_conf_error e;
	int err = line ? sl_start() : -EINVAL;

	if (err < 0)
		return err;
	err = sl_rules_add(line, &e);
	if (err == -EINVAL)
		sl_warn("conf", "a rule that the program adds: column %u: expected %s, found '%s'",
			e.col, e.expected, e.found);
	return err;
}

static bool is_logic(int logic)
{
	switch (logic) {
	case SL_RING_INTERFACE:
	case SL_RING_IP:
	case SL_RING_SOCKET:
	case SL_RING_USER_ID:
	case SL_RING_THREAD:
	case SL_RING_CORE:
	case SL_RING_CORE_ATTACH:
		return true;
	}
	return false;
}

SL_API
int sl_lane_choose(int fd, int logic, uint32_t id)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err = -EISCONN;

	if (!sk || !is_logic(logic))
		return -EINVAL;
	if (!sl_lock(&sk->slow))
		return -EBUSY;
	if (sl_load(&sk->state) == SL_STATE_NEW && sl_load(&sk->lane) == &sl_limbo) {
		if (sl_sock_is_udp(sk))
			sl_udp_sk(sk)->moves = sl_udp_sk(sk)->tx_moves = false;
		err = sl_sock_enter_lane(
			      sk, sl_lane_pick_by(logic, sk->bound_if,
						  logic == SL_RING_USER_ID ? id : (uint32_t)sk->fd))
			      ? 0
			      : -ENOMEM;
	}
	sl_unlock(&sk->slow);
	return err;
}
