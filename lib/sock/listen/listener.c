/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a TCP socket that listens: listen(2), accept(2), and its end.
 *
 * Theory of operation: the kernel's socket listens, too: what XDP passes (loopback, other devices,
 * fragments) comes out of the same accept(2). The endpoint is claimed before the kernel listens,
 * so that no handshake begins with the one and ends with the other. Connections that come to us
 * have no claim of their own: their packets match the endpoint, and the lane's table knows them.
 * When the endpoint is given up while they live they get exact claims first. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "sluice.h"
#include "sock/stream/tconn.h"

static struct sl_lock lock; /* a leaf; protects what follows */
static struct sl_tlisten *free_list;
static uint32_t ids;
static uint32_t nlisteners;

/* Life ------------------------------------------------------------------------------------------
 */

static struct sl_tlisten *new_listener(struct sl_sock *sk)
{
	struct sl_tlisten *l;

	sl_lock(&lock);
	l = free_list;
	if (l)
		free_list = l->next_free;
	sl_unlock(&lock);
	if (!l)
		l = sl_malloc(sizeof(*l));
	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	__atomic_fetch_add(&nlisteners, 1, __ATOMIC_RELAXED);
	l->sk = sk;
	l->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	sl_tcp_listener_init(&l->tcp);
	return l;
}

static void free_listener(struct sl_tlisten *l)
{
	sl_lock(&lock);
	l->next_free = free_list;
	free_list = l;
	nlisteners--;
	sl_unlock(&lock);
}

uint32_t sl_tlisten_count(void)
{
	return sl_load(&nlisteners);
}

void sl_tlisten_child(void)
{
	memset(&lock, 0, sizeof(lock));
	free_list = NULL;
	nlisteners = 0;
	sl_tlisten_drain_child();
}

/* Puts the listener behind a slot, where packets find it. */
static int install(struct sl_sock *sk, struct sl_tlisten *l)
{
	struct sl_lane *lane;
	int slot = sl_slot_new();

	if (slot < 0)
		return slot;
	if (!sl_sock_lock(sk, &lane)) {
		sl_slot_free((uint32_t)slot);
		return -EDEADLK;
	}
	sk->slot = (uint32_t)slot;
	sl_tcp_opt_listener(sk, l);
	sl_store_release(&sk->lsn, l);
	sl_slot_set(sk->slot, SL_SLOT_TCP_LISTEN, l);
	sl_lane_unlock(lane);
	return 0;
}

/* Takes it out again; the endpoint is not claimed any more. */
static void uninstall(struct sl_sock *sk)
{
	struct sl_tlisten *l = sk->lsn;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	/* Packets that were already steered here may be for its connections, too. */
	sl_lane_turn_locked(lane);
	if (sk->slot != SL_NO_SLOT)
		sl_slot_free(sk->slot);
	sk->slot = SL_NO_SLOT;
	sl_lane_tcp_begin(lane);
	sl_tcp_listener_fini(lane->tcp, &l->tcp);
	sl_lane_tcp_done(lane);
	sl_store_release(&sk->lsn, NULL);
	sl_lane_unlock(lane);
	sl_tlisten_drained(l);
	sl_tlisten_part_over(sk, l);
	free_listener(l);
}

void sl_tlisten_stop(struct sl_sock *sk)
{
	sl_tlisten_claim_children(sk);
	sl_sock_unclaim(sk);
	uninstall(sk);
}

/* listen ----------------------------------------------------------------------------------------
 */

/* Clamps as __sys_listen() does: at most somaxconn; a negative backlog counts as large. */
static uint32_t clamp_backlog(int backlog)
{
	char buf[16];
	uint32_t max = 4096, n = 0;
	long len = sl_read_text("/proc/sys/net/core/somaxconn", buf, sizeof(buf));

	for (long i = 0; i < len && buf[i] >= '0' && buf[i] <= '9'; i++)
		n = n * 10 + (uint32_t)(buf[i] - '0');
	if (len > 0)
		max = n;
	return sl_min((uint32_t)backlog, max);
}

/* A connection that the kernel already has on the port (from a program that ran before, or handed
 * back) stays there: its flow passes to the kernel. Those in TIME_WAIT, perhaps as many as the peer
 * has ports, are skipped: a new connection from such a port is for us. */
struct passing {
	struct sl_sock *sk;
	unsigned n;
};

struct owner {
	const struct sl_tcp_key *key;
	bool ours;
};

static void look_in(struct sl_lane *lane, void *arg)
{
	struct owner *o = arg;
	struct sl_tcp *t;

	if (o->ours || !sl_load(&lane->tcp) || !sl_lane_lock(lane))
		return;
	t = sl_tcp_find(lane->tcp, o->key);
	o->ours = t && !sl_tconn_of(t)->dead;
	sl_lane_unlock(lane);
}

/* Another thread has taken it over since the kernel was asked, or is just going to claim it (it is
 * in the table before). sl_tconn_ctl held. */
static bool is_taken(const struct sl_tcp_key *key)
{
	struct owner o = {.key = key};

	sl_lane_for_each(look_in, &o);
	return o.ours;
}

static void let_pass(const struct sl_diag_conn *d, void *arg)
{
	struct passing *p = arg;
	struct sl_sock *sk = p->sk;
	struct sl_tcp_key key = {d->local, d->remote, sk->local_port, d->remote_port};

	if (d->state == SL_DIAG_TIME_WAIT || (sk->bound_addr && !sl_addr_eq(&sk->local, &d->local)))
		return;
	sl_lock(&sl_tconn_ctl);
	if (!is_taken(&key))
		sl_tlisten_claim_flow(sk, sk->claims, &key, SL_CLAIM_PASS);
	sl_unlock(&sl_tconn_ctl);
	p->n++;
}

/* Drops segments of the kernel's connections that were steered here before their flows passed: they
 * are on the way or wait in the lane. */
static void sort_out(struct sl_sock *sk, struct sl_tlisten *l)
{
	const struct timespec on_its_way = {.tv_nsec = 1000000};
	struct passing p = {.sk = sk};
	struct sl_lane *lane;

	sl_diag_tcp_conns(sk->local_port, let_pass, &p);
	if (p.n) {
		sl_sys(SYS_nanosleep, &on_its_way, NULL);
		if (sl_sock_lock(sk, &lane)) {
			sl_lane_turn_locked(lane);
			sl_lane_unlock(lane);
		}
	}
	sl_store_release(&l->sorting, false);
}

static enum sl_reason prepare(struct sl_sock *sk, int backlog)
{
	struct sl_tlisten *l;
	enum sl_reason reason;

	if (sl_sock_read_names(sk) < 0 || sk->local_port == 0)
		return SL_REASON_RUNTIME;
	if (sl_addr_is_loopback(&sk->local))
		return SL_REASON_LOCAL;
	sl_tcp_opt_read_v6only(sk);
	if (!sl_sock_take_lane(sk, sk->bound_if) || !sl_lane_tcp(sk->lane))
		return SL_REASON_MEMORY;
	l = new_listener(sk);
	if (!l)
		return SL_REASON_MEMORY;
	l->tcp.backlog = clamp_backlog(backlog);
	l->sorting = !sk->heir;
	if (install(sk, l) < 0) {
		free_listener(l);
		return SL_REASON_MEMORY;
	}
	reason = sl_sock_claim_listener(sk);
	if (reason != SL_REASON_NONE) {
		sl_sock_unclaim(sk);
		uninstall(sk);
	} else if (!sk->heir) { /* (the steering program looks itself: pick_tcp()) */
		sort_out(sk, l);
	}
	return reason;
}

static void set_backlog(struct sl_sock *sk, int backlog)
{
	uint32_t n = clamp_backlog(backlog);
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->lsn)
		sk->lsn->tcp.backlog = n;
	sl_lane_unlock(lane);
}

static void on_listening(struct sl_sock *sk)
{
	struct sl_lane *lane;

	sk->stats->state = SL_STATE_OFFLOADED;
	sk->stats->reason = SL_REASON_NONE;
	sl_shadow_watch(sk, sk->fd);
	sl_tlisten_watch_box(sk);
	if (!sl_sock_lock(sk, &lane))
		return;
	sl_store(&sk->state, SL_STATE_OFFLOADED);
	sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
}

enum sl_reason sl_tlisten_start(struct sl_sock *sk, int backlog)
{
	enum sl_reason reason = prepare(sk, backlog);

	if (reason == SL_REASON_NONE)
		on_listening(sk);
	return reason;
}

/* A socket without a port gets it by listen(2) itself; then the kernel comes first. */
static int listen_new(struct sl_sock *sk, int fd, int backlog, enum sl_reason *reason)
{
	bool bound = sl_sock_read_names(sk) == 0 && sk->local_port;
	int err = 0;

	if (!bound)
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err < 0)
		return err;
	*reason = prepare(sk, backlog);
	if (bound)
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err < 0 && sk->lsn) {
		sl_sock_unclaim(sk);
		uninstall(sk);
		*reason = SL_REASON_NONE;
	}
	if (err == 0 && sk->lsn)
		on_listening(sk);
	return err;
}

int sl_tcp_sock_listen(struct sl_sock *sk, int fd, int backlog)
{
	enum sl_reason reason = SL_REASON_NONE;
	int err;

	sl_lock(&sk->slow);
	if (sk->state == SL_STATE_NEW && !sk->lsn)
		err = listen_new(sk, fd, backlog, &reason);
	else if (sk->conn)
		err = -EINVAL;
	else
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err == 0 && sk->lsn)
		set_backlog(sk, backlog);
	sl_unlock(&sk->slow);
	if (err == 0 && reason != SL_REASON_NONE)
		sl_sock_kernel(sk, reason);
	else if (err == 0)
		sl_sock_wait_links(sk, 0);
	return err;
}

/* accept ----------------------------------------------------------------------------------------
 */

struct acc {
	struct sl_sock *sk;
	int fd; /* of the listener */
	int flags;
	int new_fd;
	struct sockaddr *addr;
	socklen_t *len;
	struct sl_sock *child;
	struct sl_tcp_key key; /* of the child */
};

/* Takes a connection that another process had in its queue. */
static int take_given(struct acc *a)
{
	int fd = sl_tlisten_take_given(a->sk, a->flags);

	if (fd >= 0 && a->addr)
		sl_sys_getpeername(fd, a->addr, a->len);
	return fd;
}

/* The kernel's connection, without waiting. One thread at a time: between the look and the call
 * no other thread may take it. */
static int from_kernel(struct acc *a)
{
	struct sl_tlisten *l = sl_load_acquire(&a->sk->lsn);
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	struct timespec zero = {0, 0};
	int r = -EAGAIN;

	if (!l || !sl_trylock(&l->os_lock))
		return -EAGAIN;
	__atomic_exchange_n(&a->sk->os, 0, __ATOMIC_ACQ_REL);
	if (a->sk->heir)
		r = take_given(a);
	if (r < 0 && sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0)
		r = sl_sysi(SYS_accept4, a->fd, a->addr, a->len, a->flags);
	if (r >= 0) /* perhaps more */
		__atomic_fetch_or(&a->sk->os, SL_OS_IN, __ATOMIC_RELEASE);
	sl_unlock(&l->os_lock);
	return r;
}

/* A socket for the child; no other thread knows its number yet. */
static int prepare_child(struct acc *a)
{
	int fd;

	if (a->child)
		return 0;
	fd = sl_sys_socket(a->sk->family, SOCK_STREAM | a->flags, IPPROTO_TCP);
	if (fd < 0)
		return fd;
	a->child = sl_sock_new(fd, a->sk->family, SOCK_STREAM | a->flags, IPPROTO_TCP);
	if (!a->child) {
		sl_sys_close(fd);
		return -ENFILE;
	}
	a->new_fd = fd;
	return 0;
}

/* Lane held: the listener's and the child's. */
static void adopt(struct acc *a, struct sl_lane *lane, struct sl_tcp *t)
{
	struct sl_tconn *c = sl_tconn_of(t);
	struct sl_sock *sk = a->child;

	sk->v6only = a->sk->v6only;
	sk->tos = a->sk->tos;
	sk->ttl = a->sk->ttl;
	sk->tos6 = a->sk->tos6;
	sk->pmtudisc = a->sk->pmtudisc;
	sk->ttl6 = a->sk->ttl6;
	sk->mark = a->sk->mark;
	sk->bound_if = c->oif; /* ir_iif */
	sk->phase = SL_CONNECTED;
	sk->server = true;
	sk->local = t->node.key.local;
	sk->local_port = t->node.key.lport;
	sk->local_scope = c->oif;
	sk->linger_ms = a->sk->linger_ms;
	sk->rcvlowat = a->sk->rcvlowat;
	sk->rcvtimeo_ns = a->sk->rcvtimeo_ns;
	sk->sndtimeo_ns = a->sk->sndtimeo_ns;
	sk->inq = a->sk->inq;
	a->key = t->node.key;
	a->sk->lsn->accepted++;
	c->sk = sk;
	sk->conn = c;
	__atomic_fetch_add(&lane->users, 1, __ATOMIC_RELAXED);
	sl_store(&sk->state, SL_STATE_OFFLOADED);
	sl_store_release(&sk->lane, lane);
}

static int from_us(struct acc *a)
{
	struct sl_tcp *t = NULL;
	struct sl_lane *lane;
	int err = 0;

	if (!sl_sock_lock(a->sk, &lane))
		return -EAGAIN;
	if (!a->sk->lsn || !a->sk->lsn->tcp.nchildren)
		sl_lane_turn_locked(lane);
	err = !a->sk->lsn ? -EREMOTE : a->sk->lsn->tcp.nchildren ? 0 : -EAGAIN;
	sl_lane_unlock(lane);
	if (err == 0)
		err = prepare_child(a);
	if (err < 0)
		return err;
	if (!sl_sock_lock(a->sk, &lane))
		return -EAGAIN;
	if (a->sk->lsn) {
		sl_lane_tcp_begin(lane);
		t = sl_tcp_accept(lane->tcp, &a->sk->lsn->tcp);
		sl_lane_tcp_done(lane);
	}
	if (t)
		adopt(a, lane, t);
	sl_lane_unlock(lane);
	return t ? 0 : -EAGAIN;
}

static ssize_t attempt(void *arg)
{
	struct acc *a = arg;
	struct sl_tlisten *l = sl_load_acquire(&a->sk->lsn);
	bool os = sl_load(&a->sk->os) & SL_OS_IN;
	int r;

	if (!l)
		return -EREMOTE;
	/* When both have connections they take turns; of a draining listener ours came first. */
	if (os && !l->draining && (l->turn ^= 1)) {
		r = from_kernel(a);
		if (r != -EAGAIN)
			return r;
		os = false;
	}
	r = from_us(a);
	if (r == 0)
		return a->new_fd;
	return r == -EAGAIN && os ? from_kernel(a) : r;
}

/* A child that was prepared and not needed. */
static void drop_child(struct acc *a)
{
	if (!a->child)
		return;
	sl_sock_drop_fd(a->child, a->new_fd);
	sl_sys_close(a->new_fd);
}

static int finish(struct acc *a, int fd)
{
	struct sl_sock *sk = a->child;

	if (!sk || sk->fd != fd) {
		drop_child(a);
		return fd;
	}
	sl_tcp_opt_inherit(sk, a->sk);
	sl_tcp_sock_show(sk, &a->key);
	if (a->addr)
		sl_addr_to_sockaddr(&a->key.remote, a->key.rport, sk->local_scope, sk->family,
				    a->addr, a->len);
	return fd;
}

int sl_tcp_sock_accept_ours(struct sl_sock *sk)
{
	struct acc a = {.sk = sk, .fd = sk->fd, .flags = SOCK_CLOEXEC, .new_fd = -1};
	int err = from_us(&a);

	if (err == 0)
		return finish(&a, a.new_fd);
	drop_child(&a);
	return err;
}

static void end_kernel_call(void *sk)
{
	sl_sock_out_of_kernel(sk);
}

/* Takes a connection from the box, if others may put some into it: waits for one there or at the
 * kernel's listener. -EAGAIN: ask the kernel; at once with a time-out, which the kernel keeps. */
static int from_box(struct acc *a)
{
	struct sl_call s = sl_call_begin(a->sk, a->fd, 0);
	struct epoll_event ev = {.data.u32 = SL_EITHER_BOX};
	int r = take_given(a), ep = r < 0 ? sl_tlisten_either(a->sk, a->fd) : -1;

	if (ep < 0 || a->sk->rcvtimeo_ns || sl_sys_fcntl(a->fd, F_GETFL, 0) & O_NONBLOCK)
		return r;
	while (r == -EAGAIN && ep >= 0 && ev.data.u32 == SL_EITHER_BOX) {
		r = (int)sl_sys_cancel(SYS_epoll_pwait, ep, &ev, 1, -1, NULL, 8);
		if (r == -EINTR && !sl_call_over(&s))
			r = -EAGAIN;
		else if (r > 0)
			r = take_given(a);
		ep = sl_tlisten_either(a->sk, a->fd);
	}
	return r;
}

static int in_kernel(struct acc *a)
{
	int r = from_box(a);

	return r == -EAGAIN ? (int)sl_sys_cancel(SYS_accept4, a->fd, a->addr, a->len, a->flags) : r;
}

/* Accepts from a listener that is only the kernel's; it does not become ours while a thread waits
 * there (given.c). A listener that drained a moment ago is about to be the kernel's. */
static int kernel_accept(struct acc *a)
{
	struct sl_sock *sk = a->sk;
	int r;

	if (sl_load(&sk->state) == SL_STATE_OFFLOADED && !sl_load(&sk->lsn))
		(void)sl_sock_wait_moved(sk);
	if (sl_load(&sk->state) != SL_STATE_KERNEL)
		return (int)sl_sys_cancel(SYS_accept4, a->fd, a->addr, a->len, a->flags);
	if (!sl_sock_in_kernel(sk))
		return sl_tcp_sock_accept(sk, a->fd, a->addr, a->len, a->flags);
	pthread_cleanup_push(end_kernel_call, sk);
	r = in_kernel(a);
	pthread_cleanup_pop(1);
	return r;
}

int sl_tcp_sock_accept(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct acc a = {
		.sk = sk,
		.fd = fd,
		.flags = flags,
		.new_fd = -1,
		.addr = addr,
		.len = len,
	};
	uint64_t deadline;
	ssize_t r;

	if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) || !sl_load(&sk->lsn))
		return kernel_accept(&a);
	if (addr && !len)
		return -EFAULT;
	if (sl_unlikely(sk->heir))
		sl_tlisten_return(sk);
	r = attempt(&a);
	if (r == -EAGAIN && !sk->nonblock) {
		deadline = sk->rcvtimeo_ns ? sl_now_ns() + sk->rcvtimeo_ns : 0;
		r = sl_sock_block(sk, fd, deadline, attempt, &a);
	}
	if (r >= 0)
		return finish(&a, (int)r);
	drop_child(&a);
	if (r == -EREMOTE)
		return kernel_accept(&a);
	return r == -ETIMEDOUT || r == -EDEADLK ? -EAGAIN : (int)r;
}
