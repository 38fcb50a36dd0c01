/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections of a session: their fate when its process is dead, and the one that goes to
 * the kernel. */
#ifndef SL_SLUICED_CONNS_H
#define SL_SLUICED_CONNS_H

#include "ctl/claim/bury.h"
#include "ctl/device/claim_req.h"
#include "ctl/steer/sought.h"
#include "../death/death.h"

struct sl_heir;
struct sl_session;
struct sl_vault_msg;

/* conns.c ------------------------------------------------------------------------------------ */

#define SL_CONNS_ENDS   64
#define SL_CONNS_SHARED 64
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
	/* heirs.c: connections that children may have */
	struct sl_sought shared[SL_CONNS_SHARED];
	uint32_t shared_conn[SL_CONNS_SHARED]; /* their numbers in gone */
	uint32_t nshared;
	uint32_t shared_at;     /* how many of gone were looked at for them */
	uint32_t shared_next;   /* the one to make next, from 1; 0: no look for holders yet */
	uint64_t shared_bytes;  /* in the queues of those that were begun */
	struct sl_heir *making; /* NULL: none is half made */
	struct sl_gone_queues queues;
};

/* Reads the connections of a leaving session, while it has its claims. True: there is more to do.
 */
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

/* boxes.c: where connections go that waited at a dead process's listener which others have, too */
#define SL_SESSION_BOXES 64
struct sl_boxes {
	struct sl_gone_box box[SL_SESSION_BOXES];
	uint32_t n;
};
const struct sl_gone_box *sl_box_find(void *session, uint32_t listener);
void sl_boxes_free(struct sl_session *s);

/* heirs.c: connections that go on for other processes */
/* Begins that for a leaving session, as sl_conns_rescue() does; true: call it again. */
bool sl_heirs_begin(struct sl_session *s, bool dead);
/* Its claims are gone: the connections live. True: call it again. */
bool sl_heirs_live(struct sl_session *s);
/* Ends those that no process has any more. Returns in how many ns to call it next. */
uint64_t sl_heirs_tick(uint64_t now);
/* A process has died, which may be one that has an heir's socket. */
void sl_heirs_died(void);
/* Stores all in a new vault; takes one of the daemon before (0 or -errno). */
void sl_heirs_keep(void);
int sl_heirs_adopt(struct sl_vault_msg *m);

/* late.c: gives late TCP packets for a dead process to the kernel. Call when the claims are gone
 * and nothing is steered to the lanes any more, or will not be in a moment. */
void sl_late(const struct sl_session *s, const struct sl_broker_lane *lanes, unsigned n);

/* restore.c: a connection of the session's that goes to the kernel */
/* A socket of the client's user; or -errno and *why. */
int sl_restore_socket(const struct sl_session *s, int family, const char **why);
/* Copies the options that need privileges, which the kernel let the client set, and some others. */
void sl_restore_options(int from, int to, int family);
/* True: the claim lets the packets of the restore under way pass, and needs no other proof. */
bool sl_restore_covers(const struct sl_session *s, const struct sl_claim_req *req);
/* Drops the restored connection without a word to its peer. */
void sl_restore_drop(struct sl_session *s);
/* The session has the one that was under way when the daemon before died. 0 or -EPROTO. */
int sl_restore_adopt(struct sl_session *s, struct sl_vault_msg *m);

#endif
