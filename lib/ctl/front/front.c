/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls: to the daemon when this process has a lease of it, else to the embedded one.
 * broker.def lists the calls that do nothing else. */
#include "ctl/front/broker.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/broker/inject.h"
#include "ctl/broker/owner.h"
#include "ctl/broker/reaper.h"
#include "ctl/claim/claim.h"
#include "ctl/claim/lane.h"
#include "ctl/claim/stray.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/lease/client.h"
#include "ctl/lease/proto.h"
#include "ctl/steer/holders.h"
#include "ctl/steer/maps.h"
#include "ctl/umem/umem.h"

#define QUEUE_TRIES 7 /* in 0.6 seconds */

/* Runs a call of the daemon's under the broker's lock. */
#define LEASED(call)                                                                               \
	({                                                                                         \
		struct sl_broker_guard g_;                                                         \
		sl_broker_enter(&g_);                                                              \
		__typeof__(call) ret_ = (call);                                                    \
		sl_broker_leave(&g_);                                                              \
		ret_;                                                                              \
	})
#define LEASED_VOID(call) LEASED(((call), 0))

/* The two ways ----------------------------------------------------------------------------------
 *
 * While another thread waits for the daemon the keeper does not: its calls only try the lock. */

/* True: this thread is in another network namespace than the library, where the numbers of devices
 * mean others. Its sockets of the library's namespace stay with the kernel. */
static bool is_abroad(const char **why)
{
	if (sl_likely(!sl_netns_is_foreign()))
		return false;
	if (why)
		*why = "the thread is in another network namespace";
	return true;
}

/* From abroad nothing is closed; the reaper does it when the process has ended. */
static void leave_port(uint32_t ifindex)
{
	if (!is_abroad(NULL))
		sl_embedded_port_close(ifindex, 0);
}

static enum sl_port_end try_port_end(uint32_t ifindex, uint32_t flags)
{
	struct sl_broker_guard g;
	enum sl_port_end end;

	if (!sl_broker_try_enter(&g))
		return SL_PORT_END_STEERED;
	end = sl_lease_port_end(ifindex, flags);
	sl_broker_leave(&g);
	return end;
}

static unsigned try_port_strays(uint32_t ifindex, unsigned skip, struct sl_stray_told *out,
				unsigned max)
{
	struct sl_broker_guard g;
	unsigned n;

	if (!sl_broker_try_enter(&g))
		return 0;
	n = sl_lease_port_strays(ifindex, skip, out, max);
	sl_broker_leave(&g);
	return n;
}

static int try_neigh_use(uint32_t ifindex, const uint8_t addr[16])
{
	struct sl_broker_guard g;
	int err;

	if (!sl_broker_try_enter(&g))
		return -EAGAIN;
	err = sl_lease_neigh_use(ifindex, addr);
	sl_broker_leave(&g);
	return err;
}

#define SL_BROKER_TRY(type, name, params, here, leased)                                            \
	SL_BROKER(type, name, params, (), here, leased)

struct sl_broker_ops {
#define SL_BROKER(type, name, params, args, here, leased) type(*name) params;
#include "ctl/front/broker.def"
#undef SL_BROKER
};

/* Each call has a function for each way. */
#define SL_BROKER(type, name, params, args, here, leased)                                          \
	static type embedded_##name params                                                         \
	{                                                                                          \
		return (type)(here);                                                               \
	}                                                                                          \
	static type daemon_##name params                                                           \
	{                                                                                          \
		return (type)(leased);                                                             \
	}
#include "ctl/front/broker.def"
#undef SL_BROKER

static const struct sl_broker_ops embedded = {
#define SL_BROKER(type, name, params, args, here, leased) .name = embedded_##name,
#include "ctl/front/broker.def"
#undef SL_BROKER
};

static const struct sl_broker_ops by_daemon = {
#define SL_BROKER(type, name, params, args, here, leased) .name = daemon_##name,
#include "ctl/front/broker.def"
#undef SL_BROKER
};

static const struct sl_broker_ops *ops(void)
{
	return sl_lease_on() ? &by_daemon : &embedded;
}

/* Messages to the daemon are large, and so is what libbpf keeps on its stack. */
#define UNPACKED(...)  __VA_ARGS__
#define ROOMY(fn, ...) SL_ROOMY(fn, __VA_ARGS__)

#undef SL_BROKER_TRY
#define SL_BROKER_TRY(type, name, params, here, leased)
#define SL_BROKER(type, name, params, args, here, leased)                                          \
	type sl_broker_##name params                                                               \
	{                                                                                          \
		return (type)ROOMY(ops()->name, UNPACKED args);                                    \
	}
#include "ctl/front/broker.def"
#undef SL_BROKER

/* Calls that do more ------------------------------------------------------------------------------
 */

/* Logs a missing daemon only if it was asked for; one that refuses is always logged. */
static void look_for_daemon(const struct sl_broker_opts *o)
{
	const char *why = NULL;
	int err = LEASED(sl_lease_open(o->daemon, o->group ? o->group : "", &why));

	if (!err)
		return;
	if (err == -ENOENT || err == -ECONNREFUSED)
		sl_log(o->daemon_wanted ? SL_LOG_WARN : SL_LOG_DEBUG, "lease",
		       "no daemon answers at %s (%s)", o->daemon, sl_strerror(err));
	else
		sl_warn("lease", "%s", why ? why : sl_strerror(err));
}

void sl_broker_init(const struct sl_broker_opts *o)
{
	sl_embedded_init(o);
	if (o->daemon && !sl_lease_on())
		look_for_daemon(o);
	if (o->rx == SL_BROKER_RX_VERBS && sl_lease_on())
		sl_info("port",
			"not by verbs (sluiced lends no queues of NICs): devices are as its own "
			"environment says");
}

/* The kernel gives a device's queue back some time after its last socket was closed (a work item:
 * 20 ms, on a busy machine 160); that socket may have been a process's that has just died. Waits
 * here, where no other thread waits for the broker or the daemon meanwhile. False: it has waited
 * long enough. */
static bool await_queue(unsigned *tries)
{
	const unsigned ms = sl_min(10u << *tries, 160u);
	const struct timespec pause = {.tv_nsec = ms * 1000000l};

	if (++*tries > QUEUE_TRIES)
		return false;
	sl_sys(SYS_nanosleep, &pause, NULL);
	return true;
}

#define AWAITED(call)                                                                              \
	({                                                                                         \
		unsigned tries_ = 0;                                                               \
		int err_;                                                                          \
		do                                                                                 \
			err_ = (call);                                                             \
		while (err_ == -EAGAIN && await_queue(&tries_));                                   \
		err_ == -EAGAIN ? -EBUSY : err_;                                                   \
	})

int sl_broker_port_open(uint32_t ifindex, bool wait, struct sl_port_info *out, const char **why)
{
	int err;

	if (wait)
		return AWAITED(SL_ROOMY(ops()->port_open, ifindex, out, why));
	err = SL_ROOMY(ops()->port_open, ifindex, out, why);
	return err == -EAGAIN ? -EBUSY : err;
}

int sl_broker_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			uint32_t *first, const char **why)
{
	if (is_abroad(why))
		return -EXDEV;
	return AWAITED(SL_ROOMY(ops()->lane_open, ifindex, lane, leases, first, why));
}

static int restore(const struct sl_lease_restore *r, int shadow, int memfd)
{
	struct sl_lease_msg m = {.nfds = 2, .fd = {shadow, memfd < 0 ? shadow : memfd}};

	m.body.restore = *r;
	return LEASED(sl_lease_request(&m, SL_LEASE_RESTORE, NULL));
}

int sl_broker_restore(const struct sl_lease_restore *r, int shadow, int memfd)
{
	return SL_ROOMY(restore, r, shadow, memfd);
}

static int restored(bool go)
{
	struct sl_lease_msg m = {.body.restored.go = go};
	int err = LEASED(sl_lease_request(&m, SL_LEASE_RESTORED, NULL));

	return err ? err : m.fd[0];
}

int sl_broker_restored(bool go)
{
	return SL_ROOMY(restored, go);
}

static int take(int *fd, struct sl_lease_take_ok *ok)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {*fd}};
	int err = LEASED(sl_lease_give(&m, SL_LEASE_TAKE, NULL));

	*fd = m.nfds ? m.fd[0] : -1;
	if (err)
		return err;
	*ok = m.body.take_ok;
	return ok->err;
}

int sl_broker_take(int *fd, struct sl_lease_take_ok *ok)
{
	return SL_ROOMY(take, fd, ok);
}

int sl_broker_buffer(int fd, int opt, uint32_t bytes)
{
	int v = (int)sl_min(bytes, SL_BUFFER_MAX);
	int err = sl_sys_setsockopt(fd, SOL_SOCKET, opt, &v, sizeof(v));

	if (err == -EPERM && sl_lease_on())
		return LEASED(SL_ROOMY(sl_lease_buffer, fd, opt, (uint32_t)v));
	return err;
}

int sl_broker_drop_packets(int fd, bool on)
{
	int err = sl_embedded_drop_packets(fd, on);

	if (err == -EPERM && sl_lease_on())
		return LEASED(SL_ROOMY(sl_lease_drop_packets, fd, on));
	return err;
}

void sl_broker_ready(void)
{
	if (!sl_lease_on())
		(void)sl_libbpf_load(NULL);
}

bool sl_broker_is_leased(void)
{
	return sl_lease_on();
}

bool sl_broker_was_leased(void)
{
	return sl_lease_was_on();
}

static int heir(int shadow)
{
	return sl_lease_heir(sl_broker_opts()->daemon, shadow);
}

int sl_broker_heir(int shadow)
{
	return SL_ROOMY(heir, shadow);
}

void sl_broker_child(void)
{
	sl_lease_child();
	sl_embedded_child();
}

static void part(void)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_part());
	sl_embedded_part();
}

void sl_broker_part(void)
{
	SL_ROOMY(part);
}

static void fini(void)
{
	LEASED_VOID(sl_lease_fini());
	sl_embedded_fini();
}

void sl_broker_fini(void)
{
	SL_ROOMY(fini);
}
