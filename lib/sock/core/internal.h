/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations for the files of the sock room, not for the preload library. */
#ifndef SL_SOCK_INTERNAL_H
#define SL_SOCK_INTERNAL_H

#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/base.h"
#include "base/list.h"

struct sl_sock;
struct sl_lane;
struct sl_epoll;

/* Makes sure the library is up (tables, keeper). 0 or -errno; then everything is the kernel's. */
int sl_start(void);
bool sl_is_up(void); /* it is */
/* After fork: could it be, in this child? */
bool sl_may_start_again(void);
/* No fork of ours comes between the two: a child would have a socket that is half the kernel's.
 * False: a signal handler in the midst of such a time. slow is not held. */
bool sl_fork_hold(void);
void sl_fork_release(void);
/* fdtab.c calls it in a child whose fork was not noticed. */
void sl_fork_found(void);
/* Takes it down for good: as at exit, or before execve(2). Sockets are the kernel's already, or are
 * finished. */
void sl_shut_down(void);
/* The first part of that: what is still offloaded ends, and nothing more begins. */
void sl_stop(void);
/* Is something of what a lease gives, or the broker in the process has, here still? */
bool sl_is_lent(void);
/* creds.c: the process is about to become another user; up: the library is, and has sockets. The
 * start's lock is held, so that there is no fork and no start meanwhile. */
void sl_part_ways(bool up);
/* Nothing of before is in use any more: the library may come up again. Else false. */
bool sl_ways_clear(void);
/* start.c: does that, if sl_is_lent(). */
void sl_start_part(void);

/* Sockets were busy when a device came up: are there any, and offers it to them again. The
 * keeper's. */
bool sl_devices_wait(void);
void sl_devices_again(void);

/* The shadow's descriptor that the program first got; for sleeping on it and for the kernel. */
int sl_sock_shadow(const struct sl_sock *sk);
/* The lane it is on, NULL while it is on none (new, or the kernel's). May change; re-read. */
struct sl_lane *sl_sock_lane(const struct sl_sock *sk);
/* Still what fd means? (It may have been closed meanwhile.) */
bool sl_sock_is(const struct sl_sock *sk, int fd);

/* Bumped (sl_lane_moved) after any socket of the process has got another lane, so that threads that
 * wait for many sockets look again which lanes to turn. A thread that moves a socket with watchers
 * also tells those: sl_sock_notify(sk, 0). */
extern uint32_t sl_lane_moves;
static inline void sl_lane_moved(void)
{
	__atomic_add_fetch(&sl_lane_moves, 1, __ATOMIC_RELEASE);
}

/* epoll.c: called by others of the room. sl_epoll_create() is the set's first descriptor. The
 * caller clears the table's word first and closes the kernel's descriptor itself, afterwards. */
void sl_epoll_dup(struct sl_epoll *ep);       /* one descriptor more */
int sl_epoll_close(struct sl_epoll *ep);      /* one less; the last one empties the set. 0 */
void sl_epoll_fork_child(void);               /* in the child: sets go on with the kernel alone */
uint32_t sl_epoll_ready(struct sl_epoll *ep); /* EPOLLIN when offloaded members have events */

/* epoll_move.c: the memberships of a socket that the kernel's sets have, taken out of them; and put
 * into ours, once the socket is offloaded. */
#define SL_EP_MOVED 8
struct sl_epoll_moved {
	unsigned n;
	struct {
		int epfd, fd;
		struct epoll_event ev;
	} set[SL_EP_MOVED];
};
void sl_epoll_leave_kernel(const struct sl_sock *sk, struct sl_epoll_moved *m);
void sl_epoll_enter_ours(const struct sl_epoll_moved *m);

/* Told when a set may have become ready (nested sets, a set in poll): called with a lane's lock
 * held, in any thread; must not block. ep is NULL while it is on no set. */
struct sl_epoll_watch {
	struct sl_list node;
	struct sl_epoll *ep;
	void (*on_ready)(struct sl_epoll_watch *w);
};
void sl_epoll_watch_add(struct sl_epoll *ep, struct sl_epoll_watch *w);
void sl_epoll_watch_del(struct sl_epoll_watch *w); /* idempotent */

#endif
