/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of sluiced share.
 *
 * Theory of operation: one thread, one loop (and one that waits for the kernel: grace.c). A session
 * is a connection of the lease protocol (ctl/lease.h); it takes one request at a time, each as
 * readiness comes round, so that nobody is served twice before everybody was once. What a session
 * has been given is written down in it, and nothing of another's can be reached by its requests:
 * lanes are named by the session's own numbers, claims are looked up in the session's own table.
 * When the connection ends all of that is taken back, a bounded piece at each turn of the loop. */
#ifndef SL_SLUICED_H
#define SL_SLUICED_H

#include <sys/socket.h>

#include "base/addr.h"
#include "ctl/broker_embedded.h"
#include "ctl/lease.h"
#include "../death/death.h"

#define SL_SESSIONS_MAX  1024
#define SL_PORTS_MAX     64  /* devices in use */
#define SL_VIEW_MS       100 /* how often the rules are looked at */
#define SL_SESSION_PORTS 16  /* devices of one lease */
#define SL_SESSION_LANES 256 /* of one device */
#define SL_MEMORIES_MAX  16  /* groups that have packet memory */
#define SL_MEMORIES_USER 4   /* of them made for processes of one user */

/* policy.c ----------------------------------------------------------------------------------- */

/* What one lease may have. */
struct sl_limits {
	uint32_t lanes, flows;
	uint32_t frames;   /* 0: the daemon's default */
	bool repair;       /* connections may move between the kernel and the process */
	uint32_t clients;  /* of one user, at a time */
	char devices[128]; /* globs with commas between; "": all */
	char groups[128];  /* likewise, of groups with names; "": none */
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
/* A wrong line: what stands where, and what was expected. */
typedef void sl_policy_error_fn(void *arg, unsigned line, const char *expected, const char *found);
/* Turns a name of a user (or group) into its number; false: there is none such. */
typedef bool sl_policy_name_fn(const char *name, bool group, uint32_t *id);

/* Parses len bytes of any text. Wrong lines are told and skipped; returns how many. */
unsigned sl_policy_parse(const char *text, size_t len, struct sl_policy *p, sl_policy_name_fn *name,
			 sl_policy_error_fn *on_error, void *arg);
/* The first rule for that user, who is in those groups; NULL: none, so no lease. */
const struct sl_policy_rule *sl_policy_find(const struct sl_policy *p, uint32_t uid,
					    const uint32_t *gids, unsigned ngids);
/* How many groups may have that device: 1, or what the first line says that fits. */
uint32_t sl_policy_groups(const struct sl_policy *p, const char *ifname);
bool sl_limits_allow_device(const struct sl_limits *l, const char *ifname);
bool sl_limits_allow_group(const struct sl_limits *l, const char *name);

/* claims.c ----------------------------------------------------------------------------------- */

/* One claim of a session. */
struct sl_held {
	struct sl_claim_req req; /* shadow_fd is -1 */
	bool used;
	bool everywhere; /* its socket is bound to no device, for certain */
	uint64_t cookie; /* SO_COOKIE of the socket that proved an endpoint; 0: not known */
	uint32_t rule;   /* by which the NIC sends it here (divide.c); 0: it does so without */
};
/* Open addressing; max is a power of two. */
struct sl_held_table {
	struct sl_held *slot;
	uint32_t n, max;
	uint32_t nshared; /* sl_is_shared() */
	uint32_t at;      /* where sl_held_any() looks first */
};
/* A TCP endpoint that others may have, too. */
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
	bool told; /* its connection was found */
};
/* A session's connections, and, when it leaves, what of them it had claimed. */
struct sl_conns {
	struct sl_gone_conns gone;
	bool looked;                          /* at the claims */
	struct sl_own_end end[SL_CONNS_ENDS]; /* for whoever comes */
	uint32_t nends;
	struct sl_own_flow *flow; /* for one peer alone, in order of keys */
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
	/* By the session's numbers: lane of the device + 1, and what was leased (an entry for each
	 * queue), which is kept until the process is dead. */
	uint16_t lane[SL_SESSION_LANES];
	struct sl_xsk_lease *lease[SL_SESSION_LANES];
};

struct sl_session {
	struct sl_session *next;
	uint32_t id; /* among all there ever were */
	int fd;
	int pidfd; /* -1: the end of the connection must do */
	struct ucred cred;
	uint32_t gid[64]; /* groups of the peer, when it connected */
	uint32_t ngids;
	bool greeted;
	uint8_t share; /* member of the group that shares the packet memory, 0: not yet */
	struct sl_memory *memory; /* its group's, when it is one */
	bool eof;                 /* its own end of the connection is closed */
	bool mended;              /* the process is dead, and its locks are free */
	uint64_t mended_ns;       /* since when */
	bool said;                /* a refusal of it was logged */
	bool outside;             /* a device was another group's when it asked */
	bool stopped;             /* by SIGSTOP */
	bool leaving;             /* hung up; being taken back */
	bool unread;              /* its request must stay in the queue (foreign.c) */
	uint64_t asked_ns;        /* not greeted: when it came, or asked last */
	uint64_t later_ns;        /* not 0: its request is looked at again then */
	uint64_t waits_ns;        /* since when it is */
	bool mute; /* the process is dead, and nothing comes to its lanes when this is over: */
	uint32_t grace;
	/* Its next request may have been done, in part or whole, by the daemon before us, so often;
	 * of what must not be done twice the last one's number (sl_session_begin()). */
	bool again;
	uint8_t tries;
	uint32_t begun, seq;
	/* Of the sender of its requests, when one has come (sender.c). */
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
	struct sl_restore *restore; /* restore.c: one that has begun, or NULL */
};

/* Packet memory is made for the first of a group, and goes with the last. Each queue is one
 * group's at a time. */
struct sl_memory {
	char group[32];
	uint32_t users;     /* 0: unused */
	uint32_t umem;      /* its number */
	uint32_t uid;       /* of the first */
	uint64_t broken_ns; /* not 0: since when it is broken (broken.c) */
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
	bool leaving; /* who has a device is told that it is not steered any more */
	uint64_t start_ns, requests, refused, broken;
	uint32_t frames, frame_size, quota;
	struct sl_memory memory[SL_MEMORIES_MAX];
	uint32_t last_umem, memory_users; /* of all together */
};
extern struct sl_sluiced sluiced;
/* What is open at a time (door.c). */
#define SL_STRANGERS   16u /* connections of a user without a lease */
#define SL_ROOT_PLACES 64u /* of all connections, for root */
#define SL_CLIENTS     256 /* leases of a user, unless the policy says otherwise */

/* Tags of what the loop watches that is no session; below any pointer. */
enum { SL_TAG_LISTEN = 1, SL_TAG_SIGNAL, SL_TAG_NET, SL_TAG_DEATH, SL_TAG_VAULT, SL_TAG_GRACE };

void sl_session_accept(void);
void sl_session_hang_up(struct sl_session *s);
/* Those whose request waits for another process are served again when their time has come. In how
 * many ns the next one is to be; UINT64_MAX: there is none. */
uint64_t sl_sessions_later(uint64_t now);
/* One that the daemon before us had. */
void sl_session_add(struct sl_session *s);
/* From here on the request that is being served must not be done again; false: it was, by the
 * daemon before us. */
bool sl_session_begin(struct sl_session *s);
/* One request of it. */
void sl_session_readable(struct sl_session *s);
/* Ends its connection: all that it has is taken back. */
/* Takes a piece of the leaving sessions' things back; true: there is more to do at once. */
bool sl_sessions_reap(void);
struct sl_session_port *sl_session_port(struct sl_session *s, uint32_t ifindex);

/* Answers a request: reads it from m, leaves the answer in m; 0, or -errno and *why. */
typedef int sl_request_fn(struct sl_session *s, struct sl_lease_msg *m, const char **why);

/* memory.c: whose packet memory is whose */
int sl_on_umem(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* One user more; it is there already. */
void sl_memory_get(struct sl_memory *m);
/* One user less. */
void sl_memory_put(struct sl_memory *m);
/* The session was a member already, of that packet memory: with the daemon before us. */
void sl_memory_adopt(struct sl_session *s, uint32_t umem);
/* Whose memory that is; NULL: nobody's. */
struct sl_memory *sl_memory_by_umem(uint32_t umem);
/* Has that group a part of the device? */
struct sl_device;
bool sl_memory_has_part(const struct sl_device *d, const char *group);
/* Have other groups all of the device, for certain, or, where rings are lent once, another
 * process? */
bool sl_memory_is_anothers(const struct sl_session *s, uint32_t ifindex, const char **why);
/* The session leaves its group. */
void sl_umem_put(struct sl_session *s);

/* divide.c: rules of NICs that are divided among groups. What has to be told to the NIC that it
 * sends a claim's packets to its session's queues: 0 and *rule (0: nothing), or -errno and *why. */
int sl_divide_get(const struct sl_session *s, const struct sl_claim_req *req, uint32_t *rule,
		  const char **why);
/* One claim by it less. */
void sl_divide_put(uint32_t rule);
/* After a restart: learns a device's rules, before its claims are found; forgets those without. */
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
/* One user of the device less, of the group with that packet memory. */
void sl_port_release(uint32_t ifindex, uint32_t umem);
/* The session's process is dead: takes its frames and lanes back. False: not now. */
bool sl_umem_bury(struct sl_session *s);
void sl_port_describe(const struct sl_port_info *info, struct sl_lease_port_ok *out);

/* sender.c: requests of a session come from its process, which is the user that it was. */
void sl_sender_tell(
	int fd); /* of a socket that listens, or a session's: the kernel names senders */
/* -EPERM: another process has sent it; -EPROTO: the lease is to end. */
int sl_sender_check(struct sl_session *s, const struct sl_lease_msg *m, const char **why);

/* stopped.c: new connections go to those who are not stopped. */
bool sl_session_is_stopped(const struct sl_session *s);
void sl_stopped_look(void);

/* grace.c: from now on a grace period of the kernel is waited for: its number. */
uint32_t sl_grace_begin(void);
/* (The loop comes round when one is.) */
bool sl_grace_is_over(uint32_t number);
void sl_grace_readable(void);

/* session.c: has the process of that pidfd ended? */
bool sl_is_dead(int pidfd);
/* linger.c: what a program that becomes another one had. To be called before it is taken back: */
void sl_linger_begin(struct sl_session *s);
/* The process has it again, or nobody is to have it any more (0). */
void sl_linger_end(int pid);
/* Ends those whose time is over. */
void sl_linger_tick(void);
/* How many of a device's users with that packet memory are such. */
uint32_t sl_linger_users(uint32_t ifindex, uint32_t umem);

/* broken.c: looks after the locks of the groups' memories, each second. A group whose lock is
 * broken ends: its programs go on by the kernel. */
void sl_broken_look(void);
/* May nothing more be lent to the session, since its group is broken? 0, or -ESHUTDOWN and *why. */
int sl_broken_check(const struct sl_memory *m, const char **why);

/* view.c: a file of memory once more, for reading: what those get who must not write it. -errno. */
int sl_open_to_read(int memfd);
/* view.c: the rules of a device, to be read by others. Another descriptor of them; -errno. */
int sl_view_get(uint32_t ifindex);
/* Brings the views up to date, drops those of devices that were closed. */
void sl_views_sync(void);

/* steer.c: claims */
uint32_t sl_claim_pid(const struct sl_session *s); /* what its claims bear */
int sl_on_claim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_claim_update(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unclaim(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drop(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_buffer(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_holders(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_inject(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* Gives up to n claims up; how many are left. */
uint32_t sl_claims_drop(struct sl_session *s, uint32_t n);
/* All of UDP: the kernel has the sockets, and what they wait for. */
void sl_claims_drop_udp(struct sl_session *s);

/* restore.c: a connection of the session's goes to the kernel */
int sl_on_restore(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_restored(struct sl_session *s, struct sl_lease_msg *m, const char **why);
/* Is the claim to let the packets of the one that has begun pass? Then it needs no other proof. */
bool sl_restore_covers(const struct sl_session *s, const struct sl_claim_req *req);
/* Without a word to its peer. */
void sl_restore_drop(struct sl_session *s);

/* take.c: a kernel connection is read */
int sl_on_take(struct sl_session *s, struct sl_lease_msg *m, const char **why);

/* conns.c: of a leaving session, while it has its claims. True: there is more to do. */
int sl_on_conns(struct sl_session *s, struct sl_lease_msg *m, const char **why);
bool sl_conns_read(struct sl_session *s);
/* Begins to save who waits to be accepted; dead: the process, for certain. */
bool sl_conns_rescue(struct sl_session *s, bool dead);
/* Tells some of the peers; the claims are gone. dead: the process, for certain. */
bool sl_conns_tell(struct sl_session *s, bool dead);
/* The claim of a flow was given up: is its peer told by the above? */
bool sl_conns_will_tell(const struct sl_session *s, const struct sl_flow_key *k);

/* The end that was claimed for whoever comes there; NULL: none. */
const struct sl_own_end *sl_conns_end(const struct sl_conns *c, const uint8_t local[16],
				      uint16_t port);

/* late.c: what came for the dead of TCP is the kernel's. The claims are gone, and nothing more is
 * steered to the lanes, or will be in a moment. */
void sl_late(const struct sl_session *s, const struct sl_broker_lane *lanes, unsigned n);

/* boxes.c: where goes who waited at a listener of the dead that others have, too */
int sl_on_box(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_unbox(struct sl_session *s, struct sl_lease_msg *m, const char **why);
const struct sl_gone_box *sl_box_find(void *session, uint32_t listener);
void sl_boxes_free(struct sl_session *s);

/* proof.c ------------------------------------------------------------------------------------ */

/* Does the socket give the right to that claim: is it of the daemon's network namespace, of the
 * protocol, bound to the claim's local port, and to its address or a wildcard? 0 or -EPERM. */
int sl_proof_check(int fd, const struct sl_flow_key *key, const char **why);
/* Is the socket bound to no device? */
bool sl_proof_is_everywhere(int fd);
/* Is it a TCP socket of the daemon's namespace? 0 or -EPERM. */
int sl_proof_tcp(int fd, const char **why);
/* Is it a TCP socket of the daemon's namespace that listens? Where, and the family of what it
 * accepts. 0 or -EPERM. */
int sl_proof_listener(int fd, uint16_t *port, uint8_t *family, const char **why);
/* Is it one end of a pair of packet sockets, of which nobody but who holds the other can be spoken
 * to? 0 or -EPERM. */
int sl_proof_pair(int fd, const char **why);
/* Is the packet addressed to what the socket is bound to, and from where it is connected to if it
 * is TCP? 0 or -EPERM. */
int sl_proof_packet(int fd, const uint8_t *packet, size_t bytes, const char **why);
uint64_t sl_netns_cookie(int fd);

/* devices.c ---------------------------------------------------------------------------------- */

/* How it stands with a device; mtu: what it is now, if the device is there; end: why it is not
 * steered, or that it is. */
struct sl_device;
enum sl_lease_device sl_device_state(const struct sl_device *d, uint32_t *mtu,
				     enum sl_port_end *end);
/* Says what has changed. */
void sl_devices_check(void);

/* show.c ------------------------------------------------------------------------------------- */
int sl_on_status(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_port(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_show_lease(struct sl_session *s, struct sl_lease_msg *m, const char **why);
int sl_on_drain(struct sl_session *s, struct sl_lease_msg *m, const char **why);

#endif
