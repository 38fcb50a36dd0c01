/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections and listeners of the process: the protocol's state (lib/tcp) and what ties it to
 * a lane, a path, claims and a socket. For the tcp*.c files of this room.
 *
 * A connection is an object of its own since it may live without a socket: a child that waits to
 * be accepted, and an orphan whose program has closed it. Objects are type-stable, as sockets are.
 * Everything in it but the claim is protected by its lane's lock. */
#ifndef SL_TCONN_H
#define SL_TCONN_H

#include "ctl/device/conns.h"
#include "sock/core/block.h"
#include "sock/core/errq.h"
#include "sock/core/sock.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_conn.h"

/* The path by which a connection sends; a connection at rest has none. */
struct sl_tconn_path {
	struct sl_dst *d;   /* in the cache of the lane */
	struct sl_leg *leg; /* NULL: no way out now */
	uint32_t serial;    /* of d when the headers were made */
	struct sl_tcp_hdr hdr;
	struct sl_pacer *pacer; /* not NULL: the NIC may keep the pace; then never at rest */
};

struct sl_tconn {
	struct sl_tcp tcp;
	struct sl_sock *sk; /* NULL: not accepted yet, or an orphan */
	struct sl_lane *lane;
	struct sl_tconn_path *path; /* NULL: none yet, or at rest */
	uint32_t lsn_id;            /* sl_tlisten.id of its listener, 0: none */
	uint32_t slot; /* of its own claim; SL_NO_SLOT: packets come by the listener's */
	uint32_t oif;
	uint32_t mark;
	uint16_t ip_id;
	uint8_t ttl; /* 0: the route's or the system's */
	bool df;     /* its packets may not be fragmented */
	bool dead;   /* on the list of connections to free */
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
	uint8_t turn;           /* our queue or the kernel's next, when both have a connection */
	bool sorting;           /* what the kernel has on the port comes here, too, so far */
	bool draining;          /* new connections are the kernel's (listen/drain.c) */
	uint8_t looks;          /* while it drains: looks since the last accept */
	uint8_t reason;         /* enum sl_reason: why it drains */
	uint32_t last_children; /* at the last look */
	/* for a listener that several processes share (listen/share.c) */
	bool others;            /* other processes get its queue when it leaves */
	bool part;              /* counted among the processes that serve the listener */
	bool away;              /* others get new connections, since no thread accepts here */
	uint32_t accepted;      /* connections accepted; lane held */
	uint32_t forked;        /* accepted connections that only children used; atomic */
	uint32_t seen;          /* `accepted` at the keeper's last look */
	uint64_t since_ns;      /* first look with this `seen` and a connection waiting */
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
/* After sl_tconn_part(). True: no connection is left, not even one that went to the kernel a moment
 * ago; then sl_tconn_init() may make another table. */
bool sl_tconn_renew(void);
void sl_tconn_child(void); /* after fork, in the child: the connections are the parent's */
/* A zeroed connection on the lane, whose lock need not be held. NULL: no memory. */
struct sl_tconn *sl_tconn_new(struct sl_lane *lane);
/* Frees a connection that is over and in no table of the host, once no thread can be reading it.
 * Lane held. linger: keeps its claim for a few seconds, to answer the peer's retransmissions. */
void sl_tconn_free(struct sl_tconn *c, bool linger);
/* Frees dead connections, with their claims and ports. True: some must be kept a while yet. No lane
 * held, any thread; cheap when there is none. */
bool sl_tconn_reap(void);
/* Frees even the dead connections that linger, at once. True: there were any. */
bool sl_tconn_hurry(void);
/* Claims the connection's exact flow on the port. 0 or -errno. No lane held. */
int sl_tconn_claim(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_key *key, int shadow,
		   const char **why);
void sl_tconn_unclaim(struct sl_tconn *c);
/* Gives a live connection from the listener lsn_id its own claim. Does nothing if it has one, has
 * ended meanwhile, or came by another listener. No lane held. */
void sl_tconn_claim_own(struct sl_tconn *c, uint32_t lsn_id, int shadow);
/* Tells the claim of the socket's connection whether hardware time stamps are wanted now. No lane
 * held. */
void sl_tcp_sock_claim_flags(struct sl_sock *sk);
/* The request to the broker for an exact flow, for a slot that is already reserved. */
struct sl_claim_req sl_tconn_flow_req(const struct sl_leg *leg, const struct sl_tcp_key *key,
				      int shadow, uint32_t slot);
/* Ends the time for which a dead connection of that key keeps its claim. True: there was one; the
 * next sl_tconn_reap() frees it. */
bool sl_tconn_end_grace(const struct sl_tcp_key *key);
/* Like sl_tconn_end_grace(), for a connection that is over while its socket is still open, if its
 * TIME_WAIT can be reused: no reap is needed. No lane held. */
bool sl_tconn_end_over(const struct sl_tcp_key *key);
/* Removes a connection of that key that was handed back and still waits for late segments. The
 * kernel has given its port out again, so it is over there, too. Lane held. */
void sl_tconn_make_way(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* True: any connection is in use. */
bool sl_tconn_in_use(void);
/* Calls fn for each connection in use, with no lock held. */
void sl_tconn_for_each(void (*fn)(struct sl_tconn *c, void *arg), void *arg);
int sl_tconn_take_error(struct sl_tconn *c); /* c->error, once. Lane held. */

/* reqs.c: requests, in memory that others read when the process has died */
#define SL_TREQ_MAX 65536u
size_t sl_treq_bytes(void);
void sl_treq_init(void *mem, bool shared); /* of that many bytes (sl_reserve_init()) */
void sl_treq_child(void);
size_t sl_treq_ready(void); /* bytes that may be in use */
void sl_treq_layout(struct sl_conns_layout *l);
void *sl_treq_new(uint32_t lsn_id);
void sl_treq_free(void *req);

/* move/hand_back.c: the connection goes on in the kernel, on the shadow; sk->slow held, no lane. 0:
 * sk->conn is NULL then. -errno: it could not be moved and is what it was; -ECONNABORTED: it was
 * lost on the way. */
int sl_tconn_hand_back(struct sl_sock *sk, enum sl_reason reason);
/* Hands back a connection without a user into fd: a TCP socket in state CLOSE, unbound or bound to
 * the connection's port. If a daemon does it, *made is the new socket, the caller's; else -1. The
 * connection stays as it was, frozen; the caller frees it. */
int sl_tconn_to_kernel(struct sl_tconn *c, int fd, int *made);
/* Lets the flow pass to the kernel although its endpoint is claimed, on every device of the lane. 0
 * or -errno. No lane held. */
int sl_tconn_let_pass(struct sl_lane *lane, const struct sl_tcp_key *key, int shadow);
void sl_hand_back_child(void); /* after fork, in the child */
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
/* True: the socket was the kernel's when the call looked, and has been taken over since. */
static inline bool sl_tcp_sock_came_back(const struct sl_sock *sk)
{
	return sl_load_acquire(&sk->state) == SL_STATE_OFFLOADED && sl_load_acquire(&sk->conn);
}

/* Gives the connection the socket's IP options for packets to that address. */
static inline void sl_tconn_ip_options(struct sl_tconn *c, const struct sl_sock *sk,
				       const struct sl_addr *to)
{
	c->mark = sk->mark;
	c->ttl = sl_sock_ttl(sk, to);
	c->df = sl_sock_dont_fragment(sk);
	c->tcp.tos = sl_sock_tos(sk, to);
}

int sl_tconn_ops_init(void); /* conn_in.c: after sl_tconn_init(). 0 or -errno */
/* path.c */
/* The route to the connection's peer. Lane held. */
struct sl_dst *sl_tconn_dst(struct sl_tconn *c);
/* The leg for the connection's packets, both ways, even if the neighbour is unknown; NULL: none.
 * Lane held. */
struct sl_leg *sl_tconn_leg(struct sl_tconn *c);
/* Gives the path back until the next segment. Lane held. */
void sl_tconn_rest(struct sl_tconn *c);
/* Has new headers made, since IP options have changed. Lane held. */
static inline void sl_tconn_path_changed(struct sl_tconn *c)
{
	if (c->path)
		c->path->leg = NULL;
}

/* tcp_pace.c; lane held. Decides anew whether the NIC paces: the path or the rate has changed. */
void sl_tconn_pace(struct sl_tconn *c);
bool sl_tconn_paced(struct sl_tconn *c, uint64_t *at_us); /* sl_tcp_ops.paced */
/* Choose the leg for a segment, and record that it was posted there. */
struct sl_leg *sl_tconn_way(struct sl_tconn *c, const struct sl_tcp_seg *seg);
void sl_tconn_posted(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg);
/* True: n segments of so many bytes may leave at once. */
bool sl_tconn_may_burst(const struct sl_tconn *c, uint32_t n, uint32_t bytes);
void sl_tconn_pace_end(struct sl_tconn *c); /* drops the pacer */
/* Waits until no paced packet of it is left in the NIC, for a limited time. No lane held. */
void sl_tconn_drain(struct sl_tconn *c);

/* move/exit.c. At exit: sends queued data before the process ends. */
void sl_tconn_exit(void);

/* True: a TCP socket (NULL is not). A parent's socket is handed back before this returns, since
 * every call on a stream changes its state. */
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

/* listen/share.c: before a fork, after which listeners may be shared. */
void sl_tlisten_fork_begin(void);
void sl_tlisten_share_child(void); /* after a fork, in the child */
/* The box: a descriptor that is readable when other processes have given connections; -1: none.
 * sl_tlisten_take_given() takes the next one, or -EAGAIN; flags as accept4(2). */
int sl_tlisten_box(const struct sl_sock *sk);
void sl_tlisten_watch_box(const struct sl_sock *sk); /* the keeper looks at it, too */
int sl_tlisten_take_given(struct sl_sock *sk, int flags);
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
void sl_tlisten_closing(struct sl_sock *sk); /* before it is closed here, drained; slow held */
void sl_tlisten_closed(const struct sl_sock *sk);
/* Stops taking connections from the box in this process. True: there is a box. */
bool sl_tlisten_box_leave(struct sl_sock *sk);
/* True: no other process has the box, and so the listener, any more. */
bool sl_tlisten_is_alone(const struct sl_sock *sk);
/* listen/stay.c: keeps a listener that is closed here, but open in other processes, until its
 * handshakes are done. Call it before ending one, with slow held; false: end it. */
bool sl_tlisten_stay(struct sl_sock *sk);
void sl_tlisten_stayed(struct sl_sock *sk); /* it ends now; slow held */
void sl_tlisten_stay_child(void);           /* after fork, in the child */
uint32_t sl_tlisten_staying(void);          /* number of listeners that stay */
void sl_tlisten_look_staying(void);         /* the keeper's */
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

/* strays.c */
/* Remembers for a minute that a connection between these two addresses strayed. The keeper's. */
void sl_strays_remember(const struct sl_tcp_key *k);
/* True: a connection between these two addresses strayed lately. */
bool sl_strays_from(const struct sl_addr *local, const struct sl_addr *remote);
/* Tells the keeper of a peer whose SYN we cannot answer (no way back). Lane held. */
void sl_strays_asks(const struct sl_tcp_key *key);
/* The next such peer; false: none. The keeper's. */
bool sl_strays_take_asked(struct sl_tcp_key *key);

/* tcp_connect.c */
/* Set when a connection begins without a neighbour: the keeper looks at all of them (policy.c);
 * atomic. */
extern bool sl_tconn_awaited;
/* tcp_port.c: gives key a local port, if it has none, and binds the shadow to it. 0 or -errno. */
int sl_tcp_port_reserve(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif);
int sl_tcp_sock_connect(struct sl_sock *sk, int fd, const struct sockaddr *addr, socklen_t len);
/* Shows the socket's new connection in `sluice stat`. */
void sl_tcp_sock_show(struct sl_sock *sk, const struct sl_tcp_key *k);
int sl_tcp_sock_name(struct sl_sock *sk, bool peer, struct sockaddr *addr, socklen_t *len);
int sl_tcp_sock_shutdown(struct sl_sock *sk, int fd, int how);
/* True: the socket has a connection that is not over, so it has a peer's name. */
static inline bool sl_tcp_sock_is_named(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_load(&c->tcp.state) != SL_TCP_CLOSED;
}

/* tcp_close.c. The last descriptor closes: waits for as long as SO_LINGER says, then the
 * connection ends in the background. sk->slow held. */
void sl_tcp_sock_close(struct sl_sock *sk, int fd);
/* move/leave.c: hands TCP's part of the socket back; sk->slow held. False: the connection stays
 * ours, since it is over and only has data left to read, or cannot be moved. */
bool sl_tcp_sock_kernel(struct sl_sock *sk, enum sl_reason reason);

/* Takes the error that connect(AF_UNSPEC) has left; later calls return 0. */
static inline int sl_tcp_sock_error(struct sl_sock *sk)
{
	return sl_likely(!sl_load(&sk->error))
		       ? 0
		       : __atomic_exchange_n(&sk->error, 0, __ATOMIC_RELAXED);
}

/* tcp_recv.c: takes the connection's error, or sk->error (the kernel's sock_error()). No lane held.
 */
int sl_tcp_sock_take_error(struct sl_sock *sk);
/* Puts back an error that this call can no longer return: the next call returns it. */
void sl_tcp_sock_put_error(struct sl_sock *sk, int err);

/* listen/listener.c */
int sl_tcp_sock_listen(struct sl_sock *sk, int fd, int backlog);
int sl_tcp_sock_accept(struct sl_sock *sk, int fd, struct sockaddr *addr, socklen_t *len,
		       int flags);
/* Ends the listener; its live connections get claims of their own. sk->slow held. */
void sl_tlisten_stop(struct sl_sock *sk);

/* listen/drain.c. sk->slow held, no lane. */
/* New connections are the kernel's from now on. True: no old ones wait, and the listener is not
 * ours any more; false: it drains, and the keeper looks again. */
bool sl_tlisten_to_kernel(struct sl_sock *sk, enum sl_reason reason);
/* Claims of their own for connections that came by it. */
void sl_tlisten_claim_children(struct sl_sock *sk);
/* Gives the endpoint up without resetting peers that have begun a handshake with us; slow held. */
void sl_tlisten_leave(struct sl_sock *sk);
/* Claims the flow wherever an endpoint of the list is claimed, for the same slot; SL_CLAIM_* flags.
 */
void sl_tlisten_claim_flow(struct sl_sock *sk, const struct sl_sock_claim *endpoints,
			   const struct sl_tcp_key *key, uint32_t flags);
/* Makes our listener for a kernel socket that listens. slow held. */
enum sl_reason sl_tlisten_start(struct sl_sock *sk, int backlog);
uint32_t sl_tlisten_count(void);                 /* listeners of ours; any thread */
int sl_tcp_sock_accept_ours(struct sl_sock *sk); /* from our own queue: descriptor or -errno */
void sl_tlisten_child(void);                     /* after fork, in the child */
void sl_tlisten_drains(struct sl_tlisten *l); /* it drains from now on */
uint32_t sl_tlisten_draining(void);            /* listeners that drain; any thread */
/* The keeper calls it every second while a listener drains; slow not held. */
void sl_tlisten_look(struct sl_sock *sk, struct sl_tlisten *l);

/* tcp_send.c, tcp_recv.c */
ssize_t sl_tcp_sock_send(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 size_t len, int flags, const struct msghdr *msg);
ssize_t sl_tcp_sock_recv(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 struct msghdr *msg, int flags);

/* Connects to the address of sendto(MSG_FASTOPEN), without waiting: 0, -EREMOTE (the kernel's now)
 * or -errno. */
int sl_tcp_sock_fastopen(struct sl_sock *sk, const struct msghdr *msg);
/* Waits until the connection is open; -EINPROGRESS: the socket does not wait so long. */
int sl_tcp_sock_wait_open(struct sl_sock *sk, int fd);

/* tcp_fastopen.c */
bool sl_tcp_fastopen_is_on(void);
/* Chooses the SYN's Fast Open option; lane held, before the connection is opened. */
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
/* -EINVAL: our connection's state forbids the option, though the shadow's state would not; or 0. */
int sl_tcp_opt_may_set(const struct sl_sock *sk, int level, int name);
/* The shadow returned ENOTCONN: only a kernel connection takes the option (TCP_ULP,
 * IPV6_ADDRFORM). True: the connection is the kernel's now. No lane held. */
bool sl_tcp_opt_leave(struct sl_sock *sk);
/* SO_TIMESTAMPING of a connection of ours: the kernel judges all but the count of bytes, for which
 * its socket is in the wrong state. 0 or -errno; -EREMOTE: it is none of that. */
int sl_tcp_opt_set_stamping(struct sl_sock *sk, int name, const void *val, socklen_t len);
/* Follows an option that the kernel has set. False: an offloaded socket cannot have it. */
bool sl_tcp_opt_track(struct sl_sock *sk, int level, int name);
/* tcp_getopt.c. 0 or -errno: we answered; -EREMOTE: ask the kernel. */
int sl_tcp_opt_get(struct sl_sock *sk, int level, int name, void *val, socklen_t *len);
/* IPV6_V6ONLY as the program has it, before names are given. sk->slow held. */
void sl_tcp_opt_read_v6only(struct sl_sock *sk);
/* Applies the options that were set before the connection was made. Lane held. */
void sl_tcp_opt_apply(struct sl_sock *sk, struct sl_tconn *c);
void sl_tcp_opt_listener(struct sl_sock *sk, struct sl_tlisten *l);
/* Reads the kernel socket's present options, for the next connection that is ours. */
void sl_tcp_opt_adopt(struct sl_sock *sk);
/* A child's options are its listener's. */
void sl_tcp_opt_inherit(struct sl_sock *child, const struct sl_sock *from);
/* Gives the listener's options to fd, a kernel connection that another process has made. */
void sl_tcp_opt_give(const struct sl_sock *listener, int fd);
int sl_tcp_sock_ioctl(struct sl_sock *sk, unsigned long request, void *arg); /* -EREMOTE */

/* tcp_stat.c: for `sluice stat`; no lane held */
void sl_tcp_sock_stat(struct sl_sock *sk);
void sl_tcp_stat(void); /* all sockets that are shown, and the lanes. The keeper's */

/* tcp_ready.c */
/* The events that poll(2) reports, as the kernel's tcp_poll() does. No lock. */
uint32_t sl_tcp_sock_ready(const struct sl_sock *sk);

/* A Fast Open child is used before its handshake is complete. */
static inline bool sl_tconn_is_connecting(const struct sl_tconn *c)
{
	uint8_t s = sl_load(&c->tcp.state);

	return s == SL_TCP_SYN_SENT || (s == SL_TCP_SYN_RCVD && !sl_load(&c->tcp.tfo_child));
}

#endif
