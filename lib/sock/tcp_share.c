/* SPDX-License-Identifier: BSD-2-Clause */
/* A listening socket that several processes have, by fork.
 *
 * Theory of operation: in the kernel they have one queue, and whoever accepts first has a
 * connection. Here each process has a queue of its own, on its own lane: the endpoint's claim is a
 * group, and the steering program sends a SYN to one of its targets by the flow's hash, as the
 * kernel does for SO_REUSEPORT, and all that follows to the one that had the SYN (bpf/steer.bpf.c),
 * so that members come and go without harm to connections. The kernel's queue stays what it was,
 * common to all: what is not steered (loopback, other devices, no member is there) waits in it, and
 * every process accepts from both.
 *
 * What differs is that a connection cannot go to another process once its SYN was steered. So only
 * who waits for connections by poll or epoll on a listener that does not block is a member, from
 * the first such call on: it has other work and comes back to it. A parent that forks workers and
 * never accepts (nginx, Apache) is none: it leaves the endpoint when the first child joins. Who
 * blocks in accept(2) and then serves that one client as long as it stays (Apache) would keep the
 * next one waiting: it goes by the kernel's queue, and takes over what lasts (inherit.c). A process
 * that dies is taken off by the daemon.
 *
 * Who leaves while others stay (it closes the listener, or is the parent) must not reset whom it
 * has in its queue, as nobody would be in the kernel. They become the kernel's connections, and
 * their descriptors go into the listener's *box*, a socket pair that all the processes have, from
 * which accept(2) takes what it takes from the kernel's queue; handshakes that are under way follow
 * as they end (tcp_stay.c). So do those that came to a parent before a child first accepts, with or
 * without the daemon. Who blocks in accept(2) meanwhile sleeps on both. The same happens when a
 * process lets somebody wait for long (STALL_NS): it has no part until it accepts again; and when
 * it is killed: the daemon, which has the box's end, too, does it out of what the dead one has left
 * (tools/death/rescue.c). One that is stopped (SIGSTOP) gets no new connection as long (the daemon:
 * stopped.c). What is left of the difference to one queue is who waits in its queue just then.
 *
 * Workers that poll in turn, each while it has their mutex (Apache's with two listeners), stall one
 * after the other. After STALLS_MAX such in a row nobody has a part any more: the kernel's queue
 * deals out, and they take over what lasts.
 *
 * A parent that accepts and has a child serve each (PostgreSQL, sshd) is another thing: each
 * connection would have to be handed back, which costs more than it could bring. After FORKED_MIN
 * of these its listener goes to the kernel; so with and without the daemon. What it accepts then is
 * the child's to take over (inherit.c). */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/tconn.h"

#define PATIENCE_NS 20000000 /* for handshakes, when the process ends */
#define LOOK_NS     200000
#define FORKED_MIN  8 /* connections that nobody but children used */
#define STALL_NS    200000000
#define STALLS_MAX  6             /* in a row, of all the processes, */
#define ROW_NS      1000000000ull /* with no longer than that from one to the next */

/* Boxes ----------------------------------------------------------------------------------------
 */

#define BOXES 64

/* Made before a fork, so that child and parent have the same. */
static struct box {
	uint32_t inode;     /* of the listener; 0: unused */
	int in, out;        /* descriptors */
	int either;         /* epoll of this process's, of in and the listener; -1: not made yet */
	uint32_t told;      /* by this number the daemon knows it; 0: it does not */
	struct sl_sock *sk; /* of this process, which has its part; NULL: it has none */
} boxes[BOXES];

/* What the processes of a box know in common. */
struct crowd {
	uint64_t last_ns; /* of the last stall */
	uint32_t stalls;  /* in a row; from STALLS_MAX on nobody has a part any more */
	uint32_t parts;   /* so many have a part; more, when one was killed */
};
static struct crowd *crowds;    /* by box, in memory that they share; NULL: none */
static unsigned nboxes;         /* from here on all were never used */
static struct sl_lock box_lock; /* a leaf */

static struct box *find_box(uint32_t inode)
{
	for (struct box *b = boxes; b < boxes + BOXES; b++)
		if (b->inode == inode)
			return b;
	return NULL;
}

/* As long as somebody has one the others must look into the box. */
static void begin_part(const struct box *b, struct sl_tlisten *l)
{
	if (!crowds || l->part)
		return;
	l->part = true;
	__atomic_fetch_add(&crowds[b - boxes].parts, 1, __ATOMIC_RELEASE);
}

void sl_tlisten_part_over(const struct sl_sock *sk, struct sl_tlisten *l)
{
	const struct box *b = l->part ? find_box(sk->inode) : NULL;

	if (b)
		__atomic_fetch_sub(&crowds[b - boxes].parts, 1, __ATOMIC_RELEASE);
	l->part = false;
}

static void make_box(struct sl_sock *sk, void *arg)
{
	struct box *b;
	int fd[2];

	if (sk->proto != IPPROTO_TCP || !sk->inode || (!sk->lsn && !sk->heir) ||
	    find_box(sk->inode))
		return;
	b = find_box(0);
	if (!b || sl_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			 fd) < 0)
		return;
	b->in = sl_fd_keep(fd[0]);
	b->out = sl_fd_keep(fd[1]);
	nboxes = sl_max(nboxes, (unsigned)(b - boxes) + 1);
	b->either = -1;
	if (crowds)
		memset(&crowds[b - boxes], 0, sizeof(*crowds));
	if (sk->lsn)
		begin_part(b, sk->lsn);
	sl_store_release(&b->inode, sk->inode);
}

static void make_crowds(void)
{
	void *p;

	if (!sl_sys_mmap(&p, NULL, BOXES * sizeof(*crowds), MAP_SHARED | MAP_ANONYMOUS, -1, 0))
		crowds = p;
}

void sl_tlisten_fork_begin(void)
{
	if (!sl_tlisten_count() || !sl_lock(&box_lock))
		return;
	if (!crowds)
		make_crowds();
	sl_sock_for_each(make_box, NULL);
	sl_unlock(&box_lock);
}

static void close_either(struct box *b)
{
	if (b->either >= 0)
		sl_sys_close(b->either);
	b->either = -1;
}

void sl_tlisten_share_child(void)
{
	memset(&box_lock, 0, sizeof(box_lock));
	for (struct box *b = boxes; b < boxes + nboxes; b++) {
		if (b->inode && b->in < 0) { /* of a listener that stays in the parent */
			sl_sys_close(b->out);
			b->inode = 0;
		}
		close_either(b);
		b->sk = NULL;
		b->told = 0;
	}
}

static struct box *box_of(const struct sl_sock *sk)
{
	return nboxes && sk->inode ? find_box(sk->inode) : NULL;
}

int sl_tlisten_box(const struct sl_sock *sk)
{
	const struct box *b = sk->heir ? box_of(sk) : NULL;

	return b ? b->in : -1;
}

/* Should this process be killed, the daemon gives what waits in its queue to the others. */
static void tell_box(struct box *b, const struct sl_sock *sk)
{
	uint32_t id = sk->lsn->id;
	int err;

	if (b->told)
		sl_broker_unbox(b->told);
	err = sl_broker_box(id, b->out, sk->fd);
	b->told = err ? 0 : id;
	if (err)
		sl_debug("tcp", "fd %d: who waits in its queue is reset should we be killed: %s",
			 sk->fd, strerrorname_np(-err));
}

/* Nothing is taken out of it here any more; others have it open. */
static void close_in(struct box *b)
{
	if (b->in < 0)
		return;
	sl_keeper_unwatch(b->in);
	sl_fd_forget(b->in);
	sl_sys_close(b->in);
	close_either(b);
	b->in = -1;
}

/* The listener is closed here. slow is held. */
static void drop_box(const struct sl_sock *sk)
{
	struct box *b = find_box(sk->inode);

	if (b && b->told)
		sl_broker_unbox(b->told);
	if (!sl_lock(&box_lock))
		return;
	b = find_box(sk->inode);
	if (b) {
		b->inode = b->told = 0;
		sl_store_release(&b->sk, NULL);
		close_in(b);
		sl_fd_forget(b->out);
		sl_sys_close(b->out);
	}
	sl_unlock(&box_lock);
}

bool sl_tlisten_box_leave(struct sl_sock *sk)
{
	struct box *b = find_box(sk->inode);

	if (!b || !sl_lock(&box_lock))
		return false;
	sl_store_release(&b->sk, NULL);
	close_in(b);
	sl_unlock(&box_lock);
	return true;
}

bool sl_tlisten_is_alone(const struct sl_sock *sk)
{
	const struct box *b = box_of(sk);
	struct pollfd p = {.fd = b ? b->out : -1};
	struct timespec zero = {0, 0};

	return b && sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0;
}

static void set_linger(int fd, int ms)
{
	struct linger l = {ms >= 0, ms / 1000};

	sl_sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* When nobody takes it its peer is reset, as by the last close of a listener. */
static bool put(const struct box *b, int fd)
{
	set_linger(fd, 0);
	return sl_rights_send(b->out, SL_BOX_READY, 1, &fd, 1, MSG_DONTWAIT) == 1;
}

int sl_tlisten_take_given(struct sl_sock *sk, int flags)
{
	const struct box *b = box_of(sk);
	int fd, fl, truncated;
	uint32_t nfds;
	char c = 0;

	if (!b || sl_rights_recv(b->in, &c, 1, &fd, 1, &nfds, MSG_DONTWAIT, &truncated) != 1 ||
	    !nfds)
		return -EAGAIN;
	if (c == SL_BOX_BARE[0])
		sl_tcp_opt_give(sk, fd);
	set_linger(fd, sk->linger_ms);
	if (!(flags & SOCK_CLOEXEC))
		sl_sys_fcntl(fd, F_SETFD, 0);
	fl = sl_sys_fcntl(fd, F_GETFL, 0) & ~O_NONBLOCK;
	sl_sys_fcntl(fd, F_SETFL, flags & SOCK_NONBLOCK ? fl | O_NONBLOCK : fl);
	return fd;
}

/* One at a time is woken for each that comes, as by accept(2). */
static void make_either(struct box *b, int listener)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u32 = SL_EITHER_BOX};
	int fd = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));

	if (fd < 0)
		return;
	sl_sys_epoll_ctl(fd, EPOLL_CTL_ADD, b->in, &ev);
	ev.data.u32 = SL_EITHER_LISTENER;
	sl_sys_epoll_ctl(fd, EPOLL_CTL_ADD, listener, &ev);
	b->either = fd;
}

int sl_tlisten_either(const struct sl_sock *sk, int listener)
{
	struct box *b = box_of(sk);

	if (!b || b->in < 0 || !crowds || !sl_load(&crowds[b - boxes].parts) || !sl_lock(&box_lock))
		return -1;
	if (b->inode == sk->inode && b->either < 0)
		make_either(b, listener);
	sl_unlock(&box_lock);
	return b->either;
}

/* Leaving ---------------------------------------------------------------------------------------
 */

bool sl_tlisten_is_shared(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && box_of(sk);
}

void sl_tlisten_for_others(struct sl_sock *sk)
{
	sl_lock(&sk->slow);
	if (sk->lsn)
		sk->lsn->others = true;
	sl_unlock(&sk->slow);
}

void sl_tlisten_give(struct sl_sock *sk)
{
	const struct box *b = sk->heir || sk->lsn->others ? box_of(sk) : NULL;
	unsigned n = 0;
	int fd;

	while (b && (fd = sl_tcp_sock_accept_ours(sk)) >= 0) {
		bool given = sl_hand_back(fd) == 0 && put(b, fd);

		n += given;
		if (!given)
			sl_warn("tcp",
				"fd %d: a connection that waits cannot go to another process",
				sk->fd);
		sl_close(fd);
	}
	if (n)
		sl_debug("tcp", "fd %d: %u that waited are for the others", sk->fd, n);
}

/* SYNs come here no more, but those that were answered end their handshakes. */
void sl_tlisten_closing(struct sl_sock *sk)
{
	uint64_t end = sl_now_ns() + PATIENCE_NS;
	struct timespec pause = {.tv_nsec = LOOK_NS};

	if (!sk->heir && !sk->lsn->others)
		return;
	while (sl_load(&sk->lsn->tcp.nrequests) && sl_now_ns() < end) {
		sl_sys(SYS_nanosleep, &pause, NULL);
		sl_lane_turn(sl_load_acquire(&sk->lane));
	}
	sl_tlisten_give(sk);
}

void sl_tlisten_closed(const struct sl_sock *sk)
{
	if (box_of(sk))
		drop_box(sk);
}

static bool is_hopeless(const struct sl_sock *sk)
{
	const struct box *b = crowds ? box_of(sk) : NULL;

	return b && sl_load(&crowds[b - boxes].stalls) >= STALLS_MAX;
}

static void count_stall(const struct box *b, uint64_t now_ns)
{
	struct crowd *c = &crowds[b - boxes];
	uint64_t last = __atomic_exchange_n(&c->last_ns, now_ns, __ATOMIC_RELAXED);

	if (sl_load(&c->stalls) >= STALLS_MAX)
		return;
	if (now_ns - last > ROW_NS && last < now_ns)
		sl_store(&c->stalls, 0);
	if (__atomic_add_fetch(&c->stalls, 1, __ATOMIC_RELAXED) == STALLS_MAX)
		sl_info("tcp",
			"fd %d: workers do not look after their parts: the kernel deals "
			"new connections out",
			b->sk->fd);
}

static void go_away(struct sl_sock *sk)
{
	struct sl_tlisten *l;

	if (!sl_trylock(&sk->slow))
		return;
	l = sk->lsn;
	if (l && !l->draining && !l->away) {
		sl_store(&l->away, true);
		sl_tlisten_leave(sk);
		sl_tlisten_give(sk);
		sl_debug("tcp", "fd %d: nobody accepts: others are to", sk->fd);
	}
	sl_unlock(&sk->slow);
}

/* Handshakes that were under way when it went have ended since. */
static void give_late(struct sl_sock *sk)
{
	if (!sl_trylock(&sk->slow))
		return;
	if (sk->lsn && sk->lsn->away)
		sl_tlisten_give(sk);
	sl_unlock(&sk->slow);
}

void sl_tlisten_look_stalled(uint64_t now_ns)
{
	for (struct box *b = boxes; b < boxes + nboxes; b++) {
		struct sl_sock *sk = sl_load_acquire(&b->sk);
		struct sl_tlisten *l = sk ? sl_load_acquire(&sk->lsn) : NULL;

		if (!l || l->draining)
			continue;
		if (sl_load(&l->away)) {
			if (sl_load(&l->tcp.nchildren))
				give_late(sk);
			continue;
		}
		if (is_hopeless(sk)) {
			go_away(sk);
			continue;
		}
		/* The keeper may not have looked for seconds, so that only what two looks found is
		 * known to have waited from the one to the other. */
		if (!sl_load(&l->tcp.nchildren)) {
			l->since_ns = 0;
		} else if (!l->since_ns || sl_load(&l->accepted) != l->seen) {
			l->seen = sl_load(&l->accepted);
			l->since_ns = now_ns;
		} else if (now_ns - l->since_ns > STALL_NS) {
			if (crowds)
				count_stall(b, now_ns);
			go_away(sk);
		}
	}
}

void sl_tlisten_return(struct sl_sock *sk)
{
	struct sl_tlisten *l = sl_load_acquire(&sk->lsn);

	if (!l || !sl_load(&l->away) || is_hopeless(sk))
		return;
	sl_lock(&sk->slow);
	l = sk->lsn;
	if (l && l->away && !l->draining && sl_sock_claim_listener(sk) == SL_REASON_NONE) {
		l->since_ns = 0;
		sl_store(&l->away, false);
		sl_debug("tcp", "fd %d: accepts again", sk->fd);
	}
	sl_unlock(&sk->slow);
}

static void leave_at_exit(struct sl_sock *sk, void *arg)
{
	if (!sl_load(&sk->lsn) || !box_of(sk) || !sl_lock(&sk->slow))
		return;
	if (sk->lsn)
		sk->lsn->others = true;
	if (sk->lsn && !sl_tlisten_to_kernel(sk, SL_REASON_FORKED))
		sl_tlisten_closing(sk);
	sl_unlock(&sk->slow);
}

void sl_tlisten_exit(void)
{
	if (nboxes)
		sl_sock_for_each(leave_at_exit, NULL);
}

/* Accepting for children ------------------------------------------------------------------------
 */

static bool some_forked; /* the keeper is to look */

static bool has_id(struct sl_sock *sk, void *arg)
{
	const struct sl_tlisten *l = sk->proto == IPPROTO_TCP ? sl_load_acquire(&sk->lsn) : NULL;

	return l && l->id == *(const uint32_t *)arg;
}

static bool is_for_children(const struct sl_tlisten *l)
{
	uint32_t forked = sl_load(&l->forked);

	return forked >= FORKED_MIN && forked > sl_load(&l->accepted) / 2;
}

void sl_tlisten_forked(uint32_t id)
{
	struct sl_sock *sk = sl_sock_find(has_id, &id);
	struct sl_tlisten *l = sk ? sl_load_acquire(&sk->lsn) : NULL;

	if (!l)
		return;
	__atomic_fetch_add(&l->forked, 1, __ATOMIC_RELAXED);
	if (is_for_children(l))
		sl_store(&some_forked, true);
}

static void leave_to_kernel(struct sl_sock *sk, void *arg)
{
	struct sl_tlisten *l = sk->proto == IPPROTO_TCP ? sl_load_acquire(&sk->lsn) : NULL;

	if (!l || l->draining || !is_for_children(l))
		return;
	sl_info("tcp", "fd %d: children serve what it accepts: it goes to the kernel", sk->fd);
	sl_sock_kernel_of(sk, l, SL_REASON_FORKED);
}

void sl_tlisten_look_forked(void)
{
	if (!sl_load(&some_forked))
		return;
	sl_store(&some_forked, false);
	sl_sock_for_each(leave_to_kernel, NULL);
}

/* Joining ---------------------------------------------------------------------------------------
 */

int sl_tlisten_backlog(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
	    info.tcpi_state != TCP_LISTEN)
		return -EINVAL;
	return (int)info.tcpi_sacked; /* tcp_get_info(): sk_max_ack_backlog */
}

/* The others know of it, and it sees what they give away. slow held. */
static void have_part(struct sl_sock *sk)
{
	struct box *b = find_box(sk->inode);

	if (b) {
		begin_part(b, sk->lsn);
		sl_store_release(&b->sk, sk);
		tell_box(b, sk);
	}
}

/* slow held. */
static void join(struct sl_sock *sk)
{
	enum sl_reason reason;
	int backlog;

	if (sk->state != SL_STATE_KERNEL || !sk->nfds || sk->lsn)
		return;
	backlog = sl_tlisten_backlog(sk->fd);
	if (backlog < 0)
		return;
	sl_sock_show(sk);
	sl_store(&sk->state, SL_STATE_NEW);
	reason = sl_tlisten_start(sk, backlog);
	if (reason == SL_REASON_NONE) {
		have_part(sk);
		sl_debug("tcp", "fd %d: an inherited listener has a part here", sk->fd);
		return;
	}
	sl_store(&sk->state, SL_STATE_KERNEL);
	sk->stats->state = SL_STATE_KERNEL;
	sk->stats->reason = reason;
	sk->heir = false; /* it would be so the next time */
	sl_info("tcp", "fd %d: an inherited listener stays with the kernel: %s", sk->fd,
		sl_reason_text(reason));
}

void sl_tlisten_join(struct sl_sock *sk)
{
	int flags = sl_sys_fcntl(sk->fd, F_GETFL, 0);

	if (sl_load(&sk->state) != SL_STATE_KERNEL || flags < 0 || !(flags & O_NONBLOCK))
		return;
	if (sl_start() < 0) {
		sk->heir = false;
		return;
	}
	sk->nonblock = true;
	if (sk->passed)
		sl_keeper_share(sk);
	sl_lock(&sk->slow);
	join(sk);
	sl_unlock(&sk->slow);
}

static bool is_waited_for(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool waits;

	if (!sk->nonblock || !sl_sock_lock(sk, &lane))
		return false;
	waits = !sl_list_empty(&sk->watches);
	sl_lane_unlock(lane);
	return waits;
}

bool sl_tlisten_share(struct sl_sock *sk)
{
	bool shared = false;

	if (!is_waited_for(sk) || !box_of(sk) || !sl_lock(&sk->slow))
		return false;
	if (sk->lsn && !sk->lsn->draining) {
		sk->heir = true;
		sl_tlisten_leave(sk);
		shared = sl_sock_claim_listener(sk) == SL_REASON_NONE;
	}
	if (shared) {
		have_part(sk);
		sl_keeper_watch(sk); /* the box */
		sl_debug("tcp", "fd %d: has a part beside children", sk->fd);
	}
	sl_unlock(&sk->slow);
	return shared;
}
