/* SPDX-License-Identifier: BSD-2-Clause */
/* Another file behind a TCP socket's numbers. All may sleep: call with no lane held. */
#ifndef SL_SWAP_H
#define SL_SWAP_H

#include <stdbool.h>

struct sl_sock;

/* Gives the socket `to` the options of `from`, both of that family. */
void sl_swap_options(int from, int to, int family);
/* Makes a closed socket with the options of the one that sk's numbers stand for: a descriptor, the
 * caller's, or -errno. */
int sl_swap_new(const struct sl_sock *sk);
/* Puts the file on each number of sk, which keeps its flags; the caller still owns `file`. slow
 * held. 0 or -errno. sl_swap_on() does it for one number. */
int sl_swap_on(int file, int number);
int sl_swap_file(struct sl_sock *sk, int file);

/* True: the kernel's TCP socket has no connection. */
bool sl_swap_is_closed(int fd);
/* True: the kernel's TCP socket has had no connection since it was made or disconnected. */
bool sl_swap_is_fresh(int fd);
/* Before bind(2) and connect(2), slow held: a TCP socket with a port that connect(2) chose, or
 * the kernel for bind(2) before a connection, and without one now, gets a shadow without a name. In
 * the kernel such a port ends with its connection (tcp_set_state()), but the shadow was bound to it
 * for good (SOCK_BINDPORT_LOCK). On an error the shadow stays. */
void sl_swap_unname(struct sl_sock *sk);

#endif
