/* SPDX-License-Identifier: BSD-2-Clause */
/* All calls of the broker share this: one lock around them, the options, the table of devices in
 * use. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/heap.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sl_device *ports;
static struct sl_broker_opts opts;
static uint32_t pid; /* 0: not asked yet */

static void hold_still(struct sl_broker_guard *g)
{
	sigset_t all;

	g->saved_errno = errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &g->mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
}

static void let_go(const struct sl_broker_guard *g)
{
	pthread_setcancelstate(g->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
	errno = g->saved_errno;
}

void sl_broker_enter(struct sl_broker_guard *g)
{
	hold_still(g);
	pthread_mutex_lock(&lock);
}

bool sl_broker_try_enter(struct sl_broker_guard *g)
{
	hold_still(g);
	if (!pthread_mutex_trylock(&lock))
		return true;
	let_go(g);
	return false;
}

void sl_broker_leave(struct sl_broker_guard *g)
{
	pthread_mutex_unlock(&lock);
	let_go(g);
}

void sl_broker_fork_begin(void)
{
	pthread_mutex_lock(&lock);
}

void sl_broker_fork_end(void)
{
	pthread_mutex_unlock(&lock);
}

/* Another thread of the parent may have held the lock; the child has no such thread. */
void sl_broker_fork_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
}

const struct sl_broker_opts *sl_broker_opts(void)
{
	return &opts;
}

struct sl_broker_opts sl_broker_opts_set(void)
{
	static const enum sl_broker_rx rx[] = {
		[SL_RX_AUTO] = SL_BROKER_RX_AUTO,
		[SL_RX_XDP] = SL_BROKER_RX_XDP,
		[SL_RX_PACKET] = SL_BROKER_RX_PACKET,
		[SL_RX_VERBS] = SL_BROKER_RX_VERBS,
	};

	return (struct sl_broker_opts){
		.xdp = (enum sl_broker_xdp)sl_settings.xdp_mode,
		.rx = rx[sl_settings.rx_backend],
		.zerocopy = (enum sl_broker_zc)sl_settings.zerocopy,
		.rx_ring = (uint32_t)sl_settings.rx_wre,
		.tx_ring = (uint32_t)sl_settings.tx_wre,
		.max_flows = (uint32_t)sl_settings.max_flows,
		.busy_poll = sl_settings.busy_poll,
		.busy_poll_budget = (uint32_t)sl_settings.busy_poll_budget,
		.in_frame = !sl_settings.xdp_metadata,
		.lend_once = sl_settings.lend_once,
		.guard_nft = sl_settings.guard_nft,
		.no_huge = sl_settings.mem_alloc_type == SL_MEM_ANON,
		.want_huge = sl_settings.mem_alloc_type == SL_MEM_HUGE,
	};
}

uint32_t sl_broker_pid(void)
{
	if (!pid)
		pid = (uint32_t)sl_sys(SYS_getpid);
	return pid;
}

void sl_embedded_init(const struct sl_broker_opts *o)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	opts = *o;
	sl_broker_leave(&g);
}

/* Devices ---------------------------------------------------------------------------------------
 */

struct sl_device *sl_device_find(uint32_t ifindex)
{
	struct sl_device *p = ports;

	while (p && p->info.ifindex != ifindex)
		p = p->next;
	return p;
}

struct sl_device *sl_port_first(void)
{
	return ports;
}

void sl_device_free(struct sl_device *p)
{
	if (p->owner_fd >= 0)
		sl_sys_close(p->owner_fd);
	sl_free(p);
}

struct sl_device *sl_device_new(void)
{
	struct sl_device *p = sl_calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->owner_fd = p->reaper_fd = p->attach.link_fd = p->attach.drop_fd = p->attach.guard_fd =
		p->attach.guard_prog = -1;
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++)
		p->queue[i].anchor_fd = -1;
	for (unsigned i = 0; i < SL_GUARD_NF; i++)
		p->attach.guard_nf[i] = -1;
	for (unsigned i = 0; i < SL_MAP_COUNT; i++)
		p->attach.map_fd[i] = -1;
	return p;
}

void sl_device_add(struct sl_device *p)
{
	p->next = ports;
	ports = p;
}

void sl_device_remove(struct sl_device *p)
{
	struct sl_device **at = &ports;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

void sl_devices_forget(void)
{
	ports = NULL;
	pid = 0;
}
