/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls: to the daemon when this process has a lease of it, else to the embedded one.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/broker/inject.h"
#include "ctl/broker/reaper.h"
#include "ctl/claim/claim.h"
#include "ctl/claim/lane.h"
#include "ctl/claim/stray.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/port.h"
#include "ctl/front/broker.h"
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

/* No daemon is no news, unless it was asked for; one that refuses is. */
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
}

int sl_broker_umem(uint32_t nframes, uint32_t frame_size, struct sl_umem_info *out,
		   const char **why)
{
	if (sl_lease_on())
		return LEASED(sl_lease_umem(out, why));
	return sl_embedded_umem(nframes, frame_size, out, why);
}

/* The kernel gives a device's queue back some time after its last socket was closed (a work item:
 * 20 ms, on a busy machine 160), which may have been that of a process that has just died. It is
 * waited for here, where nobody else waits for the broker or the daemon meanwhile. False: long
 * enough. */
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

static int try_port_open(uint32_t ifindex, struct sl_port_info *out, const char **why)
{
	if (sl_lease_on())
		return LEASED(sl_lease_port_open(ifindex, out, why));
	return sl_embedded_port_open(ifindex, 0, 1, out, why);
}

int sl_broker_port_open(uint32_t ifindex, bool wait, struct sl_port_info *out, const char **why)
{
	int err;

	if (wait)
		return AWAITED(try_port_open(ifindex, out, why));
	err = try_port_open(ifindex, out, why);
	return err == -EAGAIN ? -EBUSY : err;
}

void sl_broker_port_close(uint32_t ifindex, const struct sl_rule *rules)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_port_close(ifindex, rules));
	else
		sl_embedded_port_close(ifindex, 0);
}

/* While another thread waits for the daemon the keeper does not. */
enum sl_port_end sl_broker_port_end(uint32_t ifindex)
{
	struct sl_broker_guard g;
	enum sl_port_end end;

	if (sl_lease_on()) {
		if (!sl_broker_try_enter(&g))
			return SL_PORT_END_STEERED;
		end = sl_lease_port_end(ifindex);
		sl_broker_leave(&g);
		return end;
	}
	return sl_embedded_port_end(ifindex);
}

bool sl_broker_port_has_tags(uint32_t ifindex)
{
	if (sl_lease_on())
		return LEASED(sl_lease_port_has_tags(ifindex));
	return sl_embedded_port_has_tags(ifindex);
}

void sl_broker_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_vlan_leave(ifindex, nr, leave));
	else
		sl_embedded_vlan_leave(ifindex, nr, leave);
}

void sl_broker_port_unguard(uint32_t ifindex)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_port_unguard(ifindex));
	else
		sl_embedded_port_unguard(ifindex);
}

unsigned sl_broker_port_strays(uint32_t ifindex, unsigned skip, struct sl_flow_key *out,
			       unsigned max)
{
	struct sl_broker_guard g;
	unsigned n;

	if (!sl_lease_on())
		return sl_embedded_port_strays(ifindex, sl_broker_pid(), skip, out, max);
	if (!sl_broker_try_enter(&g))
		return 0;
	n = sl_lease_port_strays(ifindex, skip, out, max);
	sl_broker_leave(&g);
	return n;
}

void sl_broker_link_seen(uint32_t ifindex, const char *name)
{
	if (!sl_lease_on())
		sl_embedded_link_seen(ifindex, name);
}

static int try_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			 uint32_t *first, const char **why)
{
	if (sl_lease_on())
		return LEASED(sl_lease_lane_open(ifindex, lane, leases, first, why));
	return sl_embedded_lane_open(ifindex, 0, lane, leases, first, why);
}

int sl_broker_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			uint32_t *first, const char **why)
{
	return AWAITED(try_lane_open(ifindex, lane, leases, first, why));
}

void sl_broker_lane_close(uint32_t ifindex, uint32_t lane)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_lane_close(ifindex, lane));
	else
		sl_embedded_lane_close(ifindex, lane);
}

int sl_broker_claim(const struct sl_claim_req *req, const char **why)
{
	if (sl_lease_on())
		return LEASED(sl_lease_claim(req, false, why));
	return sl_embedded_claim(req, why);
}

int sl_broker_claim_update(const struct sl_claim_req *req)
{
	if (sl_lease_on())
		return LEASED(sl_lease_claim(req, true, NULL));
	return sl_embedded_claim_update(req);
}

void sl_broker_unclaim(const struct sl_claim_req *req)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_unclaim(req));
	else
		sl_embedded_unclaim(req);
}

/* (A daemon lends no repair mode: sl_broker_restore(), sl_broker_take().) */
int sl_broker_repair(int fd, int how)
{
	if (sl_lease_on())
		return -EPERM;
	return sl_sys_setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &how, sizeof(how));
}

int sl_broker_restore(const struct sl_lease_restore *r, int shadow, int memfd)
{
	struct sl_lease_msg m = {.nfds = 2, .fd = {shadow, memfd < 0 ? shadow : memfd}};

	m.body.restore = *r;
	return LEASED(sl_lease_request(&m, SL_LEASE_RESTORE, NULL));
}

int sl_broker_restored(bool go)
{
	struct sl_lease_msg m = {.body.restored.go = go};
	int err = LEASED(sl_lease_request(&m, SL_LEASE_RESTORED, NULL));

	return err ? err : m.fd[0];
}

int sl_broker_take(int *fd, struct sl_lease_take_ok *ok)
{
	struct sl_lease_msg m = {.nfds = 1, .fd = {*fd}};
	int err = LEASED(sl_lease_give(&m, SL_LEASE_TAKE, NULL));

	*fd = m.nfds ? m.fd[0] : -1;
	if (err)
		return err;
	*ok = m.body.take_ok;
	return ok->err;
}

int sl_broker_buffer(int fd, int opt, uint32_t bytes)
{
	int v = (int)sl_min(bytes, SL_BUFFER_MAX);
	int err = sl_sys_setsockopt(fd, SOL_SOCKET, opt, &v, sizeof(v));

	if (err == -EPERM && sl_lease_on())
		return LEASED(sl_lease_buffer(fd, opt, (uint32_t)v));
	return err;
}

int sl_broker_drop_packets(int fd, bool on)
{
	int err = sl_embedded_drop_packets(fd, on);

	if (err == -EPERM && sl_lease_on())
		return LEASED(sl_lease_drop_packets(fd, on));
	return err;
}

int sl_broker_holders(int fd)
{
	if (sl_lease_on())
		return LEASED(sl_lease_holders(fd));
	return sl_embedded_holders(fd);
}

int sl_broker_inject(int fd, const void *packet, size_t bytes, uint32_t scope)
{
	if (sl_lease_on())
		return LEASED(sl_lease_inject(fd, packet, bytes, scope));
	return sl_embedded_inject(packet, bytes, scope);
}

int sl_broker_may_inject(void)
{
	return sl_lease_on() ? sl_lease_may_inject() : sl_embedded_may_inject();
}

bool sl_broker_is_leased(void)
{
	return sl_lease_on();
}

int sl_broker_neigh_use(uint32_t ifindex, const uint8_t addr[16])
{
	struct sl_broker_guard g;
	int err = sl_lease_on() ? -EAGAIN : -EOPNOTSUPP;

	if (err == -EAGAIN && sl_broker_try_enter(&g)) {
		err = sl_lease_neigh_use(ifindex, addr);
		sl_broker_leave(&g);
	}
	return err;
}

int sl_broker_conns(int memfd, const struct sl_conns_layout *layout)
{
	return sl_lease_on() ? LEASED(sl_lease_conns(memfd, layout))
			     : sl_embedded_conns(memfd, layout);
}

/* (Without it one process at a time has the device.) */
int sl_broker_box(uint32_t listener, int out, int fd)
{
	return sl_lease_on() ? LEASED(sl_lease_box(listener, out, fd)) : -EOPNOTSUPP;
}

void sl_broker_unbox(uint32_t listener)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_unbox(listener));
}

/* The host's addresses and the policy: the daemon has its own, for all. */
void sl_broker_local_add(const uint8_t addr[16])
{
	if (!sl_lease_on())
		sl_embedded_local_add(addr);
}

void sl_broker_local_del(const uint8_t addr[16])
{
	if (!sl_lease_on())
		sl_embedded_local_del(addr);
}

int sl_broker_rules_set(const struct sl_rule *rules, unsigned n)
{
	return sl_lease_on() ? 0 : sl_embedded_rules_set(rules, n);
}

void sl_broker_child(void)
{
	sl_lease_child();
	sl_embedded_child();
}

void sl_broker_part(void)
{
	if (sl_lease_on())
		LEASED_VOID(sl_lease_part());
	sl_embedded_part();
}

void sl_broker_fini(void)
{
	LEASED_VOID(sl_lease_fini());
	sl_embedded_fini();
}
