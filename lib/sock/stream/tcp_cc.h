/* SPDX-License-Identifier: BSD-2-Clause */
/* Algorithms of congestion control that the kernel has not got (tcp_cc.c). */
#ifndef SL_TCP_CC_H
#define SL_TCP_CC_H

#include "sock/core/sock.h"

struct sl_tcp;
struct sl_tcp_listener;

bool sl_tcp_cc_has(const char *name); /* ours, whatever the kernel has */
/* The name that the program has chosen and the kernel refused; NULL: none. */
const char *sl_tcp_cc_own(const struct sl_sock *sk);
/* TCP_CONGESTION, when the kernel has said that it has no such algorithm. 0; -ENOENT: nor have we,
 * or the socket is the kernel's. No lane held. */
int sl_tcp_cc_set(struct sl_sock *sk, const void *val, socklen_t len);
/* Gives the chosen one, if there is one, to a connection and a listener (either may be NULL). Lane
 * held. */
void sl_tcp_cc_give(const struct sl_sock *sk, struct sl_tcp *t, struct sl_tcp_listener *l);
/* The kernel has the one that was chosen last. No lane held. */
void sl_tcp_cc_forget(struct sl_sock *sk);
/* The socket has gone to the kernel: the log says which algorithm it loses. No lane held. */
void sl_tcp_cc_leave(struct sl_sock *sk);

#endif
