/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the sock room share with each other and the preload library does not see. */
#ifndef SL_SOCK_INTERNAL_H
#define SL_SOCK_INTERNAL_H

#include <sys/socket.h>
#include <time.h>

#include "base/base.h"

struct sl_sock;
struct sl_lane;
struct sl_epoll;

/* Makes sure the library is up (tables, keeper). 0 or -errno; then everything is the kernel's. */
int sl_start(void);

/* The shadow's descriptor that the program first got; for sleeping on it and for the kernel. */
int sl_sock_shadow(const struct sl_sock *sk);
/* The lane it is on, NULL while it is on none (new, or the kernel's). May change; re-read. */
struct sl_lane *sl_sock_lane(const struct sl_sock *sk);
/* Still what fd means? (It may have been closed meanwhile.) */
bool sl_sock_is(const struct sl_sock *sk, int fd);

/* epoll.c: called by others of the room */
int sl_epoll_close(struct sl_epoll *ep);   /* last descriptor of the set is closed */
void sl_epoll_dup(struct sl_epoll *ep);	   /* one descriptor more */
void sl_epoll_fork_child(void);		   /* in the child: sets go on with the kernel alone */
/* A descriptor that is not an offloaded socket was closed: nothing to do but for nested sets. */
uint32_t sl_epoll_ready(struct sl_epoll *ep); /* EPOLLIN when it has events (nested sets, poll) */

#endif
