/* SPDX-License-Identifier: BSD-2-Clause */
/* What a socket is: a kernel socket (the shadow, the descriptor the program holds) and, while it is
 * offloaded, a place on a lane, a receive queue and claims on packets. */
#ifndef SL_SOCK_H
#define SL_SOCK_H

#include <netinet/in.h>
#include <sys/uio.h>

#include "base/list.h"
#include "sock/fdtab.h"
#include "sock/internal.h"
#include "sock/ready.h"
#include "stack/stack.h"
#include "udp/udp.h"

/* What the kernel holds for the shadow, as far as we know (sl_sock.os). */
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

/* SO_RCVTIMEO and SO_SNDTIMEO: less than nothing was set, so that no call waits; and from so many
 * seconds on there is no end (the kernel's limit is 2^63 of its ticks). */
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

/* One claim that the broker holds for us. */
struct sl_sock_claim {
	struct sl_sock_claim *next;
	uint64_t born; /* order of claims */
	struct sl_claim_req req;
};

/* The mistake that programs make: no buffer. (Others are a fault, as of any function.) */
static inline bool sl_iov_is_good(const struct iovec *iov, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sl_unlikely(!iov[i].iov_base && iov[i].iov_len))
			return false;
	return true;
}

struct sl_errq;
struct sl_member;
struct sl_tconn;
struct sl_tlisten;

/* What connect(2) goes by, beside the connection's own state (net/socket.c: socket_state). */
enum sl_sock_phase {
	SL_UNCONNECTED,
	SL_CONNECTING,
	SL_CONNECTED,
	SL_STAYING, /* a listener that is closed, but for its handshakes (tcp_stay.c) */
};

/* A TCP socket's object ends where UDP's part begins (sock.c has a slab for each kind): what is
 * said about sockets of both kinds looks at proto first. */
struct sl_sock {
	/* Never anything but right, even in an object that is used again: who still holds a pointer
	 * may be about to take the lane, to count, or to ask what kind it is. */
	struct sl_lane *lane;        /* never NULL; sl_limbo while it is on none */
	struct sl_sock_stats *stats; /* never NULL; those of its last life until it has its own */
	struct sl_errq *errq;        /* errq.h; stays with the object, NULL: it never had one */
	uint32_t gen;                /* raised when the object is used for another socket */
	uint8_t proto;               /* IPPROTO_UDP, IPPROTO_TCP */

	/* what each call looks at */
	uint8_t state;          /* enum sl_stat_state */
	uint8_t family;         /* AF_INET, AF_INET6 */
	bool nonblock;          /* O_NONBLOCK */
	int fd;                 /* the shadow */
	uint16_t want;          /* SL_WANT_*; of TCP the time stamps */
	uint8_t os;             /* SL_OS_*; atomic */
	uint8_t phase;          /* TCP: enum sl_sock_phase */
	uint8_t tos, ttl;       /* of IPv4; ttl 0: the route's or the system's */
	uint16_t pace_packet;   /* as pace_burst */
	uint32_t inode;         /* of the shadow */
	struct sl_list watches; /* struct sl_watch */
	uint64_t rcvtimeo_ns;   /* 0: none; or SL_TIMEO_NO_WAIT */

	/* TCP (tconn.h); the pointers change with the lane held */
	struct sl_tconn *conn;  /* NULL: none of ours */
	struct sl_tlisten *lsn; /* NULL: does not listen by us */
	uint64_t sndtimeo_ns;   /* the same */
	union {
		uint64_t opts; /* options that were set: bits of tcp_opt.c's table */
		struct sl_sock *next_free;
	};
	uint32_t rcvlowat;
	int32_t linger_ms;  /* SO_LINGER; -1: off */
	int16_t error;      /* positive errno that a dissolved connection has left; taken once */
	uint16_t told_mss;  /* handed back: what its peer was told; 0: see the kernel's */
	uint8_t shut;       /* shutdown(2) of it unconnected: RCV_SHUTDOWN 1, SEND_SHUTDOWN 2 */
	bool inq;           /* TCP_INQ */
	bool zerocopy;      /* SO_ZEROCOPY */
	bool tfo_connect;   /* TCP_FASTOPEN_CONNECT */
	bool tfo_no_cookie; /* TCP_FASTOPEN_NO_COOKIE */
	bool tfo_now;       /* connects by sendto(MSG_FASTOPEN); slow held */
	bool named;         /* connect(2) has bound it, not the program */
	bool pace_three;    /* SO_MAX_PACING_RATE was set by a struct sl_rate_limit */
	uint32_t zc_next;   /* number of the next call with MSG_ZEROCOPY */
	uint32_t zc_done;   /* so many before it are in the error queue */
	bool server : 1;    /* came by a listener */
	bool heir : 1;      /* a listener that each of several processes may have a part of */
	bool parked : 1;    /* no number of the program's (heirs.c); slow held */
	bool has_old : 1;   /* children may have another file of it (heirs.c); slow held */
	bool taking;        /* take-over is under way */
	uint8_t tos6, ttl6; /* tos, ttl of IPv6 */
	uint32_t in_kernel; /* calls in the kernel with it; atomic */

	/* names and claims; changed by the calls that change them, under `slow` */
	struct sl_lock slow;
	uint32_t mark;
	uint32_t unicast_oif;
	uint32_t bound_if;   /* SO_BINDTODEVICE */
	uint32_t pace_burst; /* of the last such; 0: not said */
	struct sl_addr local;
	uint32_t local_scope;
	uint16_t local_port; /* 0: not bound */
	bool v6only;
	bool bound_addr; /* to an address, not a wildcard */
	bool reuse : 1;  /* SO_REUSEADDR or SO_REUSEPORT */
	bool reuseport : 1;
	uint8_t pmtudisc : 3; /* IP_MTU_DISCOVER */
	bool own_ports;       /* IP_LOCAL_PORT_RANGE was set */
	uint8_t passed;       /* a parent's: of which one (keeper.c); 0: our own, or the kernel's */
	uint8_t given;        /* made by another program: so often it will be tried to take it; or
			       * SL_GIVEN_LATER, less what it has been used since */
	uint32_t forks;       /* of the process, when it was made (sl_forks) */
	uint32_t nfds;
	uint32_t slot;
	struct sl_sock_claim *claims;

	/* UDP: receive */
	struct sl_udp udp;
	uint32_t os_hot;   /* polls of the kernel left: it had data lately */
	uint32_t os_count; /* empty polls since the kernel was asked */
	uint8_t os_turn;   /* whose turn it is when both have data */
	bool os_first;     /* just claimed: what the kernel has came before what we have */

	/* UDP: send */
	uint32_t stamps;        /* wanted of each message, SOF_TIMESTAMPING_TX_* */
	bool tx_blocked;        /* a send found no room: EPOLLOUT is owed; lane held */
	uint32_t wmem;          /* bytes that are on a transmit ring; atomic */
	struct sl_pacer *pacer; /* of who has set SO_MAX_PACING_RATE; NULL: none; lane held */
	struct sl_list blocked; /* in the lane's list of such */
	struct sl_path path;
	/* What makes all its datagrams unlike others; nearly always nothing. */
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
/* What packets to that address have. */
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
/* Datagrams of ours wait to be received. */
static inline uint32_t sl_sock_queued(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) ? sl_udp_queued(&sk->udp) : 0;
}
/* What the headers of the last destination were made from has changed. Lane held. */
static inline void sl_sock_path_changed(struct sl_sock *sk)
{
	if (sl_sock_is_udp(sk))
		sk->path.d = NULL;
}
static inline bool sl_sock_is_connected_udp(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) && sk->udp.connected;
}

#define SL_IOV_MAX 1024 /* pieces that one call may have: UIO_MAXIOV */

/* The message's flags for those of preadv2(2) and pwritev2(2), or -errno (net/socket.c:
 * sock_read_iter(), sock_write_iter()). */
int sl_rwf_flags(int rwf);
/* Whose call with n pieces it is; NULL: the kernel's, also to say what is wrong with it. */
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

/* What poll(2) says of what a socket that is the kernel's now has left with us. No lock. */
uint32_t sl_sock_left(const struct sl_sock *sk);

/* table.c */
int sl_sock_table_init(void);
void sl_sock_table_child(void);
/* An object, of which nothing is set but gen and lane (sl_limbo), and proto. NULL: there are too
 * many, or this is a signal handler. */
struct sl_sock *sl_sock_alloc(int proto);
void sl_sock_free(struct sl_sock *sk); /* nobody finds it any more */
/* Its number in the table, for whoever must not be believed a pointer; and the open socket of that
 * number and gen, NULL: there is none. Any ref will do. */
uint32_t sl_sock_ref(const struct sl_sock *sk);
struct sl_sock *sl_sock_at(uint32_t ref, uint32_t gen);
/* The first open socket of which is() is true, or NULL. */
struct sl_sock *sl_sock_find(bool (*is)(struct sl_sock *sk, void *arg), void *arg);
void sl_sock_for_each(void (*fn)(struct sl_sock *sk, void *arg), void *arg);
bool sl_sock_inode_is_ours(uint32_t inode, void *arg);

/* sock.c: life */
void sl_sock_show(struct sl_sock *sk); /* one that a parent made gets counters of its own */
struct sl_sock *sl_sock_new(int fd, int family, int type, int proto);
void sl_sock_unpark(struct sl_sock *sk); /* nobody asks for it: it is closed (heirs.c) */
void sl_sock_kernel(struct sl_sock *sk, enum sl_reason reason); /* hand back; idempotent */
/* The same for who came by its connection or its listener and may find another socket in the object
 * now, one that accept(2) is just making. */
void sl_sock_kernel_of(struct sl_sock *sk, const void *what, enum sl_reason reason);
/* A connection on its way from or to the kernel is there in a moment, with all that poll(2) has
 * told of: waits for it, also in a call that may not wait, since -EAGAIN would contradict. False:
 * there is no waiting in a signal handler in the midst of it. */
bool sl_sock_wait_moved(struct sl_sock *sk);
/* Of a listener that is closed and stays for its handshakes (tcp_stay.c): gives what has come to
 * the others, and ends it when there is no more. The keeper's. */
void sl_sock_look_staying(struct sl_sock *sk);
/* Sends what is in our queue to the kernel's queue, for whoever else has the socket. Lane held. */
void sl_sock_requeue(struct sl_sock *sk, struct sl_lane *lane);
extern uint32_t sl_forks; /* how often the process has forked */

/* Takes the lane that the socket is on. False: use the kernel (signal handler in our own turn). */
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

/* In the network namespace that we mirror. */
bool sl_sock_same_netns(int fd);

/* bind.c: names and decisions */
/* Looks at what the socket is bound and connected to, applies the rules, and claims its packets or
 * hands it back. After each change of names. */
void sl_sock_decide(struct sl_sock *sk);
/* Looks at what the shadow is bound to. 0 or -errno; slow held. */
int sl_sock_read_names(struct sl_sock *sk);
/* What it has just been bound to. */
void sl_sock_set_local(struct sl_sock *sk, const struct sl_addr *local, uint16_t port,
		       uint32_t scope);
/* Claims the endpoints that a TCP socket is about to listen on; slow held. */
enum sl_reason sl_sock_claim_listener(struct sl_sock *sk);
/* Moves a new socket from limbo to a lane. */
bool sl_sock_take_lane(struct sl_sock *sk, uint32_t ifindex);
/* Binds as the kernel would at the first send. 0 or -errno. */
int sl_sock_autobind(struct sl_sock *sk);
/* A device came or changed: claim there too. */
bool sl_sock_device_up(struct sl_sock *sk, uint32_t ifindex);
uint32_t sl_device_of_addr(const struct sl_addr *addr); /* 0: not ours */

/* claim.c; slow held */
bool sl_sock_add_claim(struct sl_sock *sk, const struct sl_claim_req *req, const char **why);
/* The socket's names, on one port. */
bool sl_sock_claim_on(struct sl_sock *sk, struct sl_port *port, const char **why);
void sl_sock_unclaim(struct sl_sock *sk); /* all of them */
/* A call that blocks waits for links that claiming has cost (stack/restart.c). flags: the call's;
 * slow not held. */
void sl_sock_wait_links(struct sl_sock *sk, int flags);
void sl_sock_claims_forget(uint32_t ifindex); /* all sockets', on a device that is gone */
void sl_claims_child(void);                   /* after fork, in the child */
/* All but those of endpoints that it has still are the caller's, and still in force; drop ends
 * those that have no successor. */
struct sl_sock_claim *sl_sock_claims_take(struct sl_sock *sk);
void sl_sock_claims_drop(struct sl_sock *sk, struct sl_sock_claim *old);
/* Those without a peer are the caller's, and still in force; each is to be freed. */
struct sl_sock_claim *sl_sock_endpoints_take(struct sl_sock *sk);
/* Claims carry SL_CLAIM_STAMP or not: tell the steering program. */
void sl_sock_claim_flags(struct sl_sock *sk);

/* opt.c */
void sl_sock_read_options(struct sl_sock *sk);
/* What the kernel says of the shadow; 0 when it says nothing. */
int sl_sock_get_int(const struct sl_sock *sk, int level, int name);
void sl_sock_read_reuse(struct sl_sock *sk); /* SO_REUSEADDR, SO_REUSEPORT */
/* SO_TIMESTAMP*, _NS*, ING*. False: not with an offloaded socket. */
bool sl_sock_set_stamps(struct sl_sock *sk, int name, int v);

/* pace.c: SO_MAX_PACING_RATE. As setsockopt(2) and getsockopt(2); get: -EREMOTE, the kernel knows.
 */
int sl_sock_pace_set(struct sl_sock *sk, int fd, const void *val, socklen_t len);
int sl_sock_pace_get(const struct sl_sock *sk, void *val, const socklen_t *len);
struct sl_pace_ask sl_sock_pace_ask(const struct sl_sock *sk); /* what was set */
/* The socket leaves its lane, which is held. flush: the kernel goes on sending, after what waits.
 */
void sl_sock_pace_end(struct sl_sock *sk, bool flush);

/* sibling.c: the socket is the kernel's; who of ours stands in the way of its datagrams goes there,
 * too. No slow lock held. */
void sl_siblings_yield(const struct sl_sock *to);
/* The same for one whose last descriptor here, fd, is about to be closed, if a child has it. */
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
/* The same where another descriptor than sk->fd has it in the child. */
void sl_keeper_tell_parent_of(const struct sl_sock *sk, int fd);
/* For children: a packet at the other end of where their letters come in. */
void sl_keeper_leave(const void *what, size_t bytes, const int *fd, uint32_t nfds);
/* The same, of a listener that the child is going to have a part of. */
void sl_keeper_share(const struct sl_sock *sk);
/* How many of the processes that this one descends from, by fork, had a keeper; a child of one that
 * has the most does without. */
#define SL_GENERATIONS 8
uint8_t sl_keeper_generation(void);
bool sl_keeper_may_have_children(void);
/* One that is a parent's is the kernel's when this returns. */
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

/* recv.c */
/* Asks the kernel for what it holds for the shadow, without waiting; -EAGAIN: nothing. */
void sl_sock_os_event(struct sl_sock *sk, uint8_t bits); /* the keeper saw something */
/* An error came back for the shadow: perhaps a new path MTU, which makes no other event. No lane
 * held. */
void sl_sock_path_again(struct sl_sock *sk);
void sl_sock_take_error(struct sl_sock *sk); /* the same where a call is about to take it */
/* The last error that came back for the shadow (ICMP) is told by the next call, once: -errno or 0.
 */
int sl_sock_pending_error(struct sl_sock *sk, int fd);

/* send_room.c */
void sl_sock_on_room(struct sl_list *entry); /* frames came back: may a blocked sender go on? */

/* policy.c: connections follow changes of rules, devices and routes. */
void sl_policy_now(void);    /* a device has changed: look soon */
void sl_policy_await(void);  /* a connection begins without a neighbour */
bool sl_policy_is_due(void); /* that was said */
void sl_policy_check(void);  /* the keeper's; no lock held */
bool sl_policy_waits(void);  /* some have no way at all and are to be tried again */
void sl_policy_stop(void);   /* the ports are going */
void sl_policy_child(void);  /* after fork, in the child */
/* stray.c: those whose segments the kernel gets go to it. How many did; the keeper's. */
uint32_t sl_strays_look(void);
/* Has a connection between the two lately? */
bool sl_strays_from(const struct sl_addr *local, const struct sl_addr *remote);
/* Who connects to us cannot be answered by us: the keeper is told. Lane held. */
void sl_strays_asks(const struct sl_tcp_key *key);
void sl_strays_let_pass(void); /* the keeper's: those are let pass to the kernel */

/* given.c */
/* The kernel's connection or listener becomes ours: as sl_tcp_sock_take_over(). */
int sl_sock_take(struct sl_sock *sk, bool given);
/* It is to, as soon as nobody else has it. No lock held. */
void sl_sock_want(struct sl_sock *sk);
/* Before a call with one that is the kernel's still; no lock held. */
void sl_given_call(struct sl_sock *sk);
#define SL_GIVEN_LATER UINT8_MAX /* when it has been used for a while: inherit.c */
static inline bool sl_given_is_later(uint8_t given)
{
	return given > SL_GIVEN_LATER / 2;
}
static inline void sl_given_look_at(struct sl_sock *sk)
{
	if (sl_unlikely(sl_load(&sk->given)))
		sl_given_call(sk);
}
/* The keeper's: when it is to look, 0: not at all; and looking. */
uint64_t sl_given_due_ns(void);
void sl_given_look(uint64_t now_ns);
void sl_given_child(void);

/* inherit.c */
/* After fork, in the child: is that stream of the kernel's to be looked after here? */
bool sl_inherit_wants(const struct sl_sock *sk);
void sl_inherit_child(void);
/* A call with one of SL_GIVEN_LATER, and one that is about to send by it, too. */
void sl_inherit_call(struct sl_sock *sk, bool sends);
static inline void sl_inherit_send(struct sl_sock *sk)
{
	if (sl_unlikely(sl_given_is_later(sl_load(&sk->given))))
		sl_inherit_call(sk, true);
}
/* The kernel accepted a connection of a listener of ours: perhaps children serve those. */
void sl_inherit_accepted(const struct sl_sock *listener, int fd, int flags);

/* flow.c: what `sluice flow` asked for; the keeper's */
void sl_flow_serve(void);

/* keeper.c */
void sl_keeper_poke(void); /* there is something new for it; any thread */
/* In a child of which nobody was told: tells the parent that it has one. */
void sl_keeper_tell_fork(void);
/* Before anything else opens descriptors; undone when the start fails. */
void sl_keeper_prepare(void);
void sl_keeper_unprepare(void);
int sl_keeper_start(void);
void sl_keeper_watch(struct sl_sock *sk);
/* Before fd is closed while another process has the socket: the kernel would keep telling us. */
void sl_keeper_unwatch(int fd);
/* Sees what the kernel has for the shadows, now; any thread. One system call. */
void sl_keeper_look(void);
void sl_keeper_place(void); /* place.c: the calling thread is the keeper */
void sl_keeper_child(void);
/* Ends the thread, for the process is about to become another user; it may be started again. False:
 * it does not end (this thread is a signal handler that has broken off what it waits for). */
bool sl_keeper_stop(void);

#endif
