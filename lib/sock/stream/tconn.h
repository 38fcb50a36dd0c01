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
#include "sock/core/mail.h"
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
	uint8_t prio;            /* of its packets, as in struct sl_sock */
	uint8_t ttl, min_ttl[2]; /* 0: the system's; IP_MINTTL, IPV6_MINHOPCOUNT */
	bool coming; /* its device is being opened: no claim, no SYN yet (opening.c). Lane held. */
	bool dead;   /* on the list of connections to free */
	/* Beside the packet path, under sl_tconn_ctl. Dup of an orphan's shadow, which keeps the
	 * port; negative: none, then its shadow's inode's complement (sl_broker_conns()), or -1. */
	int guard;
	/* Its SYN has met no neighbour yet: after so many SL_NEIGH_STEP_NS since then the kernel
	 * connects (opening.c). 0: it has one. Lane held. */
	uint8_t neigh_steps;
	bool gone;              /* dead here: the kernel's */
	bool let_pass;          /* its packets are the kernel's: it is claimed no more */
	uint8_t special;        /* SL_TCONN_*: what its segments need beside; lane held */
	struct sl_leg *claimed; /* the exact flow is claimed there; NULL: it is not */
};

#define SL_NEIGH_STEP_NS 50000000ull
#define SL_TCONN_MARKED  (1u << 0) /* stamps are wanted (errq_tcp.c) */
#define SL_TCONN_NIC     (1u << 1) /* the NIC may keep their pace (tcp_pace.c) */
#define SL_TCONN_ZC      (1u << 2) /* numbered sends wait for their end (extra.h) */
#define SL_TCONN_TELLS   (1u << 3) /* IP_RECVERR, and by the next bit IPV6_RECVERR */
#define SL_TCONN_DF      (1u << 5) /* its packets may not be fragmented */

/* A listener's states: which SYNs come to it, and which of its claims stand. sl_tlisten_enter()
 * changes them, with sk->slow held (the first is set when the listener is made); any thread reads
 * them with sl_load(). In each accept(2) serves our queue and the kernel's, and close(2) ends the
 * listener; in all but DRAINING the kernel's connections and ours take turns. */
enum sl_tlisten_state {
	/* Entered by listen(2), or when a kernel's listener is taken over, unless the listener is
	 * inherited; and from OPEN, when another device comes that may bring packets. The endpoint
	 * is claimed meanwhile, and segments of connections that the kernel has on the port come
	 * here, too: a segment of an unknown connection is dropped, not answered by a reset. Left
	 * for OPEN when the flows of those connections pass to the kernel (listener.c, sort_out());
	 * a claim that fails ends the listener that is just made. */
	SL_TLISTEN_SORTING,
	/* From SORTING; an inherited listener begins here (poll(2) or epoll of a process that
	 * shares it, join() in share.c); from AWAY by the next accept(2). The endpoint is claimed,
	 * for this process alone or as a target of the group; new SYNs come here. */
	SL_TLISTEN_OPEN,
	/* From OPEN, of a listener that several processes serve: the keeper finds that no thread
	 * here accepts, or that all processes stall in turn (share.c). The endpoint is not claimed
	 * by this process: others or the kernel get new SYNs. Connections and handshakes that had
	 * begun have claims of their own, and what waits is given to the others. Left for OPEN by
	 * accept(2), or for DRAINING. */
	SL_TLISTEN_AWAY,
	/* From OPEN and AWAY: the socket goes to the kernel (a rule, a device that goes, a fork,
	 * exit). The endpoint is not claimed: the kernel gets new SYNs. Connections and handshakes
	 * that had begun have claims of their own and end here; accept(2) gives them first. No
	 * state follows: the listener ends when none is left, or when no thread accepts them. A
	 * listener that the program has closed may drain, too: its socket's phase is SL_STAYING
	 * then. */
	SL_TLISTEN_DRAINING,
};

/* A listening socket of ours. Type-stable. */
struct sl_tlisten {
	struct sl_tcp_listener tcp;
	struct sl_sock *sk;
	uint32_t id;               /* unique in the process */
	uint8_t turn;              /* our queue or the kernel's next, when both have a connection */
	uint8_t state, min_ttl[2]; /* enum sl_tlisten_state; as in struct sl_tconn */
	uint8_t looks;             /* while it drains: looks since the last accept */
	uint8_t reason;            /* enum sl_reason: why it drains */
	uint32_t last_children;    /* at the last look */
	/* For a listener that several processes share (listen/share.c). Neither flag is a state:
	 * each may be set in any of the last three. */
	bool others;            /* other processes get its queue when it leaves */
	bool part;              /* counted among the processes that serve the listener */
	bool ended;             /* shutdown(2) has ended it: connections that wait are reset */
	uint32_t accepted;      /* connections accepted; lane held */
	uint32_t forked;        /* accepted connections that only children used; atomic */
	uint32_t seen;          /* `accepted` at the keeper's last look */
	uint64_t since_ns;      /* first look with this `seen` and a connection waiting */
	struct sl_lock os_lock; /* one thread at a time asks the kernel for a connection */
	struct sl_tlisten *next_free;
};

static inline bool sl_tlisten_drains(const struct sl_tlisten *l)
{
	return sl_load(&l->state) == SL_TLISTEN_DRAINING;
}

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
void sl_tconn_fork_begin(void); /* before it: the child may have the connections that there are */
void sl_tconn_child(void);      /* after fork, in the child: the connections are the parent's */
/* A zeroed connection on the lane, whose lock need not be held. NULL: no memory. */
struct sl_tconn *sl_tconn_new(struct sl_lane *lane);
void sl_tconn_set_sock(struct sl_tconn *c, struct sl_sock *sk); /* the program has it; lane held */
/* Frees a connection that is over and in no table of the host, once no thread can be reading it.
 * Lane held. linger: keeps its claim for a few seconds, to answer the peer's retransmissions. */
void sl_tconn_free(struct sl_tconn *c, bool linger);
/* Frees dead connections, with their claims and ports. True: some must be kept a while yet. No lane
 * held, any thread; cheap when there is none. */
bool sl_tconn_reap(void);
void sl_tconn_reap_many(void); /* while connections end one after the other: if there are some */
/* Frees even the dead connections of that local port that linger, at once; 0: of any. True: there
 * were dead ones. */
bool sl_tconn_hurry(uint16_t port);
/* Claims the connection's exact flow on the port. 0 or -errno. No lane held. */
int sl_tconn_claim(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_key *key, int shadow,
		   const char **why);
void sl_tconn_unclaim(struct sl_tconn *c);
/* Moves the claim of its own to another leg of its lane, which its route leads to now. 0 or -errno:
 * the old claim stands. No lane held. */
int sl_tconn_claim_move(struct sl_tconn *c, struct sl_leg *leg, int shadow);
/* Gives a live connection from the listener lsn_id its own claim. Does nothing if it has one, has
 * ended meanwhile, or came by another listener. No lane held. */
void sl_tconn_claim_own(struct sl_tconn *c, uint32_t lsn_id, int shadow);
/* A device has come: connections may be without a claim on it until then, at the latest, and a
 * segment that a listener does not know may be one of theirs, so it is not reset. 0: all have
 * followed (policy.c). */
#define SL_TCONN_FOLLOW_NS 3000000000ull
extern uint64_t sl_tconn_follow_ns;
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
/* The keeper reads the machine's settings of TCP again. */
void sl_tconn_follow_settings(void);
/* Calls fn for each connection in use, with no lock held. */
void sl_tconn_for_each(void (*fn)(struct sl_tconn *c, void *arg), void *arg);
int sl_tconn_take_error(struct sl_tconn *c); /* c->error, once. Lane held. */

/* Gives the connection the socket's IP options for packets to that address. */
static inline void sl_tconn_ip_options(struct sl_tconn *c, const struct sl_sock *sk,
				       const struct sl_addr *to)
{
	c->mark = sk->mark;
	c->prio = sk->prio;
	c->ttl = sl_sock_ttl(sk, to);
	c->special &= (uint8_t)~SL_TCONN_DF;
	c->special |= sl_sock_dont_fragment(sk) ? SL_TCONN_DF : 0;
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
/* The lower of SO_MAX_PACING_RATE and the rate of the peer (stack/paces.h) holds from now on. Lane
 * held. */
void sl_tconn_rate(struct sl_tconn *c);
bool sl_tconn_paced(struct sl_tconn *c, uint64_t *at_us); /* sl_tcp_ops.paced */
/* Choose the leg for a segment, and record that it was posted there. */
struct sl_leg *sl_tconn_way(struct sl_tconn *c, const struct sl_tcp_seg *seg);
void sl_tconn_posted(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg);
/* True: n segments of so many bytes may leave at once. */
bool sl_tconn_may_burst(const struct sl_tconn *c, uint32_t n, uint32_t bytes);
void sl_tconn_pace_end(struct sl_tconn *c); /* drops the pacer */
/* Waits until no paced packet of it is left in the NIC, for a limited time. No lane held. */
void sl_tconn_drain(struct sl_tconn *c);

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

#endif
