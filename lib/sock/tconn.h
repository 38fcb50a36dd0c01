/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections and listeners of the process: the protocol's state (lib/tcp) and what ties it to
 * a lane, a path, claims and a socket. For the tcp*.c files of this room.
 *
 * A connection is an object of its own since it may live without a socket: a child that waits to
 * be accepted, and an orphan whose program has closed it. Objects are type-stable, as sockets are.
 * Everything in it but the claim is protected by its lane's lock. */
#ifndef SL_TCONN_H
#define SL_TCONN_H

#include "sock/block.h"
#include "sock/errq.h"
#include "sock/sock.h"
#include "tcp/tcp.h"

#define SL_NO_SLOT UINT32_MAX

/* The way out of a connection that is not at rest. */
struct sl_tconn_path {
	struct sl_dst *d;   /* in the cache of the lane */
	struct sl_leg *leg; /* NULL: no way out now */
	uint32_t serial;    /* of d when the headers were made */
	struct sl_tcp_hdr hdr;
	struct sl_pacer
		*pacer; /* of one whose pace the NIC may keep: it is never at rest; or NULL */
};

struct sl_tconn {
	struct sl_tcp tcp;
	struct sl_sock *sk; /* NULL: not accepted yet, or an orphan */
	struct sl_lane *lane;
	struct sl_tconn_path *path; /* NULL: none yet, or at rest */
	uint32_t lsn_id;            /* of the listener it came by (sl_tlisten.id), 0: none */
	uint32_t slot; /* of its own claim; SL_NO_SLOT: packets come by the listener's */
	uint32_t oif;
	uint32_t mark;
	uint16_t ip_id;
	uint8_t ttl; /* 0: the route's or the system's */
	bool df;     /* its packets are not to be fragmented */
	bool dead;   /* on the list of those to be freed */
	/* beside the packet path, under sl_tconn_ctl */
	int guard;              /* dup of an orphan's shadow, which keeps the port; -1: none */
	bool gone;              /* dead here: the kernel's */
	bool let_pass;          /* its packets are the kernel's: it is claimed no more */
	uint8_t special;        /* SL_TCONN_*: what its segments need beside; lane held */
	struct sl_leg *claimed; /* the exact flow is claimed there; NULL: it is not */
};

#define SL_TCONN_MARKED (1u << 0) /* stamps are wanted (errq_tcp.c) */
#define SL_TCONN_NIC    (1u << 1) /* the NIC may keep their pace (tcp_pace.c) */

/* A listening socket of ours. Type-stable. */
struct sl_tlisten {
	struct sl_tcp_listener tcp;
	struct sl_sock *sk;
	uint32_t id;            /* unique in the process */
	uint8_t turn;           /* whose connection comes next when we and the kernel have one */
	bool sorting;           /* what the kernel has on the port comes here, too, so far */
	bool draining;          /* new connections are the kernel's (tcp_drain.c) */
	uint8_t looks;          /* while it drains, since somebody accepted */
	uint8_t reason;         /* enum sl_reason: why it drains */
	uint32_t last_children; /* at the last look */
	/* Of one that several processes share (tcp_share.c). */
	bool others;       /* whoever waits in its queue when it leaves is for these */
	bool part;         /* it is counted among those who have a part */
	bool away;         /* others have the new connections, since nobody accepts here */
	uint32_t accepted; /* so many were; lane held */
	uint32_t forked;   /* of these, by children alone used; atomic */
	uint32_t seen;     /* when the keeper looked, */
	uint64_t since_ns; /* and the first look that found this number, and somebody waiting */
	struct sl_lock os_lock; /* one thread at a time asks the kernel for a connection */
	struct sl_tlisten *next_free;
};

/* Changes of claims of connections; taken after sk->slow, before the broker's mutex. */
extern struct sl_lock sl_tconn_ctl;

static inline struct sl_tconn *sl_tconn_of(struct sl_tcp *t)
{
	return sl_container_of(t, struct sl_tconn, tcp);
}

/* tconn.c: life, the way in and out */
int sl_tconn_init(void);  /* tables, handlers. 0 or -errno */
void sl_tconn_undo(void); /* a start that failed keeps no descriptor */
void sl_tconn_part(void); /* the process becomes another user: they are its alone from now on */
/* After that: is none left, not even of those that went to the kernel a moment ago? Then another
 * table may be made by sl_tconn_init(). */
bool sl_tconn_renew(void);
void sl_tconn_child(void); /* after fork, in the child: the connections are the parent's */
/* A zeroed connection on the lane, whose lock need not be held. NULL: no memory. */
struct sl_tconn *sl_tconn_new(struct sl_lane *lane);
/* It is over and in no table of the host: to be freed when nobody can be looking. Lane held.
 * linger: its claim is kept for a few seconds, to answer what the peer sends again. */
void sl_tconn_free(struct sl_tconn *c, bool linger);
/* Frees the dead: gives up claims and ports. Are there some whose time is yet to come? No lane
 * held, any thread; cheap when there is none. */
bool sl_tconn_reap(void);
/* Frees those at once, too, that are kept for a while. Whether there were any. */
bool sl_tconn_hurry(void);
/* Claims the connection's exact flow on the port. 0 or -errno. No lane held. */
int sl_tconn_claim(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_key *key, int shadow,
		   const char **why);
void sl_tconn_unclaim(struct sl_tconn *c);
/* The same for one that came by the listener of that id, lives, and may end at any moment; nothing
 * if it has one, or is none of that listener. No lane held. */
void sl_tconn_claim_own(struct sl_tconn *c, uint32_t lsn_id, int shadow);
/* The socket's wish for hardware time stamps has changed: so does its connection's claim. No lane
 * held. */
void sl_tcp_sock_claim_flags(struct sl_sock *sk);
/* What to ask the broker for an exact flow, for a slot that is reserved. */
struct sl_claim_req sl_tconn_flow_req(const struct sl_leg *leg, const struct sl_tcp_key *key,
				      int shadow, uint32_t slot);
/* One of that key that is over keeps its claim for a while: not longer. Whether there was one; the
 * next sl_tconn_reap() frees it. */
bool sl_tconn_end_grace(const struct sl_tcp_key *key);
/* The same of one that is over while its socket is open still, if its TIME_WAIT can be used again:
 * no reap is needed. No lane held. */
bool sl_tconn_end_over(const struct sl_tcp_key *key);
/* One of that key that went to the kernel waits for what is still under way to it. The kernel has
 * given its port out again, so it is over there. Lane held. */
void sl_tconn_make_way(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* Is any in use? */
bool sl_tconn_in_use(void);
/* Calls fn for each connection in use, with no lock held. */
void sl_tconn_for_each(void (*fn)(struct sl_tconn *c, void *arg), void *arg);
int sl_tconn_take_error(struct sl_tconn *c); /* c->error, once. Lane held. */

void sl_tconn_repair_child(void);

/* reqs.c: requests, in memory that others read when the process has died */
#define SL_TREQ_MAX 65536u
size_t sl_treq_bytes(void);
void sl_treq_init(void *mem, bool shared); /* of that many bytes (sl_reserve_init()) */
void sl_treq_child(void);
size_t sl_treq_ready(void); /* bytes that may be in use */
void sl_treq_layout(struct sl_conns_layout *l);
void *sl_treq_new(uint32_t lsn_id);
void sl_treq_free(void *req);

/* tcp_repair.c: the connection goes on in the kernel, on the shadow; sk->slow held, no lane. 0:
 * sk->conn is NULL then. -errno: it could not be moved and is what it was; -ECONNABORTED: it was
 * lost on the way. */
int sl_tconn_hand_back(struct sl_sock *sk, enum sl_reason reason);
/* The same for a connection that nobody uses any more, into fd: any TCP socket that is closed, and
 * not bound or bound to its port; by a daemon into *made, the caller's, else -1. The connection
 * stays what it was, frozen: to be freed by the caller. */
int sl_tconn_to_kernel(struct sl_tconn *c, int fd, int *made);
/* The kernel has the flow, though its endpoint is claimed: on every device that the lane is on. 0
 * or -errno. No lane held. */
int sl_tconn_let_pass(struct sl_lane *lane, const struct sl_tcp_key *key, int shadow);
/* One that nobody has a descriptor of any more is finished by the kernel. */
void sl_tconn_orphan_to_kernel(struct sl_tconn *c);

/* tcp_take.c: the kernel's connection of the socket becomes ours; nobody else may be in a call with
 * it. given: only if nobody else has it (given.c). 0; -EALREADY: it is; -ENOTCONN; -EREMOTE: rules
 * or routes say that it is the kernel's; -EBUSY, -EAGAIN and others of sl_repair_take(): it stays
 * the kernel's. */
int sl_tcp_sock_take_over(struct sl_sock *sk, bool given);
/* Of one that is to be taken: 0; -EBUSY: somebody else has it, or it is not to be taken any more;
 * -errno: the kernel does not say. slow is held. */
int sl_sock_is_sole(const struct sl_sock *sk);
/* It was the kernel's when the call looked, and has been taken over since. */
static inline bool sl_tcp_sock_came_back(const struct sl_sock *sk)
{
	return sl_load_acquire(&sk->state) == SL_STATE_OFFLOADED && sl_load_acquire(&sk->conn);
}

/* Around a call in the kernel that moves bytes of the stream. False: it is not the kernel's any
 * more, or is just being taken by the caller's own thread; then there is no end to be told. */
bool sl_sock_in_kernel(struct sl_sock *sk);
static inline void sl_sock_out_of_kernel(struct sl_sock *sk)
{
	__atomic_fetch_sub(&sk->in_kernel, 1, __ATOMIC_RELEASE);
}

/* Its packets to that address are to have the socket's options. */
static inline void sl_tconn_ip_options(struct sl_tconn *c, const struct sl_sock *sk,
				       const struct sl_addr *to)
{
	c->mark = sk->mark;
	c->ttl = sl_sock_ttl(sk, to);
	c->df = sl_sock_dont_fragment(sk);
	c->tcp.tos = sl_sock_tos(sk, to);
}

/* tcp_ops.c */
int sl_tconn_ops_init(void);
/* Where the route to its peer goes. Lane held. */
struct sl_dst *sl_tconn_dst(struct sl_tconn *c);
/* The leg that its packets come by and go by, whether the neighbour is known or not; NULL: none.
 * Lane held. */
struct sl_leg *sl_tconn_leg(struct sl_tconn *c);
/* Gives the path back until the next segment. Lane held. */
void sl_tconn_rest(struct sl_tconn *c);
/* Options of IP have changed: headers are made anew. Lane held. */
static inline void sl_tconn_path_changed(struct sl_tconn *c)
{
	if (c->path)
		c->path->leg = NULL;
}

/* tcp_pace.c; lane held. The path is new, or the rate: who keeps the pace? */
void sl_tconn_pace(struct sl_tconn *c);
bool sl_tconn_paced(struct sl_tconn *c, uint64_t *at_us); /* sl_tcp_ops.paced */
/* The leg that a segment goes by, and that it was posted there. */
struct sl_leg *sl_tconn_way(struct sl_tconn *c, const struct sl_tcp_seg *seg);
void sl_tconn_posted(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg);
/* May so many segments of that many bytes leave at once? */
bool sl_tconn_may_burst(const struct sl_tconn *c, uint32_t n, uint32_t bytes);
void sl_tconn_pace_end(struct sl_tconn *c); /* nothing is to be sent any more */
/* No lane held. Nothing of it waits in the NIC any more, or it stands still. */
void sl_tconn_drain(struct sl_tconn *c);

/* tconn_exit.c. At exit: what is queued still goes out. */
void sl_tconn_exit(void);

/* Is it TCP's? (NULL is not.) One that is a parent's is the kernel's when this returns: with a
 * stream every call matters. */
static inline bool sl_sock_is_tcp(struct sl_sock *sk)
{
	if (!sk || sk->proto != IPPROTO_TCP)
		return false;
	sl_sock_part(sk);
	return true;
}

/* The TCP socket behind the descriptor, NULL: none. Look a descriptor up once: another thread may
 * close it, and make another, between two looks. */
static inline struct sl_sock *sl_tcp_sock(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	return sl_sock_is_tcp(sk) ? sk : NULL;
}

/* tcp_share.c: before a fork: what listens here may be shared from then on. */
void sl_tlisten_fork_begin(void);
void sl_tlisten_share_child(void); /* and after it, in the child */
/* Descriptor by which it gets connections of other processes' queues, readable when there are some;
 * -1: none. And the next of them, -EAGAIN; flags as accept4(2). */
int sl_tlisten_box(const struct sl_sock *sk);
int sl_tlisten_take_given(struct sl_sock *sk, int flags);
/* How many may wait at a socket of the kernel's that listens; -EINVAL: it does not. */
/* An epoll set for somebody who blocks in accept() on the kernel's listener, so that he sees what
 * comes by the box, too; -1: nothing can. */
enum { SL_EITHER_BOX, SL_EITHER_LISTENER }; /* what its events say */
int sl_tlisten_either(const struct sl_sock *sk, int listener);
/* In whose place somebody is to wait for connections by poll or epoll: fd, or an epoll set that has
 * the box, too, where something may come by that. And the set, if there is one already, or -1. sk
 * may be NULL, and of any kind. */
int sl_tlisten_wait_fd(const struct sl_sock *sk, int fd);
int sl_tlisten_waited_fd(const struct sl_sock *sk);
void sl_tlisten_part_over(const struct sl_sock *sk, struct sl_tlisten *l); /* it is gone */
int sl_tlisten_backlog(int fd);
/* Was it open in another process, too, when this one forked last? */
bool sl_tlisten_is_shared(const struct sl_sock *sk);
/* It leaves: who waits in its queue is for other processes. slow not held. */
void sl_tlisten_for_others(struct sl_sock *sk);
/* Who waits in our queue goes to the other processes, if there are such. slow held. */
void sl_tlisten_give(struct sl_sock *sk);
void sl_tlisten_closing(struct sl_sock *sk); /* before it is closed here, drained; slow held */
void sl_tlisten_closed(const struct sl_sock *sk);
/* Nothing is taken out of the box here any more. Is there one? */
bool sl_tlisten_box_leave(struct sl_sock *sk);
/* Nobody else has the box, and so the listener, any more. */
bool sl_tlisten_is_alone(const struct sl_sock *sk);
/* tcp_stay.c: a listener that is closed here, which others have, has handshakes under way. Called
 * in place of its end, with slow held; false: it must end. */
bool sl_tlisten_stay(struct sl_sock *sk);
void sl_tlisten_stayed(struct sl_sock *sk); /* it ends now; slow held */
void sl_tlisten_stay_child(void);           /* after fork, in the child */
uint32_t sl_tlisten_staying(void);          /* how many do */
void sl_tlisten_look_staying(void);         /* the keeper's */
/* Does somebody wait for long in a queue that others would serve? The keeper's. */
void sl_tlisten_look_stalled(uint64_t now_ns);
/* A connection that came by the listener of that id goes to the kernel, since a child has it, and
 * nothing was done with it here. A program that accepts for its children (PostgreSQL) only loses by
 * what it does with each: such a listener goes to the kernel. The keeper's: is there one? */
void sl_tlisten_forked(uint32_t id);
void sl_tlisten_look_forked(void);
/* One that was away accepts again. */
void sl_tlisten_return(struct sl_sock *sk);
void sl_tlisten_exit(void); /* the process ends: who waits is for the others */
/* The process is about to wait for connections of an inherited listener (sk->heir),
 * and is to have a part of them. No lock held. */
void sl_tlisten_join(struct sl_sock *sk);
/* A child has joined. Who waits here by poll or epoll then has a part as it has; false: nobody
 * does, and the listener is to leave. The keeper's. */
bool sl_tlisten_share(struct sl_sock *sk);
/* It is going to accept from one without having a part. */
static inline void sl_tcp_sock_accepts(int fd)
{
	const struct sl_sock *sk = sl_fd_sock(fd);

	if (sl_unlikely(sk && sk->heir && sk->passed))
		sl_keeper_tell_parent(sk);
}
static inline void sl_tcp_sock_inherit(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	if (sl_unlikely(sk && sk->heir))
		sl_tlisten_join(sk);
}

/* tcp_connect.c */
/* tcp_port.c: gives key a local port, if it has none, and binds the shadow to it. 0 or -errno. */
int sl_tcp_port_reserve(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif);
int sl_tcp_sock_connect(struct sl_sock *sk, int fd, const struct sockaddr *addr, socklen_t len);
/* The socket has a connection: `sluice stat` is told. */
void sl_tcp_sock_show(struct sl_sock *sk, const struct sl_tcp_key *k);
int sl_tcp_sock_name(struct sl_sock *sk, bool peer, struct sockaddr *addr, socklen_t *len);
int sl_tcp_sock_shutdown(struct sl_sock *sk, int fd, int how);
/* Has it the name of a connection that is not over? */
static inline bool sl_tcp_sock_is_named(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_load(&c->tcp.state) != SL_TCP_CLOSED;
}

/* tcp_close.c. The last descriptor goes: the connection ends in the background, but for the time
 * that SO_LINGER says. sk->slow held. */
void sl_tcp_sock_close(struct sl_sock *sk, int fd);
/* tcp_leave.c: everything TCP has leaves for the kernel; sk->slow held. False: the connection stays
 * ours, since it is over and is read to its end by us, or cannot be moved. */
bool sl_tcp_sock_kernel(struct sl_sock *sk, enum sl_reason reason);

/* What connect(2) to nowhere (AF_UNSPEC) has left, once. */
static inline int sl_tcp_sock_error(struct sl_sock *sk)
{
	return sl_likely(!sl_load(&sk->error))
		       ? 0
		       : __atomic_exchange_n(&sk->error, 0, __ATOMIC_RELAXED);
}

/* tcp_recv.c: the connection's error, or that, once (sock_error()). No lane held. */
int sl_tcp_sock_take_error(struct sl_sock *sk);
/* It was found too late to be told: the next call tells it. */
void sl_tcp_sock_put_error(struct sl_sock *sk, int err);

/* tcp_listen.c */
int sl_tcp_sock_listen(struct sl_sock *sk, int fd, int backlog);
int sl_tcp_sock_accept(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
		       int flags);
/* No more connections by it; those there are get claims of their own. sk->slow held. */
void sl_tlisten_stop(struct sl_sock *sk);

/* tcp_drain.c. sk->slow held, no lane. */
/* New connections are the kernel's from now on. True: there is no other, and it is no listener of
 * ours any more; false: it drains, and the keeper looks again. */
bool sl_tlisten_to_kernel(struct sl_sock *sk, enum sl_reason reason);
/* Claims of their own for connections that came by it. */
void sl_tlisten_claim_children(struct sl_sock *sk);
/* Gives its endpoint up, and nobody who has begun with us is reset; slow held. */
void sl_tlisten_leave(struct sl_sock *sk);
/* The flow, wherever an endpoint of the list is claimed, for the same slot; SL_CLAIM_* flags. */
void sl_tlisten_claim_flow(struct sl_sock *sk, const struct sl_sock_claim *endpoints,
			   const struct sl_tcp_key *key, uint32_t flags);
/* The kernel's socket listens: so do we. slow held. */
enum sl_reason sl_tlisten_start(struct sl_sock *sk, int backlog);
uint32_t sl_tlisten_count(void);                 /* listeners of ours; any thread */
int sl_tcp_sock_accept_ours(struct sl_sock *sk); /* of our own queue: the descriptor, or -errno */
void sl_tlisten_child(void);                     /* after fork, in the child */
void sl_tlisten_drain_child(void);
void sl_tlisten_drained(struct sl_tlisten *l); /* it is gone, whether it drained or not */
uint32_t sl_tlisten_draining(void);            /* how many do; any thread */
/* The keeper's, every second while one drains; slow not held. */
void sl_tlisten_look(struct sl_sock *sk, struct sl_tlisten *l);

/* tcp_send.c, tcp_recv.c */
ssize_t sl_tcp_sock_send(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 size_t len, int flags, const struct msghdr *msg);
ssize_t sl_tcp_sock_recv(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 struct msghdr *msg, int flags);

/* As sl_tcp_sock_connect() to where sendto(MSG_FASTOPEN) says, without waiting: 0, -EREMOTE (the
 * kernel's now) or -errno. */
int sl_tcp_sock_fastopen(struct sl_sock *sk, const struct msghdr *msg);
/* Until the connection is there; -EINPROGRESS: the socket does not wait so long. */
int sl_tcp_sock_wait_open(struct sl_sock *sk, int fd);

/* tcp_fastopen.c */
bool sl_tcp_fastopen_is_on(void);
/* What the SYN of a connection is to say; lane held, before it is opened. */
void sl_tcp_fastopen_choose(const struct sl_sock *sk, struct sl_tcp *t,
			    const struct sl_tcp_key *key);
void sl_tcp_fastopen_learn(const struct sl_tcp_key *key, const struct sl_tcp_seg *synack,
			   bool lost);
size_t sl_tcp_fastopen_syn(struct sl_sock *sk, const struct iovec *iov, size_t niov);
void sl_tcp_fastopen_child(void);

/* tcp_zerocopy.c */
/* A call with MSG_ZEROCOPY has queued something. No lane held. */
void sl_tcp_zerocopy_sent(struct sl_sock *sk);
/* recvmsg(MSG_ERRQUEUE) */
ssize_t sl_tcp_errqueue(struct sl_sock *sk, int fd, struct msghdr *msg, int flags);
static inline bool sl_tcp_sock_has_errors(const struct sl_sock *sk)
{
	return sl_unlikely(sl_load(&sk->zc_done)) || sl_errq_has(sk);
}

/* tcp_opt.c */
/* Options that the state forbids, which the shadow does not have: 0 or -EINVAL. */
int sl_tcp_opt_may_set(const struct sl_sock *sk, int level, int name);
/* The shadow says ENOTCONN: only a connection of the kernel's takes it (TCP_ULP, IPV6_ADDRFORM).
 * True: it is one now. No lane held. */
bool sl_tcp_opt_leave(struct sl_sock *sk);
/* After the kernel took the option. False: not one that we can live with. */
bool sl_tcp_opt_track(struct sl_sock *sk, int level, int name);
/* tcp_getopt.c. The answer is ours: 0 or -errno; -EREMOTE: the kernel's. */
int sl_tcp_opt_get(struct sl_sock *sk, int level, int name, void *val, socklen_t *len);
/* IPV6_V6ONLY as the program has it, before names are given. sk->slow held. */
void sl_tcp_opt_read_v6only(struct sl_sock *sk);
/* What was set before there was a connection. Lane held. */
void sl_tcp_opt_apply(struct sl_sock *sk, struct sl_tconn *c);
void sl_tcp_opt_listener(struct sl_sock *sk, struct sl_tlisten *l);
/* What the kernel's socket has become meanwhile is what the next connection of ours will have. */
void sl_tcp_opt_adopt(struct sl_sock *sk);
/* A child's options are its listener's. */
void sl_tcp_opt_inherit(struct sl_sock *child, const struct sl_sock *from);
/* The same for a connection of the kernel's that another process has made. */
void sl_tcp_opt_give(const struct sl_sock *listener, int fd);
int sl_tcp_sock_ioctl(struct sl_sock *sk, unsigned long request, void *arg); /* -EREMOTE */

/* tcp_stat.c: for `sluice stat`; no lane held */
void sl_tcp_sock_stat(struct sl_sock *sk);
void sl_tcp_stat(void); /* all sockets that are shown, and the lanes. The keeper's */

/* tcp_ready.c */
/* What poll(2) would say, as net/ipv4/tcp.c: tcp_poll(). No lock. */
uint32_t sl_tcp_sock_ready(const struct sl_sock *sk);

/* A Fast Open child is used before its handshake is complete. */
static inline bool sl_tconn_is_connecting(const struct sl_tconn *c)
{
	uint8_t s = sl_load(&c->tcp.state);

	return s == SL_TCP_SYN_SENT || (s == SL_TCP_SYN_RCVD && !sl_load(&c->tcp.tfo_child));
}

#endif
