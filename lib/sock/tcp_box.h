/* SPDX-License-Identifier: BSD-2-Clause */
/* The boxes of listeners that several processes have; for the tcp_*.c files that serve these. */
#ifndef SL_TCP_BOX_H
#define SL_TCP_BOX_H

#include <stdbool.h>
#include <stdint.h>

struct sl_sock;

/* What the processes of a box know in common; all atomic. */
struct sl_crowd {
	uint64_t last_ns; /* of the last stall */
	uint32_t stalls;  /* in a row; from a number on nobody has a part any more */
	uint32_t parts;   /* so many have a part; more, when one was killed */
};

/* NULL: the socket has no box, or there is no memory in common. */
struct sl_crowd *sl_tbox_crowd(const struct sl_sock *sk);
/* A connection that the kernel has, for whoever takes it first. False: it cannot. */
bool sl_tbox_put(const struct sl_sock *sk, int fd);
/* tcp_taken.c: what somebody has put into the listener's box is a new connection of it. */
bool sl_tbox_is_connection(const struct sl_sock *listener, int fd);
/* The listener has a part here: it counts, and the daemon knows the box. slow held. */
void sl_tbox_have_part(struct sl_sock *sk);
/* Numbers of boxes, and whose part one is here; NULL: nobody's. */
unsigned sl_tbox_count(void);
struct sl_sock *sl_tbox_member(unsigned i);

#endif
