/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that outlive this program: execve(2) here, or in a process that gets copies of them.
 *
 * Theory of operation: a new program has its descriptors from the kernel alone. When this process
 * becomes it, everything goes to the kernel, as at exit: what is closed by the execve is finished
 * there. When a child becomes it (vfork(2), posix_spawn(3), system(3), or execve after fork(2)),
 * the streams that it will have do; a child asks the keeper of the process that has them. Datagram
 * sockets that it will have are lent (dgram/lend.c), since most programs never look at those that
 * they inherit.
 *
 * A child of vfork has descriptors of its own, which may mean other sockets than ours of that
 * number: the inode tells. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fds.h"
#include "base/handler.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/call/devices.h"
#include "sock/call/start.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"
#include "sock/stream/tconn.h"

#define ENDING_NS 900000000 /* most that a second thread waits for the first to end the process */

static bool survives(int fd)
{
	int flags = sl_sys_fcntl(fd, F_GETFD, 0);

	return flags >= 0 && !(flags & FD_CLOEXEC);
}

static bool is_stream(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_TCP && sl_load(&sk->nfds);
}

/* True: a stream that is not the kernel's yet, here or (in a child) in the parent. */
static bool is_our_stream(const struct sl_sock *sk)
{
	return is_stream(sk) && (sl_sock_is_apart(sk) || sk->passed);
}

/* True: a datagram socket that is not the kernel's, here or in the parent, which a new program
 * borrows. */
static bool is_our_dgram(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_UDP && sl_load(&sk->nfds) &&
	       (sl_load(&sk->state) == SL_STATE_OFFLOADED || sk->passed);
}

/* True: the new program must find the socket in the kernel, and other processes' parts of a
 * listener would keep connections from it. */
static bool concerns_us(const struct sl_sock *sk)
{
	return is_our_stream(sk) || is_our_dgram(sk) || (is_stream(sk) && sl_tlisten_is_shared(sk));
}

/* For a new process of this one's descriptors ---------------------------------------------------
 */

/* A listener that waits for nothing here any more: what came before goes by its box. */
static bool is_passed_on(const struct sl_sock *sk)
{
	return is_stream(sk) && sl_tlisten_is_shared(sk) && sl_tbox_is_strange(sk);
}

static void pass_listener(struct sl_sock *sk)
{
	if (!sl_load(&sk->lsn))
		return;
	sl_tlisten_fork_begin(); /* makes its box */
	sl_tlisten_for_others(sk);
	sl_tlisten_strange(sk);
}

static void open_box(struct sl_sock *sk, void *arg)
{
	bool *waits = arg;

	if (is_passed_on(sk) && sl_tlisten_over_exec(sk))
		*waits = true;
}

static void close_box(struct sl_sock *sk, void *arg)
{
	if (is_passed_on(sk))
		sl_tlisten_spawned(sk);
}

/* True: connections wait for the new program, in a box. */
static bool before_spawn(void)
{
	uint32_t end = sl_load(&sl_fdtab_end);
	bool waits = false;

	for (uint32_t fd = 0; fd < end; fd++) {
		struct sl_sock *sk = sl_fd_sock((int)fd);

		if (sl_likely(!sk) || !concerns_us(sk) || !survives((int)fd))
			continue;
		if (is_our_dgram(sk)) {
			sl_sock_lend(sk);
			continue;
		}
		pass_listener(sk);
		sl_tlisten_strange(sk);
		if (is_our_stream(sk))
			sl_sock_kernel(sk, SL_REASON_PASSED);
	}
	if (sl_tbox_count())
		sl_sock_for_each(open_box, &waits);
	return waits;
}

SL_API
int sl_exec_gives(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (sk && sk->proto == IPPROTO_TCP)
		pass_listener(sk);
	return sl_fd_hand_back(fd);
}

/* In a child ------------------------------------------------------------------------------------
 */

static bool has_inode(struct sl_sock *sk, void *arg)
{
	return sk->inode == *(const uint32_t *)arg && concerns_us(sk);
}

static struct sl_sock *sock_behind(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	uint32_t inode;
	struct stat st;

	if (sl_sys(SYS_fstat, fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return NULL;
	inode = (uint32_t)st.st_ino;
	if (sk && sk->inode == inode)
		return concerns_us(sk) ? sk : NULL;
	return sl_sock_find(has_inode, &inode);
}

struct look {
	bool vfork;
	bool waits; /* connections wait for the new program, in a box */
};

static void look_at_fd(int fd, void *arg)
{
	struct sl_sock *sk = survives(fd) ? sock_behind(fd) : NULL;
	struct look *look = arg;

	if (!sk)
		return;
	if (sk->proto == IPPROTO_UDP) {
		if (sk->passed || look->vfork)
			sl_keeper_lend(sk, fd);
		return;
	}
	sl_tlisten_strange(sk);
	if (sk->passed || (look->vfork && is_our_stream(sk)))
		sl_keeper_tell_parent_of(sk, fd);
	if (sl_tlisten_over_exec(sk))
		look->waits = true;
}

static bool wants_to_go(struct sl_sock *sk, void *arg)
{
	return concerns_us(sk);
}

static bool is_a_parents(struct sl_sock *sk, void *arg)
{
	if (sk->proto == IPPROTO_UDP) /* (one number is asked here: most are closed on exec) */
		return sk->passed && (sk->nfds > 1 || survives(sk->fd));
	return is_stream(sk) && (sk->passed || sl_tlisten_is_shared(sk));
}

/* Allocates nothing: a child of vfork has the parent's memory, a child of fork perhaps a locked
 * heap. */
static bool before_child_exec(bool vfork)
{
	struct look look = {.vfork = vfork};

	if (sl_sock_find(vfork ? wants_to_go : is_a_parents, NULL))
		(void)sl_fd_each(look_at_fd, &look);
	return look.waits;
}

/* A child of vfork(2) goes on after this call, and so does its parent later. */
static void use_in_child(int fd)
{
	struct sl_sock *sk = sock_behind(fd);

	if (sk && sk->proto == IPPROTO_UDP)
		sl_keeper_lend(sk, fd);
	else if (sk && is_our_stream(sk))
		sl_keeper_tell_parent_of(sk, fd);
}

SL_API
void sl_vfork_uses(int fd)
{
	int saved = errno;

	if (sl_sock_find(wants_to_go, NULL))
		use_in_child(fd);
	errno = saved;
}

/* This process becomes another program ----------------------------------------------------------
 */

static void pass_to_kernel(struct sl_sock *sk, void *arg)
{
	bool *waits = arg;

	if (sl_load(&sk->lsn) && (survives(sk->fd) || sk->forks != sl_load(&sl_forks)))
		sl_tlisten_for_others(sk);
	sl_sock_kernel(sk, SL_REASON_PASSED);
	if (is_stream(sk) && survives(sk->fd) && sl_tlisten_over_exec(sk))
		*waits = true;
}

SL_API
bool sl_exec_begin(enum sl_exec how)
{
	int saved = errno;
	bool waits;

	sl_fdtab_notice();
	if (how == SL_EXEC_SPAWN) {
		sl_devices_settle(false);
		sl_lent_hold();
	}
	waits = before_child_exec(how == SL_EXEC_VFORK);
	if (how == SL_EXEC_SPAWN && sl_is_up()) {
		waits |= before_spawn();
	} else if (how == SL_EXEC_SELF && sl_is_up()) {
		if (sl_tlisten_count())
			sl_tlisten_fork_begin(); /* (makes boxes for what waits) */
		sl_sock_for_each(pass_to_kernel, &waits);
		sl_shut_down();
	}
	errno = saved;
	return waits;
}

SL_API
void sl_exit_begin(void)
{
	const struct timespec pause = {.tv_nsec = ENDING_NS};
	static bool ending;

	if (sl_in_signal())
		return;
	sl_fdtab_notice();
	if (!sl_is_up())
		return;
	/* (The thread that was first ends the process meanwhile.) */
	if (__atomic_exchange_n(&ending, true, __ATOMIC_ACQ_REL))
		sl_sys(SYS_nanosleep, &pause, NULL);
	else
		sl_shut_down();
}

SL_API
void sl_exec_end(void)
{
	if (sl_is_up() && sl_tbox_count())
		sl_sock_for_each(close_box, NULL);
	sl_lent_release();
}
