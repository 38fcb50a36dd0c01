/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams: the calls on them, their options and what `sluice stat` shows. */
#ifndef SL_STREAM_H
#define SL_STREAM_H

#include "sock/stream/tconn.h"

/* reqs.c: requests, in memory that others read when the process has died */
#define SL_TREQ_MAX 65536u
size_t sl_treq_bytes(void);
void sl_treq_init(void *mem, int fd, size_t at); /* of that many bytes (sl_reserve_init()) */
void sl_treq_child(void);
int sl_treq_part(void); /* sl_reserve_part() */
void sl_treq_layout(struct sl_conns_layout *l);
void *sl_treq_new(uint32_t lsn_id);
void sl_treq_free(void *req);
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
/* opening.c: a connection with neigh_steps is there, or will be in a moment. */
void sl_opening_add(void);
void sl_opening_missed(void); /* a segment has met no neighbour, and is lost */
/* opening.c: the keeper has c try what is out (sl_tcp_try_now()) if c has a path and is_tried()
 * says so, which is called with the lane held. No lane held. */
void sl_tconn_try(struct sl_tconn *c, bool (*is_tried)(const struct sl_tconn *c, const void *arg),
		  const void *arg);
/* Jobs of the keeper. */
void sl_opening_look(uint64_t now_ns);
uint64_t sl_opening_due_ns(uint64_t now_ns, bool quiet);
void sl_opening_child(void);
/* conn_in.c: some connection or listener has IP_MINTTL or IPV6_MINHOPCOUNT. */
extern bool sl_tconn_hops_count;
/* tcp_port.c: true if a connection of ours, or a TIME_WAIT, that the kernel does not know stands in
 * the way of bind(2) to that address. No lane held. */
bool sl_tcp_port_is_held(struct sl_sock *sk, const struct sockaddr *addr, socklen_t len);
/* SL_TCP_BOUND_* of a socket. */
static inline uint8_t sl_tcp_port_bound(const struct sl_sock *sk)
{
	return (uint8_t)((sk->reuse_addr ? SL_TCP_BOUND_REUSE_ADDR : 0) |
			 (sk->reuseport ? SL_TCP_BOUND_REUSE_PORT : 0) |
			 (sk->v6only ? SL_TCP_BOUND_V6ONLY : 0));
}
/* tcp_port.c: a connection of ours between these ports may have ended meanwhile: its last
 * acknowledgment is on the ring of the socket's lane, which is turned then. No lane held. */
void sl_tcp_port_finish(struct sl_sock *sk, const struct sl_tcp_key *key);
/* tcp_port.c: gives key a local port, if it has none, and binds the shadow to it. *ts_off is what
 * sl_tcp_stamps_offset() says. 0 or -errno. */
int sl_tcp_port_reserve(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif, uint32_t *ts_off);
void sl_tcp_port_child(void);
/* tcp_stamps.c: the offset to our clock that the kernel's time stamps would have on a connection
 * between key's addresses and ports. bound: the shadow has the port. 0: it is not known, or a peer
 * of this kind keeps no TIME_WAIT. Lane not held. */
uint32_t sl_tcp_stamps_offset(struct sl_sock *sk, const struct sl_tcp_key *key, uint32_t oif,
			      bool bound);
void sl_tcp_stamps_child(void);
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
/* tcp_recv.c: takes the connection's error, or sk->error (the kernel's sock_error()). No lane held.
 */
int sl_tcp_sock_take_error(struct sl_sock *sk);
/* Puts back an error that this call can no longer return: the next call returns it. */
void sl_tcp_sock_put_error(struct sl_sock *sk, int err);
/* tcp_send.c, tcp_recv.c; q->len, len: of all pieces, at most SL_CALL_MOST */
struct sl_tx_req;
/* q->msg has the name of a call with MSG_FASTOPEN; q->name is not looked at. */
ssize_t sl_tcp_sock_send(struct sl_sock *sk, int fd, const struct sl_tx_req *q);
ssize_t sl_tcp_sock_recv(struct sl_sock *sk, int fd, const struct iovec *iov, size_t niov,
			 size_t len, struct msghdr *msg, int flags);
/* The result of a receive call that finds the queue empty. 0: the stream has ended; -EAGAIN: it has
 * not. Otherwise takes the connection's error, returns it and sets *broken. Lane held. */
int sl_tcp_sock_ended(struct sl_tconn *c, bool *broken);
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
			   unsigned how);
size_t sl_tcp_fastopen_syn(struct sl_sock *sk, const struct iovec *iov, size_t niov, bool waits);
void sl_tcp_fastopen_keys(struct sl_tcp_listener *l); /* sl_tcp_ops.tfo_keys */
/* The process becomes another user: forgets the machine's keys. */
void sl_tcp_fastopen_part(void);
void sl_tcp_fastopen_child(void);
/* tcp_opt.c */
/* -EINVAL: our connection's state forbids the option, though the shadow's state would not; or 0. */
int sl_tcp_opt_may_set(struct sl_sock *sk, int level, int name, const void *val, socklen_t len);
/* The shadow returned ENOTCONN: only a kernel connection takes the option (TCP_ULP,
 * IPV6_ADDRFORM). True: the connection is the kernel's now. No lane held. */
bool sl_tcp_opt_leave(struct sl_sock *sk);
/* Sets SO_TIMESTAMPING of a connection of ours. The kernel checks all flags but OPT_ID, for which
 * the shadow is in the wrong state. 0 or -errno; -EREMOTE: another option or socket. */
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
/* An accepted socket inherits from its listener in two steps: first its fields, with the lane held,
 * before the connection finds it; then the options that its shadow must have, too, without a lane.
 */
void sl_tcp_opt_inherit(struct sl_sock *child, const struct sl_sock *from);
void sl_tcp_opt_inherit_shadow(struct sl_sock *child, const struct sl_sock *from);
/* Then, with tcp_reflect_tos: the child's packets have the DSCP of its SYN. */
void sl_tcp_opt_reflect(struct sl_sock *child, const struct sl_addr *peer, uint8_t tos);
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
/* True: the socket was the kernel's when the call looked, and has been taken over since. */
static inline bool sl_tcp_sock_came_back(const struct sl_sock *sk)
{
	return sl_load_acquire(&sk->state) == SL_STATE_OFFLOADED && sl_load_acquire(&sk->conn);
}

#endif
