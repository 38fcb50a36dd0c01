/* SPDX-License-Identifier: BSD-2-Clause */
/* Which socket the kernel would give a packet to: the judge of claims (deliver.c), the proof that a
 * claim needs (prove.c), and the watch over claims that were proved (watch.c). */
#ifndef SL_DELIVER_H
#define SL_DELIVER_H

#include "ctl/diag_sock.h"
#include "sluiced.h"

/* deliver.c: pure ------------------------------------------------------------------------------ */

/* The packets that a claim covers. */
struct sl_deliver_claim {
	struct sl_addr local;  /* any: every address of that family */
	struct sl_addr remote; /* when remote_port is not 0 */
	uint16_t remote_port;  /* 0: whatever peer */
	uint32_t ifindex;      /* the device that they come by; 0: not known */
	uint8_t proto;
	bool to_all; /* multicast: the kernel gives a copy to every socket that matches */
};

/* May the kernel give a packet that the claim covers to that socket, were it the only one? */
bool sl_deliver_reaches(const struct sl_deliver_claim *c, const struct sl_diag_sock *s);
/* Is there a packet that the claim covers which the kernel gives, or may give, to `other` although
 * `own` is there: a copy, or instead of `own`? */
bool sl_deliver_prefers(const struct sl_deliver_claim *c, const struct sl_diag_sock *own,
			const struct sl_diag_sock *other);

/* prove.c -------------------------------------------------------------------------------------- */

/* What is known of the socket that proved a claim. */
struct sl_proof {
	struct sl_diag_sock own; /* cookie 0: the daemon before us saw it */
	bool reuseport;          /* sockets of the same user may share the endpoint with it */
};

struct sl_deliver_claim sl_deliver_claim_of(const struct sl_claim_req *req);
/* Does this other socket concern the claim: is it another user's, whom the session may not speak
 * for? */
bool sl_proof_is_others(const struct sl_session *s, const struct sl_proof *p,
			const struct sl_diag_sock *other);
/* Would the kernel give to that socket what the session claims with it, and to no other user's
 * socket? 0 and *proof, or -errno and *why. Some ten microseconds. */
int sl_prove(const struct sl_session *s, int fd, const struct sl_claim_req *req,
	     struct sl_proof *proof, const char **why);
/* Would the kernel give that packet, of those ends, to the socket? */
int sl_prove_packet(int fd, const struct sl_diag_flow *f, const char **why);
/* May what comes late for the session's end be given to the kernel: is no socket of another user
 * the one that gets it? */
bool sl_prove_late(const struct sl_session *s, const struct sl_diag_flow *f);
/* The netlink socket that all of these use; -errno. */
int sl_prove_netlink(void);
/* It may hold a rest of an answer: the next use opens another one. */
void sl_prove_netlink_close(void);

/* watch.c -------------------------------------------------------------------------------------- */

/* The claim was proved; unless it is a TCP flow's, the daemon looks from now on whether that
 * remains true. Out of memory: -ENOMEM, and the claim must not be made. */
int sl_watch_add(struct sl_session *s, const struct sl_claim_req *req, const struct sl_proof *p);
/* It is given up. Harmless when it is not watched. */
void sl_watch_del(const struct sl_session *s, const struct sl_claim_req *req);
/* One look, if it is time for one: claims that are not true any more are taken back. At each turn
 * of the loop, which comes round several times a second while anybody has a lease. */
void sl_watch_tick(void);
#define SL_WATCH_MS 250

/* steer.c: takes a claim of a session back. */
void sl_claim_take_back(struct sl_session *s, const struct sl_claim_req *req);

#endif
