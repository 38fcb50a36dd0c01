/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions. */
#ifndef SL_SESSION_H
#define SL_SESSION_H

#include <sys/socket.h>

#include "base/log.h"
#include "ctl/lease/msg.h"
#include "claims.h"
#include "conns.h"
#include "policy.h"

#define SL_SESSION_PORTS 16  /* devices of one lease */
#define SL_SESSION_LANES 256 /* lanes of one device */

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
	uint64_t halted_ns;       /* when broken.c found it stopped last */
	bool leaving;             /* hung up; being taken back */
	uint64_t ending_ns;       /* so long its process may take to end; 0: it has not hung up */
	bool unread;              /* its request must stay in the queue (foreign.c) */
	uint64_t asked_ns;        /* not greeted: time of its connection or last request */
	uint64_t later_ns;        /* not 0: its request is tried again then */
	bool goes_on;      /* with -EINPROGRESS: it is under way, and goes on in the next turn */
	uint64_t waits_ns; /* start of that wait */
	uint64_t rest_ns;  /* not 0: it is tried again after this, not after the usual time */
	bool mute;         /* the process is dead; its lanes get nothing after this grace period: */
	uint32_t grace;
	/* The daemon before us may have done the next request in part or whole, in `tries`
	 * attempts. seq: number of the last request that must not be done twice
	 * (sl_session_begin(), keep.c). */
	bool again;
	uint8_t tries;
	uint32_t begun, seq;
	/* The sender of its requests, once a request has come (sender.c). */
	bool sent;
	uint32_t real_uid, real_gid;
	uint32_t other_uid; /* real or saved one; cred.uid: it has no other */
	uint64_t identity;  /* 0: not known */
	uint32_t member;
	uint64_t since_ns;
	char program[16], group[32];
	struct sl_limits limits;
	uint64_t vlans; /* bit set of its numbers of VLAN devices (vlan.c) */
	struct sl_session_port port[SL_SESSION_PORTS];
	uint32_t nlanes;
	struct sl_held_table held;
	uint32_t judged; /* watch_flow.c: number of the last look at its flows */
	/* SO_COOKIE of the sockets that proved the UDP claims which it gave up last; 0: none. It
	 * may still have packets for their queues (sl_prove_own()). */
	uint64_t gave[8];
	/* The TCP ports that it gave up last, and the users of their sockets. */
	struct {
		uint16_t port;
		uint32_t uid;
	} listened[32];
	uint32_t unread_answers,
		unread_fds; /* answers with descriptors since it had read all, and these */
	uint8_t ngave, nlistened;
	struct sl_conns conns;
	struct sl_boxes boxes;
	struct sl_restore *restore; /* restore.c: one that is under way, or NULL */
	uint16_t user;              /* turn.c: place of its user */
	uint64_t served;            /* number of its last turn, of all sessions' turns */
};

/* state.c ------------------------------------------------------------------------------------ */

/* The session's device with that number, or NULL; 0: an unused place for one. */
struct sl_session_port *sl_session_port(struct sl_session *s, uint32_t ifindex);
/* True: there is something to read, or the end. */
bool sl_is_readable(int fd);
/* True: the process of that pidfd has ended. */
bool sl_is_dead(int pidfd);

/* session.c ---------------------------------------------------------------------------------- */

/* Accepts some of the connections that wait. */
void sl_session_accept(void);
/* Serves sessions again whose request waits for another process, if their time has come. Returns in
 * how many ns the next is due, or to look after the dead; UINT64_MAX: none. */
uint64_t sl_sessions_later(uint64_t now);
/* Adds a session of the daemon before us. */
void sl_session_add(struct sl_session *s);
/* Hangs up on the connections of processes that have ended. */
void sl_sessions_died(void);
/* Serves one request of the session. */
void sl_session_readable(struct sl_session *s);
/* Takes back some of the leaving sessions' things; true: there is more to do at once. */
bool sl_sessions_reap(void);

/* turn.c -------------------------------------------------------------------------------------- */

typedef void sl_turn_fn(struct sl_session *s);
/* Calls serve() for these n sessions, SL_SESSIONS_MAX at most, first for those of the user that got
 * the least time of late. False: ns were over before all were served (but one always is).
 * Serve() may free its session. */
bool sl_turn(struct sl_session **ready, unsigned n, uint64_t ns, sl_turn_fn *serve);
/* False: a request that takes long has to wait, since the user has had many of late. */
bool sl_turn_may_be_heavy(struct sl_session *s);

/* lines.c: the level for a line about the session's user; SL_LOG_DEBUG if there are too many. */
enum sl_log_level sl_line_level(const struct sl_session *s, enum sl_log_level level);

/* room.c: -EDQUOT: the daemon has no memory for that request, or the user has its part of it. */
int sl_room_check(const struct sl_session *s, uint32_t op, const char **why);

/* sender.c: requests must come from the session's own process, with its user unchanged. */
void sl_sender_tell(
	int fd); /* for a listening socket or a session's: the kernel names the senders */
/* -EPERM: another process has sent it; -EPROTO: the lease must end. */
int sl_sender_check(struct sl_session *s, const struct sl_lease_msg *m, const char **why);

/* stopped.c: new connections go to processes that are not stopped. */
bool sl_process_is_stopped(pid_t pid); /* by SIGSTOP */
/* True: the kernel is about to end it, and has not told of its death yet. */
bool sl_session_is_ending(const struct sl_session *s);
/* By SIGSTOP, by a debugger, or with its control group. */
bool sl_session_is_halted(const struct sl_session *s);
/* So is one thread of it. Where the process has other numbers (PID namespace): so is its first. */
bool sl_thread_is_halted(const struct sl_session *s, uint32_t tid);
void sl_stopped_look(void);

/* grace.c: begins to wait for a grace period of the kernel; returns its number. */
uint32_t sl_grace_begin(void);
/* True: that grace period is over. (The end of each wakes the loop.) */
bool sl_grace_is_over(uint32_t number);
void sl_grace_readable(void);

/* linger.c: keeps a program's devices while it becomes another one (exec). Call before they are
 * taken back. */
void sl_linger_begin(struct sl_session *s);
/* Ends that for a process which has a lease again, or for all. */
void sl_linger_end(int pid);
void sl_linger_end_all(void);
/* Ends those whose time is over. */
void sl_linger_tick(void);
/* How many uses of a device with that packet memory linger. */
uint32_t sl_linger_users(uint32_t ifindex, uint32_t umem);

#endif
