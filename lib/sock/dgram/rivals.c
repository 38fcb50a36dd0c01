/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of other programs that come to an endpoint after it was claimed.
 *
 * Theory of operation: with SO_REUSEADDR the kernel lets any user bind an endpoint that overlaps
 * ours, and gives datagrams to the socket with the more specific address, or to the last one. No
 * event tells of it. Without a daemon, which watches the claims of its leases, the keeper reads the
 * kernel's UDP sockets once a second, and has the kernel choose from then on. A socket that another
 * program made is looked at whatever its options say. One dump serves all sockets. */
#include "sock/dgram/rivals.h"

#include <errno.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/kern/diag.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"

#define SHARE 50 /* the keeper spends 1/SHARE of its time here, at most */

/* A socket of ours, as it was when the look began. */
struct own {
	struct sl_sock *sk;
	uint32_t gen;
	bool has_rival;
	struct sl_diag_claim claim;
};

struct look {
	struct own *own;
	uint32_t n, max;
	uint32_t *inode; /* hash of the inodes of all our datagram sockets; 0: free */
	uint32_t mask, ninodes;
	uint64_t ports[65536 / 64]; /* that sockets of `own` have */
};

static bool wanted; /* a socket that may get rivals has claims */

void sl_rivals_watch(const struct sl_sock *sk)
{
	if (sl_sock_may_be_shared(sk))
		sl_store(&wanted, true);
}

static bool is_ours_alone(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sl_load(&sk->state) != SL_STATE_KERNEL &&
	       !sl_sock_is_ruled(sk);
}

/* (A socket bound to a group comes by its memberships, which mcast.c looks after.) */
static bool may_have_rival(const struct sl_sock *sk)
{
	return sl_sock_is_served(sk) && sk->local_port && sl_sock_may_be_shared(sk) &&
	       !sl_addr_is_multicast(&sk->local);
}

static void count(struct sl_sock *sk, void *arg)
{
	struct look *l = arg;

	if (!is_ours_alone(sk))
		return;
	l->ninodes++;
	l->max += may_have_rival(sk);
}

static uint32_t *place_of_inode(const struct look *l, uint32_t inode)
{
	uint32_t i = inode * 2654435769u & l->mask;

	while (l->inode[i] && l->inode[i] != inode)
		i = (i + 1) & l->mask;
	return &l->inode[i];
}

/* Takes the names without the socket's lock: a connect(2) may hold that while it waits for the
 * keeper. What is read in the midst of a change is put right by sl_sock_is_shared(). */
static void collect(struct sl_sock *sk, void *arg)
{
	struct look *l = arg;
	struct sl_diag_claim c;

	if (!is_ours_alone(sk) || !l->ninodes)
		return;
	l->ninodes--;
	*place_of_inode(l, sk->inode) = sk->inode;
	if (l->n == l->max || !may_have_rival(sk))
		return;
	c = sl_sock_diag_claim(sk);
	l->ports[c.port / 64] |= 1ull << c.port % 64;
	l->own[l->n++] = (struct own){.sk = sk, .gen = sl_load(&sk->gen), .claim = c};
}

static void compare(const struct sl_diag_sock *s, void *arg)
{
	struct look *l = arg;

	if (!(l->ports[s->local_port / 64] >> s->local_port % 64 & 1) ||
	    (s->inode && *place_of_inode(l, s->inode)))
		return;
	for (uint32_t i = 0; i < l->n; i++)
		l->own[i].has_rival |= sl_diag_overlaps(&l->own[i].claim, s);
}

static int dump(int fd, uint8_t family, struct look *l)
{
	return sl_diag_dump(fd, &(struct sl_diag_ask){IPPROTO_UDP, family, 0, ~0u}, compare, l);
}

static int open_diag(const char *none)
{
	(void)none;
	return sl_netlink_open(NETLINK_SOCK_DIAG);
}

/* Without udp_diag each socket is asked for by itself, from /proc/net. */
static void compare_all(struct look *l)
{
	static struct sl_fd_once diag; /* (the keeper is the only thread that looks) */
	int fd = sl_fd_once(&diag, open_diag, NULL), err = fd < 0 ? fd : dump(fd, AF_INET, l);

	if (!err)
		err = dump(fd, AF_INET6, l);
	else
		for (uint32_t i = 0; i < l->n; i++)
			l->own[i].has_rival = true;
	if (err)
		sl_fd_once_end(&diag); /* the rest of an answer may lie in it */
}

static void yield(const struct own *o)
{
	char buf[SL_ADDR_STRLEN];

	if (!o->has_rival || sl_load(&o->sk->gen) != o->gen || !may_have_rival(o->sk) ||
	    !sl_sock_is_shared(o->sk))
		return;
	sl_info("sock",
		"%s port %u is the kernel's again: a socket of another program has come there",
		sl_addr_str(&o->claim.local, buf), o->claim.port);
	sl_sock_kernel(o->sk, SL_REASON_SHARED);
}

static bool look_prepare(struct look *l)
{
	sl_sock_for_each(count, l);
	if (!l->max)
		return false;
	l->ninodes += l->ninodes / 4 + 16; /* (others may be made meanwhile) */
	l->mask = 63;
	while (l->mask < 2 * l->ninodes)
		l->mask = 2 * l->mask + 1;
	l->inode = sl_calloc(l->mask + 1, sizeof(*l->inode));
	l->own = sl_calloc(l->max, sizeof(*l->own));
	if (!l->inode || !l->own)
		return false;
	sl_sock_for_each(collect, l);
	return true;
}

void sl_rivals_look(uint64_t now_ns)
{
	static uint64_t next_ns;
	struct look *l;

	if (!sl_load(&wanted) || now_ns < next_ns || sl_broker_is_leased())
		return;
	l = sl_calloc(1, sizeof(*l));
	if (!l)
		return;
	sl_store(&wanted, false);
	if (look_prepare(l)) {
		compare_all(l);
		for (uint32_t i = 0; i < l->n; i++)
			yield(&l->own[i]);
	}
	if (l->max)
		sl_store(&wanted, true);
	sl_free(l->inode);
	sl_free(l->own);
	sl_free(l);
	next_ns = now_ns + SHARE * (sl_now_ns() - now_ns);
}
