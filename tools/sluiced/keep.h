/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets the daemon's state outlive the daemon: stores it in the vault and takes it back. */
#ifndef SL_KEEP_H
#define SL_KEEP_H

#include "ctl/lease/vault.h"
#include "session.h"

/* Raise it when a record's meaning changes; sizes are compared in any case. */
#define SL_KEEP_VERSION 13

struct sl_keep_meta {
	uint32_t lease, steer, share, keep;
	uint32_t claim_bytes, flow_bytes, rule_bytes, config_bytes, session_bytes, device_bytes;
	uint32_t draining; /* from here on versions need not agree */
};

struct sl_session_kept {
	uint32_t id, member, umem;
	uint8_t greeted, share, said, outside, leaving, eof, tries;
	int8_t conn, pidfd, conns; /* see sl_vault_add() */
	uint32_t begun;
	uint64_t since_ns;
	struct ucred cred;
	uint32_t gid[64], ngids;
	char program[16], group[32];
	struct sl_limits limits;
	uint64_t vlans;
	struct sl_conns_layout layout;
	struct {
		uint32_t ifindex, nqueues;
		char ifname[16];
	} port[SL_SESSION_PORTS];
	uint32_t nboxes;
	struct {
		uint32_t listener;
		uint16_t port;
		uint8_t family;
		int8_t fd;
	} box[SL_SESSION_BOXES];
};
_Static_assert(sizeof(struct sl_session_kept) <= SL_VAULT_BYTES, "a record");

/* The record's descriptors are in the order of the queues; a packet socket follows them. */
struct sl_lane_kept {
	uint32_t session, port, number, lane, nqueues, packet_places;
	struct sl_lease_queue queue[SL_MAX_QUEUES];
};
_Static_assert(sizeof(struct sl_lane_kept) <= SL_VAULT_BYTES, "a record");

/* With the socket of the connection. */
struct sl_heir_kept {
	uint32_t uid, inode;
	uint16_t family;
	bool taken;
};

/* True: numbers that are used as an index are in bounds, and texts end. nfds: the record's. */
bool sl_session_is_sound(const struct sl_session_kept *k);
bool sl_lane_is_sound(const struct sl_lane_kept *k, uint32_t nfds);

/* keep.c: each stores the present state in place of the stored one, or removes the record. */
void sl_keep_draining(void);
void sl_keep_umem(uint32_t id);
void sl_keep_device(uint32_t ifindex);
void sl_keep_view(uint32_t ifindex, int memfd); /* -1: the view is gone */
void sl_keep_session(const struct sl_session *s);
void sl_keep_no_session(const struct sl_session *s);
void sl_keep_lane(const struct sl_session *s, const struct sl_session_port *p, unsigned number);
/* A record with one socket; fd -1: it is not needed any more. */
void sl_keep_socket(enum sl_keep kind, uint64_t key, const void *record, uint32_t bytes, int fd);
/* A connection of the session that is under way to the kernel. */
static inline void sl_keep_restore(const struct sl_session *s, const void *record, uint32_t bytes,
				   int fd)
{
	sl_keep_socket(SL_KEEP_RESTORE, s->id, record, bytes, fd);
}
/* Marks the request being served as one that must not be done again; false: the daemon before us
 * did it. */
bool sl_session_begin(struct sl_session *s);

/* Looks for a vault that was left behind. 1: its records are here, to be adopted; 0: there is none,
 * or it is incomplete and is ended: only the daemon's socket is here of its records; -EPROTO: the
 * records are of another version (logged), -errno. */
int sl_keep_find(const char *socket_path);
/* The next record of that kind from *at on, which is advanced; NULL: there are no more. */
struct sl_vault_msg *sl_keep_next(enum sl_keep kind, unsigned *at);
/* Drops a record that is not needed. */
void sl_keep_drop(const struct sl_vault_msg *m);
/* Ends the adoption. */
void sl_keep_taken(void);
/* Starts a vault if there is none, gives it everything, and watches it. others_keep: stores the
 * views of the rules (view.c) and the heirs (heirs.c) whenever a vault is new. */
void sl_keep_start(void (*others_keep)(void));
bool sl_keep_is_missing(void);
void sl_keep_readable(void);
void sl_keep_tick(void);
/* Ends the vault, since nothing is lent any more. */
void sl_keep_bye(void);

/* view.c */
void sl_views_keep(void);
int sl_view_adopt(uint32_t ifindex, int memfd);

/* adopt.c: rebuilds the former daemon's state from the records. 0 or -errno. */
int sl_adopt(void);

#endif
