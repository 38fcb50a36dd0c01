/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocol between a process and sluiced, and the process's side of it.
 *
 * A SOCK_SEQPACKET connection to a UNIX socket. Each request is one packet and gets one answer, in
 * order: a header, then the body that its operation has, whole and of exactly that length, with
 * exactly the descriptors it has (SCM_RIGHTS). All in host order: both ends are on one machine. The
 * lease lasts as long as the connection. The daemon closes a connection that breaks the protocol.
 *
 * The first request must be HELLO, which refuses another version than the daemon's (-EPROTO); a
 * body that changes needs a new version. */
#ifndef SL_LEASE_H
#define SL_LEASE_H

#include <sys/socket.h>

#include "ctl/front/broker.h"

#define SL_LEASE_MAGIC   0x4c534c53 /* "SLSL" */
#define SL_LEASE_VERSION 9
#define SL_LEASE_PATH    "/run/sluice/sluiced.sock"

enum sl_lease_op {
	SL_LEASE_HELLO = 1, /* descriptor: the network namespace that the process works in */
	SL_LEASE_UMEM,      /* answer's descriptors: the packet memory, whose its frames are, and
			       what the daemon tells of that, to be read only */
	SL_LEASE_PORT_OPEN, /* answer's: the device's rules, to be read only */
	SL_LEASE_PORT_CLOSE,
	SL_LEASE_PORT_ALIVE,
	SL_LEASE_PORT_TAGS,
	SL_LEASE_VLAN_LEAVE,
	SL_LEASE_UNGUARD,
	SL_LEASE_STRAYS,
	SL_LEASE_LANE_OPEN, /* answer's: an XSK for each queue, and perhaps the queues' anchors */
	SL_LEASE_LANE_BIND, /* for a lane that was left unbound */
	SL_LEASE_LANE_CLOSE,
	SL_LEASE_CLAIM,        /* descriptor: the shadow, which proves it */
	SL_LEASE_CLAIM_UPDATE, /* for a claim that the lease has */
	SL_LEASE_UNCLAIM,
	/* A connection of the session becomes the kernel's, in a socket that the daemon makes.
	 * Descriptors: the shadow, whose family and privileged options the new socket gets, and a
	 * sealed memfd with the bytes of the queues, receive queue first (none: the shadow again).
	 */
	SL_LEASE_RESTORE,
	/* Ends a RESTORE. Answer's descriptor: the socket, which lives and is not in repair mode.
	 */
	SL_LEASE_RESTORED,
	/* Descriptor: a kernel connection that no other process has. Answer: its state. */
	SL_LEASE_TAKE,
	SL_LEASE_DROP,    /* descriptor: a TCP socket whose packets to drop, or to pass again */
	SL_LEASE_INJECT,  /* descriptor: the socket that the packet is for */
	SL_LEASE_NEIGH,   /* a neighbour in use, for the kernel to resolve, probe and keep */
	SL_LEASE_CONNS,   /* descriptor: a memfd in which the process's TCP connections lie */
	SL_LEASE_HOLDERS, /* descriptor: a socket; answer: its number of references */
	SL_LEASE_BUFFER,  /* descriptor: a TCP socket; sets its buffer's size */
	SL_LEASE_BOX,     /* descriptors: receiver of a listener's waiting connections; listener */
	SL_LEASE_UNBOX,
	/* For `sluice daemon`; no HELLO is needed before. */
	SL_LEASE_STATUS,
	SL_LEASE_SHOW_PORT,  /* the n-th device; -ENOENT: there are no more */
	SL_LEASE_SHOW_LEASE, /* the n-th lease, likewise */
	SL_LEASE_DRAIN,      /* for root only: no more leases; the daemon ends with the last one */
	SL_LEASE_OPS
};

struct sl_lease_hdr {
	uint32_t magic;
	uint16_t version;
	uint16_t op; /* enum sl_lease_op */
	uint32_t seq;
	int32_t err; /* in an answer: 0 or -errno, and then the body is why[] */
};
#define SL_LEASE_WHY 256 /* bytes; text, with a 0 at the end */

struct sl_lease_hello {
	char group[32]; /* "" or "user": the user's group; "none": this process alone; else a
			   group's name */
	char program[16];
};
struct sl_lease_hello_ok {
	uint32_t member; /* number of the lease */
	uint32_t max_flows, max_lanes;
	uint32_t repair; /* RESTORE, TAKE and INJECT are allowed */
};

struct sl_lease_umem_ok {
	uint32_t nframes, frame_size, headroom, huge;
	uint32_t member; /* its number in the group, whose shared memory came along */
	uint32_t reserved;
	struct sl_share_geometry geometry;
};

struct sl_lease_port { /* also LANE_OPEN, LANE_BIND and LANE_CLOSE */
	uint32_t ifindex;
	uint32_t lane;
};
struct sl_lease_port_ok {
	uint32_t ifindex, mtu, nqueues, flags, max_lanes;
	uint8_t mac[6];
	uint8_t end,
		pad; /* in SHOW_PORT: enum sl_port_end; 0 although it is off: an older daemon */
	char ifname[16], driver[32], pin_dir[64];
};
struct sl_lease_tags_ok {
	uint32_t tags;
};
struct sl_lease_vlan {
	uint32_t ifindex, nr, leave;
};
struct sl_lease_alive_ok {
	uint32_t alive;
	uint8_t mac[6];
	uint8_t end, pad; /* enum sl_port_end; 0 although it is not alive: an older daemon */
};

struct sl_lease_strays {
	uint32_t ifindex, skip;
};
struct sl_lease_strays_ok {
	uint32_t n;
	struct sl_flow_key key[SL_STRAYS_TOLD];
};

struct sl_lease_queue {
	uint32_t queue, rx_size, tx_size, fill_size, comp_size, zerocopy;
	uint32_t share_queue, share_xsk;
};
/* Before Linux 6.4 a bound XSK's rings cannot be mapped (umem/ring.c). There the lane comes
 * unbound: the process maps the XSKs' receive and transmit rings, asks for LANE_BIND, and has the
 * lane when that is answered. With the first lane of a device the queues' anchors follow the XSKs,
 * unbound, too; from these the process maps the fill and completion rings. It must keep those until
 * the device is closed, since they cannot be mapped again. -EAGAIN from LANE_BIND: the lane is
 * closed; the process unmaps its rings and opens it again. */
struct sl_lease_lane_ok {
	uint32_t first, nqueues;
	uint32_t unbound, nanchors; /* 0 or 1; 0 or nqueues */
	struct sl_lease_queue queue[SL_MAX_QUEUES];
};

#define SL_LEASE_SPREAD  (1u << 0)
#define SL_LEASE_REPLACE (1u << 1)
struct sl_lease_claim {
	uint32_t ifindex;
	uint32_t flags; /* SL_LEASE_SPREAD, _REPLACE */
	struct sl_flow_key key;
	struct sl_claim claim; /* the daemon fills in pid */
};

/* A connection (struct sl_tcp_repair) in types of fixed width. */
struct sl_lease_conn {
	uint8_t local[16], remote[16];
	uint16_t lport, rport; /* host order */
	uint32_t scope_id;
	uint32_t snd_una, rcv_nxt; /* before a FIN */
	uint32_t snd_wl1, snd_wnd, max_window, rcv_wnd, rcv_wup;
	uint32_t unsent, sndq, rcvq, sndbuf, rcvbuf; /* bytes */
	uint32_t tsval, ts_recent;
	uint16_t mss_clamp, flags; /* SL_LEASE_CONN_* */
	uint8_t state, snd_wscale, rcv_wscale, pad;
};
#define SL_LEASE_CONN_WSCALE  (1u << 0)
#define SL_LEASE_CONN_SACK    (1u << 1)
#define SL_LEASE_CONN_TS      (1u << 2)
#define SL_LEASE_CONN_ECN     (1u << 3)
#define SL_LEASE_CONN_FIN_OUT (1u << 4) /* fin_sent */
#define SL_LEASE_CONN_FIN_IN  (1u << 5) /* fin_rcvd */
#define SL_LEASE_CONN_FIN_DUE (1u << 6) /* fin_queued */
#define SL_LEASE_CONN_RX_SHUT (1u << 7)
_Static_assert(sizeof(struct sl_lease_conn) == 104, "ABI");

enum sl_lease_how {
	SL_LEASE_LIVE = 1, /* the connection goes on */
	SL_LEASE_ENDED, /* the connection is over: the reader gets the unread bytes, then the end */
	SL_LEASE_RESET, /* reset: the reader gets the unread bytes, then the error */
	SL_LEASE_SYN,   /* its SYN is sent once more: fields `syn_...` */
};
struct sl_lease_restore {
	uint32_t how; /* enum sl_lease_how */
	struct sl_lease_conn conn;
	uint32_t iss, syn_bytes; /* syn_bytes: data of the SYN; conn.rcvq and sndq are 0, the memfd
				    has these bytes */
	uint16_t syn_mss, syn_user_mss;
};
struct sl_lease_restored {
	uint32_t go; /* 0: cancel; the answer is -ECANCELED */
};
/* err 0: the descriptor is a memfd with the queues, and the kernel has forgotten the connection.
 * Else the descriptor is the socket, unchanged. */
struct sl_lease_take_ok {
	int32_t err;
	struct sl_lease_conn conn;
};

struct sl_lease_drop {
	uint32_t on;
};

struct sl_lease_buffer {
	int32_t opt; /* SO_SNDBUFFORCE, SO_RCVBUFFORCE */
	uint32_t bytes;
};

struct sl_lease_box {      /* also UNBOX */
	uint32_t listener; /* the process's number of the listener */
};

struct sl_lease_holders_ok {
	uint32_t n; /* without the daemon's own */
};

struct sl_lease_neigh {
	uint32_t ifindex;
	uint8_t addr[16];
};

struct sl_lease_inject {
	uint32_t bytes, scope;
	uint8_t packet[SL_INJECT_MAX];
};

struct sl_lease_show {
	uint32_t n;
};
struct sl_lease_status_ok {
	uint32_t pid, netns, clients, leases, ports, draining;
	uint64_t uptime_ns, requests, refused, broken;
	char version[32];
};
enum sl_lease_device {
	SL_LEASE_DEVICE_OFF,
	SL_LEASE_DEVICE_STEERING,
	SL_LEASE_DEVICE_DOWN,
	SL_LEASE_DEVICE_GONE,
};
struct sl_lease_show_port_ok {
	struct sl_lease_port_ok port;
	uint32_t users, lanes, flows;
	uint32_t state;     /* enum sl_lease_device */
	uint32_t outsiders; /* programs kept off it because others have its queues */
	uint32_t lent_once; /* not 0: these others are processes, else groups */
	char group[32];     /* group that has the device */
};
struct sl_lease_show_lease_ok {
	uint32_t member, pid, uid, lanes, flows, frames;
	uint64_t age_ns;
	char program[16], group[32], devices[64]; /* devices: names with commas between */
};

union sl_lease_body {
	char why[SL_LEASE_WHY];
	struct sl_lease_hello hello;
	struct sl_lease_hello_ok hello_ok;
	struct sl_lease_umem_ok umem_ok;
	struct sl_lease_port port;
	struct sl_lease_port_ok port_ok;
	struct sl_lease_alive_ok alive_ok;
	struct sl_lease_tags_ok tags_ok;
	struct sl_lease_strays strays;
	struct sl_lease_strays_ok strays_ok;
	struct sl_lease_vlan vlan;
	struct sl_lease_lane_ok lane_ok;
	struct sl_lease_claim claim;
	struct sl_lease_restore restore;
	struct sl_lease_restored restored;
	struct sl_lease_take_ok take_ok;
	struct sl_lease_inject inject;
	struct sl_conns_layout conns;
	struct sl_lease_neigh neigh;
	struct sl_lease_drop drop;
	struct sl_lease_buffer buffer;
	struct sl_lease_box box;
	struct sl_lease_holders_ok holders_ok;
	struct sl_lease_show show;
	struct sl_lease_status_ok status_ok;
	struct sl_lease_show_port_ok show_port_ok;
	struct sl_lease_show_lease_ok show_lease_ok;
};

#define SL_LEASE_FDS (2 * SL_MAX_QUEUES)
struct sl_lease_msg {
	struct sl_lease_hdr hdr;
	union sl_lease_body body;
	/* Not part of the packet. */
	uint32_t nfds;
	int fd[SL_LEASE_FDS];
	struct ucred
		from; /* the sender as the kernel names it where SO_PASSCRED is set; else pid 0 */
};

/* lease_msg.c: both sides --------------------------------------------------------------------- */

/* Bytes of the body of a packet of this operation; -EPROTO: no such operation. */
int sl_lease_body_bytes(uint32_t op, bool answer);

/* Checks that a packet of n bytes with nfds descriptors is allowed: 0 or -EPROTO. Ends why[] with a
 * 0. */
int sl_lease_check(struct sl_lease_msg *m, size_t n, bool answer);

/* Sends m (in an answer hdr.err selects the body) with its descriptors. MSG_NOSIGNAL is added to
 * flags. 0 or -errno. */
int sl_lease_send(int fd, const struct sl_lease_msg *m, bool answer, int flags);

/* Receives and checks one packet; the caller closes the descriptors m->fd[0 .. nfds). Returns 1; 0:
 * the other end hung up; -EPROTO (nothing is left open), -errno. */
int sl_lease_recv(int fd, struct sl_lease_msg *m, bool answer, int flags);

/* sl_lease_recv(), but after an error, too, the caller closes the descriptors. */
int sl_lease_take(int fd, struct sl_lease_msg *m, bool answer, int flags);

/* Closes the descriptors of a message. */
void sl_lease_close_fds(struct sl_lease_msg *m);

/* sl_lease_described() describes an XSK to its process; sl_lease_of() makes the lease of that
 * description and the descriptor. */
struct sl_lease_queue sl_lease_described(const struct sl_xsk_lease *l);
struct sl_xsk_lease sl_lease_of(const struct sl_lease_queue *q, int fd);

/* The process's side: connects to the daemon at path, with this timeout for each send and answer; a
 * descriptor or -errno. */
int sl_lease_dial(const char *path, unsigned seconds);
/* Sends m as a request of that kind and number, with its descriptors, and receives the answer into
 * m, with the results of sl_lease_recv(). */
int sl_lease_ask(int fd, struct sl_lease_msg *m, enum sl_lease_op op, uint32_t seq);
/* Receives the answer to the request of that number and discards earlier ones. */
int sl_lease_answer(int fd, struct sl_lease_msg *m, uint32_t seq, int flags);

/* lease.c: the process's side; called by front.c only, with the broker entered ------------------
 */

/* Connects to the daemon at path and joins that group (sl_lease_hello.group). -ENOENT,
 * -ECONNREFUSED: no daemon; -EACCES and others: it refused, and *why says the reason. */
int sl_lease_open(const char *path, const char *group, const char **why);
bool sl_lease_on(void);
void sl_lease_child(void);
void sl_lease_part(void);
void sl_lease_fini(void);

int sl_lease_umem(struct sl_umem_info *out, const char **why);
int sl_lease_port_open(uint32_t ifindex, struct sl_port_info *out, const char **why);
void sl_lease_port_close(uint32_t ifindex, const struct sl_rule *rules);
enum sl_port_end sl_lease_port_end(uint32_t ifindex);
bool sl_lease_port_has_tags(uint32_t ifindex);
void sl_lease_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave);
void sl_lease_port_unguard(uint32_t ifindex);
unsigned sl_lease_port_strays(uint32_t ifindex, unsigned skip, struct sl_flow_key *out,
			      unsigned max);
int sl_lease_claim(const struct sl_claim_req *req, bool update, const char **why);
void sl_lease_unclaim(const struct sl_claim_req *req);
int sl_lease_drop_packets(int fd, bool on);
int sl_lease_holders(int fd);
int sl_lease_buffer(int fd, int opt, uint32_t bytes);
int sl_lease_inject(int fd, const void *packet, size_t bytes, uint32_t scope);
int sl_lease_may_inject(void);
int sl_lease_neigh_use(uint32_t ifindex, const uint8_t addr[16]);
int sl_lease_conns(int memfd, const struct sl_conns_layout *layout);
int sl_lease_box(uint32_t listener, int out, int fd);
void sl_lease_unbox(uint32_t listener);
/* For the files of this room. sl_lease_ask_port() makes a request about a device, or a lane of it:
 * 0, the daemon's -errno, -ENOTCONN: the daemon is gone. sl_lease_memory() is the packet memory. */
int sl_lease_ask_port(struct sl_lease_msg *m, enum sl_lease_op op, uint32_t ifindex, uint32_t lane,
		      const char **why);
const struct sl_umem_info *sl_lease_memory(void);

/* Sends m, and receives the answer into m. 0, -errno of the daemon's, -ENOTCONN: it is gone. */
int sl_lease_request(struct sl_lease_msg *m, enum sl_lease_op op, const char **why);
/* Asks without waiting, for the keeper, which must not wait for a daemon that is being started
 * again: -EAGAIN when there is no answer yet. Only for requests that may fail. */
int sl_lease_request_soon(struct sl_lease_msg *m, enum sl_lease_op op);
/* Closes the connection: the process is its own again. */
void sl_lease_end(void);
/* True: the policy lets connections move between the kernel and this process. */
bool sl_lease_may_repair(void);
/* lease_umem.c: see sl_lease_part(), sl_lease_child(). */
void sl_lease_umem_part(void);
void sl_lease_umem_child(void);
/* sl_lease_request() that closes m's descriptors in this process before the daemon acts on them. */
int sl_lease_give(struct sl_lease_msg *m, enum sl_lease_op op, const char **why);

/* lease_lane.c: likewise ----------------------------------------------------------------------- */

int sl_lease_lane_open(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
		       uint32_t *first, const char **why);
void sl_lease_lane_close(uint32_t ifindex, uint32_t lane);
/* Drops the rings kept for a device without lanes; in a child, all of them. */
void sl_lease_rings_drop(uint32_t ifindex);
void sl_lease_rings_child(void);

#endif
