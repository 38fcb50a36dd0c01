/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a socket, and the table of all sockets. */
#ifndef SL_LIFE_H
#define SL_LIFE_H

#include "sock/core/sock.h"

/* sl_sock.given: the socket may be taken over when it has been used for a while (inherit.c). */
#define SL_GIVEN_LATER UINT8_MAX
static inline bool sl_given_is_later(uint8_t given)
{
	return given > SL_GIVEN_LATER / 2;
}
/* Called when a call uses a socket that may become ours (sl_sock.given); set before the first
 * start. sends: the call is about to send. No lock held. */
extern void (*sl_sock_on_use)(struct sl_sock *sk, bool sends);
static inline void sl_given_look_at(struct sl_sock *sk)
{
	if (sl_unlikely(sl_load(&sk->given)))
		sl_sock_on_use(sk, false);
}
static inline void sl_inherit_send(struct sl_sock *sk)
{
	if (sl_unlikely(sl_given_is_later(sl_load(&sk->given))))
		sl_sock_on_use(sk, true);
}
/* table.c */
int sl_sock_table_init(void);
void sl_sock_table_renew(void); /* in a child: nothing is free, no thread holds the lock */
void sl_sock_child(void);       /* child.c: in a child, what becomes of the sockets */
/* A new object with only gen, lane (sl_limbo) and proto set. NULL: there are too many, or the
 * caller is a signal handler. */
struct sl_sock *sl_sock_alloc(int proto);
void sl_sock_free(struct sl_sock *sk); /* call when no table leads to it any more */
/* The socket's number in the table, to give to a program that is not trusted with a pointer.
 * sl_sock_at() finds the open socket of that number and gen, or NULL; any ref is safe. */
uint32_t sl_sock_ref(const struct sl_sock *sk);
struct sl_sock *sl_sock_at(uint32_t ref, uint32_t gen);
/* The first open socket for which is() returns true, or NULL. */
struct sl_sock *sl_sock_find(bool (*is)(struct sl_sock *sk, void *arg), void *arg);
void sl_sock_for_each(void (*fn)(struct sl_sock *sk, void *arg), void *arg);
bool sl_sock_inode_is_ours(uint32_t inode, void *arg);
/* life.c: life */
void sl_sock_show(struct sl_sock *sk); /* gives a socket that a parent made its own counters */
struct sl_sock *sl_sock_new(int fd, int family, int type, int proto);
void sl_sock_unpark(struct sl_sock *sk); /* closes a parked socket (heirs.c) */
/* Stand around a sleep in a call on the socket, which stays meanwhile even if the program takes its
 * last number away. gen: the socket's when the call began. Async-signal-safe. */
void sl_sock_sleep_begin(struct sl_sock *sk);
void sl_sock_sleep_end(struct sl_sock *sk, uint32_t gen);
/* The number by which a call that began with fd asks the kernel about the socket: fd, or another
 * one if the program has taken that away meanwhile. */
static inline int sl_sock_number(const struct sl_sock *sk, int fd)
{
	return sl_likely(sl_sock_is(sk, fd)) ? fd : sl_load(&sk->fd);
}
/* True: the keeper will close, within milliseconds, sockets that the program has closed already. */
bool sl_sock_awaited_ends(void);
/* The keeper's: closes such sockets when no thread sleeps on them. */
void sl_sock_awaited_look(uint64_t now_ns);
uint64_t sl_sock_awaited_due_ns(uint64_t now_ns, bool quiet);
/* Moves what is queued to the kernel's queue, for another reader of that. No lane held. True:
 * something was. */
bool sl_sock_move_queue(struct sl_sock *sk);
/* Does the same before the claims go: waits a moment if packets are coming. */
void sl_sock_move_early(struct sl_sock *sk);
void sl_sock_kernel(struct sl_sock *sk, enum sl_reason reason); /* hand back; idempotent */
/* sl_sock_kernel() for a caller that found sk by its connection or listener (`what`): the object
 * may be another socket by now, which accept(2) is just making. */
void sl_sock_kernel_of(struct sl_sock *sk, const void *what, enum sl_reason reason);
/* Hands back the socket of that descriptor. 0; -EBADF: it is none of ours; -EBUSY: it cannot go. */
int sl_fd_hand_back(int fd);
/* Waits for a connection that is being handed back or taken over. A non-blocking call waits, too:
 * poll(2) may have announced data, and -EAGAIN would contradict it. False: the caller is a signal
 * handler that interrupted the move, and cannot wait. */
bool sl_sock_wait_moved(struct sl_sock *sk);
/* Stand around a kernel call that moves bytes of the stream. False: the socket is not the kernel's
 * any more, or the caller's own thread is taking it over; then do not call the second. */
bool sl_sock_in_kernel(struct sl_sock *sk);
static inline void sl_sock_out_of_kernel(struct sl_sock *sk)
{
	__atomic_fetch_sub(&sk->in_kernel, 1, __ATOMIC_RELEASE);
}
/* sl_sock_out_of_kernel() for pthread_cleanup_push(3): a kernel call may be cancelled. */
static inline void sl_sock_end_kernel_call(void *sk)
{
	sl_sock_out_of_kernel(sk);
}
/* A stream that a child has goes on, and only the kernel can let both use it. slow held. */
void sl_sock_leave_to_others(struct sl_sock *sk);
/* A descriptor of the socket closes; the last one ends the socket. The caller closes fd itself. */
void sl_sock_drop_fd(struct sl_sock *sk, int fd);
/* Ends the socket of a descriptor that was closed past the library: fd is free, or means another
 * file. */
void sl_sock_drop_number(struct sl_sock *sk, int fd);
/* Ends a socket for which nothing stands any more; slow is held, and released. fd: its last
 * descriptor; shared: a child may have it. */
void sl_sock_finish(struct sl_sock *sk, int fd, bool shared);
/* True: a socket of this process with that local port has ended within the last second. Any
 * thread. */
bool sl_sock_port_was_ours(uint16_t port);
extern uint32_t sl_forks;     /* how often the process has forked */
uint32_t sl_inode_of(int fd); /* the file's inode number; 0: no file */
/* True: the descriptor is in the network namespace that we mirror. */
bool sl_sock_same_netns(int fd);

#endif
