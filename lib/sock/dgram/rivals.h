/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of other programs that come to an endpoint after it was claimed. */
#ifndef SL_RIVALS_H
#define SL_RIVALS_H

#include "sock/core/sock.h"

/* The datagram socket sk has its claims: has the keeper look for rivals from now on, if the kernel
 * lets any be bound. slow held. */
void sl_rivals_watch(const struct sl_sock *sk);
/* Hands back each socket to whose endpoint another program has bound a socket. The keeper's job
 * once a second, without locks. Costs nothing while no socket can have a rival, else two dumps of
 * the kernel's UDP sockets, which take a fiftieth of the keeper's time at most. */
void sl_rivals_look(uint64_t now_ns);

#endif
