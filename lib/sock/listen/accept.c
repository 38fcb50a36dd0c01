/* SPDX-License-Identifier: BSD-2-Clause */
/* Accepting: from our queue, the kernel's and the box. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/block.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"

#define LEFT_WAIT_NS 20000000 /* for handshakes under way, when the kernel has the listener */
#define LEFT_LOOK_NS 200000

struct acc {
	struct sl_sock *sk;
	int fd; /* of the listener */
	int flags;
	int new_fd;
	struct sockaddr *addr;
	socklen_t *len;
	struct sl_sock *child;
	struct sl_tcp_key key; /* of the child */
	uint8_t tos;           /* of its packets */
};

static struct acc acc_of(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
			 int flags)
{
	return (struct acc){
		.sk = sk, .fd = fd, .flags = flags, .new_fd = -1, .addr = addr, .len = len};
}

/* Takes a connection that another process had in its queue. */
static int take_given(struct acc *a)
{
	return sl_tlisten_take_given(a->sk, a->addr, a->len, a->flags);
}

/* The kernel's connection, without waiting. One thread at a time: between the look and the call
 * no other thread may take it. */
static int from_kernel(struct acc *a)
{
	struct sl_tlisten *l = sl_load_acquire(&a->sk->lsn);
	struct pollfd p = {.fd = sl_sock_number(a->sk, a->fd), .events = POLLIN};
	struct timespec zero = {0, 0};
	int r = -EAGAIN;

	if (!l || !sl_trylock(&l->os_lock))
		return -EAGAIN;
	__atomic_exchange_n(&a->sk->os, 0, __ATOMIC_ACQ_REL);
	if (sl_tlisten_box(a->sk) >= 0)
		r = take_given(a);
	if (r < 0 && sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0)
		r = sl_sysi(SYS_accept4, p.fd, a->addr, a->len, a->flags);
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

	sl_tcp_opt_inherit(sk, a->sk);
	sk->bound_if = c->oif; /* ir_iif */
	sk->phase = SL_CONNECTED;
	sk->server = true;
	sk->local = t->node.key.local;
	sk->local_port = t->node.key.lport;
	sk->local_scope = c->oif;
	a->key = t->node.key;
	a->tos = t->tos;
	a->sk->lsn->accepted++;
	sl_tconn_set_sock(c, sk);
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
	if (os && !sl_tlisten_drains(l) && (l->turn ^= 1)) {
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
	sl_tcp_opt_inherit_shadow(sk, a->sk);
	if (sl_unlikely(sl_tcp_params.reflect_tos))
		sl_tcp_opt_reflect(sk, &a->key.remote, a->tos);
	sl_tcp_sock_show(sk, &a->key);
	if (a->addr)
		sl_addr_to_sockaddr(&a->key.remote, a->key.rport, sk->local_scope, sk->family,
				    a->addr, a->len);
	return fd;
}

int sl_tcp_sock_accept_ours(struct sl_sock *sk, struct sockaddr_storage *peer, socklen_t *len)
{
	struct acc a = {
		.sk = sk,
		.fd = sk->fd,
		.flags = SOCK_CLOEXEC,
		.new_fd = -1,
		.addr = (struct sockaddr *)peer,
		.len = len,
	};
	int err = from_us(&a);

	if (err == 0)
		return finish(&a, a.new_fd);
	drop_child(&a);
	return err;
}

/* The time until the deadline. NULL: there is none. */
static struct timespec *time_left(uint64_t deadline, struct timespec *ts)
{
	uint64_t now = deadline ? sl_now_ns() : 0, left = deadline > now ? deadline - now : 0;

	*ts = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
	return deadline ? ts : NULL;
}

/* Takes a connection from the box, if others may put some into it: waits for one there or at the
 * kernel's listener. -EAGAIN: ask the kernel; -ETIMEDOUT: there was none in time. */
static int from_box(struct acc *a)
{
	struct epoll_event ev = {.data.u32 = SL_EITHER_BOX};
	int r = take_given(a), ep = r < 0 ? sl_tlisten_either(a->sk, a->fd) : -1;
	struct timespec ts;
	struct sl_call s;

	if (ep < 0 || sl_sys_fcntl(a->fd, F_GETFL, 0) & O_NONBLOCK)
		return r;
	/* (Another process may have set the time-out.) */
	s = sl_call_begin(a->sk, a->fd, sl_sock_deadline(sl_opt_timeout_ns(a->fd, SO_RCVTIMEO)));
	while (r == -EAGAIN && ep >= 0 && ev.data.u32 == SL_EITHER_BOX) {
		struct pollfd p = {.fd = ep, .events = POLLIN};

		r = sl_call_poll(&s, &p, time_left(s.deadline, &ts));
		if (r == 0 && s.deadline && sl_now_ns() >= s.deadline)
			return -ETIMEDOUT;
		if (r > 0 && sl_sys_epoll_wait(ep, &ev, 1, 0) > 0)
			r = take_given(a);
		else if (r >= 0 || (r == -EINTR && !sl_call_over(&s)))
			r = -EAGAIN;
		ep = sl_tlisten_either(a->sk, a->fd);
	}
	return r;
}

static int in_kernel(struct acc *a)
{
	int r = from_box(a);

	if (r == -ETIMEDOUT)
		return -EAGAIN;
	return r == -EAGAIN ? (int)sl_sys_cancel(SYS_accept4, a->fd, a->addr, a->len, a->flags) : r;
}

/* Accepts from a listener that is only the kernel's; it does not become ours while a thread waits
 * there (given.c). A listener that drained a moment ago is about to be the kernel's. */
static int kernel_accept(struct acc *a)
{
	struct sl_sock *sk = a->sk;
	int r;

	a->fd = sl_sock_number(sk, a->fd);
	if (sl_load(&sk->state) == SL_STATE_OFFLOADED && !sl_load(&sk->lsn))
		(void)sl_sock_wait_moved(sk);
	if (sl_load(&sk->state) != SL_STATE_KERNEL)
		return (int)sl_sys_cancel(SYS_accept4, a->fd, a->addr, a->len, a->flags);
	if (!sl_sock_in_kernel(sk))
		return sl_tcp_sock_accept(sk, a->fd, a->addr, a->len, a->flags);
	pthread_cleanup_push(sl_sock_end_kernel_call, sk);
	r = in_kernel(a);
	pthread_cleanup_pop(1);
	return r;
}

static bool is_last_free(void)
{
	struct rlimit64 l;

	return !sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l) && l.rlim_cur - 1 <= INT_MAX &&
	       sl_sys_fcntl((int)(l.rlim_cur - 1), F_GETFD, 0) == -EBADF;
}

/* The kernel takes a number for the connection before it waits: at the limit it fails at once. (A
 * call that does not wait is not held up by this: an empty queue is EAGAIN there.) What is made for
 * the moment may get into a child of another thread's, so it is not the listener, and it is made
 * only if the last number says nothing. */
static int find_number(void)
{
	int r = is_last_free() ? -1 : sl_sys_eventfd(0, EFD_CLOEXEC);

	if (r >= 0)
		sl_sys_close(r);
	return r == -EMFILE || r == -ENFILE ? r : 0;
}

int sl_tcp_sock_accept(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct acc a = acc_of(sk, fd, addr, len, flags);
	uint64_t deadline;
	ssize_t r;

	if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) || !sl_load(&sk->lsn))
		return kernel_accept(&a);
	if (addr && !len)
		return -EFAULT;
	r = attempt(&a);
	if (r == -EAGAIN && !sk->nonblock) {
		deadline = sl_sock_deadline(sk->rcvtimeo_ns);
		r = find_number();
		if (!r)
			r = sl_sock_block(sk, fd, deadline, attempt, &a);
	}
	if (r >= 0)
		return finish(&a, (int)r);
	drop_child(&a);
	if (r == -EREMOTE)
		return kernel_accept(&a);
	return r == -ETIMEDOUT || r == -EDEADLK ? -EAGAIN : (int)r;
}

static bool is_drained(const struct sl_tlisten *l)
{
	return !sl_load(&l->tcp.nchildren) && !sl_load(&l->tcp.nrequests);
}

int sl_tcp_sock_accept_left(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
			    int flags)
{
	struct acc a = acc_of(sk, fd, addr, len, flags);
	const struct timespec pause = {.tv_nsec = LEFT_LOOK_NS};
	uint64_t end = sl_now_ns() + LEFT_WAIT_NS;
	const struct sl_tlisten *l;
	int r;

	if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) || (addr && !len))
		return -EAGAIN; /* (the kernel has the answer) */
	r = take_given(&a);
	while (r == -EAGAIN && (l = sl_load_acquire(&sk->lsn)) && !is_drained(l)) {
		r = from_us(&a);
		if (r == 0)
			return finish(&a, a.new_fd);
		if (sl_now_ns() > end)
			break;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	drop_child(&a);
	return r;
}
