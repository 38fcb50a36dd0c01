/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets move between us and the kernel. */
#ifndef SL_MOVE_H
#define SL_MOVE_H

#include "sock/stream/tconn.h"

/* policy.c: connections follow changes of rules, devices and routes. */
void sl_policy_now(void);    /* a device has changed: look soon */
bool sl_policy_is_due(void); /* that was said */
void sl_policy_check(void);  /* the keeper's; no lock held */
bool sl_policy_waits(void);  /* true: call sl_policy_check() again, even without an event */
/* When sl_policy_is_due() must be asked, 0: at the next event. */
uint64_t sl_policy_soon_ns(uint64_t now_ns, bool quiet);
void sl_policy_stop(void);  /* the ports are going */
void sl_policy_child(void); /* after fork, in the child */
void sl_paces_check(void);  /* paces.c: rates of destinations may have changed; the keeper's */
/* stray.c: hands back connections whose segments reach the kernel. The number; keeper only. */
uint32_t sl_strays_look(void);
void sl_strays_forget(void); /* a device has come: what strayed before says nothing; keeper only */
/* stuck.c: while packet memory is short, hands back connections whose peers take nothing; the
 * keeper's job of each second, and when it must run while the keeper would sleep (0: not). */
void sl_stuck_look(uint64_t now_ns);
uint64_t sl_stuck_due_ns(uint64_t now_ns, bool quiet);
void sl_strays_let_pass(void); /* the keeper lets such peers' flows pass to the kernel */
/* given.c */
void sl_given_call(struct sl_sock *sk); /* a call is about to use it; no lock held */
/* The kernel's connection or listener becomes ours: as sl_tcp_sock_take_over(). */
int sl_sock_take(struct sl_sock *sk, bool given);
/* Asks for sl_sock_take() as soon as no other process has the socket. No lock held. */
void sl_sock_want(struct sl_sock *sk);
/* The keeper's job: when to call sl_given_look() next, 0: never. */
uint64_t sl_given_due_ns(uint64_t now_ns, bool quiet);
void sl_given_look(uint64_t now_ns);
void sl_given_child(void);
/* inherit.c */
/* After fork, in the child. True: watch this stream of the kernel's here. */
bool sl_inherit_wants(const struct sl_sock *sk);
void sl_inherit_child(void);
/* Sockets that a parent has are left alone for good, and the library does not start here again. */
void sl_inherit_confine(void);
bool sl_inherit_is_confined(void); /* true: that was called */
/* sl_sock_on_use: a call uses a socket that may become ours. */
void sl_inherit_used(struct sl_sock *sk, bool sends);
/* The kernel accepted a connection of a listener of ours: perhaps children serve those. */
void sl_inherit_accepted(const struct sl_sock *listener, int fd, int flags);
/* flow.c: what `sluice flow` asked for; the keeper's */
void sl_flow_serve(void);
/* epoll_move.c: the memberships of a socket that the kernel's sets have, taken out of them; and put
 * into ours, once the socket is offloaded. */
#define SL_EP_MOVED 8
struct sl_epoll_moved {
	unsigned n;
	struct {
		int epfd, fd;
		struct epoll_event ev;
	} set[SL_EP_MOVED];
};
void sl_epoll_leave_kernel(const struct sl_sock *sk, struct sl_epoll_moved *m);
void sl_epoll_enter_ours(const struct sl_epoll_moved *m);
/* move/hand_back.c: the connection goes on in the kernel, on the shadow; sk->slow held, no lane. 0:
 * sk->conn is NULL then. -errno: it could not be moved and is what it was; -ECONNABORTED: it was
 * lost on the way. */
int sl_tconn_hand_back(struct sl_sock *sk, enum sl_reason reason);
/* Puts a connection that was taken out of our accept queue into that of the kernel's listener. 0,
 * and c is gone; else it is as before. slow of the listener held, no lane. */
int sl_tconn_queue(struct sl_tconn *c, int listener);
/* queue.c: does it with all that wait at a listener that drains, as far as that can be. slow held.
 */
void sl_listener_queue(struct sl_sock *sk);
/* Lets the flow pass to the kernel although its endpoint is claimed, on every device of the lane. 0
 * or -errno. No lane held. */
int sl_tconn_let_pass(struct sl_lane *lane, const struct sl_tcp_key *key, int shadow);
void sl_hand_back_child(void); /* after fork, in the child */
/* Ends the claims that let flows pass on that device, whose steering has ended. No lane held. */
void sl_passes_end(uint32_t ifindex);
/* Has the kernel finish a connection that has no descriptor any more. */
void sl_tconn_orphan_to_kernel(struct sl_tconn *c);
/* move/take_over.c: the kernel's connection of the socket becomes ours; no other thread may be
 * in a call with it. given: only if no other process has it (given.c). 0; -EALREADY: it is;
 * -ENOTCONN; -EREMOTE: rules or routes say that it is the kernel's; -EBUSY, -EAGAIN and others of
 * sl_repair_take(): it stays the kernel's. */
int sl_tcp_sock_take_over(struct sl_sock *sk, bool given);
/* May the socket be taken over? 0; -EBUSY: another process has it, or it is no longer wanted;
 * -errno: the kernel does not say. slow is held. */
int sl_sock_is_sole(const struct sl_sock *sk);
/* move/exit.c. At exit: sends queued data before the process ends. */
void sl_tconn_exit(void);
/* move/leave.c: hands TCP's part of the socket back; sk->slow held. False: the connection stays
 * ours, since it is over and only has data left to read, or cannot be moved. */
bool sl_tcp_sock_kernel(struct sl_sock *sk, enum sl_reason reason);

#endif
