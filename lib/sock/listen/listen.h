/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners, what they accept, and listeners that several processes share. */
#ifndef SL_LISTEN_H
#define SL_LISTEN_H

#include "sock/core/mail.h"
#include "sock/stream/tconn.h"

/* The keeper's: claims for a listener that listen(2) left without claims, since its device was not
 * open. False: it is busy. */
bool sl_tlisten_claim_late(struct sl_sock *sk);
/* listen/share.c: before a fork, after which listeners may be shared. */
void sl_tlisten_fork_begin(void);
void sl_tlisten_share_child(void); /* after a fork, in the child */
/* The box: a descriptor that is readable when other processes have given connections; -1: none.
 * sl_tlisten_take_given() takes the next one, or -EAGAIN; the rest as accept4(2). */
int sl_tlisten_box(const struct sl_sock *sk);
void sl_tlisten_watch_box(const struct sl_sock *sk); /* the keeper looks at it, too */
int sl_tlisten_take_given(struct sl_sock *sk, struct sockaddr *addr, socklen_t *len, int flags);
/* The program has shut the listener down: resets what other processes have given. */
void sl_tlisten_reset_given(struct sl_sock *sk);
/* An epoll set for a thread that blocks in accept() on the kernel's listener, so that connections
 * in the box wake it, too; -1: none can come by a box. */
enum { SL_EITHER_BOX, SL_EITHER_LISTENER }; /* what its events say */
int sl_tlisten_either(const struct sl_sock *sk, int listener);
/* The descriptor to poll for connections in place of fd: fd, or an epoll set that has the box, too,
 * if connections may come by one. sl_tlisten_waited_fd(): the set if it exists already, or -1. sk
 * may be NULL, and of any kind. */
int sl_tlisten_wait_fd(const struct sl_sock *sk, int fd);
int sl_tlisten_waited_fd(const struct sl_sock *sk);
void sl_tlisten_part_over(const struct sl_sock *sk, struct sl_tlisten *l); /* it is gone */
/* The backlog of a listening socket of the kernel's; -EINVAL: it does not listen. */
int sl_tlisten_backlog(int fd);
/* True: another process had the listener open, too, when this one forked last. */
bool sl_tlisten_is_shared(const struct sl_sock *sk);
/* The listener leaves: connections in its queue are for other processes. slow not held. */
void sl_tlisten_for_others(struct sl_sock *sk);
/* Gives the connections in our queue to other processes, if there are any. slow held. */
void sl_tlisten_give(struct sl_sock *sk);
/* Another program gets the listener, or io_uring does: accept(2) there reads the kernel's queue
 * alone. So every process that has a part of it gives that up, and none gets one again. In a child
 * of vfork(2), too; no lock held. */
void sl_tlisten_strange(const struct sl_sock *sk);
/* listen/box_exec.c. The listener's box stays open over the execve(2) that comes: call it in the
 * process that will be the new program, or before. True: connections lie in it. Allocates nothing.
 */
bool sl_tlisten_over_exec(const struct sl_sock *sk);
/* After a new process was made that has the box: later ones are not to have it. */
void sl_tlisten_spawned(const struct sl_sock *sk);
/* In the new program, for a listener that it has just found: looks for such a box. */
void sl_tlisten_after_exec(const struct sl_sock *sk);
void sl_tlisten_closing(struct sl_sock *sk); /* before it is closed here, drained; slow held */
void sl_tlisten_closed(const struct sl_sock *sk);
/* Stops taking connections from the box in this process. True: there is a box. */
bool sl_tlisten_box_leave(struct sl_sock *sk);
/* True: no other process has the box, and so the listener, any more. */
bool sl_tlisten_is_alone(const struct sl_sock *sk);
/* listen/stay.c: keeps a listener that is closed here, but open in other processes, until its
 * handshakes are done. Call it before ending one, with slow held; false: end it. */
bool sl_tlisten_stay(struct sl_sock *sk);
void sl_tlisten_stay_child(void);   /* after fork, in the child */
uint32_t sl_tlisten_staying(void);  /* number of listeners that stay */
void sl_tlisten_look_staying(void); /* the keeper's */
/* The keeper looks for connections that wait long in a queue that other processes would serve. */
void sl_tlisten_look_stalled(uint64_t now_ns);
/* A connection that came by the listener of that id goes to the kernel, since a child has it, and
 * nothing was done with it here. A program that accepts for its children (PostgreSQL) only loses by
 * what it does with each: such a listener goes to the kernel. The keeper's: is there one? */
void sl_tlisten_forked(uint32_t id);
void sl_tlisten_look_forked(void);
/* A listener that was away accepts again. */
void sl_tlisten_return(struct sl_sock *sk);
void sl_tlisten_exit(void); /* the process ends: others get the waiting connections */
/* The process is about to wait for connections of an inherited listener (sk->heir), and shall get
 * a part of them. No lock held. */
void sl_tlisten_join(struct sl_sock *sk);
/* A child has joined. If a thread here waits by poll or epoll, this process has a part, too; false:
 * none waits, and the listener must leave. The keeper calls it. */
bool sl_tlisten_share(struct sl_sock *sk);
/* Call before accepting from a parent's listener without having a part of it. */
static inline void sl_tcp_sock_accepts(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (sl_unlikely(sk && sk->heir && sk->passed))
		sl_keeper_tell_parent(sk);
}
static inline void sl_tcp_sock_inherit(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (sl_unlikely(sk && sk->heir))
		sl_tlisten_join(sk);
}
/* tcp_close.c. The last descriptor closes: waits for as long as SO_LINGER says, then the
 * connection ends in the background. sk->slow held. */
void sl_tcp_sock_close(struct sl_sock *sk, int fd);
/* listen/listener.c */
int sl_tcp_sock_listen(struct sl_sock *sk, int fd, int backlog);
int sl_tcp_sock_accept(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
		       int flags);
/* Like sl_accept_left(). */
int sl_tcp_sock_accept_left(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
			    int flags);
/* Ends the listener; its live connections get claims of their own. sk->slow held. */
void sl_tlisten_stop(struct sl_sock *sk);
/* listen/drain.c. sk->slow held, no lane. */
/* New connections are the kernel's from now on. True: old ones may wait here still. */
bool sl_tlisten_drain(struct sl_sock *sk, enum sl_reason reason);
/* After sl_tlisten_drain(). True: no old ones wait, and the listener is not ours any more; false:
 * it drains, and the keeper looks again. */
bool sl_tlisten_to_kernel(struct sl_sock *sk);
/* Claims of their own for connections that came by it. */
void sl_tlisten_claim_children(struct sl_sock *sk);
/* Gives the endpoint up without resetting peers that have begun a handshake with us; slow held. */
void sl_tlisten_leave(struct sl_sock *sk);
/* Claims the flow wherever an endpoint of the list is claimed, up to `until` (NULL: the end), for
 * the same slot; SL_CLAIM_* flags. */
void sl_tlisten_claim_flow(struct sl_sock *sk, const struct sl_sock_claim *endpoints,
			   const struct sl_sock_claim *until, const struct sl_tcp_key *key,
			   uint32_t flags);
/* Claims the endpoint on a device that came or changed; connections that the kernel has on the port
 * pass there. slow held; the listener does not drain. */
void sl_tlisten_claim_device(struct sl_sock *sk, uint32_t ifindex);
/* Gives connections of a group's listener claims of their own, if they are older than the device
 * that they use now: the group's hash on that device may name another listener for them. False:
 * some have no device yet, or the listener is busy; try again. */
bool sl_tlisten_claim_older(struct sl_sock *sk);
/* Processes what was steered to a listener of a group until now. False: the listener is busy. */
bool sl_tlisten_take_late(struct sl_sock *sk);
/* Makes our listener for a kernel socket that listens. slow held. */
enum sl_reason sl_tlisten_start(struct sl_sock *sk, int backlog);
uint32_t sl_tlisten_count(void); /* listeners of ours; any thread */
/* From our own queue: descriptor or -errno. peer gets the name of len bytes. */
int sl_tcp_sock_accept_ours(struct sl_sock *sk, struct sockaddr_storage *peer, socklen_t *len);
void sl_tlisten_child(void); /* after fork, in the child */
/* The listener enters the state; one that does not follow its present state is a fault here, and is
 * told. l->sk->slow held. */
void sl_tlisten_enter(struct sl_tlisten *l, enum sl_tlisten_state to);
uint32_t sl_tlisten_draining(void); /* listeners that drain; any thread */
/* The keeper calls it every second while a listener drains; slow not held. */
void sl_tlisten_look(struct sl_sock *sk, struct sl_tlisten *l);

#endif
