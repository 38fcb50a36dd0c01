/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches whether proved claims of endpoints and of UDP flows still hold.
 *
 * Theory of operation: programs bind sockets later (SO_REUSEADDR, a more specific address, one more
 * receiver of a group), and the socket of the claim is closed, or listens no more. The kernel
 * reports neither, so the daemon reads the kernel's sockets, all at once for all claims: those of
 * UDP and the listeners of TCP, SL_WATCH_MS apart, or farther where reading takes long (1/SHARE of
 * the loop's time). There may be a hundred thousand of them, and of claims: a look goes on in the
 * next turn of the loop after SLICE_NS, so that requests are answered in between. A claim that the
 * kernel would not deliver to its socket any more is taken back: the packets reach the kernel,
 * which decides, and the library reads its sockets there, too. For TCP flows see watch_flow.c.
 *
 * A user may have thousands of flows of one port. A connected socket is compared with the flows of
 * its own peer and with endpoints only, and of unconnected sockets that are alike one is compared
 * with a port's flows: a look takes as long as there are sockets and claims, not their product. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"
#include "deliver.h"
#include "session.h"

#define BUCKETS    4096
#define ALIKE      64 /* kinds of unconnected sockets that are remembered in a look */
#define SHARE      50
#define SLICE_NS   1000000ull
#define LISTENS_NS 10000000000ull /* from claim to listen(2): devices may be opened in between */

struct watched {
	struct watched *next;
	/* Flows of about the same port. */
	struct watched *port_next, **port_at;
	struct sl_session *session;
	struct sl_claim_req req;
	struct sl_deliver_claim claim;
	struct sl_proof proof;
	uint64_t since_ns;
	bool seen;       /* the socket was in the kernel's table at a look */
	unsigned missed; /* looks in a row in which the claim was not proved */
	/* Result of the look under way. */
	bool here;
	uint32_t other; /* inode of a socket that goes before it; 0: none */
};

static struct watched *bucket[BUCKETS]; /* by port and peer; an endpoint has no peer */
static struct watched *flows[BUCKETS];  /* those with a peer, by port */
static uint32_t nwatched;
static uint64_t next_ns;

/* The look under way. */
static struct {
	enum { NO_LOOK, LOOKS, JUDGES, LOOKS_AT_FLOWS, JUDGES_FLOWS } now;
	unsigned step; /* LOOKS: of steps[]; JUDGES: the bucket */
	bool asked;    /* the kernel has answers for us */
	bool failed;   /* a table could not be read: nothing is judged */
	uint64_t from_ns, took_ns;
} look;
static int netlink = -1; /* for looks alone, since a question stays open over many turns */

/* Unconnected sockets that were compared with the flows of their port. */
static struct sl_diag_sock alike[ALIKE];
static unsigned nalike;

static struct watched **bucket_of(uint16_t port, const struct sl_addr *peer, uint16_t peer_port)
{
	static struct sl_hash_key key;

	if (!key.k[0])
		sl_hash_key_make(&key);
	return &bucket[(peer_port ? sl_hash_addr(&key, (uint32_t)port << 16 | peer_port, peer)
				  : sl_hash_two(&key, port, 0)) &
		       (BUCKETS - 1)];
}

static struct watched **bucket_of_claim(const struct sl_claim_req *req)
{
	struct sl_addr peer = sl_addr_of(req->key.remote);

	return bucket_of(req->key.local_port, &peer, req->key.remote_port);
}

static struct watched **flows_of(uint16_t port)
{
	return &flows[port & (BUCKETS - 1)];
}

static void link_flow(struct watched *w)
{
	struct watched **at = flows_of(w->req.key.local_port);

	w->port_at = at;
	w->port_next = *at;
	if (*at)
		(*at)->port_at = &w->port_next;
	*at = w;
}

static void unlink_flow(struct watched *w)
{
	*w->port_at = w->port_next;
	if (w->port_next)
		w->port_next->port_at = w->port_at;
}

static bool is_watched_claim(const struct watched *w, const struct sl_session *s,
			     const struct sl_claim_req *req)
{
	return w->session == s && w->req.ifindex == req->ifindex &&
	       w->req.claim.slot == req->claim.slot &&
	       !memcmp(&w->req.key, &req->key, sizeof(w->req.key));
}

int sl_watch_add(struct sl_session *s, const struct sl_claim_req *req, const struct sl_proof *p)
{
	struct watched **at, *w;

	if (req->claim.flags & SL_CLAIM_PASS ||
	    (req->key.remote_port && req->key.proto == IPPROTO_TCP))
		return 0;
	sl_watch_del(s, req);
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	at = bucket_of_claim(req);
	*w = (struct watched){
		.next = *at,
		.session = s,
		.req = *req,
		.claim = sl_deliver_claim_of(req),
		.proof = *p,
		.since_ns = sl_now_ns(),
	};
	*at = w;
	if (req->key.remote_port)
		link_flow(w);
	nwatched++;
	return 0;
}

void sl_watch_del(const struct sl_session *s, const struct sl_claim_req *req)
{
	for (struct watched **at = bucket_of_claim(req); *at; at = &(*at)->next) {
		struct watched *w = *at;

		if (!is_watched_claim(w, s, req))
			continue;
		*at = w->next;
		if (req->key.remote_port)
			unlink_flow(w);
		free(w);
		nwatched--;
		return;
	}
}

/* A look ----------------------------------------------------------------------------------------
 */

static bool is_bound_still(const struct watched *w, const struct sl_diag_sock *o)
{
	return sl_deliver_reaches(&w->claim, o) &&
	       (w->claim.to_all || !o->remote_port == !w->claim.remote_port);
}

/* The daemon before this one saw the proof. A socket with just that binding is taken for it, if it
 * is the user's, or root's, since root may have made it for the program. */
static void recognize(struct watched *w, const struct sl_diag_sock *o)
{
	if (w->proof.own.cookie || (o->uid && o->uid != w->session->cred.uid) ||
	    !is_bound_still(w, o))
		return;
	w->proof.own = *o;
}

static void compare(struct watched *w, const struct sl_diag_sock *o)
{
	recognize(w, o);
	if (!w->proof.own.cookie)
		return; /* at the next look */
	if (o->cookie == w->proof.own.cookie) {
		w->here |= is_bound_still(w, o);
		w->proof.own.uid = o->uid;
		w->proof.own.state = o->state;
	} else if (!w->other && sl_proof_is_others(w->session, &w->proof, o) &&
		   sl_deliver_prefers(&w->claim, &w->proof.own, o)) {
		w->other = o->inode ? o->inode : UINT32_MAX;
	}
}

static bool is_of(const struct watched *w, const struct sl_diag_sock *o, uint8_t proto)
{
	return w->req.key.local_port == o->local_port && w->req.key.proto == proto;
}

/* True: a socket of the same user and binding was compared in this look. (Remembers the socket.) */
static bool was_compared(const struct sl_diag_sock *o)
{
	for (unsigned i = 0; i < sl_min(nalike, (unsigned)ALIKE); i++) {
		const struct sl_diag_sock *a = &alike[i];

		if (a->local_port == o->local_port && a->uid == o->uid && a->state == o->state &&
		    a->ifindex == o->ifindex && a->family == o->family && a->v6only == o->v6only &&
		    sl_addr_eq(&a->local, &o->local))
			return true;
	}
	alike[nalike++ % ALIKE] = *o;
	return false;
}

static void compare_with_flows(const struct sl_diag_sock *o, uint8_t proto)
{
	struct watched *w = *flows_of(o->local_port);

	if (!w || proto != IPPROTO_UDP || was_compared(o))
		return;
	for (; w; w = w->port_next)
		if (is_of(w, o, proto))
			compare(w, o);
}

static void compare_sock(const struct sl_diag_sock *o, void *arg)
{
	uint8_t proto = *(const uint8_t *)arg;

	for (struct watched *w = *bucket_of(o->local_port, NULL, 0); w; w = w->next)
		if (is_of(w, o, proto) && !w->req.key.remote_port)
			compare(w, o);
	if (!o->remote_port) {
		compare_with_flows(o, proto);
		return;
	}
	for (struct watched *w = *bucket_of(o->local_port, &o->remote, o->remote_port); w;
	     w = w->next)
		if (is_of(w, o, proto) && w->req.key.remote_port)
			compare(w, o);
}

static bool any_of(uint8_t proto)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct watched *w = bucket[i]; w; w = w->next)
			if (w->req.key.proto == proto)
				return true;
	return false;
}

static const struct sl_diag_ask steps[] = {
	{IPPROTO_UDP, AF_INET, 0, ~0u},
	{IPPROTO_UDP, AF_INET6, 0, ~0u},
	{IPPROTO_TCP, AF_INET, 0, 1u << SL_DIAG_LISTEN},
	{IPPROTO_TCP, AF_INET6, 0, 1u << SL_DIAG_LISTEN},
};

/* Reads on. 1: that was all; 0: there is more, or -errno: then the socket is closed. */
static int read_on(const struct sl_diag_ask *ask, uint64_t until_ns, sl_diag_fn *fn, void *arg)
{
	int err = 0;

	if (netlink < 0)
		netlink = sl_netlink_open(NETLINK_SOCK_DIAG);
	if (netlink < 0)
		return netlink;
	if (!look.asked)
		err = sl_diag_begin(netlink, ask);
	look.asked = true;
	if (!err)
		err = sl_diag_go_on(netlink, until_ns, fn, arg);
	if (err)
		look.asked = false;
	if (err >= 0)
		return err;
	sl_sys_close(netlink);
	netlink = -1;
	return err;
}

/* True: the next part may begin. */
static bool read_sockets(uint64_t until_ns)
{
	for (; look.step < sl_array_len(steps); look.step++) {
		const struct sl_diag_ask *ask = &steps[look.step];
		uint8_t proto = ask->proto;
		int err = look.asked || any_of(proto) ? read_on(ask, until_ns, compare_sock, &proto)
						      : 1;

		if (!err)
			return false;
		/* (A kernel without IPv6 has none of these.) */
		if (err < 0 && !(err == -ENOENT && ask->family == AF_INET6)) {
			look.failed = true;
			return true;
		}
	}
	return true;
}

static bool is_true(struct watched *w, uint64_t now_ns)
{
	w->seen |= w->here;
	if (w->since_ns < look.from_ns) /* (else the look may have gone past the socket) */
		w->missed = w->here ? 0 : w->missed + 1;
	if (w->other)
		return false;
	/* A look can miss a socket, when others come and go while the kernel reads on. */
	if (w->missed < 2)
		return true;
	/* A UDP socket was there when it proved the claim. */
	return w->req.key.proto == IPPROTO_TCP && !w->seen && now_ns - w->since_ns < LISTENS_NS;
}

static void take_claim_back(struct watched *w, sl_take_back_fn *take_back)
{
	struct sl_session *s = w->session;
	struct sl_claim_req req = w->req;

	if (w->other)
		sl_info("sluiced",
			"lease %u: port %u is the kernel's again: it would give packets to a "
			"socket of another user (inode %u)",
			s->member, req.key.local_port, w->other);
	else
		sl_debug("sluiced", "lease %u: port %u is the kernel's again: the socket is gone",
			 s->member, req.key.local_port);
	sl_watch_del(s, &req);
	take_back(s, &req);
}

static void begin_look(void)
{
	nalike = 0;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct watched *w = bucket[i]; w; w = w->next) {
			w->here = false;
			w->other = 0;
		}
}

/* True: all are judged. */
static bool judge_on(uint64_t until_ns, sl_take_back_fn *take_back)
{
	uint64_t now_ns = sl_now_ns();
	struct watched *next;

	for (; look.step < BUCKETS; look.step++, now_ns = sl_now_ns()) {
		for (struct watched *w = bucket[look.step]; w; w = next) {
			next = w->next;
			if (!w->session->leaving && !is_true(w, now_ns))
				take_claim_back(w, take_back);
		}
		if (now_ns > until_ns)
			return false;
	}
	return true;
}

/* Goes on with the look; true: there is more of it. */
static bool go_on(uint64_t until_ns, sl_take_back_fn *take_back)
{
	bool done = true;
	int err = 0;

	switch (look.now) {
	case NO_LOOK:
		return false;
	case LOOKS:
		done = read_sockets(until_ns);
		break;
	case JUDGES:
		done = look.failed || judge_on(until_ns, take_back);
		if (done)
			sl_watch_flows_begin();
		break;
	case LOOKS_AT_FLOWS:
		err = sl_watch_has_flows() || look.asked
			      ? read_on(&sl_watch_flows_ask, until_ns, sl_watch_flows_note, NULL)
			      : 1;
		done = err;
		look.failed = err < 0;
		break;
	case JUDGES_FLOWS:
		done = look.failed || sl_watch_flows_judge(until_ns, take_back);
		break;
	}
	if (!done)
		return true;
	look.step = 0;
	look.now = look.now == JUDGES_FLOWS ? NO_LOOK : look.now + 1;
	return look.now != NO_LOOK;
}

bool sl_watch_tick(sl_take_back_fn *take_back)
{
	uint64_t now_ns = sl_now_ns(), until_ns = now_ns + SLICE_NS;

	if (look.now == NO_LOOK) {
		if (now_ns < next_ns || (!nwatched && !sl_watch_has_flows()))
			return false;
		begin_look();
		look.now = LOOKS;
		look.failed = false;
		look.from_ns = now_ns;
		look.took_ns = 0;
	}
	while (go_on(until_ns, take_back) && sl_now_ns() < until_ns)
		;
	look.took_ns += sl_now_ns() - now_ns;
	if (look.now != NO_LOOK)
		return true;
	next_ns =
		look.from_ns + sl_max(SL_WATCH_MS * 1000000ull - 1000000ull, SHARE * look.took_ns);
	return false;
}
