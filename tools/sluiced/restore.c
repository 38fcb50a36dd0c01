/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that was the session's becomes the kernel's.
 *
 * Theory of operation: TCP_REPAIR sets SK_FORCE_REUSE, with which bind(2) takes a port even if
 * another user has it. So no client's socket is ever put into that mode while the client can reach
 * it: a thread of the client could bind it to another user's listening port meanwhile. The daemon
 * makes a socket of its own, with the client's user and group, by which firewalls match owners, and
 * passes it when it has left the mode. The client says which connection it is, and in what state;
 * the session must have claimed the flow, with a socket as its proof. The kernel refuses a flow
 * that it has already. The bytes of the queues come in a memfd that is sealed, of exactly their
 * length. The daemon reads it and never maps it: a client can neither shrink it under the daemon
 * nor have it wait.
 *
 * Between the two requests the client lets the flow's packets pass to the kernel; until the second
 * the new socket drops what comes. From the first on it is all that is left of the connection, so
 * the vault has it, too: if the daemon dies in between, the next one answers the second request.
 *
 * A queue may have 64 MB. The daemon fills it in pieces of about a millisecond, one in a turn of
 * its loop, while the request stays unanswered (session.c): other users do not wait for it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/kern/say.h"
#include "ctl/lease/image.h"
#include "sock/repair/repair.h"
#include "conns.h"
#include "facts.h"
#include "handlers.h"
#include "keep.h"
#include "proof.h"

#define TURN_NS 1000000ull
#define SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct sl_restore {
	int fd;       /* the new socket */
	uint32_t seq; /* of the request */
	bool live;    /* the restore is begun, not finished */
	bool filling; /* the queues of the new socket do not have all bytes yet */
	bool unbound; /* in the end the new socket is bound to the shadow's device */
	struct sl_flow_key key;
	struct sl_tcp_repair r;
	struct sl_repair_saved saved;
};

/* The session's claim ----------------------------------------------------------------------------
 */

static struct sl_flow_key flow_key_of(const struct sl_tcp_key *k)
{
	struct sl_flow_key key = {
		.local_port = k->lport,
		.remote_port = k->rport,
		.proto = IPPROTO_TCP,
	};

	memcpy(key.local, k->local.b, sizeof(key.local));
	memcpy(key.remote, k->remote.b, sizeof(key.remote));
	return key;
}

static bool is_claim_of(const struct sl_flow_key *claimed, const struct sl_flow_key *flow)
{
	struct sl_addr end = sl_addr_of(claimed->local);
	bool at_end = !memcmp(claimed->local, flow->local, sizeof(flow->local));

	if (claimed->proto != IPPROTO_TCP || claimed->local_port != flow->local_port)
		return false;
	if (!claimed->remote_port)
		return at_end || sl_addr_is_any(&end);
	return at_end && claimed->remote_port == flow->remote_port &&
	       !memcmp(claimed->remote, flow->remote, sizeof(flow->remote));
}

/* True: the flow itself is claimed, or its end for any peer. The flow does not name a VLAN. */
static bool is_sessions(const struct sl_session *s, const struct sl_flow_key *flow)
{
	for (uint32_t i = 0; i < s->held.max; i++)
		if (s->held.slot[i].used && !(s->held.slot[i].req.claim.flags & SL_CLAIM_PASS) &&
		    is_claim_of(&s->held.slot[i].req.key, flow))
			return true;
	return false;
}

/* A socket of the client's user -------------------------------------------------------------------
 */

/* True: the thread's file system id is `id` now. (The call never fails; it returns that id.) */
static bool is_fs_id(long nr, uint32_t id)
{
	return (uint32_t)sl_sys(nr, UINT32_MAX) == id;
}

/* Sockets that this thread makes belong to that user from now on. */
static bool become(uint32_t uid, uint32_t gid)
{
	(void)sl_sys(SYS_setfsgid, gid);
	(void)sl_sys(SYS_setfsuid, uid);
	return is_fs_id(SYS_setfsuid, uid) && is_fs_id(SYS_setfsgid, gid);
}

/* Makes a socket that belongs to the client's user, since a firewall's rule for root must not fit a
 * client's connection. Fails when the daemon cannot become that user. */
int sl_restore_socket(const struct sl_session *s, int family, const char **why)
{
	uint32_t uid = (uint32_t)sl_sys(SYS_geteuid), gid = (uint32_t)sl_sys(SYS_getegid);
	long dumpable = sl_sys(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
	int fd = -EPERM;

	if (uid == s->cred.uid && gid == s->cred.gid)
		return sl_sys_socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (become(s->cred.uid, s->cred.gid)) {
		fd = sl_sys_socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	} else {
		sl_warn_once("sluiced",
			     "connections cannot go back to the kernel: a socket of user "
			     "%u cannot be made; remedy: CAP_SETUID and CAP_SETGID for "
			     "sluiced (sluiced.service)",
			     s->cred.uid);
		sl_why(why, "the daemon cannot make a socket of user %u", s->cred.uid);
	}
	(void)become(uid, gid);
	if (dumpable == 1) /* a change of user clears it */
		(void)sl_sys(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	return fd;
}

static const struct {
	int level, name;
} privileged[] = {
	{SOL_SOCKET, SO_MARK},
	{SOL_SOCKET, SO_PRIORITY},
	{SOL_SOCKET, SO_BINDTOIFINDEX},
};

static void copy_int(int from, int to, int level, int name)
{
	int v = 0;

	if (!sl_sys_get_int(from, level, name, &v) && v)
		(void)sl_sys_set_int(to, level, name, v);
}

static void copy_buffer(int from, int to, int get, int set)
{
	int v = 0;

	if (!sl_sys_get_int(from, SOL_SOCKET, get, &v))
		(void)sl_sys_set_int(to, SOL_SOCKET, set, sl_min(v, (int)SL_BUFFER_MAX) / 2);
}

void sl_restore_options(int from, int to, int family)
{
	const struct sl_facts *f = sl_facts_of(from);
	const int one = 1;
	char cc[16];
	socklen_t len = sizeof(cc);

	for (unsigned i = 0; i < sl_array_len(privileged); i++)
		copy_int(from, to, privileged[i].level, privileged[i].name);
	if (f->transparent)
		(void)sl_sys_setsockopt(to, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one));
	if (f->v6only && family == AF_INET6)
		(void)sl_sys_setsockopt(to, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (!sl_sys_getsockopt(from, IPPROTO_TCP, TCP_CONGESTION, cc, &len))
		(void)sl_sys_setsockopt(to, IPPROTO_TCP, TCP_CONGESTION, cc, len);
	copy_buffer(from, to, SO_SNDBUF, SO_SNDBUFFORCE);
	copy_buffer(from, to, SO_RCVBUF, SO_RCVBUFFORCE);
	len = sizeof(int);
	(void)sl_sys_setsockopt(to, SOL_SOCKET, SO_BUF_LOCK, &(int){0}, sizeof(int));
	copy_int(from, to, SOL_SOCKET, SO_BUF_LOCK);
}

static int new_socket(const struct sl_session *s, int shadow, const char **why)
{
	int family = 0, fd;

	(void)sl_sys_get_int(shadow, SOL_SOCKET, SO_DOMAIN, &family);
	fd = sl_restore_socket(s, family, why);
	if (fd >= 0)
		sl_restore_options(shadow, fd, family);
	return fd;
}

/* The queues --------------------------------------------------------------------------------------
 */

struct file {
	int fd;
	uint32_t rcvq; /* bytes of the receive queue, which stand first */
};

static uint32_t read_file(const struct file *f, uint64_t at, void *buf, uint32_t n)
{
	long got = sl_sys(SYS_pread64, f->fd, buf, (size_t)n, (long)at);

	return got > 0 ? (uint32_t)got : 0;
}

static uint32_t read_rcvq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return read_file(arg, at, buf, n);
}

static uint32_t read_sndq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	const struct file *f = arg;

	return read_file(f, (uint64_t)f->rcvq + at, buf, n);
}

static int check_file(int fd, uint64_t bytes, const char **why)
{
	struct stat st;
	int seals;

	if (!bytes)
		return 0;
	seals = sl_sys_fcntl(fd, F_GET_SEALS, 0);
	if (seals >= 0 && (seals & SEALS) == SEALS && sl_sys(SYS_fstat, fd, &st) == 0 &&
	    (uint64_t)st.st_size == bytes)
		return 0;
	sl_why(why, "the connection's bytes are not in a sealed memfd of their length");
	return -EPERM;
}

/* The steps ---------------------------------------------------------------------------------------
 */

static int bind_forced(int fd, const struct sl_tcp_repair *r)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss), n = sizeof(int);
	int family = 0, err;

	(void)sl_sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n);
	sl_addr_to_sockaddr(&r->key.local, r->key.lport,
			    sl_addr_is_linklocal(&r->key.local) ? r->scope_id : 0, family,
			    (struct sockaddr *)&ss, &len);
	err = sl_broker_repair(fd, TCP_REPAIR_ON);
	return err ? err : sl_sys_bind(fd, &ss, len);
}

static int send_syn(struct sl_restore *x, const struct sl_lease_restore *q, int file)
{
	struct sl_tcp_repair_syn syn = {
		.iss = q->iss,
		.tsval = x->r.tsval,
		.bytes = q->syn_bytes,
		.mss = q->syn_mss,
		.user_mss = q->syn_user_mss,
		.ts_ok = x->r.ts_ok,
	};
	const struct file f = {.fd = file};
	uint8_t data[SL_TCP_SYN_MAX];
	int err = read_file(&f, 0, data, syn.bytes) == syn.bytes ? bind_forced(x->fd, &x->r)
								 : -EINVAL;

	return err ? err : sl_repair_syn(x->fd, &x->r.key, x->r.scope_id, &syn, data);
}

/* 0: done, or the queues have to be filled (x->filling). */
static int make_socket(struct sl_restore *x, const struct sl_lease_restore *q, int file)
{
	int err;

	if (q->how == SL_LEASE_SYN)
		return send_syn(x, q, file);
	x->live = q->how == SL_LEASE_LIVE;
	err = x->live ? sl_repair_start(x->fd, &x->r, &x->saved)
		      : sl_repair_closed_start(x->fd, &x->r, &x->saved);
	x->filling = !err;
	return err;
}

/* The kernel connects no socket that is bound to a device by which there is no route, as the
 * loopback device; but a connection may be bound to it. So that is done when the new socket is
 * connected: no packet has reached or left it by then. */
static int make_unbound(const struct sl_session *s, struct sl_restore *x,
			const struct sl_lease_restore *q, const int fd[2], const char **why)
{
	int err, made = new_socket(s, fd[0], why);

	if (made < 0)
		return made;
	sl_sys_close(x->fd);
	x->fd = made;
	x->unbound = true;
	err = sl_sys_set_int(made, SOL_SOCKET, SO_BINDTOIFINDEX, 0);
	return err ?: make_socket(x, q, fd[1]);
}

/* Fills the queues for a while. -EINPROGRESS: there is more to do, in the next turn. */
static int fill(struct sl_session *s, struct sl_restore *x, const struct sl_lease_restore *q,
		const int fd[2])
{
	struct file f = {.fd = fd[1], .rcvq = x->r.rcvq};
	const struct sl_repair_source src = {
		.sndq = read_sndq, .rcvq = read_rcvq, .arg = &f, .hurry = true};
	uint64_t end = sl_now_ns() + TURN_NS;
	bool reset = q->how == SL_LEASE_RESET;
	int err = 0;

	while (x->filling) {
		err = x->live ? sl_repair_fill(x->fd, &x->r, &src, &x->saved)
			      : sl_repair_closed_fill(x->fd, &x->r, &src, &x->saved, reset);
		x->filling = err > 0;
		if (x->filling && sl_now_ns() >= end) {
			s->goes_on = true;
			return -EINPROGRESS;
		}
	}
	if (!err && x->unbound)
		copy_int(fd[0], x->fd, SOL_SOCKET, SO_BINDTOIFINDEX);
	return err;
}

/* A connection that is over may have no claim any more: one that came by a listener has none of its
 * own. Its socket gets a port of the kernel's choice then, as any program may have it: bound to the
 * port of another process it could listen there. */
static int check_request(const struct sl_session *s, const struct sl_lease_restore *q,
			 const int fd[2], struct sl_tcp_repair *r, const char **why)
{
	bool syn = q->how == SL_LEASE_SYN;
	bool over = q->how == SL_LEASE_ENDED || q->how == SL_LEASE_RESET;
	struct sl_flow_key key;
	int err;

	if (!s->limits.repair) {
		sl_why(why, "the policy does not let user %u's connections move", s->cred.uid);
		return -EPERM;
	}
	err = sl_proof_tcp(fd[0], why);
	if (err)
		return err;
	if (q->how < SL_LEASE_LIVE || q->how > SL_LEASE_QUEUE ||
	    sl_repair_unpack(&q->conn, over, r) || r->unsent || (r->fin_queued && !r->fin_sent) ||
	    (syn && (r->rcvq || r->sndq || !q->syn_bytes || q->syn_bytes > SL_TCP_SYN_MAX)))
		return -EINVAL;
	key = flow_key_of(&r->key);
	if (!is_sessions(s, &key) && over) {
		r->key.lport = 0;
	} else if (!is_sessions(s, &key)) {
		sl_why(why, "the connection is not one that this process has claimed");
		return -EPERM;
	}
	return check_file(fd[1], syn ? q->syn_bytes : (uint64_t)r->rcvq + r->sndq, why);
}

void sl_restore_drop(struct sl_session *s)
{
	if (!s->restore)
		return;
	sl_keep_restore(s, NULL, 0, -1);
	sl_sys_close(s->restore->fd);
	free(s->restore);
	s->restore = NULL;
}

int sl_restore_adopt(struct sl_session *s, struct sl_vault_msg *m)
{
	struct sl_restore *x;

	if (m->bytes != sizeof(*x) || m->nfds != 1 || s->restore)
		return -EPROTO;
	x = malloc(sizeof(*x));
	if (!x)
		return -ENOMEM;
	memcpy(x, m->body, sizeof(*x));
	x->fd = sl_fd_keep(sl_vault_take(m, 0));
	s->restore = x;
	return 0;
}

/* True: the client's user has made the listener. */
static bool is_users(const struct sl_session *s, int listener)
{
	struct stat st;

	return !s->cred.uid || (!sl_sys(SYS_fstat, listener, &st) && st.st_uid == s->cred.uid);
}

/* The listener gets it that the kernel would choose for the connection's SYN, and it must be the
 * one that the client shows, and its user's: a worker of a root's server could tell the server of
 * peers that there are not. */
static int queue(struct sl_session *s, const struct sl_lease_restore *q, const int fd[2],
		 const char **why)
{
	struct sl_tcp_repair r;
	struct file f = {.fd = fd[1]};
	const struct sl_repair_source src = {
		.sndq = read_sndq, .rcvq = read_rcvq, .arg = &f, .hurry = true};
	int err = check_request(s, q, fd, &r, why);

	if (!err && !is_users(s, fd[0])) {
		sl_why(why, "another user has made the listener");
		err = -EPERM;
	}
	err = err ?: sl_repair_queue(fd[0], &r, &src);
	return err == -EALREADY && s->again ? 0 : err; /* the daemon before us did it */
}

/* Begins to make it. */
static int begin(struct sl_session *s, const struct sl_lease_restore *q, const int fd[2],
		 const char **why)
{
	struct sl_restore *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	err = check_request(s, q, fd, &x->r, why);
	if (!err)
		err = x->fd = new_socket(s, fd[0], why);
	if (err < 0) {
		free(x);
		return err;
	}
	x->key = flow_key_of(&x->r.key);
	x->seq = s->seq;
	s->restore = x;
	err = make_socket(x, q, fd[1]);
	if ((err == -ENETUNREACH || err == -EHOSTUNREACH) && q->how == SL_LEASE_LIVE &&
	    !sl_proof_is_everywhere(fd[0]))
		err = make_unbound(s, x, q, fd, why);
	return err;
}

int sl_on_restore(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_restore q = m->body.restore;
	bool goes_on = s->goes_on && s->restore && s->restore->filling;
	int err = 0;

	if (!goes_on && s->again && s->restore && s->restore->seq == s->seq)
		return 0; /* the daemon before us made it */
	if (q.how == SL_LEASE_QUEUE)
		return queue(s, &q, m->fd, why);
	if (!goes_on) {
		sl_restore_drop(s);
		err = begin(s, &q, m->fd, why);
	}
	s->goes_on = false;
	if (!err)
		err = fill(s, s->restore, &q, m->fd);
	if (err == -EINPROGRESS)
		return err;
	if (err)
		sl_restore_drop(s);
	else
		sl_keep_restore(s, s->restore, sizeof(*s->restore), s->restore->fd);
	return err;
}

bool sl_restore_covers(const struct sl_session *s, const struct sl_claim_req *req)
{
	struct sl_flow_key key = req->key;

	key.vlan = 0;
	return s->restore && req->claim.flags & SL_CLAIM_PASS &&
	       !memcmp(&key, &s->restore->key, sizeof(key));
}

int sl_on_restored(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_repair_source src = {.hurry = true};
	struct sl_restore *x = s->restore;
	int err = 0;

	if (!x)
		return -ENOENT;
	if (x->filling) { /* its request was refused in the midst: the socket is in repair mode */
		sl_restore_drop(s);
		return -ENOENT;
	}
	if (!m->body.restored.go) {
		sl_restore_drop(s);
		return -ECANCELED;
	}
	if (x->live)
		err = sl_repair_finish(x->fd, &x->r, &src, &x->saved);
	if (err) {
		sl_restore_drop(s);
		return err;
	}
	sl_keep_restore(s, NULL, 0, -1);
	m->fd[m->nfds++] = x->fd;
	free(x);
	s->restore = NULL;
	return 0;
}
