/* SPDX-License-Identifier: BSD-2-Clause */
/* The proof that a claim needs: the kernel itself, asked by sock_diag, says that it would give
 * those packets to the passed socket.
 *
 * Theory of operation: for a flow the kernel looks its own tables up and names the socket. For an
 * endpoint the daemon reads all sockets of the port; the kernel must not prefer another user's for
 * some of the packets, or give it a copy. Sockets of the session's own user do not count: the
 * library of that user's programs decides among these. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/claim/claim.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"
#include "ctl/kern/say.h"
#include "net/route.h"
#include "census.h"
#include "claims.h"
#include "deliver.h"
#include "facts.h"
#include "session.h"
#include "vlan.h"

#define STATE(s)  (1u << (s))
#define ANY_STATE (~0u)
#define CONNECTED (~(STATE(SL_DIAG_LISTEN) | STATE(SL_DIAG_CLOSE) | STATE(SL_DIAG_TIME_WAITS)))

static int netlink = -1;

int sl_prove_netlink(void)
{
	if (netlink < 0)
		netlink = sl_netlink_open(NETLINK_SOCK_DIAG);
	return netlink;
}

void sl_prove_netlink_close(void)
{
	if (netlink >= 0)
		sl_sys_close(netlink);
	netlink = -1;
}

/* A kernel without the modules cannot be asked, and then nothing can be proved. */
static void say_no_diag(void)
{
	static bool said;

	if (!said)
		sl_warn("sluiced",
			"sock_diag does not answer: no claim can be proved, and programs "
			"stay with the kernel; remedy: modprobe -a tcp_diag udp_diag");
	said = true;
}

static int dumped(int err, uint8_t family)
{
	if (!err)
		return 0;
	sl_prove_netlink_close();
	if (err == -ENOENT && family == AF_INET6) /* a kernel without IPv6 */
		return 0;
	if (err != -ENOENT)
		return err;
	say_no_diag();
	return -EOPNOTSUPP;
}

static int find_socket(const struct sl_diag_flow *f, struct sl_diag_sock *out)
{
	int fd = sl_prove_netlink();
	int err = fd < 0 ? fd : sl_diag_find(fd, f, out);

	if (err && err != -ENOENT)
		sl_prove_netlink_close();
	return err;
}

static void no_one(const struct sl_diag_sock *s, void *arg)
{
}

/* True: the kernel can look for TCP connections. False: a connection that is not found may still
 * exist. */
static bool can_find_tcp(void)
{
	static const struct sl_diag_ask any = {IPPROTO_TCP, AF_INET, 1, STATE(SL_DIAG_LISTEN)};
	static bool can;
	int fd = can ? -1 : sl_prove_netlink();

	if (!can)
		can = !dumped(fd < 0 ? fd : sl_diag_dump(fd, &any, no_one, NULL), AF_INET);
	return can;
}

/* The socket itself ------------------------------------------------------------------------------
 */

/* The value; 0 when it cannot be read. */
static int option_of(int fd, int level, int opt)
{
	int v = 0, err = sl_sys_get_int(fd, level, opt, &v);

	return err ? 0 : v;
}

/* Checks the socket for a claim of a flow for which the kernel has no socket. */
static int read_basics(int fd, struct sl_proof *p)
{
	struct sl_diag_sock *own = &p->own;
	socklen_t len = sizeof(own->cookie);
	struct stat st;

	*p = (struct sl_proof){0};
	if (fstat(fd, &st)) /* sock_diag shows the same user (sock_i_uid()) */
		return -errno;
	own->uid = st.st_uid;
	own->ifindex = (uint32_t)option_of(fd, SOL_SOCKET, SO_BINDTOIFINDEX);
	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &own->cookie, &len) ? -EPERM : 0;
}

static int read_own(int fd, struct sl_proof *p)
{
	const struct sl_facts *f = sl_facts_of(fd);
	struct sl_diag_sock *own = &p->own;

	own->family = (uint8_t)option_of(fd, SOL_SOCKET, SO_DOMAIN);
	own->v6only = f->v6only;
	own->state = option_of(fd, SOL_SOCKET, SO_ACCEPTCONN) ? SL_DIAG_LISTEN : SL_DIAG_CLOSE;
	p->reuseport = option_of(fd, SOL_SOCKET, SO_REUSEPORT);
	own->local = f->own;
	own->local_port = f->own_port;
	own->remote = f->peer;
	own->remote_port = f->peer_port;
	return own->local_port ? 0 : -EPERM;
}

/* True: the socket is a member there. (ip_mc_gsfget(): -EADDRNOTAVAIL if not.) */
static bool is_member(int fd, const struct sl_addr *group, uint32_t ifindex)
{
	struct group_filter f = {.gf_interface = ifindex};
	bool v4 = sl_addr_is_v4(group);
	socklen_t len = sizeof(f.gf_group);

	sl_addr_to_sockaddr(group, 0, 0, v4 ? AF_INET : AF_INET6, (struct sockaddr *)&f.gf_group,
			    &len);
	len = GROUP_FILTER_SIZE(0);
	return !sl_facts_getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, MCAST_MSFILTER, &f, &len);
}

/* An address that the host got a moment ago is known when its message is read. */
static bool is_hosts(const struct sl_addr *a)
{
	if (sl_addr_is_any(a) || sl_addr_is_local(a))
		return true;
	sl_net_on_readable();
	return sl_addr_is_local(a);
}

static int check_place(int fd, const struct sl_claim_req *req, const struct sl_diag_sock *own,
		       const char **why)
{
	struct sl_addr local = sl_addr_of(req->key.local);
	uint32_t device = sl_vlan_device_of(req);

	if (!device) {
		sl_why(why, "the VLAN device is gone");
		return -ENODEV;
	}
	if (own->ifindex && own->ifindex != device) {
		sl_why(why, "the socket is bound to another device");
		return -EPERM;
	}
	if (sl_addr_is_multicast(&local)) {
		if (req->key.proto == IPPROTO_UDP && is_member(fd, &local, device))
			return 0;
		sl_why(why, "the socket is no member of the group on that device");
		return -EPERM;
	}
	/* IP_FREEBIND lets any user bind any address. */
	if (is_hosts(&local))
		return 0;
	sl_why(why, "that is no address of this host");
	return -EPERM;
}

/* Owners of other sockets ------------------------------------------------------------------------
 */

bool sl_proof_is_others(const struct sl_session *s, const struct sl_proof *p,
			const struct sl_diag_sock *other)
{
	if (other->cookie == p->own.cookie || other->uid == s->cred.uid)
		return false;
	/* The kernel lets only one user's sockets into a SO_REUSEPORT group. (A worker may have its
	 * socket from a master of another user.) */
	return !p->reuseport || other->uid != p->own.uid;
}

/* True: the session proved the claim of an endpoint with that socket. (If to the daemon before us,
 * its number is not known at once.) */
static bool has_proved_with(const struct sl_session *s, const struct sl_diag_sock *found)
{
	for (uint32_t i = 0; i < s->held.max; i++) {
		const struct sl_held *h = &s->held.slot[i];

		if (h->used && !h->req.key.remote_port &&
		    h->req.key.local_port == found->local_port &&
		    (h->cookie == found->cookie || !h->cookie))
			return true;
	}
	return false;
}

/* Flows ------------------------------------------------------------------------------------------
 */

static struct sl_diag_flow flow_of_claim(const struct sl_claim_req *req)
{
	return (struct sl_diag_flow){
		.local = sl_addr_of(req->key.local),
		.remote = sl_addr_of(req->key.remote),
		.local_port = req->key.local_port,
		.remote_port = req->key.remote_port,
		.ifindex = sl_vlan_device_of(req),
		.proto = req->key.proto,
	};
}

/* Finds the kernel's socket for the flow. An unfinished handshake belongs to the listener, since it
 * has no user id itself. */
static int find_owner(const struct sl_diag_flow *f, struct sl_diag_sock *out)
{
	struct sl_diag_flow first = *f;
	int err = find_socket(f, out);

	if (err || f->proto != IPPROTO_TCP || out->inode ||
	    (out->state != SL_DIAG_SYN_RECV && out->state != SL_DIAG_NEW_SYN_RECV))
		return err;
	first.remote_port = 0;
	return find_socket(&first, out);
}

/* A TCP connection of the library has a socket that is only bound: the kernel finds nothing, or the
 * listener that it came by. A connection that is over (TIME_WAIT), or that no process holds, loses
 * nothing. */
static bool may_have_tcp(const struct sl_session *s, const struct sl_proof *p,
			 const struct sl_diag_sock *found, const struct sl_claim_req *req)
{
	struct sl_deliver_claim c = sl_deliver_claim_of(req);

	if (!sl_proof_is_others(s, p, found) || found->state == SL_DIAG_TIME_WAITS ||
	    (!found->inode && found->state != SL_DIAG_LISTEN) || has_proved_with(s, found))
		return true;
	return found->state == SL_DIAG_LISTEN && p->own.state == SL_DIAG_LISTEN &&
	       !sl_deliver_prefers(&c, &p->own, found);
}

static int prove_flow(const struct sl_session *s, int fd, const struct sl_claim_req *req,
		      struct sl_proof *p, const char **why)
{
	struct sl_diag_flow f = flow_of_claim(req);
	struct sl_diag_sock found;
	int err = find_owner(&f, &found);

	if (err == -ENOENT && req->key.proto == IPPROTO_TCP)
		return can_find_tcp() ? 0 : -EOPNOTSUPP;
	if (!err)
		err = read_own(fd, p);
	if (!err && req->key.proto == IPPROTO_UDP && !p->own.remote_port)
		err = -ENOENT; /* other peers' packets are its, too: that is no flow of its own */
	if (!err && found.cookie == p->own.cookie)
		return 0;
	if (err) {
		sl_why(why, "the kernel knows no socket for that flow");
		return err == -ENOENT ? -EPERM : err;
	}
	if (req->key.proto == IPPROTO_TCP ? may_have_tcp(s, p, &found, req)
					  : !sl_proof_is_others(s, p, &found))
		return 0;
	sl_why(why, "the flow is another user's: the kernel would give it to that user's socket");
	return -EPERM;
}

/* A flow that is let pass is the kernel's, so it needs no socket of its own. But it overrides the
 * claim of the endpoint, which may be another session's: it must not be another user's. */
static int prove_pass(const struct sl_session *s, int fd, const struct sl_claim_req *req,
		      struct sl_proof *p, const char **why)
{
	struct sl_diag_flow f = flow_of_claim(req);
	struct sl_diag_sock found;
	int err = find_owner(&f, &found);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = read_own(fd, p);
	if (err || (req->key.proto == IPPROTO_TCP ? may_have_tcp(s, p, &found, req)
						  : !sl_proof_is_others(s, p, &found)))
		return err;
	sl_why(why, "the flow is another user's: it is not this process's to let pass");
	return -EPERM;
}

/* Endpoints --------------------------------------------------------------------------------------
 */

struct look {
	const struct sl_session *session;
	const struct sl_deliver_claim *claim;
	struct sl_proof *proof;
	bool found;  /* the socket itself */
	bool others; /* another user's socket goes before it */
};

static void look_at_taker(const struct sl_diag_sock *o, void *arg)
{
	struct look *l = arg;

	l->others |= sl_proof_is_others(l->session, l->proof, o) &&
		     sl_deliver_prefers(l->claim, &l->proof->own, o);
}

/* Finds another user's kernel connection that would lose its segments. (One without a holder is
 * about to end.) */
static void look_at_conn(const struct sl_diag_sock *o, void *arg)
{
	struct look *l = arg;

	l->others |= o->inode && o->remote_port && sl_proof_is_others(l->session, l->proof, o) &&
		     sl_deliver_reaches(l->claim, o);
}

/* A listener's claims for several devices and families all ask for the connections of one port. */
#define CONNS_NS 50000000ull
#define BEGUN_NS 5000000ull /* at most, from the first question to the beginning of the wait */

/* Asks for the sockets of the claim's port; family AF_UNSPEC: for connections of both families. */
static int ask(const struct sl_claim_req *req, uint8_t family, uint32_t states, sl_diag_fn *fn,
	       struct look *l)
{
	uint64_t now = sl_now_ns(), asked = l->session->waits_ns;
	const struct sl_census_ask q = {
		.ask = {req->key.proto, family, req->key.local_port, states},
		.own = l->proof->own.cookie,
		.uid = l->session->cred.uid,
		.since_ns = family == AF_UNSPEC ? now - CONNS_NS
			    : asked             ? asked - BEGUN_NS
						: now,
	};
	int err = sl_census(&q, &l->found, fn, l);

	return err == -EINPROGRESS || err == -E2BIG ? err : dumped(err, family);
}

static int for_families(const struct sl_claim_req *req, uint32_t states, sl_diag_fn *fn,
			struct look *l)
{
	bool v4 = sl_addr_is_v4(&l->claim->local);
	int err = v4 ? ask(req, AF_INET, states, fn, l) : 0;

	return err ? err : ask(req, AF_INET6, states, fn, l);
}

static int prove_endpoint(const struct sl_session *s, int fd, const struct sl_claim_req *req,
			  struct sl_proof *p, const char **why)
{
	struct sl_deliver_claim c = sl_deliver_claim_of(req);
	struct look l = {.session = s, .claim = &c, .proof = p};
	bool tcp = req->key.proto == IPPROTO_TCP;
	int err = read_own(fd, p);

	if (!err && !c.to_all && p->own.remote_port) {
		sl_why(why, "the socket has a peer: the kernel gives it that peer's packets only");
		return -EPERM;
	}
	if (!err)
		err = for_families(req, tcp ? STATE(SL_DIAG_LISTEN) : ANY_STATE, look_at_taker, &l);
	if (!err && tcp && !l.others)
		err = ask(req, AF_UNSPEC, CONNECTED, look_at_conn, &l);
	if (err == -EINPROGRESS)
		return err;
	if (err) {
		sl_why(why, "the kernel's sockets cannot be asked for");
		return err;
	}
	if (l.others) {
		sl_why(why, "the kernel would give packets of that endpoint to a socket of another "
			    "user");
		return -EPERM;
	}
	/* A socket that is going to listen is not in the kernel's table yet; watch.c sees to it. */
	if (l.found || tcp)
		return 0;
	sl_why(why, "the kernel gives nothing to the socket");
	return -EPERM;
}

/* All together ----------------------------------------------------------------------------------
 */

struct sl_deliver_claim sl_deliver_claim_of(const struct sl_claim_req *req)
{
	struct sl_deliver_claim c = {
		.local = sl_addr_of(req->key.local),
		.remote = sl_addr_of(req->key.remote),
		.remote_port = req->key.remote_port,
		.ifindex = sl_vlan_device_of(req),
		.proto = req->key.proto,
	};

	c.to_all = sl_addr_is_multicast(&c.local);
	return c;
}

int sl_prove_nothing(int fd, struct sl_proof *proof, const char **why)
{
	int err = read_basics(fd, proof);

	if (err)
		sl_why(why, "the descriptor is no socket");
	return err;
}

int sl_prove(const struct sl_session *s, int fd, const struct sl_claim_req *req,
	     struct sl_proof *proof, const char **why)
{
	int err = sl_prove_nothing(fd, proof, why);

	if (err)
		return err;
	if (req->claim.flags & SL_CLAIM_PASS)
		return prove_pass(s, fd, req, proof, why);
	err = check_place(fd, req, &proof->own, why);
	if (err)
		return err;
	return req->key.remote_port ? prove_flow(s, fd, req, proof, why)
				    : prove_endpoint(s, fd, req, proof, why);
}

int sl_prove_packet(int fd, const struct sl_diag_flow *packet, const char **why)
{
	struct sl_diag_flow f = *packet;
	struct sl_diag_sock found;
	struct sl_proof p;
	int err = read_basics(fd, &p);

	f.ifindex = p.own.ifindex;
	if (!err)
		err = find_socket(&f, &found);
	if (err && err != -ENOENT)
		return err;
	if (!err && found.cookie == p.own.cookie)
		return 0;
	sl_why(why, "the kernel would not give the packet to that socket");
	return -EPERM;
}

/* The session gives a claim up before it asks for the packets of the queue. */
static bool has_had(const struct sl_session *s, uint64_t cookie)
{
	for (unsigned i = 0; i < sl_array_len(s->gave); i++)
		if (s->gave[i] == cookie)
			return true;
	for (uint32_t i = 0; i < s->held.max; i++) {
		const struct sl_held *h = &s->held.slot[i];

		if (h->used && h->cookie == cookie && h->req.key.proto == IPPROTO_UDP)
			return true;
	}
	return false;
}

int sl_prove_own(const struct sl_session *s, int fd, const char **why)
{
	struct sl_proof p;
	struct stat st;
	int err = read_basics(fd, &p);

	if (!err && fstat(fd, &st))
		err = -errno;
	if (err)
		return err;
	if (!s->cred.uid || st.st_uid == s->cred.uid || (s->sent && st.st_uid == s->real_uid) ||
	    has_had(s, p.own.cookie))
		return 0;
	sl_why(why, "the socket is of user %u", st.st_uid);
	return -EPERM;
}

bool sl_prove_late(const struct sl_session *s, const struct sl_diag_flow *f)
{
	struct sl_diag_sock found;
	int err = find_owner(f, &found);

	/* A packet that meets no socket is reset. Connections that the daemon saved are the
	 * daemon's own. */
	return err == -ENOENT || (!err && (found.uid == s->cred.uid || !found.uid || !found.inode ||
					   has_proved_with(s, &found)));
}
