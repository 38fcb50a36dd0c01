/* SPDX-License-Identifier: BSD-2-Clause */
/* The boxes of listeners that several processes have; for the tcp_*.c files that serve these. */
#ifndef SL_TCP_BOX_H
#define SL_TCP_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct sl_sock;

/* Memory that the processes of a box share; all atomic. */
struct sl_crowd {
	uint64_t last_ns; /* time of the last stall */
	uint32_t stalls;  /* in a row; after too many no process has a part any more */
	uint32_t parts;   /* processes with a part; too high after one was killed */
	uint32_t strange; /* another program has the listener: only the kernel's queue serves all */
};

/* NULL: the socket has no box, or there is no memory in common. */
struct sl_crowd *sl_tbox_crowd(const struct sl_sock *sk);
/* Puts a kernel connection into the box, for the process that takes it first. peer, of len bytes:
 * its name, which the kernel no longer tells when the peer has reset the connection. False: it
 * failed. */
bool sl_tbox_put(const struct sl_sock *sk, int fd, const struct sockaddr_storage *peer,
		 socklen_t len);
/* listen/taken.c. True: fd, out of the listener's box, is a new connection of this listener, or one
 * that its peer has reset before any process accepted it. */
bool sl_tbox_is_connection(const struct sl_sock *listener, int fd);
/* Both ends of the socket's box, to read and to write; false: it has none in use. */
bool sl_tbox_ends(const struct sl_sock *sk, int end[2]);
/* The ends in and out, which become the library's, are the box of the listener, from before this
 * program was executed. */
void sl_tbox_adopt(const struct sl_sock *sk, int in, int out);
/* True: only the kernel's queue serves all programs that have the listener: no part of it here. */
bool sl_tbox_is_strange(const struct sl_sock *sk);
/* Tells the daemon of the box of a listener that is to have a part here. Before its claims: what
 * comes between them and the box is lost if this process is killed. slow held. */
void sl_tbox_tell(const struct sl_sock *sk);
void sl_tbox_have_part(struct sl_sock *sk); /* the listener has a part here, which counts */
/* The number of boxes, and the listener here that has a part of box i; NULL: none. */
unsigned sl_tbox_count(void);
struct sl_sock *sl_tbox_member(unsigned i);

#endif
