/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets, for the rooms and files that do not look inside. */
#ifndef SL_SETS_H
#define SL_SETS_H

#include "base/list.h"

struct sl_epoll;

/* epoll.c: called by others of the room. sl_epoll_create() is the set's first descriptor. The
 * caller clears the table's word first and closes the kernel's descriptor itself, afterwards. */
void sl_epoll_dup(struct sl_epoll *ep);          /* one descriptor more */
int sl_epoll_close(struct sl_epoll *ep, int fd); /* one less, fd; the last empties the set. 0 */
void sl_epoll_fork_child(void);               /* in the child: sets go on with the kernel alone */
uint32_t sl_epoll_ready(struct sl_epoll *ep); /* EPOLLIN when offloaded members have events */
/* A watcher of a set (an outer set, a poll() call). Its callback runs when the set may have become
 * ready, in any thread with a lane's lock held, and must not block. ep: NULL while on no set. */
struct sl_epoll_watch {
	struct sl_list node;
	struct sl_epoll *ep;
	void (*on_ready)(struct sl_epoll_watch *w);
};
void sl_epoll_watch_add(struct sl_epoll *ep, struct sl_epoll_watch *w);
void sl_epoll_watch_del(struct sl_epoll_watch *w); /* idempotent */

#endif
