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
