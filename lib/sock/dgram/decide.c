/* SPDX-License-Identifier: BSD-2-Clause */
/* Decisions: from bind and connect on the shadow to claims on packets.
 *
 * Theory of operation: the kernel does the call first, on the shadow: it checks, reserves the port
 * and answers getsockname. Then we read the shadow's names and decide: by rules, other programs on
 * the same port, devices. We claim packets only after that; receive calls merge in the datagrams
 * that the shadow got before. A socket that was ours when a rule gave it to the kernel stays ours,
 * without claims (ruled): no thread sleeps in the kernel with it, so it can have them back at once
 * when the rule goes. */
#include <errno.h>

#include "base/roomy.h"
#include "base/sys.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/rivals.h"
#include "stack/port.h"
#include "stack/restart.h"

/* The kernel serves the socket until the keeper decides. */
static void put_off(struct sl_sock *sk)
{
	sl_store(&sl_udp_sk(sk)->late, true);
	sl_store_release(&sl_late_any, true);
}

/* Claims the exact flow of a connected socket. SL_REASON_UNDECIDED: when the device is open. */
static enum sl_reason claim_flow(struct sl_sock *sk, bool waits)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_route_key key = {
		.dst = us->udp.remote,
		.src = sk->local,
		.oif = sk->bound_if ? sk->bound_if : sk->local_scope,
	};
	struct sl_narrow narrow;
	struct sl_route route;
	struct sl_port *port;
	const char *why = NULL;

	/* (No route leads from such a source.) */
	if (sl_addr_is_multicast(&sk->local))
		return SL_REASON_GROUP;
	sl_route_key_ports(&key, IPPROTO_UDP, sk->local_port, us->udp.remote_port);
	if (sl_route_get(&key, &route) < 0)
		return SL_REASON_NO_DEVICE;
	if (route.kind != SL_ROUTE_DEVICE && route.kind != SL_ROUTE_MULTICAST)
		return SL_REASON_LOCAL;
	if (!waits && sl_device_is_late(route.ifindex)) {
		put_off(sk);
		return SL_REASON_UNDECIDED;
	}
	port = sl_port_open(route.ifindex);
	if (!port)
		return SL_REASON_NO_DEVICE;
	if (sl_port_decide_narrow(port,
				  &(struct sl_rule_ask){SL_ROLE_UDP_CONNECT, &us->udp.remote,
							us->udp.remote_port, &sk->local,
							sk->local_port, 0},
				  &narrow) == SL_RULE_OS)
		return SL_REASON_RULE;
	if (!sl_sock_wants_port(sk, port))
		return SL_REASON_OPTION;
	if (!sl_sock_take_lane(sk, route.ifindex))
		return SL_REASON_MEMORY;
	return sl_sock_claim_on(sk, port, &narrow, &why) ? SL_REASON_NONE : SL_REASON_CLAIM;
}

static enum sl_reason claim_names(struct sl_sock *sk, bool waits)
{
	if (sl_udp_sk(sk)->udp.connected)
		return claim_flow(sk, waits);
	if (!waits && sl_sock_is_late(sk)) {
		put_off(sk);
		return SL_REASON_UNDECIDED;
	}
	return sl_sock_claim_endpoints(sk);
}

/* Claims anew under the new names; the old claims go after the new ones have come. */
static enum sl_reason reclaim(struct sl_sock *sk, bool waits)
{
	struct sl_sock_claim *old = sl_sock_claims_take(sk);
	enum sl_reason reason = claim_names(sk, waits);

	sl_sock_claims_drop(sk, old);
	return reason;
}

/* True: the kernel has datagrams from before the claim, which are older than all of ours. What it
 * gets later (fragments) is not. */
static bool has_older(struct sl_sock *sk)
{
	struct pollfd p = {.fd = sk->fd, .events = POLLIN};
	const struct timespec zero = {0, 0};
	long n = sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8);

	/* (The keeper, which may be the caller, has not looked at it lately.) */
	if (n == 1 && p.revents & POLLIN)
		__atomic_fetch_or(&sk->os, SL_OS_IN, __ATOMIC_RELEASE);
	return n != 0;
}

/* slow held. */
static bool claim_again(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool older;

	if (!sk->nfds || sk->state != SL_STATE_OFFLOADED || !sl_udp_sk(sk)->udp.connected ||
	    sl_sock_is_ruled(sk) || sl_sock_claims_live(sk))
		return true;
	if (reclaim(sk, true) != SL_REASON_NONE)
		return false;
	older = has_older(sk);
	if (sl_sock_lock(sk, &lane)) {
		sl_sock_path_changed(sk);
		sl_udp_sk(sk)->os_first |= older;
		sl_lane_unlock(lane);
	}
	return true;
}

bool sl_sock_claim_again(struct sl_sock *sk)
{
	bool ok = sl_trylock(&sk->slow);

	if (ok) {
		ok = claim_again(sk);
		sl_unlock(&sk->slow);
	}
	return ok;
}

static enum sl_reason decide(struct sl_sock *sk, bool waits)
{
	if (sl_sock_read_names(sk) < 0)
		return SL_REASON_RUNTIME;
	/* TCP decides when it connects or listens. */
	if (sk->local_port == 0 || sk->proto == IPPROTO_TCP)
		return SL_REASON_UNDECIDED;
	if (sl_addr_is_loopback(&sk->local) ||
	    (sl_udp_sk(sk)->udp.connected && sl_addr_is_local(&sl_udp_sk(sk)->udp.remote)))
		return SL_REASON_LOCAL;
	if (sl_reuseprog_has(sk) || sl_mcast_is_unwanted(sk))
		return SL_REASON_OPTION;
	if (sl_sock_is_shared(sk))
		return SL_REASON_SHARED;
	return reclaim(sk, waits);
}

/* __udp_disconnect(): a port that the program did not ask for goes with the peer, and the next call
 * that needs one takes another. Memberships stay. slow held. */
static void lose_port(struct sl_sock *sk)
{
	struct sl_lane *lane;

	sl_mcast_pause(sk);
	sl_sock_unclaim(sk);
	if (!sl_sock_lock(sk, &lane))
		return;
	sl_store(&sk->state, SL_STATE_NEW);
	sl_lane_unlock(lane);
	sk->stats->state = SL_STATE_NEW;
}

/* SL_REASON_NONE, UNDECIDED, or why the socket shall be the kernel's. A lent socket is decided on
 * when it comes back. slow held. */
static enum sl_reason decide_held(struct sl_sock *sk, bool waits)
{
	enum sl_reason reason;
	struct sl_lane *lane;

	if (sl_sock_is_lent(sk))
		return sl_sock_read_names(sk) < 0 ? SL_REASON_RUNTIME : SL_REASON_UNDECIDED;
	if (sk->state == SL_STATE_KERNEL || (sk->proto == IPPROTO_TCP && sk->state != SL_STATE_NEW))
		return SL_REASON_NONE;
	if (sl_sock_is_ruled(sk))
		sl_store(&sl_udp_sk(sk)->ruled, false);
	reason = decide(sk, waits);
	if (reason == SL_REASON_NONE) {
		bool older = has_older(sk);

		if (sl_sock_lock(sk, &lane)) {
			sl_udp_sk(sk)->path.d = NULL;
			sl_udp_sk(sk)->os_first |= older;
			sl_udp_sk(sk)->os_turn = true; /* ours is next */
			sl_store(&sk->state, SL_STATE_OFFLOADED);
			/* The keeper has not watched the shadow, or told of it long ago. */
			if (older)
				sl_sock_notify(sk, EPOLLIN | EPOLLRDNORM);
			sl_lane_unlock(lane);
		}
		sk->stats->state = SL_STATE_OFFLOADED;
		sl_rivals_watch(sk);
		sl_mcast_claim(sk);
	} else if (reason == SL_REASON_UNDECIDED && sk->state == SL_STATE_OFFLOADED) {
		lose_port(sk);
	}
	sk->stats->reason = reason;
	return reason;
}

static bool pause_for(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_lane *lane;

	if (!sk->nfds || sk->state != SL_STATE_OFFLOADED || !sl_sock_lock(sk, &lane))
		return false;
	sl_store(&sl_udp_sk(sk)->ruled, true);
	sl_sock_path_changed(sk);
	sl_lane_unlock(lane);
	sl_mcast_pause(sk);
	sl_sock_unclaim(sk);
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = reason;
	sl_stats->handed_back++;
	sl_debug("sock", "fd %d goes to the kernel: %s", sk->fd, sl_reason_text(reason));
	return true;
}

bool sl_sock_pause(struct sl_sock *sk, enum sl_reason reason)
{
	return SL_ROOMY(pause_for, sk, reason);
}

enum sl_reason sl_sock_resume(struct sl_sock *sk)
{
	enum sl_reason reason = decide_held(sk, true);

	if (reason == SL_REASON_RULE && sl_sock_pause(sk, SL_REASON_RULE))
		return SL_REASON_NONE;
	if (reason == SL_REASON_NONE)
		sl_stats->taken_over++;
	return reason;
}

void sl_sock_obey(struct sl_sock *sk, enum sl_reason reason)
{
	if (reason != SL_REASON_NONE && reason != SL_REASON_UNDECIDED)
		sl_sock_kernel(sk, reason);
}

bool sl_sock_follow_rule(struct sl_sock *sk, bool kernels)
{
	enum sl_reason reason = SL_REASON_NONE;
	bool began = false;

	if (kernels == sl_sock_is_ruled(sk) || sl_sock_is_lent(sk))
		return true;
	if (!sl_trylock(&sk->slow))
		return false;
	if (kernels) {
		began = !sl_sock_is_lent(sk) && sl_sock_pause(sk, SL_REASON_RULE);
	} else if (sk->nfds && sk->forks == sl_load(&sl_forks)) {
		reason = sl_sock_resume(sk);
	}
	sl_unlock(&sk->slow);
	sl_sock_obey(sk, reason);
	if (began) {
		sl_siblings_yield(sk);
		sl_mcast_recheck();
	}
	return true;
}

static void decide_by(struct sl_sock *sk, bool waits)
{
	enum sl_reason reason;

	sl_lock(&sk->slow);
	reason = decide_held(sk, waits);
	sl_unlock(&sk->slow);
	sl_sock_obey(sk, reason);
}

void sl_sock_decide(struct sl_sock *sk)
{
	decide_by(sk, sl_sock_waits(sk));
}

/* Devices that a call does not wait for ---------------------------------------------------------
 */

bool sl_dgram_put_off(struct sl_sock *sk)
{
	bool late = sl_sock_is_late(sk);

	if (late)
		put_off(sk);
	return late;
}

bool sl_dgram_decide_now(struct sl_sock *sk)
{
	if (!sl_load(&sl_udp_sk(sk)->late))
		return false;
	decide_by(sk, true);
	return true;
}

/* (A child may have it since, which would get nothing more.) */
bool sl_dgram_decide_late(struct sl_sock *sk)
{
	enum sl_reason reason = SL_REASON_NONE;

	if (!sl_load(&sl_udp_sk(sk)->late))
		return true;
	if (!sl_trylock(&sk->slow))
		return false;
	sl_store(&sl_udp_sk(sk)->late, false);
	if (sk->nfds && sk->state == SL_STATE_NEW)
		reason =
			sk->forks == sl_load(&sl_forks) ? decide_held(sk, false) : SL_REASON_PASSED;
	sl_unlock(&sk->slow);
	sl_sock_obey(sk, reason);
	return true;
}

/* inet_autobind: an ephemeral port of the kernel's choice on the address that it has, which is
 * nearly always the wildcard. */
int sl_sock_autobind(struct sl_sock *sk)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	int err = 0;

	if (sl_load(&sk->local_port) == 0) {
		sl_addr_to_sockaddr(&sk->local, 0, sk->local_scope, sk->family,
				    (struct sockaddr *)&ss, &len);
		err = sl_sys_bind(sk->fd, &ss, len);
		if (err == 0 || err == -EINVAL) /* EINVAL: another thread was first */
			decide_by(sk, sl_sock_send_waits(sk));
	}
	return err;
}

static struct sl_port *without_link(struct sl_sock *sk)
{
	struct sl_port *p = sl_sock_without_link(sk);

	return p || !sl_sock_is_udp(sk) ? p : sl_mcast_without_link(sk);
}

void sl_sock_wait_links(struct sl_sock *sk, int flags)
{
	struct sl_port *p;

	if (sk->nonblock || flags & MSG_DONTWAIT)
		return;
	while ((p = without_link(sk)))
		sl_port_wait_link(p);
}
