/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes carry connections from one process's queue of a shared listener to another's accept(2).
 *
 * Theory of operation: a box is a socket pair, made before a fork, so that all processes that have
 * the listener have both ends. The giver hands the connection back to the kernel and sends its
 * descriptor (listen/share.c says when); the first process to accept takes it. A thread that waits
 * for the kernel's listener waits for the box, too, by an epoll set of both (*either*). Any of the
 * processes may belong to another user now: each descriptor is checked before it is returned
 * (listen/taken.c), and a process that finds the box shut down, or is sent more than it can close,
 * uses it no more. A crowd's numbers are only hints: where to look, and how many have a part. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>

#include "sock/listen/box.h"

#include "base/fds.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "sluice.h"
#include "ctl/front/broker.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/stranger.h"
#include "sock/listen/listen.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

#define BOXES 64
#define FOREIGN_MAX                                                                                \
	16 /* that are not what they should be; then the caller looks elsewhere first              \
	    */

/* Made before a fork, so that child and parent have the same. */
static struct box {
	uint32_t inode;     /* of the listener; 0: unused */
	int in, out;        /* descriptors: connections are put into out and taken out of in */
	int either;         /* epoll of this process's, of in and the listener; -1: not made yet */
	uint32_t told;      /* by this number the daemon knows it; 0: it does not */
	struct sl_sock *sk; /* of this process, which has its part; NULL: it has none */
	bool adopted;       /* it came over an execve(2): others may put connections in */
	bool spoilt;        /* nothing is taken out of it any more; atomic */
} boxes[BOXES];

static struct sl_crowd *crowds; /* by box, in memory that they share; NULL: none */
static unsigned nboxes;         /* from here on all were never used */
static struct sl_lock box_lock; /* a leaf */

/* The first n of them may be it. */
static struct box *find(uint32_t inode, unsigned n)
{
	for (struct box *b = boxes; b < boxes + n; b++)
		if (b->inode == inode)
			return b;
	return NULL;
}

static struct box *find_box(uint32_t inode)
{
	return find(inode, nboxes);
}

/* Counts this process: while any has a part, the others must look into the box. */
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
	b = find(0, BOXES);
	if (!b || sl_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			 fd) < 0)
		return;
	b->in = sl_fd_keep(fd[0]);
	b->out = sl_fd_keep(fd[1]);
	nboxes = sl_max(nboxes, (unsigned)(b - boxes) + 1);
	b->either = -1;
	b->spoilt = b->adopted = false;
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
	if (!sl_lock(&box_lock))
		return;
	if (!crowds)
		make_crowds();
	sl_sock_for_each(make_box, NULL);
	sl_unlock(&box_lock);
}

static void close_own(int *fd)
{
	if (*fd >= 0)
		sl_sys_close(*fd);
	*fd = -1;
}

void sl_tlisten_share_child(void)
{
	memset(&box_lock, 0, sizeof(box_lock));
	for (struct box *b = boxes; b < boxes + nboxes; b++) {
		if (b->inode && b->in < 0) { /* of a listener that stays in the parent */
			sl_sys_close(b->out);
			b->inode = 0;
		}
		close_own(&b->either);
		b->sk = NULL;
		b->told = 0;
	}
}

static struct box *box_of(const struct sl_sock *sk)
{
	return nboxes && sk->inode ? find_box(sk->inode) : NULL;
}

static bool is_in_use(const struct box *b)
{
	return b && b->in >= 0 && !sl_load(&b->spoilt);
}

int sl_tlisten_box(const struct sl_sock *sk)
{
	const struct box *b = box_of(sk);

	return is_in_use(b) && (sk->heir || b->adopted) ? b->in : -1;
}

bool sl_tbox_ends(const struct sl_sock *sk, int end[2])
{
	const struct box *b = box_of(sk);

	if (!is_in_use(b))
		return false;
	end[0] = b->in;
	end[1] = b->out;
	return true;
}

void sl_tbox_adopt(const struct sl_sock *sk, int in, int out)
{
	struct box *b;

	if (!sl_lock(&box_lock))
		return;
	b = find_box(sk->inode) ? NULL : find(0, BOXES);
	if (b) {
		*b = (struct box){
			.in = sl_fd_keep(in),
			.out = sl_fd_keep(out),
			.either = -1,
			.adopted = true,
		};
		nboxes = sl_max(nboxes, (unsigned)(b - boxes) + 1);
		sl_store_release(&b->inode, sk->inode);
	}
	sl_unlock(&box_lock);
}

void sl_tlisten_watch_box(const struct sl_sock *sk)
{
	int in = sl_tlisten_box(sk);

	if (in < 0)
		return;
	sl_shadow_watch(sk, in);
	sl_shadow_watch(sk, box_of(sk)->out);
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

/* Closing the last descriptor closes all that lies in the box, and that can block. */
static void close_end(int in)
{
	struct pollfd p = {.fd = in, .events = POLLIN};
	const struct timespec zero = {0, 0};

	if (sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0 && p.revents & POLLIN)
		sl_stranger_close(in);
	else
		sl_sys_close(in);
}

/* Nothing is taken out of it here any more; others have it open. */
static void close_in(struct box *b)
{
	if (b->in < 0)
		return;
	sl_shadow_unwatch(b->in);
	sl_shadow_unwatch(b->out);
	close_end(b->in);
	close_own(&b->either);
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

/* A connection in a box. The daemon sends the first byte alone. */
struct given {
	struct sockaddr_storage peer;
	char kind;
};

/* If no process takes the connection, its peer is reset, as by the last close of a listener. */
bool sl_tbox_put(const struct sl_sock *sk, int fd, const struct sockaddr_storage *peer,
		 socklen_t len)
{
	const struct box *b = box_of(sk);
	char packet[1 + sizeof(*peer)] = {SL_BOX_READY[0]};
	size_t bytes = 1 + sl_min(len, (socklen_t)sizeof(*peer));

	if (!b)
		return false;
	memcpy(packet + 1, peer, bytes - 1);
	set_linger(fd, 0);
	return sl_rights_send(b->out, packet, bytes, &fd, 1, MSG_DONTWAIT) == (long)bytes;
}

/* Tells the keepers of all processes that have the listener. The way against the connections' is
 * their bell: each packet is an event for every keeper that watches that end, since no process
 * reads it. A program that polls the listener does not see that end, so it is not told of a
 * connection. (An eventfd would make this thread wait for as long as a hostile process likes, one
 * that has filled it and cleared its O_NONBLOCK, which all have in common.) */
void sl_tlisten_strange(const struct sl_sock *sk)
{
	struct sl_crowd *c = sk->proto == IPPROTO_TCP ? sl_tbox_crowd(sk) : NULL;
	const struct box *b = c ? box_of(sk) : NULL;

	if (b && b->in >= 0 && !__atomic_exchange_n(&c->strange, 1, __ATOMIC_ACQ_REL))
		(void)sl_sys_sendto(b->in, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
}

bool sl_tbox_is_strange(const struct sl_sock *sk)
{
	const struct box *b = box_of(sk);

	return b && (b->adopted || (crowds && sl_load(&crowds[b - boxes].strange)));
}

/* A packet of no bytes is read as the end is. */
static bool is_shut_down(int in)
{
	struct pollfd p = {.fd = in, .events = POLLRDHUP};
	const struct timespec zero = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0 && p.revents & (POLLRDHUP | POLLHUP);
}

/* Takes the next packet: its descriptor, or -EAGAIN: there is none, -EPIPE: take no more here,
 * -EBADMSG: not a connection of the listener. g->kind is that of SL_BOX_BARE: the caller must set
 * the listener's options. */
static int take_one(const struct sl_sock *sk, int in, struct given *g)
{
	char packet[1 + sizeof(g->peer)] = {0};
	int fd[SL_RIGHTS_ANY];
	bool good, room = true;
	uint32_t nfds;
	long n = sl_rights_recv_any(in, packet, sizeof(packet), fd, &nfds);

	if (n < 0)
		return -EAGAIN;
	if (n == 0 && !nfds)
		return is_shut_down(in) ? -EPIPE : -EBADMSG;
	g->kind = packet[0];
	memcpy(&g->peer, packet + 1, sizeof(g->peer));
	good = n >= 1 && n <= (long)sizeof(packet) && nfds == 1 &&
	       (g->kind == SL_BOX_BARE[0] || g->kind == SL_BOX_READY[0]) &&
	       sl_tbox_is_connection(sk, fd[0]);
	if (good)
		return fd[0];
	sl_stranger_warn();
	for (uint32_t i = 0; i < nfds; i++)
		room &= sl_stranger_close(fd[i]);
	return room ? -EBADMSG : -EPIPE;
}

/* Its descriptors stay: other threads may be about to use their numbers. No thread waits for
 * it any more: the wait would end at once, for ever. */
static void spoil(struct box *b)
{
	if (__atomic_exchange_n(&b->spoilt, true, __ATOMIC_RELAXED))
		return;
	sl_warn("tcp", "a process that shares a listener has spoilt the way by which connections "
		       "come from its queue to this one: they come by the kernel's alone");
	sl_shadow_unwatch(b->in);
	if (!sl_lock(&box_lock))
		return;
	if (b->either >= 0)
		sl_sys_epoll_ctl(b->either, EPOLL_CTL_DEL, b->in, NULL);
	sl_unlock(&box_lock);
}

static int take(struct sl_sock *sk, struct box *b, struct given *g)
{
	int fd = -EBADMSG;

	for (unsigned i = 0; fd == -EBADMSG && i < FOREIGN_MAX; i++)
		fd = take_one(sk, b->in, g);
	if (fd == -EBADMSG) /* the rest makes no new event */
		__atomic_fetch_or(&sk->os, SL_OS_IN, __ATOMIC_RELEASE);
	if (fd == -EPIPE)
		spoil(b);
	return fd < 0 ? -EAGAIN : fd;
}

/* The kernel does not name the peer of a connection that is over. */
static void name_peer(const struct sl_sock *sk, int fd, const struct given *g,
		      struct sockaddr *addr, socklen_t *len)
{
	struct sl_addr peer;
	uint32_t scope;
	uint16_t port;

	if (sl_sys_getpeername(fd, addr, len) == -ENOTCONN &&
	    !sl_addr_from_sockaddr((const struct sockaddr *)&g->peer, sizeof(g->peer), &peer, &port,
				   &scope))
		(void)sl_addr_to_sockaddr(&peer, port, scope, sk->family, addr, len);
}

int sl_tlisten_take_given(struct sl_sock *sk, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct box *b = box_of(sk);
	struct given g;
	int fd = is_in_use(b) ? take(sk, b, &g) : -EAGAIN, fl;

	if (fd < 0)
		return fd;
	if (g.kind == SL_BOX_BARE[0])
		sl_tcp_opt_give(sk, fd);
	if (addr)
		name_peer(sk, fd, &g, addr, len);
	set_linger(fd, sk->linger_ms);
	if (!(flags & SOCK_CLOEXEC))
		sl_sys_fcntl(fd, F_SETFD, 0);
	fl = sl_sys_fcntl(fd, F_GETFL, 0) & ~O_NONBLOCK;
	sl_sys_fcntl(fd, F_SETFL, flags & SOCK_NONBLOCK ? fl | O_NONBLOCK : fl);
	return fd;
}

void sl_tlisten_reset_given(struct sl_sock *sk)
{
	struct box *b = box_of(sk);
	struct given g;
	int fd;

	while (is_in_use(b) && (fd = take(sk, b, &g)) >= 0) {
		set_linger(fd, 0);
		sl_sys_close(fd);
	}
}

/* Each connection wakes one waiter (EPOLLEXCLUSIVE), as accept(2) does. */
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

static int either(struct box *b, const struct sl_sock *sk, int listener)
{
	if (!sl_lock(&box_lock))
		return -1;
	if (b->inode == sk->inode && b->either < 0)
		make_either(b, listener);
	sl_unlock(&box_lock);
	return b->either;
}

static bool has_parts(const struct box *b)
{
	return b->adopted || (crowds && sl_load(&crowds[b - boxes].parts));
}

int sl_tlisten_either(const struct sl_sock *sk, int listener)
{
	struct box *b = box_of(sk);

	return is_in_use(b) && has_parts(b) ? either(b, sk, listener) : -1;
}

int sl_tlisten_wait_fd(const struct sl_sock *sk, int fd)
{
	struct box *b = sk && sk->proto == IPPROTO_TCP ? box_of(sk) : NULL;
	struct timespec zero = {0, 0};
	struct pollfd p = {.fd = is_in_use(b) ? b->in : -1, .events = POLLIN};
	int both;

	if (p.fd < 0 || (!has_parts(b) && sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) <= 0))
		return fd;
	if (!sl_opt_listens(fd)) /* it was shut down, and the kernel has more to say of it */
		return fd;
	both = either(b, sk, fd);
	return both < 0 ? fd : both;
}

int sl_tlisten_waited_fd(const struct sl_sock *sk)
{
	const struct box *b = sk && sk->proto == IPPROTO_TCP ? box_of(sk) : NULL;

	return b ? b->either : -1;
}

struct sl_crowd *sl_tbox_crowd(const struct sl_sock *sk)
{
	const struct box *b = crowds ? box_of(sk) : NULL;

	return b ? &crowds[b - boxes] : NULL;
}

void sl_tbox_have_part(struct sl_sock *sk)
{
	struct box *b = find_box(sk->inode);

	if (b) {
		begin_part(b, sk->lsn);
		sl_store_release(&b->sk, sk);
	}
}

void sl_tbox_tell(const struct sl_sock *sk)
{
	struct box *b = find_box(sk->inode);

	if (b)
		tell_box(b, sk);
}

unsigned sl_tbox_count(void)
{
	return nboxes;
}

struct sl_sock *sl_tbox_member(unsigned i)
{
	return sl_load_acquire(&boxes[i].sk);
}

bool sl_tlisten_is_shared(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && box_of(sk);
}

void sl_tlisten_closed(const struct sl_sock *sk)
{
	if (box_of(sk))
		drop_box(sk);
}
