/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at what the kernel has for the shadows: data, connections, errors. */
#ifndef SL_SHADOW_H
#define SL_SHADOW_H

#include "base/base.h"

struct sl_sock;

/* The keeper looks at fd for sk from now on: the shadow, or another descriptor that brings
 * something for the socket. */
void sl_shadow_watch(const struct sl_sock *sk, int fd);
/* Before fd is closed while another process has the socket: the kernel would keep telling us. */
void sl_shadow_unwatch(int fd);
/* Notes what the kernel has for the shadows now, and tells their waiters; any thread, no lane held.
 * A call costs one system call. */
void sl_shadow_look(void);

/* An error came back for the shadow: perhaps a new path MTU, which makes no other event. No lane
 * held. */
void sl_sock_path_again(struct sl_sock *sk);
void sl_sock_take_error(struct sl_sock *sk); /* sl_sock_path_again() if a call will take an error */
/* Takes the last error that came back for the shadow (ICMP), or that recvmmsg(2) has kept, for the
 * program's next call: -errno or 0. */
int sl_sock_pending_error(struct sl_sock *sk, int fd);
/* recvmmsg(2) has received something before this error (positive): the next call returns it. */
void sl_sock_keep_error(struct sl_sock *sk, int err);
/* Asks the kernel whether the socket has an error, or a message in its error queue, still. */
void sl_sock_look_error(struct sl_sock *sk, int fd);

/* The set of the shadows: after sl_keeper_open(), before the first socket. 0 or -EMFILE. */
int sl_shadow_open(void);
/* The start has failed, the keeper has ended, or this is a child after fork. */
void sl_shadow_close(void);

/* getsockopt(2) on the shadow; 0 when that fails. */
int sl_sock_get_int(const struct sl_sock *sk, int level, int name);

#endif
