/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches whether a claimed TCP flow has become another user's.
 *
 * Theory of operation: the socket that proves such a claim is only bound, and the connection is the
 * library's. When the program closes that socket the claim stays for what the connection has still
 * to say, and the kernel, which knows nothing of it, can give the port to another user, whose
 * connection may be of just that flow; a program can also claim flows, in advance, by the ten
 * thousand. So the daemon reads the kernel's TCP sockets as often as watch.c reads the others.
 * While a socket of the claim's owner has the port, and the peer has acknowledged something (the
 * steering program sees that), the claim stands: by the kernel, too, nobody else gets the flow of a
 * connection. A socket alone is not enough: where all sockets of a port have SO_REUSEADDR and none
 * listens, another user can have the port beside it, and listen. Otherwise the daemon takes the
 * claim back at the second look in a row that shows a connection of another user with that flow,
 * which is before its second SYN; and after LONE_S, where another user listens on the port, which
 * is longer than the claim's own connection takes to end.
 *
 * Before Linux 6.8 the kernel does not list sockets that are only bound: a claim then yields to a
 * connection of the kernel's with its flow in any case. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "claims.h"
#include "deliver.h"
#include "sluiced.h"

#define STATE(s) (1u << (s))
#define STATES                                                                                     \
	(~(STATE(SL_DIAG_CLOSE) | STATE(SL_DIAG_TIME_WAITS) | STATE(SL_DIAG_SYN_RECV) |            \
	   STATE(SL_DIAG_NEW_SYN_RECV)))
#define MOST   262144u /* sockets; beyond, nothing is judged */
#define LOOKS  2
#define LONE_S 60
#define MANY   8

/* The kernel's sockets of the ports that have claimed flows, ordered by port and peer. */
static struct sock {
	uint16_t port, remote_port;
	uint32_t uid, inode;
	bool listens, v6only;
	uint8_t family;
	struct sl_addr local, remote;
} * socks;
static uint32_t nsocks, max_socks;
static bool incomplete;
static uint64_t claimed[65536 / 64]; /* ports */
/* Claims on each port on which another user listens, in this look and the one before. */
static uint8_t lone[65536], lone_before[65536];

static bool is_claimed(uint16_t port)
{
	return claimed[port / 64] >> port % 64 & 1;
}

bool sl_watch_has_flows(void)
{
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->held.nflows && !s->leaving)
			return true;
	return false;
}

static void find_ports(void)
{
	memset(claimed, 0, sizeof(claimed));
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		for (uint32_t i = 0; s->held.nflows && i < s->held.max; i++) {
			const struct sl_held *h = &s->held.slot[i];

			if (h->used && sl_is_tcp_flow(&h->req))
				claimed[h->req.key.local_port / 64] |=
					1ull << h->req.key.local_port % 64;
		}
}

/* The sockets of one port come in a row, as a rule, and thousands may be alike. */
static bool is_like(const struct sock *a, const struct sl_diag_sock *o)
{
	return a->port == o->local_port && !a->remote_port && !o->remote_port && a->uid == o->uid &&
	       a->listens == (o->state == SL_DIAG_LISTEN) && a->family == o->family &&
	       a->v6only == o->v6only && sl_addr_eq(&a->local, &o->local);
}

void sl_watch_flows_note(const struct sl_diag_sock *o, void *arg)
{
	struct sock *more;

	if (!is_claimed(o->local_port) || !o->inode || (nsocks && is_like(&socks[nsocks - 1], o)))
		return;
	if (nsocks == max_socks) {
		uint32_t max = max_socks ? 2 * max_socks : 64;

		more = max > MOST ? NULL : realloc(socks, max * sizeof(*socks));
		incomplete |= !more;
		if (!more)
			return;
		socks = more;
		max_socks = max;
	}
	socks[nsocks++] = (struct sock){
		.port = o->local_port,
		.remote_port = o->remote_port,
		.uid = o->uid,
		.inode = o->inode,
		.listens = o->state == SL_DIAG_LISTEN,
		.v6only = o->v6only,
		.family = o->family,
		.local = o->local,
		.remote = o->remote,
	};
}

static int by_port_and_peer(const void *a, const void *b)
{
	const struct sock *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->remote_port != y->remote_port)
		return x->remote_port < y->remote_port ? -1 : 1;
	return memcmp(&x->remote, &y->remote, sizeof(x->remote));
}

/* So that sockets which differ in nothing that matters stand side by side. */
static int by_all(const void *a, const void *b)
{
	const struct sock *x = a, *y = b;
	int n = by_port_and_peer(a, b);

	if (!n)
		n = memcmp(&x->local, &y->local, sizeof(x->local));
	if (!n && x->uid != y->uid)
		n = x->uid < y->uid ? -1 : 1;
	if (!n)
		n = (x->listens << 9 | x->v6only << 8 | x->family) -
		    (y->listens << 9 | y->v6only << 8 | y->family);
	return n;
}

/* Sorts the sockets, and leaves one of each kind: flows by the thousand are compared with those of
 * their port. */
static void sort(void)
{
	uint32_t n = 0;

	if (!nsocks)
		return;
	qsort(socks, nsocks, sizeof(*socks), by_all);
	for (uint32_t i = 1; i < nsocks; i++)
		if (socks[i].remote_port || by_all(&socks[n], &socks[i]))
			socks[++n] = socks[i];
	nsocks = n + 1;
}

/* The first socket that does not come before that port and peer. */
static const struct sock *first(const struct sock *like)
{
	uint32_t from = 0, to = nsocks;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (by_port_and_peer(&socks[mid], like) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return socks + from;
}

/* Judging ---------------------------------------------------------------------------------------
 */

struct flow {
	const struct sl_session *session;
	const struct sl_held *held;
	struct sl_addr local, remote;
};

static bool is_owners(const struct flow *f, const struct sock *o)
{
	return o->uid == f->session->cred.uid || o->uid == f->held->uid;
}

static bool meets(const struct flow *f, const struct sock *o)
{
	if (sl_addr_eq(&o->local, &f->local))
		return true;
	return sl_addr_is_any(&o->local) && (sl_addr_is_v4(&o->local) == sl_addr_is_v4(&f->local) ||
					     (sl_addr_is_v4(&f->local) && !o->v6only));
}

/* The sockets of the kernel beside a flow. */
struct found {
	bool own;                           /* a socket of the claim's owner at the port */
	const struct sock *conn, *listener; /* another user's */
};

/* True: the session has, or had, a claim of the port by a listener of that listener's user (a
 * worker of another user than its server has the server's). */
static bool is_sessions(const struct sl_session *s, const struct sock *listener)
{
	for (unsigned i = 0; i < sl_array_len(s->listened); i++)
		if (s->listened[i].port == listener->port && s->listened[i].uid == listener->uid)
			return true;
	for (uint32_t i = 0; i < s->held.max; i++) {
		const struct sl_held *h = &s->held.slot[i];

		if (h->used && !h->req.key.remote_port && h->req.key.proto == IPPROTO_TCP &&
		    h->req.key.local_port == listener->port && h->uid == listener->uid)
			return true;
	}
	return false;
}

static struct found find(const struct flow *f)
{
	const struct sl_flow_key *k = &f->held->req.key;
	struct sock like = {.port = k->local_port};
	struct found r = {0};

	for (const struct sock *o = first(&like);
	     o < socks + nsocks && o->port == k->local_port && !o->remote_port; o++) {
		if (!meets(f, o))
			continue;
		if (is_owners(f, o))
			r.own = true;
		else if (o->listens)
			r.listener = o;
	}
	like.remote_port = k->remote_port;
	like.remote = f->remote;
	for (const struct sock *o = first(&like); o < socks + nsocks && !by_port_and_peer(o, &like);
	     o++) {
		if (!sl_addr_eq(&o->local, &f->local))
			continue;
		if (is_owners(f, o))
			r.own = true;
		else
			r.conn = o;
	}
	return r;
}

/* True: the claim yields. */
static bool yields(const struct sl_session *s, struct sl_held *h, uint32_t now_s)
{
	struct flow f = {s, h, sl_addr_of(h->req.key.local), sl_addr_of(h->req.key.remote)};
	struct found r = find(&f);
	uint16_t port = h->req.key.local_port;

	if (r.own && (r.conn || r.listener) && sl_embedded_claim_is_heard(&h->req))
		r.conn = r.listener = NULL;
	if (r.own && r.listener && is_sessions(s, r.listener))
		r.listener = NULL;
	if (!r.conn && !r.listener) {
		h->missed = 0;
		h->lone_s = 0;
		return false;
	}
	h->missed = r.conn || r.own ? (uint8_t)(h->missed + 1) : 0;
	h->lone_s = h->lone_s ? h->lone_s : now_s;
	lone[port] += r.listener && lone[port] < UINT8_MAX;
	if (h->missed < LOOKS && now_s - h->lone_s < LONE_S && lone_before[port] <= MANY)
		return false;
	sl_debug("sluiced",
		 "lease %u: a flow of port %u is the kernel's: user %u has it (inode %u)",
		 s->member, port, (r.conn ?: r.listener)->uid, (r.conn ?: r.listener)->inode);
	return true;
}

/* Where judging goes on. */
static uint32_t at, judged; /* place in the table of the session under way; number of the look */
static bool sorted;

/* (An entry that is taken out has another move to its place, which the next look finds.) */
static bool judge(struct sl_session *s, uint64_t until_ns, sl_take_back_fn *take_back)
{
	uint64_t now_ns = sl_now_ns();

	for (; s->held.nflows && at < s->held.max; at++) {
		struct sl_held *h = &s->held.slot[at];
		struct sl_claim_req req = h->req;

		if (!h->used || !sl_is_tcp_flow(&h->req))
			continue;
		if (now_ns > until_ns)
			return false;
		if (yields(s, h, (uint32_t)(now_ns / 1000000000) | 1))
			take_back(s, &req);
		now_ns = sl_now_ns();
	}
	at = 0;
	return true;
}

/* IPv4 and IPv6. */
const struct sl_diag_ask sl_watch_flows_ask = {IPPROTO_TCP, AF_UNSPEC, 0, STATES};

void sl_watch_flows_begin(void)
{
	nsocks = at = 0;
	judged++;
	incomplete = sorted = false;
	memcpy(lone_before, lone, sizeof(lone));
	memset(lone, 0, sizeof(lone));
	find_ports();
}

/* (Sessions may come and go between two turns.) */
bool sl_watch_flows_judge(uint64_t until_ns, sl_take_back_fn *take_back)
{
	if (!sorted)
		sort();
	sorted = true;
	for (struct sl_session *s = sluiced.sessions; s && !incomplete; s = s->next) {
		if (s->leaving || s->judged == judged)
			continue;
		if (!judge(s, until_ns, take_back))
			return false;
		s->judged = judged;
	}
	return true;
}
