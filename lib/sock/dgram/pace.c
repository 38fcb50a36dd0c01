/* SPDX-License-Identifier: BSD-2-Clause */
/* A datagram socket's rate: SO_MAX_PACING_RATE, or the administrator's for its destination if that
 * is lower. A socket has one pacer; one that sends to several destinations with rates is held to
 * the lowest of them, and packets to destinations without a rate pass by the pacer.
 *
 * SO_MAX_PACING_RATE: bytes a second in 32 or 64 bits, as Linux has it, or libvma's value of three
 * (struct sl_rate_limit). The kernel judges the first two and keeps the rate for the shadow. */
#include <errno.h>

#include "base/sys.h"
#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "stack/pace.h"
#include "stack/pace_int.h"
#include "stack/paces.h"

#define NO_RATE UINT64_MAX

/* The rate that the kernel has stored, in bytes/s. 0: no limit, as the kernel's TCP takes 0. */
static uint64_t kept_rate(int fd)
{
	uint64_t rate = NO_RATE;
	socklen_t len = sizeof(rate);

	if (sl_sys_getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &len) < 0)
		return 0;
	if (len == sizeof(uint32_t)) /* before Linux 4.20 */
		rate = (uint32_t)rate == UINT32_MAX ? NO_RATE : (uint32_t)rate;
	return rate == NO_RATE ? 0 : rate;
}

static int set_three(int fd, const struct sl_rate_limit *v)
{
	uint64_t rate = v->rate ? v->rate * 125ull : NO_RATE;

	return sl_sys_setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
}

struct sl_pace_ask sl_sock_pace_ask(const struct sl_sock *sk)
{
	return (struct sl_pace_ask){
		.bytes_s = kept_rate(sk->fd),
		.burst_bytes = sk->pace_burst,
		.packet_bytes = sk->pace_packet,
	};
}

/* The socket's pacer, made when there is something to pace. False: no memory. */
static bool get_pacer(struct sl_sock *sk, const struct sl_pace_ask *ask)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_pacer *p;
	struct sl_lane *lane;

	if (sl_load(&us->pacer) || !ask->bytes_s)
		return true;
	p = sl_pacer_new(sk->stats);
	if (!p)
		return false;
	if (!sl_sock_lock(sk, &lane))
		return false; /* lost */
	if (!us->pacer && sk->state != SL_STATE_KERNEL) {
		sl_store(&us->pacer, p);
		p = NULL;
	}
	sl_lane_unlock(lane);
	if (p)
		sl_pacer_put(p);
	return true;
}

/* Sets the pacer, if there is one, to the rate in force. Lane held. */
static void set_pacer(struct sl_udp_sock *us)
{
	struct sl_pace_ask ask = sl_paces_lower(&us->own_pace, &us->rule_pace), was;

	if (!us->pacer)
		return;
	was = sl_pacer_ask(us->pacer);
	if (!sl_pace_ask_is_same(&was, &ask))
		sl_pacer_set(us->pacer, &ask);
}

void sl_sock_pace(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_pace_ask ask = sl_sock_pace_ask(sk);
	struct sl_lane *lane;

	if (!get_pacer(sk, &ask) || !sl_sock_lock(sk, &lane))
		return;
	us->own_pace = ask;
	set_pacer(us);
	sl_sock_path_changed(sk);
	sl_lane_unlock(lane);
}

/* True: the destination has a rate, and the pacer follows it. */
static bool take_rule(struct sl_sock *sk, const struct sl_port *port, const struct sl_path *p)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_pace_ask ask = sl_paces_ask(port, &p->dst, p->port);

	if (!ask.bytes_s && us->udp.connected && us->rule_pace.bytes_s) {
		us->rule_pace = ask;
		set_pacer(us);
	}
	if (!ask.bytes_s)
		return false;
	if (us->udp.connected || !us->rule_pace.bytes_s || ask.bytes_s < us->rule_pace.bytes_s)
		us->rule_pace = ask;
	if (!us->pacer)
		sl_store(&us->pacer, sl_pacer_new(sk->stats));
	set_pacer(us);
	return us->pacer;
}

struct sl_leg *sl_sock_pace_leg(struct sl_sock *sk, const struct sl_path *p)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	bool by_rule = sl_load(&sl_paces_used) && take_rule(sk, p->leg->port, p);

	if (us->pacer && (by_rule || us->own_pace.bytes_s || !us->rule_pace.bytes_s))
		return sl_pacer_leg(us->pacer, p->leg);
	return p->leg;
}

void sl_sock_pace_early(struct sl_sock *sk, const struct sl_path *p)
{
	const struct sl_leg *leg = p->d->leg;

	if (leg)
		(void)take_rule(sk, leg->port, p);
}

void sl_sock_pace_again(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	/* Without a path the rate stays until the next send makes one: what waits must not leave at
	 * once. */
	if (us->path.d && us->path.leg) {
		us->rule_pace = sl_paces_ask(us->path.leg->port, &us->path.dst, us->path.port);
		set_pacer(us);
	}
	sl_sock_path_changed(sk);
	sl_lane_unlock(lane);
}

int sl_sock_pace_set(struct sl_sock *sk, int fd, const void *val, socklen_t len)
{
	struct sl_rate_limit v = {0};
	bool three = len == sizeof(v) && val;
	int err;

	if (three)
		memcpy(&v, val, sizeof(v));
	err = three ? set_three(fd, &v)
		    : sl_sys_setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, val, len);
	if (err < 0)
		return err;
	sk->pace_three = three;
	sk->pace_burst = v.max_burst_sz;
	sk->pace_packet = v.typical_pkt_sz;
	return 0;
}

/* Only a socket that has set libvma's three-value struct reads it back; for any other a buffer of
 * this length is the kernel's business. */
int sl_sock_pace_get(const struct sl_sock *sk, void *val, const socklen_t *len)
{
	struct sl_rate_limit v;

	if (!sk->pace_three || !val || !len || *len != sizeof(v))
		return -EREMOTE;
	memset(&v, 0, sizeof(v)); /* with what lies between */
	v.rate = (uint32_t)sl_min(kept_rate(sk->fd) / 125, (uint64_t)UINT32_MAX);
	v.max_burst_sz = sk->pace_burst;
	v.typical_pkt_sz = sk->pace_packet;
	memcpy(val, &v, sizeof(v));
	return 0;
}

void sl_sock_pace_end(struct sl_sock *sk, bool flush)
{
	struct sl_pacer *p = sl_udp_sk(sk)->pacer;

	if (!p)
		return;
	sl_store(&sl_udp_sk(sk)->pacer, NULL);
	if (flush)
		sl_pacer_flush(p);
	sl_pacer_put(p);
}
