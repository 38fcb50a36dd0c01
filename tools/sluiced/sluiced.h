/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of sluiced.
 *
 * Theory of operation: one thread, one loop (and a thread that waits for the kernel: grace.c). A
 * session is a connection of the lease protocol (ctl/lease/lease.h). The loop takes one request of
 * each ready session in turn, so that no session is served twice before every other was once. All
 * that a session has been given is recorded in it, and its requests cannot reach another's: lanes
 * are named by the session's own numbers, claims are looked up in the session's own table. When the
 * connection ends all of that is taken back, a bounded piece at each turn of the loop. */
#ifndef SL_SLUICED_H
#define SL_SLUICED_H

#include <sys/socket.h>

#include "base/addr.h"
#include "ctl/broker/embedded.h"
#include "ctl/lease/lease.h"
#include "../death/death.h"

#define SL_SESSIONS_MAX  1024
#define SL_PORTS_MAX     64  /* devices in use */
#define SL_VIEW_MS       100 /* how often the rules are looked at */
#define SL_SESSION_PORTS 16  /* devices of one lease */
#define SL_SESSION_LANES 256 /* lanes of one device */
#define SL_MEMORIES_MAX  16  /* groups that have packet memory */
#define SL_MEMORIES_USER 4   /* groups made for processes of one user */

/* policy.c ----------------------------------------------------------------------------------- */

/* Limits of a lease. */
struct sl_limits {
	uint32_t lanes, flows;
	uint32_t frames;   /* 0: the daemon's default */
	bool repair;       /* connections may move between the kernel and the process */
	uint32_t clients;  /* leases of one user, at a time */
	char devices[128]; /* globs with commas between; "": all */
	char groups[128];  /* globs of named groups, likewise; "": none */
};

struct sl_policy_rule {
	bool allow;
	enum { SL_WHO_ALL, SL_WHO_USER, SL_WHO_GROUP } who;
	uint32_t id;
	struct sl_limits limits;
};
#define SL_POLICY_MAX 128
#define SL_DIVIDE_MAX 16
/* Devices that several groups may have at a time. */
struct sl_policy_divide {
	char devices[128]; /* globs with commas between */
	uint32_t groups;
};
struct sl_policy {
	struct sl_policy_rule rule[SL_POLICY_MAX];
	struct sl_policy_divide divide[SL_DIVIDE_MAX];
	unsigned n, ndivide;
};
/* Reports a wrong line: the text found, and the text expected. */
typedef void sl_policy_error_fn(void *arg, unsigned line, const char *expected, const char *found);
/* Turns a name of a user (or group) into its number; false: there is none. */
typedef bool sl_policy_name_fn(const char *name, bool group, uint32_t *id);

/* Parses len bytes of any text. Reports and skips wrong lines; returns how many. */
unsigned sl_policy_parse(const char *text, size_t len, struct sl_policy *p, sl_policy_name_fn *name,
			 sl_policy_error_fn *on_error, void *arg);
/* The first rule for a user in those groups; NULL: none, so no lease. */
const struct sl_policy_rule *sl_policy_find(const struct sl_policy *p, uint32_t uid,
					    const uint32_t *gids, unsigned ngids);
/* How many groups may have that device: 1, or the number in the first matching line. */
uint32_t sl_policy_groups(const struct sl_policy *p, const char *ifname);
bool sl_limits_allow_device(const struct sl_limits *l, const char *ifname);
bool sl_limits_allow_group(const struct sl_limits *l, const char *name);

/* claims.c ----------------------------------------------------------------------------------- */

/* A claim of a session. */
struct sl_held {
	struct sl_claim_req req; /* shadow_fd is -1 */
	bool used;
	bool everywhere; /* its socket is bound to no device, for certain */
	uint64_t cookie; /* SO_COOKIE of the socket that proved an endpoint; 0: not known */
	uint32_t rule;   /* NIC rule for its packets (divide.c); 0: it needs none */
};
/* Open addressing; max is a power of two. */
struct sl_held_table {
	struct sl_held *slot;
	uint32_t n, max;
	uint32_t nshared; /* sl_is_shared() */
	uint32_t at;      /* where sl_held_any() looks first */
};
/* True: a TCP endpoint that other sessions may have, too. */
bool sl_is_shared(const struct sl_claim_req *req);
struct sl_held *sl_held_find(const struct sl_held_table *t, const struct sl_claim_req *req);
/* Adds or replaces. -ENOMEM. */
int sl_held_put(struct sl_held_table *t, const struct sl_claim_req *req, bool everywhere,
		uint32_t rule);
void sl_held_del(struct sl_held_table *t, struct sl_held *h);
/* Any one of them, or NULL. */
struct sl_held *sl_held_any(struct sl_held_table *t);
void sl_held_free(struct sl_held_table *t);

/* conns.c ------------------------------------------------------------------------------------ */

#define SL_CONNS_ENDS 64
struct sl_own_end {
	struct sl_flow_key key;
	bool everywhere; /* see struct sl_held */
};
struct sl_own_flow {
	struct sl_flow_key key;
	bool told; /* its connection was found, and its peer is told */
};
/* A session's connections and, when it leaves, the ends and flows that it had claimed. */
struct sl_conns {
	struct sl_gone_conns gone;
	bool looked;                          /* the claims were read into `end` and `flow` */
	struct sl_own_end end[SL_CONNS_ENDS]; /* endpoints, for any peer */
	uint32_t nends;
	struct sl_own_flow *flow; /* flows with one peer, ordered by key */
	uint32_t nflows;
};

/* boxes.c ------------------------------------------------------------------------------------ */

#define SL_SESSION_BOXES 64
struct sl_boxes {
	struct sl_gone_box box[SL_SESSION_BOXES];
	uint32_t n;
};

/* session.c ---------------------------------------------------------------------------------- */

/* A device that a session has open. */
struct sl_session_port {
	uint32_t ifindex; /* 0: unused */
	char ifname[16];
	uint32_t nqueues;
	/* By the session's lane number: lane of the device + 1, and its lease (an entry for each
	 * queue), which is kept until the process is dead. */
	uint16_t lane[SL_SESSION_LANES];
	struct sl_xsk_lease *lease[SL_SESSION_LANES];
};

struct sl_session {
	struct sl_session *next;
	uint32_t id; /* unique since the daemon's first start */
	int fd;
	int pidfd; /* -1: the end of the connection counts as the process's end */
	struct ucred cred;
	uint32_t gid[64]; /* groups of the peer, when it connected */
	uint32_t ngids;
	bool greeted;
	uint8_t share; /* its number in the group that shares the packet memory, 0: not yet */
	struct sl_memory *memory; /* its group's packet memory, once it has joined */
	bool eof;                 /* the process has closed the connection */
	bool mended;              /* the process is dead, and its locks are free */
	uint64_t mended_ns;       /* time of that */
	bool said;                /* a refusal was logged */
	bool outside;             /* a device was another group's when the session asked */
	bool stopped;             /* by SIGSTOP */
	bool leaving;             /* hung up; being taken back */
	bool unread;              /* its request must stay in the queue (foreign.c) */
	uint64_t asked_ns;        /* not greeted: time of its connection or last request */
	uint64_t later_ns;        /* not 0: its request is tried again then */
	uint64_t waits_ns;        /* start of that wait */
	bool mute; /* the process is dead; its lanes get nothing after this grace period: */
	uint32_t grace;
	/* The daemon before us may have done the next request in part or whole, in `tries`
	 * attempts. seq: number of the last request that must not be done twice
	 * (sl_session_begin()). */
	bool again;
	uint8_t tries;
	uint32_t begun, seq;
	/* The sender of its requests, once a request has come (sender.c). */
	bool sent;
	uint32_t real_uid, real_gid;
	uint64_t identity; /* 0: not known */
	uint32_t member;
	uint64_t since_ns;
	char program[16], group[32];
	struct sl_limits limits;
	struct sl_session_port port[SL_SESSION_PORTS];
	uint32_t nlanes;
	struct sl_held_table held;
	struct sl_conns conns;
	struct sl_boxes boxes;
	struct sl_restore *restore; /* restore.c: one that is under way, or NULL */
};

/* A group's packet memory, made for its first session and dropped with its last. Each queue belongs
 * to one group at a time. */
struct sl_memory {
	char group[32];
	uint32_t users;     /* 0: unused */
	uint32_t umem;      /* number of the packet memory */
	uint32_t uid;       /* user of the first session */
	uint64_t broken_ns; /* not 0: when it broke (broken.c) */
};

/* The state of the daemon. */
struct sl_sluiced {
	int epfd, listen_fd;
	uint32_t netns; /* inode number */
	uint64_t netns_cookie;
	struct sl_policy policy;
	struct sl_session *sessions;
	uint32_t nsessions, last_member, last_id;
	bool draining;
	bool leaving; /* sessions with a device are told that it is not steered any more */
	uint64_t start_ns, requests, refused, broken;
	uint32_t frames, frame_size, quota;
	struct sl_memory memory[SL_MEMORIES_MAX];
	uint32_t last_umem, memory_users; /* users of all memories together */
};
extern struct sl_sluiced sluiced;
/* Limits of open connections (door.c). */
#define SL_STRANGERS   16u /* connections of a user without a lease */
#define SL_ROOT_PLACES 64u /* reserved for root, of all connections */
#define SL_CLIENTS     256 /* leases of a user, unless the policy sets another number */

/* Tags of watched descriptors that are no session; below any pointer. */
enum { SL_TAG_LISTEN = 1, SL_TAG_SIGNAL, SL_TAG_NET, SL_TAG_DEATH, SL_TAG_VAULT, SL_TAG_GRACE };

void sl_session_accept(void);
void sl_session_hang_up(struct sl_session *s);
/* Serves sessions again whose request waits for another process, if their time has come. Returns in
 * how many ns the next one is due; UINT64_MAX: none. */
uint64_t sl_sessions_later(uint64_t now);
/* Adds a session of the daemon before us. */
void sl_session_add(struct sl_session *s);
/* Marks the request being served as one that must not be done again; false: the daemon before us
 * did it. */
bool sl_session_begin(struct sl_session *s);
/* Serves one request of the session. */
void sl_session_readable(struct sl_session *s);
/* Takes back a piece of the leaving sessions' things; true: there is more to do at once. */
bool sl_sessions_reap(void);
struct sl_session_port *sl_session_port(struct sl_session *s, uint32_t ifindex);

/* Serves a request: reads it from m, leaves the answer in m; 0, or -errno and *why. */
typedef int sl_request_fn(struct sl_session *s, struct sl_lease_msg *m, const char **why);

/* memory.c: packet memories and their sessions */
int sl_on_umem(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* Adds a user of an existing memory. */
void sl_memory_get(struct sl_memory *m);
/* Removes a user. */
void sl_memory_put(struct sl_memory *m);
/* The session was a member of that packet memory already under the daemon before us. */
void sl_memory_adopt(struct sl_session *s, uint32_t umem);
/* The group's memory with that number; NULL: none. */
struct sl_memory *sl_memory_by_umem(uint32_t umem);
/* True: that group has a part of the device. */
struct sl_device;
bool sl_memory_has_part(const struct sl_device *d, const char *group);
/* True: other groups certainly have all of the device, or, where rings are lent once, another
 * process has it. */
bool sl_memory_is_anothers(const struct sl_session *s, uint32_t ifindex, const char **why);
/* The session leaves its group. */
void sl_umem_put(struct sl_session *s);

/* divide.c: NIC rules of devices that are divided among groups. sl_divide_get() has the NIC send a
 * claim's packets to its session's queues: 0 and *rule (0: no rule is needed), or -errno and *why.
 */
int sl_divide_get(const struct sl_session *s, const struct sl_claim_req *req, uint32_t *rule,
		  const char **why);
/* The rule serves one claim less; the last one removes it. */
void sl_divide_put(uint32_t rule);
/* After a restart: sl_divide_begin() reads a device's rules, before its claims are found;
 * sl_divide_end() removes those without a claim. */
void sl_divide_begin(struct sl_device *d);
void sl_divide_end(void);

/* grant.c: devices, lanes */
int sl_on_port_open(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_close(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_alive(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_port_tags(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_vlan_leave(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unguard(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_strays(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_neigh(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_open(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_bind(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_lane_close(struct sl_session *s, struct sl_lease_msg *m, const char **why);
void sl_port_put(struct sl_session *s, struct sl_session_port *p);
/* Removes a use of the device by the group with that packet memory. */
void sl_port_release(uint32_t ifindex, uint32_t umem);
/* The session's process is dead: takes its frames and lanes back. False: not possible yet. */
bool sl_umem_bury(struct sl_session *s);
void sl_port_describe(const struct sl_port_info *info, struct sl_lease_port_ok *out);

/* sender.c: requests must come from the session's own process, with its user unchanged. */
void sl_sender_tell(
	int fd); /* for a listening socket or a session's: the kernel names the senders */
/* -EPERM: another process has sent it; -EPROTO: the lease must end. */
int sl_sender_check(struct sl_session *s, const struct sl_lease_msg *m, const char **why);

/* stopped.c: new connections go to processes that are not stopped. */
bool sl_session_is_stopped(const struct sl_session *s);
void sl_stopped_look(void);

/* grace.c: begins to wait for a grace period of the kernel; returns its number. */
uint32_t sl_grace_begin(void);
/* True: that grace period is over. (The end of each wakes the loop.) */
bool sl_grace_is_over(uint32_t number);
void sl_grace_readable(void);

/* session.c: true: the process of that pidfd has ended. */
bool sl_is_dead(int pidfd);
/* linger.c: keeps a program's devices while it becomes another one (exec). Call before they are
 * taken back. */
void sl_linger_begin(struct sl_session *s);
/* Ends lingering for a process that has a lease again, or for all (0). */
void sl_linger_end(int pid);
/* Ends sessions whose time is over. */
void sl_linger_tick(void);
/* How many uses of a device with that packet memory linger. */
uint32_t sl_linger_users(uint32_t ifindex, uint32_t umem);

/* broken.c: checks the locks of the groups' memories, each second. A group whose lock is broken
 * ends: its programs go on by the kernel. */
void sl_broken_look(void);
/* Refuses further grants to a session whose group is broken: 0, or -ESHUTDOWN and *why. */
int sl_broken_check(const struct sl_memory *m, const char **why);

/* view.c: opens a memory file again, read-only, for processes that must not write it. -errno. */
int sl_open_to_read(int memfd);
/* view.c: a new descriptor of a device's rules, to be read by others; -errno. */
int sl_view_get(uint32_t ifindex);
/* Updates the views, and drops those of devices that were closed. */
void sl_views_sync(void);

/* steer.c: claims */
uint32_t sl_claim_pid(const struct sl_session *s); /* the pid that its claims carry */
int sl_on_claim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_claim_update(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unclaim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drop(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_buffer(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_holders(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_inject(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* Gives up at most n claims; returns how many are left. */
uint32_t sl_claims_drop(struct sl_session *s, uint32_t n);
/* Gives up all UDP claims: the kernel has the sockets and gets their packets. */
void sl_claims_drop_udp(struct sl_session *s);

/* restore.c: a connection of the session's goes to the kernel */
int sl_on_restore(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_restored(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* True: the claim lets the packets of the restore under way pass, and needs no other proof. */
bool sl_restore_covers(const struct sl_session *s, const struct sl_claim_req *req);
/* Drops the restored connection without a word to its peer. */
void sl_restore_drop(struct sl_session *s);

/* take.c: a kernel connection is read */
int sl_on_take(struct sl_session *s, struct sl_lease_msg *m, const char **why);

/* conns.c: connections of a leaving session, read while it has its claims. True: there is more to
 * do. */
int sl_on_conns(struct sl_session *s, struct sl_lease_msg *m, const char **why);
bool sl_conns_read(struct sl_session *s);
/* Begins to rescue connections that wait to be accepted; dead: the process is, for certain. */
bool sl_conns_rescue(struct sl_session *s, bool dead);
/* Tells some of the peers; the claims are gone. dead: the process is, for certain. */
bool sl_conns_tell(struct sl_session *s, bool dead);
/* The claim of a flow was given up. True: sl_conns_tell() will tell its peer. */
bool sl_conns_will_tell(const struct sl_session *s, const struct sl_flow_key *k);

/* The claimed endpoint at that local end; NULL: none. */
const struct sl_own_end *sl_conns_end(const struct sl_conns *c, const uint8_t local[16],
				      uint16_t port);

/* late.c: gives late TCP packets for a dead process to the kernel. Call when the claims are gone
 * and nothing is steered to the lanes any more, or will not be in a moment. */
void sl_late(const struct sl_session *s, const struct sl_broker_lane *lanes, unsigned n);

/* boxes.c: where connections go that waited at a dead process's listener which others have, too */
int sl_on_box(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unbox(struct sl_session *s, struct sl_lease_msg *m, const char **why);
const struct sl_gone_box *sl_box_find(void *session, uint32_t listener);
void sl_boxes_free(struct sl_session *s);

/* proof.c ------------------------------------------------------------------------------------ */

/* Checks that the socket gives the right to that claim: it is of the daemon's network namespace and
 * of the protocol, and bound to the claim's local port, and to its address or a wildcard. 0 or
 * -EPERM. */
int sl_proof_check(int fd, const struct sl_flow_key *key, const char **why);
/* True: the socket is bound to no device. */
bool sl_proof_is_everywhere(int fd);
/* Checks that the socket is a TCP socket of the daemon's namespace. 0 or -EPERM. */
int sl_proof_tcp(int fd, const char **why);
/* Checks that the socket is a listening TCP socket of the daemon's namespace; *port is its port
 * number, *family that of its connections. 0 or -EPERM. */
int sl_proof_listener(int fd, uint16_t *port, uint8_t *family, const char **why);
/* Checks that the socket belongs to a pair of packet sockets, so that only a holder of the other
 * end can be reached by it. 0 or -EPERM. */
int sl_proof_pair(int fd, const char **why);
/* Checks that the packet is addressed to the local end of the socket, and for TCP comes from its
 * remote end. 0 or -EPERM. */
int sl_proof_packet(int fd, const uint8_t *packet, size_t bytes, const char **why);
uint64_t sl_netns_cookie(int fd);

/* devices.c ---------------------------------------------------------------------------------- */

/* The state of a device; mtu: its present MTU, if the device is there; end: SL_PORT_END_STEERED, or
 * why it is not steered. */
struct sl_device;
enum sl_lease_device sl_device_state(const struct sl_device *d, uint32_t *mtu,
				     enum sl_port_end *end);
/* Logs changes of the devices' state. */
void sl_devices_check(void);

/* show.c ------------------------------------------------------------------------------------- */
int sl_on_status(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_port(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_lease(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drain(struct sl_session *s, struct sl_lease_msg *m, const char **why);

#endif
