/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of sluiced.
 *
 * Theory of operation: one thread serves all sessions, in one loop. (Beside it are a thread that
 * waits for the kernel (grace.c), a thread that watches the loop (watchdog.c), and threads that
 * close descriptors (base/closer.h).) A session is a connection of the lease protocol
 * (ctl/lease/proto.h). The loop takes one request of each ready session in turn, and shares its
 * time among users (turn.c). All that a session has been given is recorded in it, and its requests
 * cannot reach another's: lanes are named by the session's own numbers, claims are looked up in the
 * session's own table. When the connection ends all of that is taken back, a bounded piece at each
 * turn of the loop. */
#ifndef SL_SLUICED_H
#define SL_SLUICED_H

#include "memory.h"
#include "policy.h"

struct sl_session;

#define SL_SESSIONS_MAX 1024
#define SL_PORTS_MAX    64  /* devices in use */
#define SL_VIEW_MS      100 /* how often the rules are looked at, at most */

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
enum {
	SL_TAG_LISTEN = 1,
	SL_TAG_SIGNAL,
	SL_TAG_NET,
	SL_TAG_DEATH,
	SL_TAG_VAULT,
	SL_TAG_GRACE,
	SL_TAGS
};

#endif
