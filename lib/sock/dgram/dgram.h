/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram sockets: decisions, options, pace, groups. */
#ifndef SL_DGRAM_H
#define SL_DGRAM_H

#include "sock/core/sock.h"

/* Moves our queue into the kernel's, for other processes that have the socket. Lane held. */
void sl_sock_requeue(struct sl_sock *sk, struct sl_lane *lane);
/* Does the same with at most n of those that no callback has seen. */
void sl_sock_requeue_some(struct sl_sock *sk, struct sl_lane *lane, uint32_t n);
/* decide.c */
/* Looks at what the socket is bound and connected to, applies the rules, and claims its packets or
 * hands it back. After each change of names. */
void sl_sock_decide(struct sl_sock *sk);
/* A send of a socket without a port that must not wait: true: a device is being opened. The kernel
 * sends meanwhile, without a decision, as it serves a socket that sl_sock_decide() puts off. */
bool sl_dgram_put_off(struct sl_sock *sk);
/* A send that may block, of a socket whose decision was put off: decides, and waits for the device.
 * False: nothing was put off. */
bool sl_dgram_decide_now(struct sl_sock *sk);
/* The keeper's: decides on a socket that was put off. False: it is busy. */
bool sl_dgram_decide_late(struct sl_sock *sk);
/* Claims the flow of a connected socket that has no claim on a steered device any more. False: the
 * socket is busy, or has none still. No lock held. */
bool sl_sock_claim_again(struct sl_sock *sk);
/* Rules have changed: a socket of ours goes to the kernel (kernels), or stays. False: it is busy,
 * try again. No lock held. */
bool sl_sock_follow_rule(struct sl_sock *sk, bool kernels);
/* Leaves a socket of ours to the kernel for a while, without its claims. False: it is not ours
 * (yet), or the lane is not to be had. slow held. */
bool sl_sock_pause(struct sl_sock *sk, enum sl_reason reason);
/* The claims of such a socket come back, unless a rule or its names say otherwise:
 * sl_sock_obey() does what is returned. slow held. */
enum sl_reason sl_sock_resume(struct sl_sock *sk);
void sl_sock_obey(struct sl_sock *sk, enum sl_reason reason); /* slow not held */
/* lend.c */
/* Before another program gets the socket, too: the kernel serves it, with all that waits, until
 * this process has it alone again. False: it is not ours. No lock held. */
bool sl_sock_lend(struct sl_sock *sk);
/* A receiving call of a lent socket. No lock held. */
void sl_lent_call(struct sl_sock *sk);
/* Until sl_lent_release() no socket comes back: a program is being started that has them all. */
void sl_lent_hold(void);
void sl_lent_release(void);
void sl_lent_look(uint64_t now_ns); /* the keeper's */
uint64_t sl_lent_due_ns(uint64_t now_ns, bool quiet);
void sl_lent_child(void); /* after fork, in the child */
/* Binds as the kernel would at the first send. 0 or -errno. */
int sl_sock_autobind(struct sl_sock *sk);
/* In a call that blocks: waits for links that went down when we claimed (stack/restart.c). flags:
 * the call's; slow not held. */
void sl_sock_wait_links(struct sl_sock *sk, int flags);
/* dgram/udp_opt.c */
void sl_sock_read_options(struct sl_sock *sk);
/* Follows an option that the kernel has set. False: an offloaded socket cannot have it. */
bool sl_dgram_opt_track(struct sl_sock *sk, int level, int name, const void *val, socklen_t len);
/* Reads what another program may have set. False: as above. slow held. */
bool sl_dgram_opts_again(struct sl_sock *sk);
/* getsockopt(2), where the shadow does not know. -EREMOTE: it does. */
int sl_dgram_opt_get(struct sl_sock *sk, int level, int name, void *val, socklen_t *len);
int sl_dgram_ioctl(struct sl_sock *sk, int fd, unsigned long request, void *arg); /* ioctl(2) */
/* pace.c: SO_MAX_PACING_RATE. As setsockopt(2) and getsockopt(2); get: -EREMOTE, the kernel knows.
 */
int sl_sock_pace_set(struct sl_sock *sk, int fd, const void *val, socklen_t len);
void sl_sock_pace(struct sl_sock *sk); /* a datagram socket's rate has changed */
/* The rates of destinations have changed. No lane held. */
void sl_sock_pace_again(struct sl_sock *sk);
/* The leg to post to instead of p->leg, by the rates of the socket and of p's destination. Lane
 * held. */
struct sl_path;
struct sl_leg *sl_sock_pace_leg(struct sl_sock *sk, const struct sl_path *p);
/* Notes the rate of p's destination while its packets still leave through the kernel. Lane held. */
void sl_sock_pace_early(struct sl_sock *sk, const struct sl_path *p);
int sl_sock_pace_get(const struct sl_sock *sk, void *val, const socklen_t *len);
struct sl_pace_ask sl_sock_pace_ask(const struct sl_sock *sk); /* what was set */
/* The socket leaves its lane, which is held. flush: the kernel sends from now on, after the
 * packets that still wait here. */
void sl_sock_pace_end(struct sl_sock *sk, bool flush);
/* steer.c: SL_SO_STEER, as setsockopt(2). */
int sl_sock_steer(struct sl_sock *sk, int fd, const void *val, socklen_t len);
/* True: the socket wants some datagrams alone. */
bool sl_sock_is_steered(const struct sl_sock *sk);
/* sibling.c: `to` is the kernel's now. Hands back those of our sockets that would get its
 * datagrams. No slow lock held. */
void sl_siblings_yield(const struct sl_sock *to);
/* sl_siblings_yield(), if a child has the socket and its last descriptor here, fd, is closing. */
void sl_siblings_yield_to_child(const struct sl_sock *to, int fd);
/* mcast.c: memberships and the fan-out to several sockets */
int sl_mcast_setsockopt(struct sl_sock *sk, int level, int name, const void *val, socklen_t len);
bool sl_mcast_is_membership(int level, int name);
/* True: it is a member of a group on a device whose packets it does not want here
 * (sl_sock_wants_port()). Slow; no lane held. */
bool sl_mcast_is_unwanted(const struct sl_sock *sk);
void sl_mcast_claim(struct sl_sock *sk);  /* the socket has a lane and a port now */
void sl_mcast_pause(struct sl_sock *sk);  /* it has no port now */
void sl_mcast_forget(struct sl_sock *sk); /* it is going */
void sl_mcast_leave(uint32_t ifindex);    /* ends all claims on that device */
void sl_mcast_again(void);                /* claims for all sockets whose groups lack it */
/* A device of the socket's groups that lost its link when we claimed; NULL: none. slow not held. */
struct sl_port *sl_mcast_without_link(struct sl_sock *sk);
void sl_mcast_init(void);
void sl_mcast_child(void); /* after fork, in the child: the groups are the parent's */
void sl_mcast_recheck(void);
/* True: there are groups. The keeper must look at them, as other programs join without an event. */
bool sl_mcast_in_use(void);
/* migrate.c: SLUICE_RING_MIGRATION_RATIO_RX and _TX */
void sl_sock_count_begin(struct sl_sock *sk); /* a new socket */
/* A receive call polls: perhaps the thread's lane is a better one. No lane held. */
void sl_sock_count_recv(struct sl_sock *sk);
/* A datagram is sent, and us->tx_moves. Lane held. */
void sl_sock_count_send(struct sl_sock *sk);
/* The keeper's: moves sockets to the lanes of the threads that receive from them. */
void sl_sock_look_moves(void);
/* mcast_move.c: the socket is about to move to another lane, with the claims on its groups; slow
 * held. False: others have copies of their packets, too, and it stays. */
bool sl_mcast_move_begin(struct sl_sock *sk);
/* Between begin and end, which hold the fans' lock. Has the groups' packets come to that lane.
 * False: some do not. */
bool sl_mcast_claims_to(struct sl_sock *sk, struct sl_lane *lane);
/* The socket's lane, which is held, has no packets of the groups any more. */
void sl_mcast_change_lane(struct sl_sock *sk, struct sl_lane *lane);
void sl_mcast_move_end(struct sl_sock *sk);
/* send_room.c */
void sl_sock_on_room(struct sl_list *entry); /* frames came back: may a blocked sender go on? */

#endif
