/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket is a kernel socket (the shadow, whose descriptor the program holds) and, while it is
 * offloaded, a place on a lane, a receive queue and claims on packets. */
#ifndef SL_SOCK_H
#define SL_SOCK_H

#include <netinet/in.h>
#include <sys/uio.h>

#include "base/list.h"
#include "ctl/device/claim_req.h"
#include "sock/proc/fdtab.h"
#include "sock/core/internal.h"
#include "sock/core/ready.h"
#include "sock/core/shadow.h"
#include "sock/proc/up.h"
#include "stack/lane.h"
#include "tcp/tcp.h"
#include "udp/udp.h"

/* sl_sock.os: the kernel holds data or an error for the shadow, as far as we know. */
#define SL_OS_IN  (1u << 0)
#define SL_OS_ERR (1u << 1)

/* Ancillary data wanted with each datagram (sl_sock.want). */
#define SL_WANT_PKTINFO   (1u << 0)
#define SL_WANT_TOS       (1u << 1)
#define SL_WANT_TTL       (1u << 2)
#define SL_WANT_STAMP_US  (1u << 3)
#define SL_WANT_STAMP_NS  (1u << 4)
#define SL_WANT_STAMPING  (1u << 5) /* SO_TIMESTAMPING, software */
#define SL_WANT_OVFL      (1u << 6)
#define SL_WANT_GRO       (1u << 7)
#define SL_WANT_ORIGDST   (1u << 8)
#define SL_WANT_PKTINFO6  (1u << 9)
#define SL_WANT_TCLASS    (1u << 10)
#define SL_WANT_HOPLIMIT  (1u << 11)
#define SL_WANT_NEW_STAMP (1u << 12) /* the 64-bit form of SO_TIMESTAMP(NS|ING) was asked for */
#define SL_WANT_HW_STAMP  (1u << 13) /* SO_TIMESTAMPING, hardware */
#define SL_WANT_ERR_PRI   (1u << 14) /* SO_SELECT_ERR_QUEUE */
#define SL_WANT_ANY_STAMP                                                                          \
	(SL_WANT_STAMP_US | SL_WANT_STAMP_NS | SL_WANT_STAMPING | SL_WANT_HW_STAMP)

/* SO_RCVTIMEO and SO_SNDTIMEO. NO_WAIT: a negative time was set, so no call waits. MAX_S: from so
 * many seconds on, calls wait without limit (the kernel's own limit is 2^63 ticks). */
#define SL_TIMEO_NO_WAIT 1
#define SL_TIMEO_MAX_S   1000000000

/* The last destination, with headers made for it. */
struct sl_path {
	uint64_t v4_name; /* first 8 bytes of the sockaddr_in it was made for, 0: made otherwise */
	bool to_peer;     /* made for the connected peer */
	struct sl_addr dst;
	uint16_t port;
	uint32_t oif;
	struct sl_dst *d;     /* in the cache of the lane; NULL: no path yet */
	uint32_t serial;      /* of d when the headers were made */
	bool os;              /* a rule sends this destination through the kernel */
	uint16_t max_payload; /* in one frame */
	uint16_t max_long;    /* in several (SL_TX_SG) */
	struct sl_leg *leg;   /* NULL: through the kernel */
	struct sl_udp_hdr hdr;
};

/* A claim that the broker holds for us. */
struct sl_sock_claim {
	struct sl_sock_claim *next;
	uint64_t born; /* order of claims */
	struct sl_claim_req req;
};

/* Catches the one mistake that programs make: a NULL buffer. Any other bad address faults. */
static inline bool sl_iov_is_good(const struct iovec *iov, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sl_unlikely(!iov[i].iov_base && iov[i].iov_len))
			return false;
	return true;
}

#define SL_NO_SLOT UINT32_MAX

struct sl_errq;
struct sl_member;
struct sl_tconn;
struct sl_tlisten;

/* The phase that connect(2) looks at, beside the connection's own state (the kernel's
 * socket_state). */
enum sl_sock_phase {
	SL_UNCONNECTED,
	SL_CONNECTING,
	SL_CONNECTED,
	SL_STAYING, /* a closed listener that still finishes handshakes (listen/stay.c) */
};

/* A TCP socket's object ends where UDP's part begins (table.c has a slab for each kind): code for
 * sockets of both kinds must look at proto before it reads UDP's fields. */
struct sl_sock {
	/* Always valid, even when the object is reused: a thread that still holds a pointer to it
	 * may be about to take the lane, to count, or to read proto. */
	struct sl_lane *lane;        /* never NULL; sl_limbo while it is on none */
	struct sl_sock_stats *stats; /* never NULL; those of its last life until it has its own */
	struct sl_errq *errq;        /* errq.h; stays with the object, NULL: it never had one */
	uint32_t gen;                /* raised when the object is used for another socket */
	uint8_t proto;               /* IPPROTO_UDP, IPPROTO_TCP */

	/* fields that every call reads */
	uint8_t state;          /* enum sl_stat_state */
	uint8_t family;         /* AF_INET, AF_INET6 */
	bool nonblock;          /* O_NONBLOCK */
	int fd;                 /* the shadow */
	uint16_t want;          /* SL_WANT_*; TCP uses only the time stamps */
	uint8_t os;             /* SL_OS_*; atomic */
	uint8_t phase;          /* TCP: enum sl_sock_phase */
	uint8_t tos, ttl;       /* IPv4's; ttl 0: the route's or the system's */
	uint16_t pace_packet;   /* as pace_burst */
	uint32_t inode;         /* of the shadow */
	struct sl_list watches; /* struct sl_watch */
	uint64_t rcvtimeo_ns;   /* 0: none; or SL_TIMEO_NO_WAIT */

	/* TCP (tconn.h); the pointers change with the lane held */
	struct sl_tconn *conn;  /* NULL: no offloaded connection */
	struct sl_tlisten *lsn; /* NULL: no offloaded listener */
	uint64_t sndtimeo_ns;   /* 0: none; or SL_TIMEO_NO_WAIT */
	union {
		uint64_t opts; /* options that the program set: bits of tcp_opt.c's table */
		struct sl_sock *next_free;
	};
	uint32_t rcvlowat;
	int32_t linger_ms;  /* SO_LINGER; -1: off */
	int16_t error;      /* positive errno that a dissolved connection has left; taken once */
	uint16_t told_mss;  /* handed back: what its peer was told; 0: see the kernel's */
	uint8_t shut;       /* shutdown(2) while unconnected: RCV_SHUTDOWN 1, SEND_SHUTDOWN 2 */
	bool inq;           /* TCP_INQ */
	bool zerocopy;      /* SO_ZEROCOPY */
	bool tfo_connect;   /* TCP_FASTOPEN_CONNECT */
	bool tfo_no_cookie; /* TCP_FASTOPEN_NO_COOKIE */
	bool tfo_now;       /* connects by sendto(MSG_FASTOPEN); slow held */
	bool named;         /* bound by connect(2), not by the program */
	bool pace_three;    /* SO_MAX_PACING_RATE was set by a struct sl_rate_limit */
	uint32_t zc_next;   /* number of the next call with MSG_ZEROCOPY */
	uint32_t zc_done;   /* calls before it that are in the error queue */
	bool server : 1;    /* accepted by a listener */
	bool heir : 1;      /* a listener that several processes may serve together */
	bool parked : 1;    /* no number of the program's (heirs.c); slow held */
	bool has_old : 1;   /* children may have another file of it (heirs.c); slow held */
	bool taking;        /* take-over is under way */
	uint8_t tos6, ttl6; /* tos, ttl of IPv6 */
	uint32_t in_kernel; /* calls on it that are in the kernel now; atomic */

	/* names and claims; changed under `slow` */
	struct sl_lock slow;
	uint32_t mark;
	uint32_t unicast_oif;
	uint32_t bound_if;   /* SO_BINDTODEVICE */
	uint32_t pace_burst; /* of the last such; 0: not said */
	struct sl_addr local;
	uint32_t local_scope;
	uint16_t local_port; /* 0: not bound */
	bool v6only;
	bool bound_addr; /* bound to an address, not a wildcard */
	bool reuse : 1;  /* SO_REUSEADDR or SO_REUSEPORT */
	bool reuseport : 1;
	uint8_t pmtudisc : 3; /* IP_MTU_DISCOVER */
	bool own_ports;       /* IP_LOCAL_PORT_RANGE was set */
	uint8_t passed;       /* the parent's sl_keeper_generation(); 0: not a parent's socket */
	uint8_t given;        /* made by another program: so often it will be tried to take it; or
			       * SL_GIVEN_LATER, less what it has been used since */
	uint32_t forks;       /* sl_forks when the socket was made */
	uint32_t nfds;
	uint32_t slot;
	struct sl_sock_claim *claims;

	/* UDP: receive */
	struct sl_udp udp;
	uint32_t os_hot;   /* polls of the kernel left: it had data lately */
	uint32_t os_count; /* empty polls since the kernel was asked */
	uint8_t os_turn;   /* whether we or the kernel are next when both have data */
	bool os_first;     /* just claimed: the kernel's datagrams are older than ours */

	/* UDP: send */
	uint32_t stamps;        /* stamps wanted for each message, SOF_TIMESTAMPING_TX_* */
	bool tx_blocked;        /* a send found no room: EPOLLOUT is owed; lane held */
	uint32_t wmem;          /* bytes that are on a transmit ring; atomic */
	struct sl_pacer *pacer; /* for SO_MAX_PACING_RATE; NULL: not set; lane held */
	struct sl_list blocked; /* in the lane's or the pacer's list of blocked senders */
	struct sl_path path;
	/* Settings that take every send off the fast path; tx_odd is nearly always 0. */
	union {
		struct {
			uint16_t gso_size; /* UDP_SEGMENT, 0: off */
			bool no_csum, no_csum6;
			bool tx_shut;
			bool cork;      /* UDP_CORK: the kernel collects, until that ends */
			bool more;      /* the last had MSG_MORE: the kernel has its beginning */
			uint8_t behind; /* the kernel sent the last, and may have it still: for so
					   many it is looked for */
		};
		uint64_t tx_odd;
	};
	uint16_t ip_id;
	uint8_t mc_ttl;
	bool mc_loop;
	bool mc_all;           /* IP_MULTICAST_ALL */
	uint32_t mc_oif;       /* IP(V6)_MULTICAST_IF */
	struct sl_addr mc_src; /* source address that IP_MULTICAST_IF set */
	uint32_t sndbuf;
	struct sl_member *members; /* multicast memberships */
};

static inline bool sl_sock_is_udp(const struct sl_sock *sk)
{
	return sk->proto == IPPROTO_UDP;
}
static inline bool sl_sock_stays(const struct sl_sock *sk)
{
	return sk->phase == SL_STAYING && sk->proto == IPPROTO_TCP;
}
/* The TOS and TTL of packets to that address: IPv4's or IPv6's. */
static inline uint8_t sl_sock_tos(const struct sl_sock *sk, const struct sl_addr *to)
{
	return sl_addr_is_v4(to) ? sk->tos : sk->tos6;
}
static inline uint8_t sl_sock_ttl(const struct sl_sock *sk, const struct sl_addr *to)
{
	return sl_addr_is_v4(to) ? sk->ttl : sk->ttl6;
}
/* ip_dont_fragment() (include/net/ip.h). */
static inline bool sl_sock_dont_fragment(const struct sl_sock *sk)
{
	return sk->pmtudisc == IP_PMTUDISC_WANT || sk->pmtudisc == IP_PMTUDISC_DO;
}
/* Datagrams in our own receive queue; the kernel's queue is not counted. */
static inline uint32_t sl_sock_queued(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) ? sl_udp_queued(&sk->udp) : 0;
}
/* Has the next send make new headers: an option or a route that they hold has changed. Lane held.
 */
static inline void sl_sock_path_changed(struct sl_sock *sk)
{
	if (sl_sock_is_udp(sk))
		sk->path.d = NULL;
}
static inline bool sl_sock_is_connected_udp(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sk->udp.connected;
}

/* sl_sock.given: the socket may be taken over when it has been used for a while (inherit.c). */
#define SL_GIVEN_LATER UINT8_MAX
static inline bool sl_given_is_later(uint8_t given)
{
	return given > SL_GIVEN_LATER / 2;
}
/* What is to happen when a call uses a socket that may become ours (sl_sock.given): set before the
 * first start. sends: the call is about to send. No lock held. */
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

#define SL_IOV_MAX 1024 /* pieces that one call may have: UIO_MAXIOV */

/* The message's flags for those of preadv2(2) and pwritev2(2), or -errno (net/socket.c:
 * sock_read_iter(), sock_write_iter()). */
int sl_rwf_flags(int rwf);
/* The socket for a call with n pieces; NULL: the call is the kernel's, which also reports a bad n.
 */
static inline struct sl_sock *sl_sock_of_pieces(int fd, int n)
{
	return n < 0 || n > SL_IOV_MAX ? NULL : sl_fd_sock(fd);
}

/* Bytes in all the pieces. */
static inline size_t sl_iov_len(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

/* Poll events for data that still lies in our queues after a hand-back to the kernel. No lock. */
uint32_t sl_sock_left(const struct sl_sock *sk);

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

/* A stream that a child has goes on, and only the kernel can let both use it. slow held. */
void sl_sock_leave_to_others(struct sl_sock *sk);
/* A descriptor of the socket closes; the last one ends the socket. The caller closes fd itself. */
void sl_sock_drop_fd(struct sl_sock *sk, int fd);
/* Ends a socket for which nothing stands any more; slow is held, and released. fd: its last
 * descriptor; shared: a child may have it. */
void sl_sock_finish(struct sl_sock *sk, int fd, bool shared);
/* Moves our queue into the kernel's, for other processes that have the socket. Lane held. */
void sl_sock_requeue(struct sl_sock *sk, struct sl_lane *lane);
extern uint32_t sl_forks; /* how often the process has forked */

/* Locks the socket's lane. False: a signal handler interrupted our own turn; use the kernel. */
static inline bool sl_sock_lock(struct sl_sock *sk, struct sl_lane **lane)
{
	for (;;) {
		struct sl_lane *l = sl_load_acquire(&sk->lane);

		if (sl_unlikely(!sl_lane_lock(l)))
			return false;
		if (sl_likely(l == sl_load(&sk->lane))) {
			*lane = l;
			return true;
		}
		sl_lane_unlock(l);
	}
}

/* True: the descriptor is in the network namespace that we mirror. */
bool sl_sock_same_netns(int fd);

/* bind.c: names and decisions */
/* Looks at what the socket is bound and connected to, applies the rules, and claims its packets or
 * hands it back. After each change of names. */
void sl_sock_decide(struct sl_sock *sk);
/* Looks at what the shadow is bound to. 0 or -errno; slow held. */
int sl_sock_read_names(struct sl_sock *sk);
/* Records the name that the socket has just been bound to. */
void sl_sock_set_local(struct sl_sock *sk, const struct sl_addr *local, uint16_t port,
		       uint32_t scope);
/* True: a socket of another program receives on our port, too; then the kernel must choose. */
bool sl_sock_is_shared(struct sl_sock *sk);
/* Claims the endpoints of an unconnected socket; slow held. SL_REASON_NONE: it has them. */
enum sl_reason sl_sock_claim_endpoints(struct sl_sock *sk);
/* Claims the endpoints that a TCP socket is about to listen on; slow held. */
enum sl_reason sl_sock_claim_listener(struct sl_sock *sk);
/* Moves a new socket from limbo to a lane. */
bool sl_sock_take_lane(struct sl_sock *sk, uint32_t ifindex);
/* Binds as the kernel would at the first send. 0 or -errno. */
int sl_sock_autobind(struct sl_sock *sk);
/* Claims an unconnected socket's endpoint on a device that came or changed; slow held. */
void sl_sock_claim_device(struct sl_sock *sk, uint32_t ifindex);
uint32_t sl_device_of_addr(const struct sl_addr *addr); /* 0: not ours */

/* claim.c; slow held */
bool sl_sock_add_claim(struct sl_sock *sk, const struct sl_claim_req *req, const char **why);
/* The socket's names, on one port. */
bool sl_sock_claim_on(struct sl_sock *sk, struct sl_port *port, const char **why);
/* A device of its claims whose link claiming has cost; NULL: none. */
struct sl_port *sl_sock_without_link(const struct sl_sock *sk);
void sl_sock_unclaim(struct sl_sock *sk); /* all of them */
/* A call that blocks waits for links that claiming has cost (stack/restart.c). flags: the call's;
 * slow not held. */
void sl_sock_wait_links(struct sl_sock *sk, int flags);
void sl_sock_claims_forget(uint32_t ifindex); /* all sockets', on a device that is gone */
void sl_claims_child(void);                   /* after fork, in the child */
/* Gives the caller all claims but those of endpoints that the socket still has; they stay in force
 * until sl_sock_claims_drop() ends those without a successor. */
struct sl_sock_claim *sl_sock_claims_take(struct sl_sock *sk);
void sl_sock_claims_drop(struct sl_sock *sk, struct sl_sock_claim *old);
/* Gives the caller the claims without a peer, still in force; the caller frees each. */
struct sl_sock_claim *sl_sock_endpoints_take(struct sl_sock *sk);
/* Claims carry SL_CLAIM_STAMP or not: tell the steering program. */
void sl_sock_claim_flags(struct sl_sock *sk);

/* core/option.c */
/* The int that the program gave, or the part of it. */
static inline int sl_given_int(const void *val, socklen_t len)
{
	int v = 0;

	memcpy(&v, val, sl_min((size_t)len, sizeof(v)));
	return v;
}
void sl_sock_want_with(struct sl_sock *sk, uint16_t bit, bool on); /* a bit of sk->want */
/* SO_RCVTIMEO, SO_SNDTIMEO. False: another option. */
bool sl_sock_set_timeout(struct sl_sock *sk, int name, const void *val, socklen_t len);

/* dgram/udp_opt.c */
void sl_sock_read_options(struct sl_sock *sk);
/* Follows an option that the kernel has set. False: an offloaded socket cannot have it. */
bool sl_dgram_opt_track(struct sl_sock *sk, int level, int name, const void *val, socklen_t len);
int sl_dgram_ioctl(struct sl_sock *sk, int fd, unsigned long request, void *arg); /* ioctl(2) */

/* option.c */
/* getsockopt(2) on the shadow; 0 when that fails. */
int sl_sock_get_int(const struct sl_sock *sk, int level, int name);
void sl_sock_read_reuse(struct sl_sock *sk); /* SO_REUSEADDR, SO_REUSEPORT */
/* SO_TIMESTAMP*, _NS*, ING*. False: an offloaded socket cannot do it. */
bool sl_sock_set_stamps(struct sl_sock *sk, int name, int v);

/* pace.c: SO_MAX_PACING_RATE. As setsockopt(2) and getsockopt(2); get: -EREMOTE, the kernel knows.
 */
int sl_sock_pace_set(struct sl_sock *sk, int fd, const void *val, socklen_t len);
void sl_sock_pace(struct sl_sock *sk); /* a datagram socket's rate has changed */
int sl_sock_pace_get(const struct sl_sock *sk, void *val, const socklen_t *len);
struct sl_pace_ask sl_sock_pace_ask(const struct sl_sock *sk); /* what was set */
/* The socket leaves its lane, which is held. flush: the kernel sends from now on, after the
 * packets that still wait here. */
void sl_sock_pace_end(struct sl_sock *sk, bool flush);

/* sibling.c: `to` is the kernel's now. Hands back those of our sockets that would get its
 * datagrams. No slow lock held. */
void sl_siblings_yield(const struct sl_sock *to);
/* sl_siblings_yield(), if a child has the socket and its last descriptor here, fd, is closing. */
void sl_siblings_yield_to_child(const struct sl_sock *to, int fd);

/* mcast.c: memberships and the fan-out to several sockets */
int sl_mcast_setsockopt(struct sl_sock *sk, int level, int name, const void *val, socklen_t len);
bool sl_mcast_is_membership(int level, int name);
void sl_mcast_claim(struct sl_sock *sk);  /* the socket has a lane and a port now */
void sl_mcast_pause(struct sl_sock *sk);  /* it has no port now */
void sl_mcast_forget(struct sl_sock *sk); /* it is going */
/* A device of its groups whose link claiming has cost; NULL: none. slow not held. */
struct sl_port *sl_mcast_without_link(struct sl_sock *sk);
void sl_mcast_init(void);
void sl_mcast_child(void); /* after fork, in the child: the groups are the parent's */
void sl_mcast_recheck(void);
/* Is there a group that has to be looked at? Other programs join without an event. */
bool sl_mcast_in_use(void);

/* mail.c. From a child: the parent should hand that socket back. */
void sl_keeper_tell_parent(const struct sl_sock *sk);
/* sl_keeper_tell_parent() for a child that has the socket by fd instead of sk->fd. */
void sl_keeper_tell_parent_of(const struct sl_sock *sk, int fd);
/* For children: a packet at the other end of where their letters come in. */
void sl_keeper_leave(const void *what, size_t bytes, const int *fd, uint32_t nfds);
/* From a child: it will serve this listener together with the parent. */
void sl_keeper_share(const struct sl_sock *sk);
/* How many of the processes that this one descends from, by fork, had a keeper; a child of one that
 * has the most does without. */
#define SL_GENERATIONS 8
uint8_t sl_keeper_generation(void);
bool sl_keeper_may_have_children(void);
/* Has the parent hand the socket back first, if it is the parent's. */
static inline void sl_sock_part(const struct sl_sock *sk)
{
	if (sl_unlikely(sk->passed))
		sl_keeper_tell_parent(sk);
}
/* A child changes what a UDP socket is (its peer, an option): the parent, which goes by what it has
 * set itself, leaves it to the kernel first. sk: may be NULL. */
static inline void sl_sock_change(const struct sl_sock *sk)
{
	if (sk && sk->proto == IPPROTO_UDP)
		sl_sock_part(sk);
}

/* send_room.c */
void sl_sock_on_room(struct sl_list *entry); /* frames came back: may a blocked sender go on? */

/* policy.c: connections follow changes of rules, devices and routes. */
void sl_policy_now(void);    /* a device has changed: look soon */
bool sl_policy_is_due(void); /* that was said */
void sl_policy_check(void);  /* the keeper's; no lock held */
bool sl_policy_waits(void);  /* true: call sl_policy_check() again, even without an event */
void sl_policy_stop(void);   /* the ports are going */
void sl_policy_child(void);  /* after fork, in the child */
/* stray.c: hands back connections whose segments reach the kernel. The number; keeper only. */
uint32_t sl_strays_look(void);
void sl_strays_let_pass(void); /* the keeper lets such peers' flows pass to the kernel */

/* given.c */
void sl_given_call(struct sl_sock *sk); /* a call is about to use it; no lock held */
/* The kernel's connection or listener becomes ours: as sl_tcp_sock_take_over(). */
int sl_sock_take(struct sl_sock *sk, bool given);
/* Asks for sl_sock_take() as soon as no other process has the socket. No lock held. */
void sl_sock_want(struct sl_sock *sk);
/* For the keeper: when to call sl_given_look() next, 0: never. */
uint64_t sl_given_due_ns(void);
void sl_given_look(uint64_t now_ns);
void sl_given_child(void);

/* inherit.c */
/* After fork, in the child. True: watch this stream of the kernel's here. */
bool sl_inherit_wants(const struct sl_sock *sk);
void sl_inherit_child(void);
/* sl_sock_on_use: a call uses a socket that may become ours. */
void sl_inherit_used(struct sl_sock *sk, bool sends);
/* The kernel accepted a connection of a listener of ours: perhaps children serve those. */
void sl_inherit_accepted(const struct sl_sock *listener, int fd, int flags);

/* flow.c: what `sluice flow` asked for; the keeper's */
void sl_flow_serve(void);

/* mail.c. In a child: tells the parent of it, if no fork handler did. */
void sl_keeper_tell_fork(void);

#endif
